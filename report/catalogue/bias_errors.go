package catalogue

import (
	"cmp"
	"math"
	"slices"
)

// slopeErrors lists errors with the slopes of ALiBi, which exclude each other.
var slopeErrors = []choice{
	bySlopes("slopes 2^(-8h/H) for any number of heads H (no power of two)", slopesFrom(1)),
	bySlopes("slopes off by one (2^(-8h/H) from h = 0)", slopesFrom(0)),
	bySlopes("slopes sorted (those of the next power of two not at the end)", func(slopes []float64) {
		slices.SortFunc(slopes, func(a, b float64) int { return cmp.Compare(b, a) })
	}),
}

// bySlopes returns the choice that changes the slopes of ALiBi, one per head.
func bySlopes(phrase string, change func(slopes []float64)) choice {
	return byParameters(phrase, func(i *Instance) error {
		tables, err := tablesOf(i, "pe.slopes")
		if err != nil || tables["pe.slopes"] == nil {
			return errNoEffect
		}
		change(tables["pe.slopes"])
		return i.params.Set("pe.slopes", tables["pe.slopes"])
	})
}

// slopesFrom sets slopes to 2^(-8h/H) of H heads, counted from h = first.
func slopesFrom(first int) func([]float64) {
	return func(slopes []float64) {
		for h := range slopes {
			slopes[h] = math.Pow(2, -8*float64(h+first)/float64(len(slopes)))
		}
	}
}

// biasErrors returns axes for errors in a bias on the logits.
func (c Check) biasErrors() []axis {
	adding := func(phrase, scheme string, added addition) choice {
		return byTrial(phrase, func(t *trial) error {
			if c.Scheme.Name != scheme {
				return errNoEffect
			}
			t.added = added
			return nil
		})
	}
	anyRows := byTrial("a constant is added for each query, which the softmax removes", func(t *trial) error {
		if t.anyRows = c.Given.output(kindBias) != nil || c.Given.output(kindLogits) != nil; !t.anyRows {
			return errNoEffect
		}
		return nil
	})
	anyRows.fitted = true
	return []axis{append(axis{{}}, slopeErrors...), {{},
		adding("adds m_h j instead of -m_h (i - j), the same after the softmax", "alibi", addedOfQuery),
		adding("one bucket per distance up to the last, instead of logarithmic ones", "t5", linearBuckets),
		anyRows,
	}}
}

// addedOfQuery returns m_h i, which ALiBi's own code adds to the logits of query i.
func addedOfQuery(in *Instance) (func(h, i, j int) float64, error) {
	tables, err := tablesOf(in, "pe.slopes")
	if err != nil || in.options["alibi"] != "causal" {
		return nil, errNoEffect
	}
	scale := 1.0
	if in.options["alibi-scaled"] == "true" {
		scale = 1 / math.Sqrt(float64(in.Setting.headWidth()))
	}
	return func(h, i, _ int) float64 {
		return scale * tables["pe.slopes"][h] * float64(in.Positions.Index[i])
	}, nil
}

// linearBuckets returns T5's bias with one bucket per distance minus its usual bias.
func linearBuckets(in *Instance) (func(h, i, j int) float64, error) {
	table, err := in.params.Values("pe.table") // [1,buckets,H]
	if err != nil {
		return nil, err
	}
	bias, _, err := in.Values(Want{Kind: kindBias})
	if err != nil {
		return nil, err
	}
	heads, n := in.Setting.Heads, in.Positions.Tokens()
	side := in.options.Int("t5-buckets")
	both := in.options["t5-direction"] == "bidirectional"
	if both {
		side /= 2
	}
	return func(h, i, j int) float64 {
		offset, first := in.Positions.Index[j]-in.Positions.Index[i], 0
		distance := max(-offset, 0)
		if both && offset > 0 {
			first, distance = side, offset
		}
		bucket := first + min(distance, side-1)
		return table[bucket*heads+h] - bias.Data[(h*n+i)*n+j]
	}, nil
}
