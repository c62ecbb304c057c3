package pe_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSinusoid1D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "1d-fixed",
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("positions-from", "1"),
			petest.Text("fixed-pe-dropout", "0.3"),
			petest.Code("sinusoid-base", "100"), petest.Code("sinusoid-layout", "tutorial"),
			petest.Code("sinusoid-layout", "concat"),
			petest.Code("sinusoid-layout", "t2t"),
		},
		Noiseless: pe.Options{"fixed-pe-dropout": "0"},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd width in halves", petest.Spec{DModel: 7,
				Given: pe.Options{"sinusoid-layout": "concat"}}, "1d-fixed", "width 7", "odd", "concat"),
			petest.Refuse("one frequency",
				petest.Spec{DModel: 2, Given: pe.Options{"sinusoid-layout": "t2t"}}, "1d-fixed",
				"width 2", "t2t"),
		},
	})
}

func init() {
	for file, layout := range map[string]string{
		"sinusoidal_1d": "interleaved", "sinusoidal_1d_tutorial": "tutorial",
		"sinusoidal_1d_concat": "concat", "sinusoidal_1d_t2t": "t2t",
	} {
		vectors[file] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
			return sinusoid1DVector(t, c, layout)
		}
	}
}

func sinusoid1DVector(t testing.TB, c *petest.VectorCase, layout string) petest.Outputs {
	n, d, start := c.Int("n", 0), c.Int("d", 0), c.Int("start", 0)
	given := pe.Options{"fixed-pe-dropout": "0",
		"sinusoid-base": fmt.Sprint(c.Float("base", 10000)), "sinusoid-layout": layout}
	if c.Bool("add_negative_side") {
		m := petest.Spec{Scheme: "1d-fixed", DModel: d, Positions: pe.Line(n + 1), Given: given}.Model(t)
		return petest.Outputs{"table": bothSides(petest.Added(m, 0, pe.Line(n+1)))}
	}
	if start > 0 { // the tokens from place start-1 on, where the first place is 1
		given["positions-from"] = "1"
		start--
	}
	m := petest.Spec{Scheme: "1d-fixed", DModel: d, Positions: pe.Line(start + n), Given: given}.Model(t)
	p := petest.At(pe.Line(start+n), places(start, n)...)
	out := petest.Outputs{}
	if c.Has("table") {
		out["table"] = petest.Added(m, 0, p)
	}
	if c.Has("x") {
		x := c.Input(t, "x")
		out["y"] = petest.Embedded(m, 0, x.Reshaped(append([]int{1}, x.Shape...)...), p).Reshaped(x.Shape...)
	}
	return out
}

// bothSides returns the rows -n..n-1 of a concatenated sinusoid from its rows 0..n: the sines,
// which come first, change their sign with the position. Tokens of this project have no negative
// positions; offsets between them have.
func bothSides(a petest.Array) petest.Array {
	n, d := a.Shape[0]-1, a.Shape[1]
	out := petest.Array{Shape: []int{2 * n, d}}
	for p := -n; p < n; p++ {
		row := slices.Clone(a.Row(max(p, -p)))
		for k := range d / 2 {
			if p < 0 {
				row[k] = -row[k]
			}
		}
		out.Values = append(out.Values, row...)
	}
	return out
}

// places lists n places from the given one on.
func places(from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// TestFixedDropout: the code's reading drops a tenth of token plus PE also at evaluation, and
// scales the rest by 1/0.9; the text's reading drops nothing.
func TestFixedDropout(t *testing.T) {
	for _, scheme := range []string{"1d-fixed", "2d-fixed"} {
		sp := petest.Spec{Scheme: scheme, DModel: 160, Positions: pe.Grid(4, 4)}
		x := petest.Array{Shape: []int{1, 4, 16, 160}}
		for i := range 4 * 16 * 160 {
			x.Values = append(x.Values, 3+math.Sin(float64(i))) // the sum is never zero: P >= -1
		}
		sp.Given = pe.Options{"fixed-pe-dropout": "0"}
		sum := petest.Embedded(sp.Model(t), 1, x, pe.Grid(4, 4))
		sp.Given = nil
		m := sp.Model(t)
		zeros := 0
		for i, v := range petest.Embedded(m, 1, x, pe.Grid(4, 4)).Values {
			if v == 0 {
				zeros++
			} else if math.Abs(v-sum.Values[i]/0.9) > 1e-12 {
				t.Fatalf("%s: element %d is %g, want %g/0.9", scheme, i, v, sum.Values[i])
			}
		}
		n := float64(len(x.Values))
		if five := 5 * math.Sqrt(n*0.1*0.9); math.Abs(float64(zeros)-0.1*n) > five {
			t.Errorf("%s: %d of %g elements dropped, want a tenth (within %.0f)", scheme, zeros, n, five)
		}
		sp.Fidelity = "text"
		for _, v := range petest.Embedded(sp.Model(t), 0, x, pe.Grid(4, 4)).Values {
			if v == 0 {
				t.Fatalf("%s drops elements in the text's reading", scheme)
			}
		}
	}
}

// TestSinusoidsOfOddWidth: the last column is a sine, that of the frequency D-1 in the exponent
// (Vaswani et al. 2017, with the cosine of the last pair left out, as in PyTorch code that fills
// cosines up to D-1); t2t has a 0 there (tensor2tensor's tf.pad).
func TestSinusoidsOfOddWidth(t *testing.T) {
	const n, d = 8, 7
	table := func(scheme string, given pe.Options, set map[string][]float64) petest.Array {
		sp := petest.Spec{Scheme: scheme, Layers: 1, DModel: d, Positions: pe.Line(n), Given: given, Set: set}
		return petest.Added(sp.Model(t), 0, pe.Line(n))
	}
	for layout, last := range map[string]float64{"interleaved": 6. / 7, "tutorial": 6. / 7, "t2t": math.Inf(1)} {
		got := table("1d-fixed", pe.Options{"sinusoid-layout": layout, "fixed-pe-dropout": "0"}, nil)
		for p := range n {
			if want := math.Sin(float64(p) * math.Pow(10000, -last)); math.Abs(got.Row(p)[d-1]-want) > 1e-15 {
				t.Errorf("%s: the last column of position %d is %g, want %g", layout, p, got.Row(p)[d-1], want)
			}
		}
	}
	plain := table("1d-fixed", pe.Options{"fixed-pe-dropout": "0"}, nil)
	petest.Near(t, "learn-waves of f_k = k", table("learn-waves", nil, map[string][]float64{"pe.index": {0, 1, 2, 3}}),
		plain, 1e-14)
}

// TestSinusoid2DOfOddHalves: with d_model 6 each coordinate has the sinusoid of width 3.
func TestSinusoid2DOfOddHalves(t *testing.T) {
	given := pe.Options{"fixed-pe-dropout": "0"}
	short := petest.Spec{Scheme: "1d-fixed", Layers: 1, DModel: 3, Positions: pe.Line(4), Given: given}
	line := petest.Added(short.Model(t), 0, pe.Line(4))
	got := petest.Added(petest.Spec{Scheme: "2d-fixed", Layers: 1, DModel: 6, Given: given}.Model(t), 0, pe.Grid(2, 4))
	for i := range 8 { // the column first
		want := slices.Concat(line.Row(i%4), line.Row(i/4))
		petest.Near(t, fmt.Sprint("token ", i), petest.Array{Shape: []int{6}, Values: got.Row(i)},
			petest.Array{Shape: []int{6}, Values: want}, 0)
	}
}
