package models_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// crowd draws examples in which many tokens have the same symbol in the same cell, and one symbol
// is in none.
func crowd(m *models.Model) petest.Batch {
	x := petest.NewBatch(m, m.Config.Positions, 12, "crowd")
	for i, v := range x.Symbols {
		x.Symbols[i] = (v + int64(i)) % int64(m.Config.Symbols-1)
	}
	return x
}

// passed holds the result and the gradients [E,P] of a training step, and how often tokens took rows of
// others in it: those that are read always do.
type passed struct {
	result, gradients petest.Array
	taken             int
}

// pass makes a training step on an input.
func pass(m *models.Model, trace *models.Trace, input func(s *torchpe.Scope) models.Input,
	loss func(result torchpe.Tensor) torchpe.Tensor) (p passed) {
	s := torchpe.NewScope()
	defer s.Close()
	m.Params.Grads(s).Fill(0)
	in := input(s)
	in.Training = true
	calls := torchpe.Operators(func() {
		y := m.Forward(s, in, trace)
		p.result = petest.ArrayOf(y)
		loss(y).Backward()
	})
	for name, n := range calls {
		if strings.HasPrefix(name, "autograd::engine::") && strings.HasSuffix(name, "::RowsFunction>") {
			p.taken += n
		}
	}
	p.gradients = petest.ArrayOf(m.Params.Grads(s))
	return p
}

// passExamples makes a step on examples, with this noise everywhere.
func passExamples(m *models.Model, x petest.Batch, trace *models.Trace, noise float64) passed {
	return pass(m, trace, func(s *torchpe.Scope) models.Input {
		in := seeded(s, m, x, 0)
		if noise != 0 {
			in.Noise = torchpe.Full(s, noise, m.Config.DType, torchpe.CPU, x.Members, x.Size, x.Tokens, m.Config.DModel)
		}
		return in
	}, func(y torchpe.Tensor) torchpe.Tensor {
		return torchpe.CrossEntropy(y, torchpe.Of(y.Scope(), torchpe.CPU, x.Target, x.Members, x.Size)).Sum()
	})
}

// TestSharedRows: the projection of the first block, once for each symbol in each cell, gives every
// scheme the logits of each token's own projection, bit by bit, and its gradients but for the order
// of sums. What is traced has its own.
func TestSharedRows(t *testing.T) {
	for _, scheme := range pe.Names() {
		for i, input := range []string{arch.OneHot, arch.Embedding} {
			m := petest.Spec{Scheme: scheme, Fidelity: []string{"code", "text"}[i], Heads: 2, Seeds: []uint64{11, 22},
				Change: func(c *models.Config) { c.TokenInput = input }}.Model(t)
			x := crowd(m)
			own, rows := passExamples(m, x, models.NewTrace(), 0), passExamples(m, x, nil, 0)
			adds := m.Encoding.Sites(0)&pe.AtEmbed == 0 || slices.Contains([]string{"learn", "axial", "rrwp"}, scheme)
			shared := rows.taken > own.taken
			if adds && !shared || m.Encoding.Draw().Range > 0 && adds != shared {
				t.Errorf("%s, %s: tokens took rows %d times, traced %d", scheme, input, rows.taken, own.taken)
			}
			expect.Equal(t, fmt.Sprintf("%s, %s: shared rows change a bit of the logits", scheme, input),
				!slices.Equal(rows.result.Values, own.result.Values), false)
			for _, p := range m.Params.All() {
				if p.Trainable {
					petest.Near(t, scheme+", "+string(input)+", "+p.Name, gradient(p, rows), gradient(p, own), 1e-12)
				}
			}
		}
	}
}

// gradient returns that of a parameter, of all members.
func gradient(w *torchpe.Param, p passed) petest.Array {
	g := petest.Array{Shape: w.Shape}
	for e := range p.gradients.Shape[0] {
		g.Values = append(g.Values, p.gradients.Row(e)[w.Offset():w.Offset()+w.PerMember()]...)
	}
	return g
}

// TestOwnRows: where tokens of the same symbol in the same cell differ, or are few, or products round
// their operands, each has its own row.
func TestOwnRows(t *testing.T) {
	for name, c := range map[string]struct {
		spec      petest.Spec
		noise     float64
		precision string
		few       bool
	}{
		"dropout":               {spec: petest.Spec{Change: func(c *models.Config) { c.Dropout = 0.1 }}},
		"dropout of the sum":    {spec: petest.Spec{Scheme: "1d-fixed", Given: pe.Options{"fixed-pe-dropout": "0.1"}}},
		"noise":                 {noise: 0.1},
		"rounded operands":      {precision: "tf32"},
		"fewer samples":         {few: true},
		"positions of a sample": {spec: petest.Spec{Scheme: "random", Fidelity: "text"}},
	} {
		if c.spec.Scheme == "" {
			c.spec.Scheme = "learn"
		}
		m := c.spec.Model(t)
		x := crowd(m)
		if c.few {
			x = draw(m, "few")
		}
		if c.precision != "" {
			expect.NoError(t, torchpe.SetPrecision(c.precision))
		}
		own, rows := passExamples(m, x, models.NewTrace(), c.noise), passExamples(m, x, nil, c.noise)
		if rows.taken > own.taken {
			t.Errorf("%s: tokens share rows", name)
		}
		expect.NoError(t, torchpe.SetPrecision("fp32"))
	}
}
