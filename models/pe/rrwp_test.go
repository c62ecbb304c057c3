package pe_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRRWP(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rrwp",
		Variants: []petest.Variant{petest.Code("rrwp-steps", "3"), petest.Code("rrwp-identity", "false"),
			petest.Code("rrwp-distance", "true")},
	})
}

func init() { vectors["rrwp"] = rrwpVector }

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// rrwpVector: with the identity for C and for w, of as many heads as steps, what is added are M_ii and
// M_ij. The code files M_ij under the edge from j to i. Its degrees do not enter the scheme: they are
// sums of the weights here.
func rrwpVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	p, k := graphOf(t, c), c.Int("walk_length", 0)
	n, spd := p.Tokens(), c.Bool("spd")
	sp := petest.Spec{
		Scheme: "rrwp", Heads: k, DModel: k, Layers: 1, Positions: p,
		Set: map[string][]float64{"pe.pair-weight": identity(k)},
		Given: pe.Options{"rrwp-steps": fmt.Sprint(k), "rrwp-distance": fmt.Sprint(spd),
			"rrwp-identity": fmt.Sprint(c.Bool("add_identity"))},
	}
	if !spd {
		sp.Set["pe.weight"], sp.Set["pe.bias"] = identity(k), make([]float64, k)
	}
	m := sp.Model(t)
	bias := petest.AddedToLogits(m, 0, p) // [K,N,N]
	dense := petest.Array{Shape: []int{n, n, k}}
	index, values := petest.Array{Shape: []int{2, 0}}, petest.Array{Shape: []int{0, k}}
	var rows, columns []float64
	degrees := petest.Array{Shape: []int{n}}
	for i := range n {
		sum := 0.0
		for j := range n {
			sum += p.Graph.Weight(i, j)
			joined := false
			for step := range k {
				v := bias.Row(step)[i*n+j]
				dense.Values = append(dense.Values, v)
				joined = joined || v != 0
			}
			if joined {
				rows, columns = append(rows, float64(i)), append(columns, float64(j))
				values.Values = append(values.Values, dense.Values[len(dense.Values)-k:]...)
			}
		}
		degrees.Values = append(degrees.Values, math.Log1p(sum))
	}
	index.Shape[1], values.Shape[0], index.Values = len(rows), len(rows), append(columns, rows...)
	return petest.Outputs{"node_pe": petest.Added(m, 0, p), "pair_dense": dense, "pair_index": index,
		"pair_value": values, "log_deg": degrees}
}
