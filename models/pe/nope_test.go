package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestNoPE(t *testing.T) { petest.Run(t, petest.Case{Scheme: "nope", Shift: petest.Unmoved}) }

// attentionOf reads the projections of PyTorch's MultiheadAttention or of the published code's CausalSelfAttention.
func attentionOf(t *testing.T, c *petest.VectorCase) petest.Projections {
	t.Helper()
	if c.Has("c_attn.weight") {
		return petest.Projections{QKV: c.Param(t, "c_attn.weight"), Out: c.Param(t, "c_proj.weight")}
	}
	return petest.Projections{
		QKV: c.Param(t, "in_proj_weight"), QKVB: c.Param(t, "in_proj_bias"),
		Out: c.Param(t, "out_proj.weight"), OutB: c.Param(t, "out_proj.bias"),
	}
}

// TestNoPEVectors: the bidirectional cases of nope.json; the causal ones are c-nope's.
func TestNoPEVectors(t *testing.T) {
	petest.RunVectors(t, "nope", func(t *testing.T, c *petest.VectorCase) {
		if causalCase(c) {
			t.Skip("causal: see TestCausalNoPEVectors")
		}
		x, w := c.Input(t, "x"), attentionOf(t, c)
		sp := petest.Spec{Scheme: "nope", Heads: c.Int("heads", 1)}
		petest.AttendInModel(t, sp, x, w, c.Output(t, "weights"), c.Output(t, "output"))
		if !c.Has("x_permuted") {
			return
		}
		sp.DModel, sp.Positions = x.Shape[1], pe.Line(x.Shape[0])
		permuted := petest.Attend(sp.Model(t), c.Input(t, "x_permuted"), w, pe.Line(x.Shape[0]), false)
		c.Check(t, "output_of_permuted", permuted.Output)
	})
}

func causalCase(c *petest.VectorCase) bool {
	return c.Config["causal"] == true || c.Has("c_attn.weight")
}
