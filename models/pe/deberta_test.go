package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestDeBERTa(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "deberta", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("deberta-offsets", "3"), petest.Code("deberta-offsets", "4/16"),
			petest.Code("deberta-terms", "c2p"),
			petest.Code("deberta-terms", "p2c"), petest.Code("deberta-projections", "content"),
			petest.Code("deberta-projections", "content", "deberta-terms", "c2p", "deberta-offsets", "4"),
		},
		Unfelt: []string{"pe.key.bias"},
		Refuse: []petest.Refusal{
			petest.Refuse("no offsets", petest.Spec{Given: pe.Options{"deberta-offsets": "0"}},
				"--deberta-offsets", `"0"`),
			petest.Refuse("too few buckets",
				petest.Spec{Given: pe.Options{"deberta-offsets": "2/16"}}, "--deberta-offsets",
				"at least 4"),
		},
	})
}

func init() { vectors["deberta"] = only(debertaVector) }

// debertaVector: with buckets the table has twice as many rows as there are buckets.
func debertaVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	most, number := c.Int("max_relative_positions", 512), c.Int("position_buckets", -1)
	if c.Has("relative_position_q_minus_k") {
		offsets := c.Input(t, "relative_position_q_minus_k")
		found := petest.Array{Shape: offsets.Shape}
		for _, v := range offsets.Values {
			found.Values = append(found.Values, float64(pe.DeBERTaBucket(int(v), number, most)))
		}
		return petest.Outputs{"bucket": found}
	}
	x := c.Input(t, "x")
	offsets := fmt.Sprint(most)
	if number > 0 {
		offsets = fmt.Sprintf("%d/%d", number, most)
	}
	sp := petest.Spec{
		Scheme: "deberta", Layers: 1, DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(x.Shape[0]),
		Given: pe.Options{"deberta-offsets": offsets, "deberta-terms": "both", "deberta-projections": "own"},
		Set:   map[string][]float64{"pe.table": c.Input(t, "rel_embeddings_P").Values},
	}
	if terms := c.Text("pos_att_type", "c2p|p2c"); !strings.Contains(terms, "|") {
		sp.Given["deberta-terms"] = terms
	}
	if c.Bool("share_att_key") {
		sp.Given["deberta-projections"] = "content"
	}
	for ours, theirs := range map[string]string{"key": "pos_key_proj", "query": "pos_query_proj"} {
		if c.Has(theirs + ".weight") {
			sp.Set["pe."+ours+".weight"] = c.Param(t, theirs+".weight").Values
			sp.Set["pe."+ours+".bias"] = c.Param(t, theirs+".bias").Values
		}
	}
	w := petest.Projections{
		QKV: petest.StackRows(c.Param(t, "query_proj.weight"), c.Param(t, "key_proj.weight"),
			c.Param(t, "value_proj.weight")),
		QKVB: petest.StackRows(c.Param(t, "query_proj.bias"), c.Param(t, "key_proj.bias"),
			c.Param(t, "value_proj.bias")),
	}
	got := w.Attend(sp.Model(t), x, sp.Positions, false)
	out := petest.Outputs{"logits": got.Logits, "logits_minus_row_max": lessLargest(got.Logits),
		"weights": got.Weights, "output": got.Output}
	if c.Has("delta") {
		out["delta"] = deltas(t, offsets, x.Shape[0])
	}
	return out
}

// lessLargest takes from each row its largest entry.
func lessLargest(a petest.Array) petest.Array {
	n := a.Shape[len(a.Shape)-1]
	out := petest.Array{Shape: a.Shape}
	for i := 0; i < len(a.Values); i += n {
		most := math.Inf(-1)
		for _, v := range a.Values[i : i+n] {
			most = max(most, v)
		}
		for _, v := range a.Values[i : i+n] {
			out.Values = append(out.Values, v-most)
		}
	}
	return out
}

// deltas reads the rows that are looked up for n tokens off a table of one column that holds their
// numbers.
func deltas(t testing.TB, offsets string, n int) petest.Array {
	span := 0
	if _, err := fmt.Sscan(strings.Split(offsets, "/")[0], &span); err != nil {
		t.Fatal(err)
	}
	m := petest.Spec{
		Scheme: "deberta", Layers: 1, DModel: 1, Positions: pe.Line(n),
		Given: pe.Options{"deberta-offsets": offsets, "deberta-terms": "c2p"},
		Set:   map[string][]float64{"pe.table": count(2*span, 1), "pe.key.weight": {1}, "pe.key.bias": {0}},
	}.Model(t)
	q, k := petest.Array{Shape: []int{n, 1}}, petest.Array{Shape: []int{n, 1}, Values: make([]float64, n)}
	for range n {
		q.Values = append(q.Values, math.Sqrt2) // times 1/sqrt(2 Dh)
	}
	return petest.HeadInputs{Q: q, K: k}.Attend(m, pe.Line(n), false).Logits.Reshaped(n, n)
}
