package models_test

import (
	"fmt"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// Noise acts on the token embedding alone: where it takes the embedding away, only the PE is left, as in a
// model whose embedding is zero; no noise changes no bit.
func TestNoiseActsOnTheEmbedding(t *testing.T) {
	for _, input := range []string{arch.OneHot, arch.Embedding} {
		m := petest.Spec{Scheme: "learn", Layers: 2, Seeds: []uint64{11, 22}, Change: func(c *models.Config) {
			c.TokenInput, c.ReadOut = input, arch.LastToken
		}}.Model(t)
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		in, trace := seeded(s, m, draw(m, "noise"), 0), models.NewTrace("embedding")
		clean := m.Forward(s, in, trace).Float64s()
		embedding, _ := trace.Get("embedding")
		in.Noise = embedding.MulScalar(0)
		expect.Equal(t, fmt.Sprintf("%s: noise of zeros changes the logits", input),
			m.Forward(s, in, nil).Float64s(), clean)
		in.Noise = embedding.Neg()
		bare := m.Forward(s, in, nil).Float64s()
		for _, name := range []string{"embed.weight", "embed.bias"} {
			if p := m.Params.Get(name); p != nil {
				p.In(s).Fill(0)
			}
		}
		in.Noise = torchpe.Tensor{}
		if zero := m.Forward(s, in, nil).Float64s(); !slices.Equal(bare, zero) || slices.Equal(bare, clean) {
			t.Errorf("%s: a model without its embedding gives other logits than one with an embedding of zeros", input)
		}
	}
}

// What is added to one token of one sample changes that sample's logits and no other's.
func TestNoiseStaysInItsSample(t *testing.T) {
	m := petest.Spec{Scheme: "learn"}.Model(t)
	x := draw(m, "noise")
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	in := seeded(s, m, x, 0)
	clean := m.Forward(s, in, nil).Float64s()
	noise := make([]float64, x.Size*x.Tokens*m.Config.DModel)
	noise[(2*x.Tokens+1)*m.Config.DModel+3] = 0.5 // sample 2, token 1, dimension 3
	in.Noise = torchpe.Of(s, torchpe.CPU, noise, 1, x.Size, x.Tokens, m.Config.DModel)
	for i, v := range m.Forward(s, in, nil).Float64s() {
		expect.Equal(t, fmt.Sprintf("sample %d, logit %d: %g without and %g with noise in sample 2: other",
			i/m.Config.Classes, i, clean[i], v), v != clean[i], i/m.Config.Classes == 2)
	}
}
