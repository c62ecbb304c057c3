package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestFoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "fope", Positions: pe.Line(21), More: pe.Line(25), DModel: 32,
		Drawn: []string{"pe.coefficients", "pe.sine-coefficients"},
		Variants: []petest.Variant{
			petest.Code("positions-from", "1"), petest.Code("rope-base", "100"),
			petest.Code("rope-trained-tokens", "100"),
			petest.Code("fope-floor", "zero"), petest.Code("fope-floor", "square", "rope-trained-tokens", "2000"),
			petest.Code("fope-rest", "still"), petest.Code("fope-heads", "shared").For(2),
			petest.Code("fope-basis", "one"),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd head width", petest.Spec{DModel: 10, Heads: 2}, "fope",
				"head width 5 = 10/2", "odd"),
		},
	})
}

func init() { vectors["fope"] = fopeVector }

func fopeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k, heads, dh := c.Input(t, "q"), c.Input(t, "k"), c.Int("heads", 1), c.Int("d_head", 0)
	n := q.Shape[0]
	given := pe.Options{"rope-base": fmt.Sprint(c.Float("base", 10000)), "fope-floor": "drop",
		"rope-trained-tokens": fmt.Sprint(c.Int("train_length", 0))}
	if c.Value("drop_zero") == false {
		given["fope-floor"] = "zero"
	} else if c.Int("out_dim", 0) > dh/4 {
		given["fope-floor"] = "square"
	}
	if c.Value("separate_head") == false {
		given["fope-heads"] = "shared"
	}
	set := map[string][]float64{}
	if c.Has("fourier_coef") {
		given["fope-basis"] = "one"
		set["pe.coefficients"] = c.Param(t, "fourier_coef").Values
	} else {
		set["pe.coefficients"] = c.Param(t, "cos_coef").Values
		set["pe.sine-coefficients"] = c.Param(t, "sin_coef").Values
	}
	sp := petest.Spec{Scheme: "fope", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(n),
		Given: given, Set: set}
	m, out := sp.Model(t), petest.Outputs{}
	kept := pe.FoPEFrequencies(pe.Config{Heads: heads, DModel: heads * dh,
		Positions: sp.Positions, Options: m.Config.PEOptions})
	out["inv_freq"] = petest.Array{Shape: []int{len(kept)}, Values: kept}
	petest.Closed(func(s *torchpe.Scope) {
		cos, sin := pe.RotationOf(petest.Begin(s, m, sp.Positions)) // [1,1,H or 1,N,Dh/2]
		for name, x := range map[string]torchpe.Tensor{"cos": cos, "sin": sin} {
			out[name] = petest.ArrayOf(x.Expand(1, 1, heads, n, dh/2).Permute(0, 1, 3, 2, 4)).
				Reshaped(n, heads, dh/2)
			if shape := c.Output(t, name).Shape; len(shape) == 2 { // heads that share are one
				out[name] = petest.ArrayOf(x).Reshaped(n, dh/2)
			}
		}
	})
	out["q_rot"], out["k_rot"] = rotatedAfter(m, q, k, sp.Positions)
	out["logits"] = logitsOf(out["q_rot"].Reshaped(1, n, heads, dh), out["k_rot"].Reshaped(1, n, heads, dh))
	return out
}

// TestFoPEIsRoPE: with an identity for coefficients the pairs that have a sum are turned as by rope
// in halves, and the others stay in the paper's reading; in the code's they are turned by 45 degrees
// and sqrt 2 times as long.
func TestFoPEIsRoPE(t *testing.T) {
	const n, dh = 8, 16
	q := wave(n, 1, dh, 0)
	halves := petest.Spec{Scheme: "rope", DModel: dh, Given: pe.Options{"rope-layout": "half"}}
	want, _ := rotated(halves.Model(t), q, q, pe.Line(n))
	for _, rest := range []string{"still", "turned"} {
		m := petest.Spec{Scheme: "fope", DModel: dh, Positions: pe.Line(n),
			Given: pe.Options{"fope-rest": rest, "rope-trained-tokens": "64", "fope-basis": "one"},
			Set:   map[string][]float64{"pe.coefficients": {1, 0, 0, 0, 1, 0, 0, 0, 1}}}.Model(t)
		got, _ := rotated(m, q, q, pe.Line(n))
		for i := range n {
			for c := range dh / 2 {
				at := i*dh + c
				x, y := want.Values[at], want.Values[at+dh/2]
				if c >= 3 { // 1, 0.32 and 0.1 are at least 2 pi/64
					x, y = q.Values[at], q.Values[at+dh/2]
					if rest == "turned" {
						x, y = x-y, y+x
					}
				}
				if math.Abs(got.Values[at]-x) > 1e-14 || math.Abs(got.Values[at+dh/2]-y) > 1e-14 {
					t.Errorf("%s, token %d, pair %d: (%g, %g), want (%g, %g)",
						rest, i, c, got.Values[at], got.Values[at+dh/2], x, y)
				}
			}
		}
	}
}
