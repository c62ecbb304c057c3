package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestNoPE(t *testing.T) { petest.Run(t, petest.Case{Scheme: "nope", Shift: petest.Unmoved}) }

// attentionOf reads the projections of PyTorch's MultiheadAttention or of the published code's
// CausalSelfAttention.
func attentionOf(t testing.TB, c *petest.VectorCase) petest.Projections {
	t.Helper()
	if c.Has("c_attn.weight") {
		return petest.Projections{QKV: c.Param(t, "c_attn.weight"), Out: c.Param(t, "c_proj.weight")}
	}
	return petest.Projections{
		QKV: c.Param(t, "in_proj_weight"), QKVB: c.Param(t, "in_proj_bias"),
		Out: c.Param(t, "out_proj.weight"), OutB: c.Param(t, "out_proj.bias"),
	}
}

func init() { vectors["nope"] = nopeVector }

// nopeVector runs nope, or c-nope where the case is causal: among these is the published code's
// temperature of 0.01. What is around the attention in the model is held against the case too.
func nopeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, w := c.Input(t, "x"), attentionOf(t, c)
	sp := petest.Spec{Scheme: "nope", DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(x.Shape[0])}
	if c.Bool("causal") || c.Has("c_attn.weight") {
		sp.Scheme, sp.Given = "c-nope", pe.Options{
			"c-nope-temperature": fmt.Sprint(c.Float("temperature", 1)),
			"attention-bias":     fmt.Sprint(w.QKVB.Values != nil),
		}
	}
	m := sp.Model(t)
	got := w.Attend(m, x, sp.Positions, false)
	w.AttendInModel(t, sp, x, got)
	out := petest.Outputs{"weights": got.Weights, "output": got.Output}
	if c.Has("x_permuted") {
		permuted := w.Attend(m, c.Input(t, "x_permuted"), sp.Positions, false)
		out["output_of_permuted"] = permuted.Output
	}
	return out
}
