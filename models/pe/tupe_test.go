package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestTUPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "tupe", Shift: petest.Moved,
		Variants: []petest.Variant{
			petest.Code("tupe-projection", "plain"), petest.Code("tupe-buckets", "4/5"),
			petest.Code("tupe-class-token", "first"),
			petest.Text("tupe-buckets", "8/16", "tupe-class-token", "first"),
		},
		Constant: []string{"pe.norm.weight", "pe.norm.bias"}, Unfelt: []string{"pe.key.bias"},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd number of buckets",
				petest.Spec{Given: pe.Options{"tupe-buckets": "7/16"}}, "--tupe-buckets",
				"7 buckets"),
			petest.Refuse("buckets without a distance",
				petest.Spec{Given: pe.Options{"tupe-buckets": "32"}}, "--tupe-buckets", `"32"`,
				"32/128"),
		},
	})
}

func init() { vectors["tupe"] = only(tupeVector) }

// tupeVector: the code has a class token in the first place.
func tupeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	sp := petest.Spec{
		Scheme: "tupe", Layers: 1, Heads: c.Int("heads", 1), DModel: c.Int("d_model", 0),
		Positions: pe.Line(c.Int("n", 0)),
		Given:     pe.Options{"tupe-projection": "normed", "tupe-class-token": "first"}, Set: map[string][]float64{},
	}
	if c.Bool("rel_pos") {
		sp.Given["tupe-buckets"] = fmt.Sprintf("%d/%d", c.Int("rel_pos_bins", 32), c.Int("max_rel_pos", 128))
		sp.Set["pe.relative"] = c.Param(t, "relative_attention_bias.weight").Values
	}
	table := c.Param(t, "pos.weight")
	sp.Set["pe.table"] = table.Values[:(sp.Positions.Tokens()+1)*table.Shape[1]] // it may be one for more tokens
	for ours, theirs := range map[string]string{
		"norm.weight": "pos_ln.weight", "norm.bias": "pos_ln.bias",
		"query.weight": "pos_q_linear.weight", "query.bias": "pos_q_linear.bias",
		"key.weight": "pos_k_linear.weight", "key.bias": "pos_k_linear.bias",
	} {
		sp.Set["pe."+ours] = c.Param(t, theirs).Values
	}
	return petest.Outputs{"bias": petest.AddedToLogits(sp.Model(t), 0, sp.Positions)}
}
