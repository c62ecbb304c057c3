package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRelativeBias(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "relative-bias", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("relative-bias", "full").Moving(), petest.Code("relative-bias-scaled", "false"),
		},
	})
}

// The hybrid of the notes: rotated queries and keys, and a trained bias on their products.
func TestRoPEAndRelativeBias(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope+relative-bias", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("rope-dims", "2"), petest.Code("rope-proportion", "0.5"),
			petest.Code("relative-bias", "full").Moving(),
			petest.Code("relative-bias-scaled", "false"),
		),
	})
}

func init() {
	vectors["learned_relative_bias"] = relativeBiasVector
	vectors["rope_plus_learned_bias"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		n, d := c.Int("n", 0), c.Int("d", 0)
		sp := petest.Spec{
			Scheme: "rope+relative-bias", Layers: 1, DModel: d, Positions: pe.Line(n),
			Given: pe.Options{"relative-bias-scaled": "false"},
			Set:   map[string][]float64{"pe.relative-bias.bias": c.Param(t, "bias_table").Values},
		}
		in := petest.HeadInputs{Q: c.Input(t, "q"), K: c.Input(t, "k"), V: c.Input(t, "v")}
		got := in.Attend(sp.Model(t), sp.Positions, false)
		return petest.Outputs{"logits": got.Logits.Reshaped(n, n), "output": got.Output}
	}
}

// relativeBiasVector: Swin's table is [2n-1,H], ours [H,2n-1]; a case may have the whole matrix
// [H,n,n] and q and k [H,n,Dh].
func relativeBiasVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	n, heads := c.Int("n", 0), c.Int("heads", 1)
	sp := petest.Spec{
		Scheme: "relative-bias", Layers: 1, DModel: c.Int("d_model", 0), Heads: heads, Positions: pe.Line(n),
		Given: pe.Options{"relative-bias-scaled": fmt.Sprint(c.Bool("bias_scaled"))},
	}
	if c.Has("q") {
		sp.Given["relative-bias"] = "full"
		sp.Set = map[string][]float64{"pe.bias": c.Input(t, "bias").Values}
		in := petest.HeadInputs{Q: tokensFirst(c.Input(t, "q")), K: tokensFirst(c.Input(t, "k"))}
		got := in.Attend(sp.Model(t), sp.Positions, false)
		return petest.Outputs{"logits": got.Logits}
	}
	table := c.Param(t, "relative_position_bias_table")
	sp.Set = map[string][]float64{"pe.bias": transposed(table).Values}
	x, m := c.Input(t, "x"), sp.Model(t)
	c.Unused("proj.weight", "proj.bias") // after the heads are merged
	w := petest.Projections{QKV: c.Param(t, "qkv.weight"), QKVB: c.Param(t, "qkv.bias")}
	out := petest.Outputs{"logits": w.Attend(m, x, sp.Positions, false).Logits}
	if c.Outputs["bias"] != nil {
		out["bias"] = petest.AddedToLogits(m, 0, sp.Positions)
	}
	return out
}

// tokensFirst returns x [H,N,Dh] as [N,H,Dh].
func tokensFirst(x petest.Array) petest.Array {
	heads, n, dh := x.Shape[0], x.Shape[1], x.Shape[2]
	out := petest.Array{Shape: []int{n, heads, dh}}
	for i := range n {
		for h := range heads {
			out.Values = append(out.Values, x.Values[(h*n+i)*dh:(h*n+i+1)*dh]...)
		}
	}
	return out
}

// transposed returns x [R,C] as [C,R].
func transposed(x petest.Array) petest.Array {
	rows, columns := x.Shape[0], x.Shape[1]
	out := petest.Array{Shape: []int{columns, rows}}
	for j := range columns {
		for i := range rows {
			out.Values = append(out.Values, x.Values[i*columns+j])
		}
	}
	return out
}
