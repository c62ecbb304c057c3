package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestALiBi(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "alibi", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("alibi", "symmetric"), petest.Code("alibi", "sided"), petest.Code("alibi-scaled", "true"),
			petest.Code("alibi", "euclidean"),
		},
		Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
	})
}

func init() {
	vectors["alibi"] = only(alibiVector)
	vectors["alibi_bidirectional"] = only(alibiBidirectionalVector)
	vectors["alibi_2d"] = alibi2DVector
}

// plainWeights reads the projections of a case whose code names them as the tutorial's does.
func plainWeights(t testing.TB, c *petest.VectorCase) petest.Projections {
	t.Helper()
	return petest.Projections{
		QKV: petest.StackRows(c.Param(t, "W_query.weight"), c.Param(t, "W_key.weight"), c.Param(t, "W_value.weight")),
		Out: c.Param(t, "out_proj.weight"), OutB: c.Param(t, "out_proj.bias"),
	}
}

// alibiVector: the authors' row m_h j is our last row, moved so that it starts at zero. The
// tutorial's code divides the bias too.
func alibiVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	heads := c.Int("heads", 1)
	sp := petest.Spec{Scheme: "alibi", Heads: heads, DModel: 2 * heads, Layers: 1}
	if c.Has("x") {
		x := c.Input(t, "x")
		w := plainWeights(t, c)
		sp.DModel, sp.Positions, sp.Given = x.Shape[1], pe.Line(x.Shape[0]), pe.Options{"alibi-scaled": "true"}
		got := w.Attend(sp.Model(t), x, sp.Positions, false)
		w.AttendInModel(t, sp, x, got)
		return petest.Outputs{"logits": got.Logits, "weights": got.Weights, "output": got.Output}
	}
	sp.Positions = pe.Line(c.Int("n", 2))
	m := sp.Model(t)
	slopes, err := m.Params.Values("pe.slopes")
	if err != nil {
		t.Fatal(err)
	}
	out := petest.Outputs{"slopes": petest.Array{Shape: []int{heads}, Values: slopes}}
	if !c.Has("bias") {
		return out
	}
	bias, n := petest.AddedToLogits(m, 0, sp.Positions), sp.Positions.Tokens()
	out["bias"] = bias
	row := petest.Array{Shape: []int{heads, n}}
	for h := range heads {
		last := bias.Row(h)[(n-1)*n:]
		for _, v := range last {
			row.Values = append(row.Values, v-last[0])
		}
	}
	out["official_row_bias"] = row
	return out
}

// alibiBidirectionalVector: the configuration does not say the form; whose code ran does.
func alibiBidirectionalVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	heads, form := c.Int("heads", 1), "symmetric"
	if c.SourceRepo == "google-deepmind/randomized_positional_encodings" {
		form = "sided"
	}
	sp := petest.Spec{
		Scheme: "alibi", Heads: heads, DModel: 2 * heads, Layers: 1,
		Positions: pe.Line(c.Int("n", 2)), Given: pe.Options{"alibi": form},
	}
	return petest.Outputs{"bias": petest.AddedToLogits(sp.Model(t), 0, sp.Positions)}
}

// alibi2DVector: patches of a square image, row after row.
func alibi2DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	heads, side := c.Int("heads", 1), c.Int("side", 0)
	sp := petest.Spec{
		Scheme: "alibi", Heads: heads, DModel: 2 * heads, Layers: 1,
		Positions: pe.Grid(side, side), Given: pe.Options{"alibi": "euclidean"},
	}
	return petest.Outputs{"bias": petest.AddedToLogits(sp.Model(t), 0, sp.Positions)}
}
