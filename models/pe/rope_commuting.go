package pe

import (
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

// The matrices of all coordinates commute, because each block of a head has one skew matrix, so
// logits depend only on differences of coordinates. The published code trains both triangles of a
// matrix, N(0, 1) at first, of which only the difference counts. That code has no licence, so the
// test compares with the formula.
var _ = Register(Scheme{Name: "comrope", Needs: NeedsPoints, MinHeadWidth: 2, Extrapolates: Always,
	New: newComRoPE},
	option("comrope", "ld", oneOf("ld", "ap"),
		"what rotates a block of comrope: all coordinates with trained factors (ld), or one coordinate, "+
			"alternating from block to block (ap)"),
	option("comrope-block", "8", whole(2, 1<<12),
		"dimensions of a block of comrope; a narrower head is one block"),
	option("comrope-range", "unit", oneOf("unit", "raw"),
		"coordinates of comrope from 0 to 1, in the middle of each step of 1, or as they are"),
	attentionBias, attentionInit)

func newComRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	built := c.Positions.byPlace(0)
	axes, g, all := len(built[0]), min(c.int("comrope-block"), c.HeadWidth()), c.is("comrope", "ld")
	blocks := c.HeadWidth() / g
	if !all && blocks < axes {
		return nil, fmt.Errorf("comrope: --comrope ap rotates a block by each of %d coordinates, but the head "+
			"width %d = %d/%d has %d of %d: give a smaller --comrope-block", axes, c.HeadWidth(), c.DModel,
			c.Heads, blocks, g)
	}
	flat := c.comropePlaces(built)
	places := ps.Add("pe.places", false, copied(flat), len(built), axes)
	skew := ps.Add("pe.skew", true, torchpe.Normal(0, math.Sqrt2), c.Layers, c.Heads, blocks, g*(g-1)/2)
	var weights *torchpe.Param // [E,L,A,Dh/g], or [E,1,A,Dh/g] of zeros and ones
	if all {
		weights = ps.Add("pe.factors", true, torchpe.Normal(0, 1), c.Layers, axes, blocks)
	} else {
		weights = ps.Add("pe.axes", false, computed(func(i int) float64 {
			return oneIf(i%blocks%axes == i/blocks)
		}), 1, axes, blocks)
	}
	// The largest singular value of an exponent at the start: that of a skew matrix of N(0, 2),
	// times coordinates with factors of four standard deviations. The series for normal matrices
	// needs no larger bound.
	most := 2 * math.Sqrt(2*float64(g)) * max(slices.Max(flat), -slices.Min(flat), 1)
	if all {
		most *= 4 * math.Sqrt(float64(axes))
	}
	halvings := int(math.Ceil(math.Log2(most)))
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		x := rowsAt(s, places.In(s), 1, p.placesIn(c.scheme, built)) // [E,N,A]
		u := triangle(skew.In(s), g)                                 // [E,L,H,Dh/g,g,g]
		matrices, n := u.Sub(u.Transpose(-1, -2)), p.Tokens()
		return turning(func(layer int) func(x torchpe.Tensor) torchpe.Tensor {
			byBlock := x.MatMul(layerOf(weights.In(s), layer).Squeeze(1)).Transpose(1, 2) // [E,Dh/g,N]
			byBlock = byBlock.Reshape(c.Members, 1, blocks, n, 1, 1)
			exponents := matrices.Select(1, layer).Unsqueeze(3).Mul(byBlock) // [E,H,Dh/g,N,g,g]
			h := liereHooks{turns: expOf(exponents, halvings).Unsqueeze(1)}
			return h.turned
		})
	}}, nil
}

// comropePlaces returns the coordinates of --comrope-range, token by token.
func (c Config) comropePlaces(points [][]float64) []float64 {
	flat := slices.Concat(points...)
	if c.is("comrope-range", "raw") {
		return flat
	}
	low, high := bounds(points)
	for i := range flat {
		axis := i % len(low)
		flat[i] = (flat[i] - low[axis] + 0.5) / (high[axis] - low[axis] + 1)
	}
	return flat
}
