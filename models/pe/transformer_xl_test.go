package pe_test

import (
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestTransformerXL(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "transformer-xl", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("xl-direction", "bidirectional"), petest.Code("xl-table", "learned"),
			petest.Code("xl-keys", "free"),
			petest.Code("xl-scaled", "false"), petest.Code("xl-direction", "mirrored"),
			petest.Code("xl-direction", "bidirectional", "xl-keys", "free"),
			petest.Code("xl-direction", "bidirectional", "xl-table", "learned"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("free keys and a table",
				petest.Spec{Given: pe.Options{"xl-keys": "free", "xl-table": "learned"}},
				"--xl-table", "--xl-keys"),
			petest.Refuse("an odd width", petest.Spec{DModel: 9, Heads: 3}, "d_model 9 is odd"),
		},
	})
}

func init() { vectors["transformer_xl"] = only(transformerXLVector) }

// transformerXLVector: memory is tokens before the others; only the rows of the others are asked
// for.
func transformerXLVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	sp := petest.Spec{
		Scheme: "transformer-xl", Layers: 1, Heads: c.Int("heads", 1), Given: pe.Options{},
		Set: map[string][]float64{"pe.u": c.Param(t, "u").Values},
	}
	if c.Has("W_kR") { // DeepMind's: in both directions, without scale where the case says so, W to the right of R
		q, k := c.Input(t, "q"), c.Input(t, "k")
		sp.DModel, sp.Positions = q.Shape[1]*q.Shape[2], pe.Line(q.Shape[0])
		if sp.Given["xl-direction"] = "mirrored"; c.Text("offset", "j-i") == "i-j" {
			sp.Given["xl-direction"] = "bidirectional"
		}
		if c.Value("scaled") == false {
			sp.Given["xl-scaled"] = "false"
		}
		sp.Set["pe.v"], sp.Set["pe.keys"] = c.Param(t, "v").Values, transposed(c.Param(t, "W_kR")).Values
		return petest.Outputs{"logits": petest.HeadInputs{Q: q, K: k}.Attend(sp.Model(t), sp.Positions, false).Logits}
	}
	x := c.Input(t, "x")
	n, all := x.Shape[0], x
	if c.Has("memory") {
		all = petest.StackRows(c.Input(t, "memory"), x)
	}
	sp.DModel, sp.Positions = x.Shape[1], pe.Line(all.Shape[0])
	if c.Has("r_emb_by_distance") {
		sp.Given["xl-keys"] = "free"
		sp.Set["pe.vectors"], sp.Set["pe.terms"] = c.Param(t, "r_emb_by_distance").Values,
			c.Param(t, "r_bias_by_distance").Values
	} else {
		sp.Set["pe.v"], sp.Set["pe.keys"] = c.Param(t, "v").Values, c.Param(t, "r_net.weight").Values
		xlTable(t, c, &sp)
	}
	w := petest.Projections{QKV: c.Param(t, "qkv_net.weight"), Out: c.Param(t, "o_net.weight")}
	got := w.Attend(sp.Model(t), all, sp.Positions, false)
	out := petest.Outputs{"logits": lastRows(got.Logits, n)}
	if c.Has("weights") {
		out["weights"] = lastRows(got.Weights, n)
	}
	gain, bias := c.Param(t, "layer_norm.weight"), c.Param(t, "layer_norm.bias")
	if c.Has("layer_output_with_residual_and_layernorm") {
		out["layer_output_with_residual_and_layernorm"] = normalised(x, got.Output, gain.Values, bias.Values)
	}
	return out
}

// xlTable holds our sinusoids against a case's, or takes its trained table.
func xlTable(t testing.TB, c *petest.VectorCase, sp *petest.Spec) {
	t.Helper()
	table := c.Param(t, "R_by_distance")
	if !strings.HasPrefix(c.Text("R", ""), "sinusoid") {
		sp.Given["xl-table"], sp.Set["pe.table"] = "learned", table.Values
		return
	}
	ours, err := sp.Model(t).Params.Values("pe.table")
	if err != nil {
		t.Fatal(err)
	}
	petest.Near(t, "sinusoids", petest.Array{Shape: table.Shape, Values: ours}, table, 1e-13)
}

// lastRows returns the last n of the rows [H,N,M] of each head.
func lastRows(a petest.Array, n int) petest.Array {
	heads, rows, columns := a.Shape[0], a.Shape[1], a.Shape[2]
	out := petest.Array{Shape: []int{heads, n, columns}}
	for h := range heads {
		out.Values = append(out.Values, a.Row(h)[(rows-n)*columns:]...)
	}
	return out
}

// normalised returns the layer norm of x [N,D] plus the last N rows of y.
func normalised(x, y petest.Array, gain, bias []float64) petest.Array {
	out := petest.Array{Shape: x.Shape}
	d := float64(x.Shape[1])
	for i := range x.Shape[0] {
		sum, mean, variance := make([]float64, x.Shape[1]), 0.0, 0.0
		for j := range sum {
			sum[j] = x.Row(i)[j] + y.Row(y.Shape[0] - x.Shape[0] + i)[j]
			mean += sum[j] / d
		}
		for _, v := range sum {
			variance += (v - mean) * (v - mean) / d
		}
		for j, v := range sum {
			out.Values = append(out.Values, (v-mean)/math.Sqrt(variance+1e-5)*gain[j]+bias[j])
		}
	}
	return out
}
