// t5: one trained number for each bucket of offsets and each head, added to the logits (Raffel et
// al. 2020, section 2.1).
//
//	logits_ij = q_i k_j / sqrt(Dh) + B_{bucket(j-i), h}
//
// Buckets hold one offset each up to a distance m, then offsets of logarithmically growing ranges
// up to a largest distance, and all beyond it. In both directions half of the buckets is for keys
// after the query; in the causal form all are for keys before it. All layers share the table.
//
// T5's code does not divide q k by sqrt(Dh): its initial queries are smaller by as much.
// Projections here start as those of other schemes, so the division stays unless --t5-logit-scale
// none says otherwise. Logarithms are rounded to float32, as in every public code: some offsets lie
// just on the border of two buckets.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	t5Direction = Option{Name: "t5-direction", Default: "bidirectional",
		Check: oneOf("bidirectional", "causal"),
		Help:  "buckets of t5 for keys on both sides (encoder), or before the query only (decoder)"}
	t5Buckets = Option{Name: "t5-buckets", Default: "32", Check: whole(2, 1<<20),
		Help: "number of buckets of offsets of t5"}
	t5MaxDistance = Option{Name: "t5-max-distance", Default: "128", Check: whole(2, 1<<30),
		Help: "distance from which on all offsets share the last bucket of t5"}
	t5Scale = Option{Name: "t5-logit-scale", Default: "sqrt", Check: oneOf("sqrt", "none"),
		Help: "whether t5 divides q k by sqrt(Dh), which its own code leaves to smaller " +
			"initial queries"}
)

func init() {
	Register(Scheme{
		Name:         "t5",
		Extrapolates: Always,
		Options:      []Option{t5Direction, t5Buckets, t5MaxDistance, t5Scale},
		New:          newT5,
	})
}

type t5 struct {
	atLogits
	table   *torchpe.Param // [E,1,buckets,H]
	buckets buckets
	scale   float64
}

func newT5(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	b := buckets{c.Options.Int(t5Buckets.Name), c.Options.Int(t5MaxDistance.Name),
		c.Options.Text(t5Direction.Name) == "bidirectional"}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("t5: --t5-buckets, --t5-max-distance: %w", err)
	}
	e := &t5{buckets: b}
	if c.Options.Text(t5Scale.Name) == "none" {
		e.scale = 1
	}
	draw := torchpe.Normal(0, 1/math.Sqrt(float64(c.DModel)))
	e.table = ps.Add("pe.table", true, draw, 1, b.number, c.Heads)
	return e, nil
}

func (e *t5) Attention() Attention {
	a := attentionWithMask(!e.buckets.bidirectional)
	a.Scale = e.scale
	return a
}

func (e *t5) Begin(s *torchpe.Scope, p Positions) Hooks {
	index := pairs(p.Index, func(i, j int) int { return e.buckets.of(j - i) })
	return biasHooks{bias: biasOf(s, e.table.In(s), index, p.Tokens())}
}
