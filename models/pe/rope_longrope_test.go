package pe_test

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLongRoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-longrope", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "5"), petest.Code("longrope-magnitude", "yarn"),
			petest.Code("longrope-magnitude", "1.5"), petest.Code("longrope-first", "4").Moving(),
			petest.Code("longrope-factors", "1,1.5,2,3").For(1),
		),
		Refuse: []petest.Refusal{
			petest.Refuse("too few factors", petest.Spec{Given: pe.Options{"longrope-factors": "1,2"}}, "--longrope-factors", "2 numbers", "4 pairs"),
			petest.Refuse("a factor of 0", petest.Spec{Given: pe.Options{"longrope-factors": "1,2,0,1"}}, "--longrope-factors", `"0"`),
			petest.Refuse("the logarithm of one token", petest.Spec{Given: pe.Options{"rope-trained-tokens": "1"}}, "logarithm of 1", "--rope-trained-tokens"),
		},
	})
}

func init() {
	vectors["rope_longrope"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		lambda := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.Param(t, "lambda").Values)), ","), "[]")
		policy := c.Text("policy", "su")
		if v, ok := c.Value("policy").(float64); ok {
			policy = fmt.Sprint(v)
		}
		longest, trained := c.Float("L_max", 0), c.Float("L_orig", 0)
		sp := rotarySpec(c, "rope-longrope", "half", "longrope-factors", lambda, "longrope-magnitude", policy,
			"rope-scale", fmt.Sprint(longest/trained), "rope-trained-tokens", fmt.Sprint(trained), "longrope-first", fmt.Sprint(c.Int("start_token_idx", 0)))
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}

// TestLongRoPEAuto: without a search the stretch is that of rope-ntk.
func TestLongRoPEAuto(t *testing.T) {
	q, k := wave(8, 1, 8, 0), wave(8, 1, 8, 1)
	long := petest.Spec{Scheme: "rope-longrope", Given: pe.Options{"longrope-magnitude": "1"}}.Model(t)
	got, _ := rotated(long, q, k, pe.Line(8))
	want, _ := rotated(petest.Spec{Scheme: "rope-ntk"}.Model(t), q, k, pe.Line(8))
	petest.Near(t, "turned", got, want, 1e-12)
}
