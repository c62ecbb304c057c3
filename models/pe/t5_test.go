package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestT5(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "t5", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("t5-direction", "causal"), petest.Code("t5-buckets", "8"),
			petest.Code("t5-buckets", "8", "t5-max-distance", "4"),
			petest.Code("t5-max-distance", "9"), petest.Code("t5-logit-scale", "none"),
		},
		// With 32 buckets 8 distances are told apart, and --t5-max-distance acts beyond: on a line
		// of 16.
		Positions: pe.Line(16), More: pe.Line(20), Apart: [2][]int{{0, 1, 2, 3, 4}, {3, 4, 5, 6, 7}},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd number of buckets",
				petest.Spec{Given: pe.Options{"t5-buckets": "7"}}, "--t5-buckets", "7 buckets",
				"even"),
			petest.Refuse("a distance that has a bucket",
				petest.Spec{Given: pe.Options{"t5-max-distance": "8"}}, "--t5-max-distance", "8"),
		},
	})
}

func init() { vectors["t5_bias"] = only(t5Vector) }

// bucketOptions are a case's buckets, as options of t5.
func bucketOptions(c *petest.VectorCase) pe.Options {
	direction := "bidirectional"
	if c.Value("bidirectional") == false {
		direction = "causal"
	}
	return pe.Options{
		"t5-direction": direction, "t5-buckets": fmt.Sprint(c.Int("num_buckets", 32)),
		"t5-max-distance": fmt.Sprint(c.Int("max_distance", 128)),
	}
}

// t5Vector reads buckets off a table that holds its own row numbers.
func t5Vector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	given, out := bucketOptions(c), petest.Outputs{}
	numbers := make([]float64, c.Int("num_buckets", 32))
	for i := range numbers {
		numbers[i] = float64(i)
	}
	buckets := func(n int) petest.Array {
		sp := petest.Spec{Scheme: "t5", Given: given, Layers: 1, DModel: 2, Positions: pe.Line(n),
			Set: map[string][]float64{"pe.table": numbers}}
		return petest.AddedToLogits(sp.Model(t), 0, sp.Positions).Reshaped(n, n)
	}
	if c.Has("relative_position_k_minus_q") {
		offsets := c.Input(t, "relative_position_k_minus_q")
		most := 0
		for _, v := range offsets.Values {
			most = max(most, int(v), -int(v))
		}
		all, found := buckets(most+1), petest.Array{Shape: offsets.Shape}
		for _, v := range offsets.Values {
			offset := int(v)
			found.Values = append(found.Values, all.Row(max(-offset, 0))[max(offset, 0)])
		}
		return petest.Outputs{"bucket": found}
	}
	n, heads := c.Int("n", 0), c.Int("heads", 1)
	if c.Has("bucket") {
		out["bucket"] = buckets(n)
	}
	sp := petest.Spec{
		Scheme: "t5", Given: given, Layers: 1, Heads: heads, DModel: 2 * heads, Positions: pe.Line(n),
		Set: map[string][]float64{"pe.table": c.Param(t, "table").Values},
	}
	out["bias"] = petest.AddedToLogits(sp.Model(t), 0, sp.Positions)
	return out
}
