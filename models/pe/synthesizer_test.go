package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSynthesizer(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "synthesizer", Shift: petest.Moved,
		Variants: []petest.Variant{
			petest.Code("synthesizer", "random"), petest.Code("synthesizer", "factorised"), petest.Code("synthesizer-input", "query"),
			petest.Code("synthesizer-width", "6"),
			petest.Code("synthesizer", "factorised", "synthesizer-width", "3"),
		},
	})
}

func init() { vectors["synthesizer"] = only(synthesizerVector) }

// synthesizerVector: 10-zin's code gives q and v [H,N,Dh], leaderj1001's gives x and has one head; L is the number of tokens that the tables are
// for, of which the case has the first.
func synthesizerVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	sp := petest.Spec{Scheme: "synthesizer", Layers: 1, Heads: c.Int("heads", 1), Positions: pe.Line(c.Int("L", c.Int("n", 0))), Given: pe.Options{}}
	p := petest.At(sp.Positions, places(0, c.Int("n", 0))...)
	dense := func(first, second string) {
		w := c.Param(t, first+".weight")
		sp.Given["synthesizer-width"] = fmt.Sprint(w.Shape[0])
		sp.Set = map[string][]float64{
			"pe.in.weight": w.Values, "pe.in.bias": c.Param(t, first+".bias").Values,
			"pe.out.weight": c.Param(t, second+".weight").Values, "pe.out.bias": c.Param(t, second+".bias").Values,
		}
	}
	if c.Has("x") {
		x := c.Input(t, "x")
		sp.DModel = x.Shape[1]
		dense("dense.0", "dense.2")
		value, bias := c.Param(t, "value_fc.weight"), c.Param(t, "value_fc.bias")
		none := petest.Array{Shape: value.Shape, Values: make([]float64, len(value.Values))}
		noBias := petest.Array{Shape: bias.Shape, Values: make([]float64, len(bias.Values))}
		w := petest.Projections{QKV: petest.StackRows(none, none, value), QKVB: petest.StackRows(noBias, noBias, bias)}
		return named(c, petest.Attend(sp.Model(t), x, w, p, false), sp.Heads)
	}
	v := petest.Array{Shape: []int{sp.Heads, p.Tokens(), 2}, Values: make([]float64, sp.Heads*p.Tokens()*2)} // where there is none
	if c.Has("v") {
		v = c.Input(t, "v")
	}
	q := v
	switch {
	case c.Has("w_1.weight"):
		q = c.Input(t, "q")
		sp.Given["synthesizer-input"] = "query"
		dense("w_1", "w_2")
	case c.Has("R"):
		sp.Given["synthesizer"] = "random"
		sp.Set = map[string][]float64{"pe.matrix": c.Param(t, "R").Values}
	default:
		sp.Given["synthesizer"], sp.Given["synthesizer-width"] = "factorised", fmt.Sprint(c.Int("k", 8))
		sp.Set = map[string][]float64{"pe.left": c.Param(t, "R1").Values, "pe.right": c.Param(t, "R2").Values}
	}
	sp.DModel = sp.Heads * q.Shape[2]
	q, v = tokensFirst(q), tokensFirst(v)
	return named(c, petest.AttendHeads(sp.Model(t), q, q, v, p, false), sp.Heads)
}

// named returns those of the results that the case has, without the axis of heads where the case has no such axis.
func named(c *petest.VectorCase, got petest.Attended, heads int) petest.Outputs {
	out := petest.Outputs{}
	n := got.Output.Shape[0]
	for name, value := range map[string]petest.Array{"logits": got.Logits, "weights": got.Weights} {
		if c.Has(name) && c.Has("x") {
			out[name] = value.Reshaped(n, n)
		} else if c.Has(name) {
			out[name] = value
		}
	}
	if c.Has("output") {
		out["output"] = got.Output
		if !c.Has("x") {
			out["output"] = tokensFirst(got.Output.Reshaped(n, heads, got.Output.Shape[1]/heads))
		}
	}
	return out
}
