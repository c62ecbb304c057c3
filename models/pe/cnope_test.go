package pe_test

import (
	"math"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestCausalNoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "c-nope", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("c-nope-temperature", "0.5"), petest.Code("attention-bias", "true"),
			petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("no temperature",
				petest.Spec{Given: pe.Options{"c-nope-temperature": "0"}}, "--c-nope-temperature",
				`"0"`),
			petest.Refuse("an infinite temperature",
				petest.Spec{Given: pe.Options{"c-nope-temperature": "inf"}},
				"--c-nope-temperature"),
		},
	})
}

// attentionOfFirstBlock returns the attention [E,B,H,N,N] of a model's first block over the symbols
// 0, 1, 2, ...
func attentionOfFirstBlock(m *models.Model) (a petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		n := m.Config.Positions.Tokens()
		symbols := make([]int64, n)
		for i := range symbols {
			symbols[i] = int64(i % m.Config.Symbols)
		}
		trace := models.NewTrace("attention/0")
		m.Forward(s, models.Input{
			Symbols: torchpe.Of(s, torchpe.CPU, symbols, 1, 1, n), Probe: torchpe.Of(s, torchpe.CPU, []int64{0}, 1, 1),
			Positions: m.Config.Positions,
		}, trace)
		weights, _ := trace.Get("attention/0")
		a = petest.ArrayOf(weights)
	})
	return a
}

// TestCausalNoPETemperature: the temperature divides the logits: softmax(z/T) is softmax(z)^(1/T),
// normalised.
func TestCausalNoPETemperature(t *testing.T) {
	at := func(temperature string) petest.Array {
		return attentionOfFirstBlock(petest.Spec{Scheme: "c-nope",
			Given: pe.Options{"c-nope-temperature": temperature}}.Model(t))
	}
	plain := at("1")
	for temperature, power := range map[string]float64{"0.5": 2, "2": 0.5, "0.1": 10} {
		want := petest.Array{Shape: plain.Shape, Values: make([]float64, len(plain.Values))}
		const n = 8
		for row := 0; row < len(plain.Values); row += n {
			sum := 0.0
			for j := range n {
				want.Values[row+j] = math.Pow(plain.Values[row+j], power)
				sum += want.Values[row+j]
			}
			for j := range n {
				want.Values[row+j] /= sum
			}
		}
		petest.Near(t, "attention at temperature "+temperature, at(temperature), want, 1e-12)
	}
}

// TestCausalNoPESeesNothingLater: the mask follows the tokens' places, not their order in the
// array.
func TestCausalNoPESeesNothingLater(t *testing.T) {
	p := petest.At(pe.Grid(2, 4), 5, 0, 3, 7, 1, 6, 2, 4)
	for _, fidelity := range []string{"code", "text"} {
		weights := attentionOfFirstBlock(petest.Spec{Scheme: "c-nope", Fidelity: fidelity, Positions: p}.Model(t))
		for i, placeI := range p.Index {
			seen := 0.0
			for j, placeJ := range p.Index {
				w := weights.Values[i*8+j]
				seen += w
				if placeJ > placeI && w != 0 {
					t.Errorf("%s: the token at place %d sees the one at %d: %g", fidelity, placeI, placeJ, w)
				}
			}
			if math.Abs(seen-1) > 1e-12 {
				t.Errorf("%s: the weights of the token at place %d add up to %g", fidelity, placeI, seen)
			}
		}
	}
}
