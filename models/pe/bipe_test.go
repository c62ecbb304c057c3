package pe_test

import (
	"fmt"
	"slices"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestBiPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "bipe",
		Variants: []petest.Variant{petest.Code("bipe", "alibi"), petest.Code("bipe-places", "3"),
			petest.Code("bipe-direction", "bidirectional"), petest.Code("rope-base", "100"),
			petest.Code("bipe", "alibi", "bipe-direction", "bidirectional")},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "bipe", "tokens on a grid"),
			petest.Refuse("odd heads", petest.Spec{DModel: 9, Heads: 3}, "head width 3", "odd"),
		},
	})
}

func init() { vectors["bipe"] = bipeVector }

// bipeVector: the sizes of the case's embedding and of its heads do not belong to one model. The code's
// row m s_j of a query is ours less what it has for the first key, whose segment is 0.
func bipeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, q, k := c.Input(t, "x"), c.Input(t, "q"), c.Input(t, "k")
	table := c.Param(t, "embeds.0.weight")
	n, heads, d := x.Shape[0], q.Shape[1], q.Shape[1]*q.Shape[2]
	var tokens, separators []int
	for _, id := range c.Input(t, "token_ids").Values {
		tokens = append(tokens, int(id))
	}
	for _, id := range c.Floats("separators") {
		separators = append(separators, int(id))
	}
	if factor := c.Int("alibi_factor", 96); factor != 96 {
		t.Fatalf("alibi_factor %d: ours is 96", factor)
	}
	p := segmentsOf(tokens, separators...)
	places := fmt.Sprint(c.Int("train_scale", 0))
	sp := petest.Spec{Scheme: "bipe", Layers: 1, DModel: x.Shape[1], Positions: p,
		Given: pe.Options{"bipe": "alibi", "bipe-places": places}, Set: map[string][]float64{"pe.table": table.Values}}
	embedded := petest.Embedded(sp.Model(t), 0, x.Reshaped(1, 1, n, x.Shape[1]), p).Reshaped(x.Shape...)
	sp.Set["pe.table"] = count(table.Shape[0], x.Shape[1]) // the row's number in the first column
	out := petest.Outputs{"x_plus_intra": embedded, "intra": {Shape: []int{n}}, "inter": {Shape: []int{n}}}
	numbers := petest.Added(sp.Model(t), 0, p)
	intra, inter := out["intra"], out["inter"]
	for i := range n {
		intra.Values = append(intra.Values, numbers.Row(i)[0])
		inter.Values = append(inter.Values, float64(p.Cells[i][0]))
	}
	out["intra"], out["inter"] = intra, inter
	sp.Heads, sp.DModel, sp.Set = heads, d, nil
	bias := petest.AddedToLogits(sp.Model(t), 0, p)
	for row := 0; row < len(bias.Values); row += n {
		for j := n - 1; j >= 0; j-- {
			bias.Values[row+j] -= bias.Values[row]
		}
	}
	sp.Given = pe.Options{"bipe-places": places, "rope-base": format(c.Float("base", 10000))}
	got := petest.HeadInputs{Q: q, K: k}.Attend(sp.Model(t), p, false)
	out["alibi_bias"], out["q_rot"], out["k_rot"], out["logits_rope"] = bias, got.Q, got.K, got.Logits
	return out
}

// segmentsOf returns the positions of a text's tokens in segments that end with a separator: cells
// {segment, place in it}.
func segmentsOf(tokens []int, separators ...int) pe.Positions {
	p := pe.Line(len(tokens))
	segment, place := 0, 0
	for _, token := range tokens {
		p.Cells = append(p.Cells, [2]int{segment, place})
		if place++; slices.Contains(separators, token) {
			segment, place = segment+1, 0
		}
	}
	return p
}
