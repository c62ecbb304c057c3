package pe_test

import (
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestString(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "string", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
	})
}

// TestStringExponential: queries are exp(sum_a (C_a - C_a^T) r_a) q, with the exponential summed as a
// series, for heads of even and odd width on a grid.
func TestStringExponential(t *testing.T) {
	for _, d := range []int{3, 4, 7, 8} {
		const heads = 2
		p := petest.At(pe.Grid(3, 3), 4, 0, 8, 2, 6, 1)
		c, q := make([]float64, heads*2*d), petest.Array{Shape: []int{6, heads, d}}
		for i := range c {
			c[i] = 0.3 * math.Sin(1+float64(i)*1.3)
		}
		for i := range 6 * heads * d {
			q.Values = append(q.Values, math.Sin(3+float64(i)*0.7))
		}
		m := petest.Spec{Scheme: "string", Heads: heads, DModel: heads * d, Layers: 1, Positions: pe.Grid(3, 3),
			Set: map[string][]float64{"pe.c": c}}.Model(t)
		got := petest.HeadInputs{Q: q, K: q}.Attend(m, p, false)
		want := petest.Array{Shape: q.Shape}
		for i, cell := range p.Cells {
			for h := range heads {
				want.Values = append(want.Values, expSeries(func(a, b int) (sum float64) {
					for axis, r := range cell {
						of := c[(h*2+axis)*d:]
						sum += float64(r) * (of[(a-b+d)%d] - of[(b-a+d)%d])
					}
					return sum
				}, q.Row(i)[h*d:(h+1)*d])...)
			}
		}
		petest.Near(t, "queries", got.Q, want, 1e-12)
		petest.Near(t, "keys", got.K, want, 1e-12)
	}
}

// expSeries returns exp(m) x as the sum of m^n x / n!.
func expSeries(m func(a, b int) float64, x []float64) []float64 {
	sum, term := append([]float64(nil), x...), append([]float64(nil), x...)
	for n := 1; n < 80; n++ {
		next := make([]float64, len(x))
		for a := range next {
			for b := range term {
				next[a] += m(a, b) * term[b] / float64(n)
			}
		}
		for a := range sum {
			sum[a] += next[a]
		}
		term = next
	}
	return sum
}
