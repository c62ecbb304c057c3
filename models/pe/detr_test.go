package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestDETR(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme:   "detr",
		Variants: []petest.Variant{petest.Code("detr-table", "sine"), petest.Text("detr-table", "learned")},
		Refuse: []petest.Refusal{
			petest.Refuse("a width that is not divisible by 4", petest.Spec{DModel: 6}, "detr", "d_model 6", "4"),
			petest.Refuse("halves of an odd width",
				petest.Spec{DModel: 7, Given: pe.Options{"detr-table": "learned"}}, "detr",
				"d_model 7"),
			petest.Refuse("tokens on no grid", petest.Spec{Positions: pe.Line(8)}, "detr", "grid"),
		},
	})
}

// detrSees returns what detr makes of queries where the input is zero, the projections are the
// identity and have biases: the table.
func detrSees(t testing.TB, d int, grid pe.Positions, normalise bool) petest.Array {
	t.Helper()
	table := map[bool]string{true: "normalised", false: "sine"}[normalise]
	m := petest.Spec{Scheme: "detr", Layers: 1, DModel: d, Positions: grid,
		Given: pe.Options{"detr-table": table}}.Model(t)
	n := grid.Tokens()
	one := petest.Array{Shape: []int{d, d}, Values: identity(d)}
	bias := petest.Array{Shape: []int{3 * d}}
	for i := range 3 * d {
		bias.Values = append(bias.Values, float64(i))
	}
	x := petest.Array{Shape: []int{n, d}, Values: make([]float64, n*d)}
	got := petest.Projections{QKV: petest.StackRows(one, one, one), QKVB: bias}.Attend(m, x, grid, false)
	q := got.Q.Reshaped(n, d)
	for i := range q.Values {
		q.Values[i] -= float64(i % d)
	}
	k := got.K.Reshaped(n, d)
	for i := range k.Values {
		k.Values[i] -= float64(d + i%d)
	}
	petest.Near(t, "the table that keys see", k, q, 1e-12)
	for i, v := range got.Output.Values { // weights sum to 1, values are their bias
		if want := float64(2*d + i%d); v < want-1e-12 || v > want+1e-12 {
			t.Fatalf("output %d is %g, want the bias %g: values see positions", i, v, want)
		}
	}
	return q
}

// TestDETRLearned: the learned tables start with U(0, 1).
func TestDETRLearned(t *testing.T) {
	m := petest.Spec{Scheme: "detr", Given: pe.Options{"detr-table": "learned"}}.Model(t)
	for _, name := range []string{"pe.row", "pe.column"} {
		values, err := m.Params.Values(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if v < 0 || v >= 1 {
				t.Errorf("%s starts with %s, want U(0, 1)", name, fmt.Sprint(v))
			}
		}
	}
}
