package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLongRoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-longrope", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "5"),
			petest.Code("longrope-magnitude", "yarn"),
			petest.Code("longrope-magnitude", "1.5"), petest.Code("longrope-first", "4").Moving(),
			petest.Code("longrope-factors", "1,1.5,2,3").For(1),
			petest.Code("longrope-short", "1,1.1,1.2,1.3").For(1),
			petest.Code("longrope-stretch", "dynamic"),
			petest.Code("longrope-stretch", "dynamic", "rope-scale", "4", "rope-trained-tokens", "5"),
		),
		Refuse: []petest.Refusal{
			petest.Refuse("too few factors",
				petest.Spec{Given: pe.Options{"longrope-factors": "1,2"}}, "--longrope-factors",
				"2 numbers", "4 pairs"),
			petest.Refuse("a factor of 0",
				petest.Spec{Given: pe.Options{"longrope-factors": "1,2,0,1"}}, "--longrope-factors",
				`"0"`),
			petest.Refuse("too many short factors",
				petest.Spec{Given: pe.Options{"longrope-short": "1,1,1,1,1"}}, "--longrope-short",
				"5 numbers", "4 pairs"),
			petest.Refuse("a stretch of nothing",
				petest.Spec{Given: pe.Options{"longrope-stretch": "dynamic", "rope-scale": "1"}},
				"dynamic", "--rope-scale"),
			petest.Refuse("a factor below 0",
				petest.Spec{Given: pe.Options{"longrope-stretch": "dynamic", "rope-trained-tokens": "80",
					"longrope-factors": "1,2,3,4"}}, "dynamic", "8 tokens", "trained on 80"),
			petest.Refuse("the logarithm of one token",
				petest.Spec{Given: pe.Options{"rope-trained-tokens": "1"}}, "logarithm of 1",
				"--rope-trained-tokens"),
		},
	})
}

func init() {
	vectors["rope_longrope"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		lambda := commas(c.Param(t, "lambda").Values)
		policy := c.Text("policy", "su")
		if v, ok := c.Value("policy").(float64); ok {
			policy = fmt.Sprint(v)
		}
		longest, trained := c.Float("L_max", 0), c.Float("L_orig", 0)
		sp := rotarySpec(c, "rope-longrope", "half", "longrope-factors", lambda, "longrope-magnitude", policy,
			"rope-scale", fmt.Sprint(longest/trained), "rope-trained-tokens", fmt.Sprint(trained),
			"longrope-first", fmt.Sprint(c.Int("start_token_idx", 0)))
		if c.Bool("dynamic") {
			sp.Given["longrope-stretch"] = "dynamic"
		}
		return hfOutputs(t, c, sp)
	}
	vectors["rope_longrope_hf"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		trained := c.Float("L_orig", 0)
		scale, magnitude := c.Float("factor", 1), "su"
		if longest := c.Float("L_max", 0); longest != 0 {
			scale = longest / trained
		}
		if given := c.Float("attention_factor_given", 0); given != 0 {
			magnitude = fmt.Sprint(given)
		}
		return hfOutputs(t, c, rotarySpec(c, "rope-longrope", "half",
			"longrope-factors", commas(c.Floats("long_factor")), "longrope-short", commas(c.Floats("short_factor")),
			"longrope-magnitude", magnitude, "rope-scale", fmt.Sprint(max(scale, 1)),
			"rope-trained-tokens", fmt.Sprint(trained)))
	}
}

// commas writes numbers with commas between.
func commas(values []float64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ","), "[]")
}

// TestLongRoPEDynamic: at the trained length the stretch is none, at s times it is the factors
// given, and between in proportion (microsoft/LongRoPE, rope/longrope.py).
func TestLongRoPEDynamic(t *testing.T) {
	factors := []float64{1, 1.5, 2, 3}
	for tokens, part := range map[int]float64{4: 0, 8: 1. / 3, 12: 2. / 3, 16: 1} {
		m := petest.Spec{Scheme: "rope-longrope", Positions: pe.Line(tokens), Given: pe.Options{
			"longrope-stretch": "dynamic", "longrope-factors": commas(factors), "rope-scale": "4",
			"rope-trained-tokens": "4"}}.Model(t)
		for k, angle := range anglesAt(t, m, 1) {
			want := math.Pow(10000, -float64(k)/4) / (1 + (factors[k]-1)*part)
			if math.Abs(angle-want) > 1e-14 {
				t.Errorf("%d tokens, pair %d: frequency %g, want %g", tokens, k, angle, want)
			}
		}
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
