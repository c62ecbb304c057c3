package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestForgetting(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "forgetting", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("forgetting-direction", "bidirectional"),
			petest.Code("forgetting-scale", "0.5"), petest.Code("forgetting-bias", "5"),
			petest.Code("forgetting-window", "3")},
		Constant: []string{"pe.bias"},
	})
}

func init() {
	vectors["forgetting_transformer"] = forgettingVector
	vectors["data_dependent_alibi"] = dataDependentALiBiVector
}

// widened returns rows [R,C] with zeros up to the given number of columns.
func widened(a petest.Array, columns int) petest.Array {
	out := petest.Array{Shape: []int{a.Shape[0], columns}}
	for i := range a.Shape[0] {
		out.Values = append(append(out.Values, a.Row(i)...), make([]float64, columns-a.Shape[1])...)
	}
	return out
}

// forQueries repeats each head of keys or values [N,H',Dh] for the query heads that share it.
func forQueries(a petest.Array, heads int) petest.Array {
	shared := a.Shape[1]
	width := len(a.Values) / a.Shape[0] / shared
	out := petest.Array{Shape: append([]int{a.Shape[0], heads}, a.Shape[2:]...)}
	for i := range a.Shape[0] {
		for h := range heads {
			at := h / (heads / shared) * width
			out.Values = append(out.Values, a.Row(i)[at:at+width]...)
		}
	}
	return out
}

// forgettingVector: gates that the case gives are what the tokens' first H numbers say.
func forgettingVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, heads := c.Input(t, "q"), c.Int("heads", 1)
	n, d := q.Shape[0], heads*q.Shape[2]
	in := petest.HeadInputs{Q: q, K: forQueries(c.Input(t, "k"), heads), V: forQueries(c.Input(t, "v"), heads)}
	sp := petest.Spec{
		Scheme: "forgetting", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n), Set: map[string][]float64{},
		Given: pe.Options{"forgetting-window": fmt.Sprint(c.Int("window", 0))},
	}
	if c.Has("x") {
		in.X = widened(c.Input(t, "x"), d)
		sp.Set["pe.weight"] = widened(c.Param(t, "fgate_proj.weight"), d).Values
		sp.Set["pe.bias"] = c.Param(t, "fgate_proj.bias").Values
	} else {
		logs := c.Input(t, "log_f")
		for i, v := range logs.Values {
			logs.Values[i] = -math.Log(math.Expm1(-v)) // of which sigmoid is exp(v)
		}
		in.X = widened(logs, d)
		sp.Set["pe.weight"] = widened(petest.Array{Shape: []int{heads, heads}, Values: identity(heads)}, d).Values
	}
	m := sp.Model(t)
	got := in.Attend(m, sp.Positions, false)
	zeros := petest.Array{Shape: q.Shape, Values: make([]float64, len(q.Values))}
	bias := petest.HeadInputs{Q: zeros, K: zeros, X: in.X}.Attend(m, sp.Positions, false).Logits
	// ln f of a token is its bias for the key before it; the first one has a token put before it.
	empty := func(shape ...int) petest.Array {
		return petest.Array{Shape: shape, Values: make([]float64, shape[0]*shape[1])}
	}
	more := petest.HeadInputs{Q: empty(n+1, d), X: petest.StackRows(empty(1, d), in.X)}
	more.K = more.Q
	sp.Positions, sp.Given = pe.Line(n+1), nil
	before := more.Attend(sp.Model(t), sp.Positions, false).Logits
	logs := petest.Array{Shape: []int{n, heads}}
	for i := range n {
		for h := range heads {
			logs.Values = append(logs.Values, before.Row(h)[(i+1)*(n+1)+i])
		}
	}
	return petest.Outputs{"log_f": logs, "bias": bias, "logits": got.Logits, "output": got.Output.Reshaped(q.Shape...)}
}

func dataDependentALiBiVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, heads := c.Input(t, "x"), c.Int("heads", 1)
	n := x.Shape[0]
	d := (x.Shape[1] + heads - 1) / heads * heads // of a model with such heads
	w := c.Param(t, "to_forget_gates.0.weight")
	sp := petest.Spec{
		Scheme: "forgetting", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n),
		Set: map[string][]float64{"pe.weight": widened(w, d).Values,
			"pe.bias": c.Param(t, "to_forget_gates.0.bias").Values},
		Given: pe.Options{"forgetting-scale": fmt.Sprint(c.Float("post_log_scale", 1))},
	}
	if !c.Bool("causal") {
		sp.Given["forgetting-direction"] = "bidirectional"
	}
	zeros := petest.Array{Shape: []int{n, heads, d / heads}, Values: make([]float64, n*d)}
	in := petest.HeadInputs{Q: zeros, K: zeros, X: widened(x, d)}
	return petest.Outputs{"bias": in.Attend(sp.Model(t), sp.Positions, false).Logits}
}
