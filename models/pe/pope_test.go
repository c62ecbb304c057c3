package pe_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestPoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "pope", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("rope-base", "100"), petest.Code("pope-dims", "3"),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
			petest.Code("pope-phase", "0.1"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("more dimensions than a head has", petest.Spec{Given: pe.Options{"pope-dims": "9"}},
				"--pope-dims 9", "head width 8"),
			petest.Refuse("more than a turn", petest.Spec{Given: pe.Options{"pope-phase": "1.5"}}, "--pope-phase"),
		},
	})
}

func init() { vectors["pope"] = popeVector }

// popeVector: queries may be the last of the tokens alone; positions may start at an offset.
func popeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k := c.Input(t, "q"), c.Input(t, "k")
	n, heads, dh := k.Shape[0], k.Shape[1], k.Shape[2]
	dims, skipped := c.Int("d_rot", dh), n-q.Shape[0]
	q = petest.Array{Shape: k.Shape, Values: slices.Concat(make([]float64, skipped*heads*dh), q.Values)}
	at := places(c.Int("offset", 0), n)
	if skipped > 0 && c.Int("offset", 0) > 0 { // the queries' offset; keys are counted from 0
		at = places(c.Int("offset", 0)+q.Shape[0]-n, n)
	}
	if c.Has("positions") {
		at = whole(c.Input(t, "positions").Values)
	}
	phase := "learned_bias"
	if c.Has("bias") {
		phase = "bias"
	}
	sp := petest.Spec{
		Scheme: "pope", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(slices.Max(at) + 1),
		Given: pe.Options{"pope-dims": fmt.Sprint(dims), "rope-base": fmt.Sprint(c.Float("base", 10000))},
		Set:   map[string][]float64{"pe.phase": c.Param(t, phase).Values},
	}
	m, p := sp.Model(t), petest.At(sp.Positions, at...)
	out := petest.Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		in := func(x petest.Array) torchpe.Tensor {
			return x.Tensor(s).Unsqueeze(0).Unsqueeze(0).Permute(0, 1, 3, 2, 4) // [1,1,H,N,Dh]
		}
		polarQ, polarK := pe.Polar(petest.Begin(s, m, p), in(q), in(k))
		for name, x := range map[string]torchpe.Tensor{"q_rot": polarQ, "k_rot": polarK} {
			x = x.Permute(0, 1, 3, 2, 4)
			if c.Text("layout", "interleaved") == "interleaved" {
				x = interleave(x, dims)
			}
			out[name] = petest.ArrayOf(x).Reshaped(n, heads, dims+dh)
		}
	})
	out["q_rot"] = tailRows(out["q_rot"], n-skipped)
	v := petest.Array{}
	if c.Has("v") {
		v = c.Input(t, "v")
	}
	got := petest.HeadInputs{Q: q, K: k, V: v}.Attend(m, p, c.Bool("causal"))
	out["logits"] = petest.Array{Shape: []int{heads, n - skipped, n}}
	out["similarity"] = petest.Array{Shape: []int{heads, n - skipped, n}}
	for i, logit := range got.Logits.Values {
		if i/n%n >= skipped {
			out["logits"] = with(out["logits"], logit)
			out["similarity"] = with(out["similarity"], logit*math.Sqrt(float64(dh)))
		}
	}
	if c.Has("output") {
		out["output"] = got.Output.Reshaped(c.Output(t, "output").Shape...)
	}
	if !c.Has("similarity") {
		delete(out, "similarity")
	}
	return out
}

// with appends a value.
func with(a petest.Array, v float64) petest.Array {
	a.Values = append(a.Values, v)
	return a
}

// tailRows returns the last n rows.
func tailRows(a petest.Array, n int) petest.Array {
	skip := len(a.Values) / a.Shape[0] * (a.Shape[0] - n)
	return petest.Array{Shape: append([]int{n}, a.Shape[1:]...), Values: a.Values[skip:]}
}

// interleave puts entry i of the second r entries of the last axis after entry i of the first r.
func interleave(x torchpe.Tensor, r int) torchpe.Tensor {
	shape, rest := x.Shape(), x.Size(-1)-2*r
	shape[len(shape)-1] = 2 * r
	paired := torchpe.Stack(-1, x.Narrow(-1, 0, r), x.Narrow(-1, r, r)).Reshape(shape...)
	return torchpe.Cat(-1, paired, x.Narrow(-1, 2*r, rest))
}
