package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSynthesizer(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "synthesizer", Shift: petest.Moved,
		Variants: []petest.Variant{
			petest.Code("synthesizer", "random"), petest.Code("synthesizer", "factorised"),
			petest.Code("synthesizer-input", "query"),
			petest.Code("synthesizer-width", "6"),
			petest.Code("synthesizer", "factorised", "synthesizer-width", "3"),
			petest.Code("synthesizer", "factorised-dense"),
			petest.Code("synthesizer", "factorised-dense", "synthesizer-input", "query"),
			petest.Code("synthesizer", "factorised-dense-tiled"), petest.Code("synthesizer", "factorised-dense:4"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a factor that does not divide the tokens",
				petest.Spec{Given: pe.Options{"synthesizer": "factorised-dense:3"}},
				"factorised-dense:3", "8 tokens"),
			petest.Refuse("a length of another form",
				petest.Spec{Given: pe.Options{"synthesizer": "random:3"}}, "random:3"),
		},
	})
}

// TestSynthesizerFactorisedDense: Tay et al. 2021, section 3: A, B = F_A(X_i), F_B(X_i), C = H_A(A)
// * H_B(B), in plain loops.
func TestSynthesizerFactorisedDense(t *testing.T) {
	const n, d, heads, a, b = 6, 4, 2, 2, 3
	numbers := func(count int, seed float64) []float64 {
		out := make([]float64, count)
		for i := range out {
			out[i] = math.Sin(seed + 1.7*float64(i*i))
		}
		return out
	}
	aW, aB, bW, bB := numbers(heads*a*d, 1), numbers(heads*a, 2), numbers(heads*b*d, 3), numbers(heads*b, 4)
	x := petest.Array{Shape: []int{n, d}, Values: numbers(n*d, 5)}
	zero := petest.Array{Shape: []int{3 * d, d}, Values: make([]float64, 3*d*d)}
	places := []int{3, 0, 5, 1, 4, 2} // of the tokens
	for form, of := range map[string]func(j int) (p, r int){
		"factorised-dense": func(j int) (p, r int) { return j / b, j % b },
		// a and b have no common divisor: all columns differ here too
		"factorised-dense-tiled": func(j int) (p, r int) { return j % a, j % b },
	} {
		sp := petest.Spec{
			Scheme: "synthesizer", Layers: 1, Heads: heads, DModel: d, Positions: pe.Line(n),
			Given: pe.Options{"synthesizer": form},
			Set:   map[string][]float64{"pe.a.weight": aW, "pe.a.bias": aB, "pe.b.weight": bW, "pe.b.bias": bB},
		}
		got := petest.Projections{QKV: zero}.Attend(sp.Model(t), x, petest.At(sp.Positions, places...), false).Logits
		for h := range heads {
			project := func(w, bias []float64, size, token, k int) float64 {
				sum := bias[h*size+k]
				for i := range d {
					sum += w[(h*size+k)*d+i] * x.Values[token*d+i]
				}
				return sum
			}
			for i := range n {
				for j, place := range places {
					p, r := of(place)
					want := project(aW, aB, a, i, p) * project(bW, bB, b, i, r)
					if have := got.Values[(h*n+i)*n+j]; math.Abs(have-want) > 1e-14 {
						t.Fatalf("%s, head %d, query %d, key %d: %v, want %v", form, h, i, j, have, want)
					}
				}
			}
		}
	}
}

func init() { vectors["synthesizer"] = only(synthesizerVector) }

// synthesizerVector: 10-zin's code gives q and v [H,N,Dh], leaderj1001's gives x and has one head;
// L is the number of tokens that the tables are for, of which the case has the first.
func synthesizerVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	sp := petest.Spec{Scheme: "synthesizer", Layers: 1, Heads: c.Int("heads", 1),
		Positions: pe.Line(c.Int("L", c.Int("n", 0))), Given: pe.Options{}}
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
		return named(c, w.Attend(sp.Model(t), x, p, false), sp.Heads)
	}
	// where there is none
	v := petest.Array{Shape: []int{sp.Heads, p.Tokens(), 2},
		Values: make([]float64, sp.Heads*p.Tokens()*2)}
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
	return named(c, petest.HeadInputs{Q: q, K: q, V: v}.Attend(sp.Model(t), p, false), sp.Heads)
}

// named returns those of the results that the case has, without the axis of heads where the case
// has no such axis.
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
