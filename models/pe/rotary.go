// Rotations of pairs of dimensions of queries and keys.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	ropeBase   = option("rope-base", "10000", between(1, math.Inf(1)), "base of the rotation frequencies")
	ropeLayout = option("rope-layout", "interleaved", oneOf("interleaved", "half"),
		"which dimensions are rotated together: 2k and 2k+1, or k and k+r/2 (half)")
)

// turn returns the angle by which a pair of dimensions is rotated at a position, and the factors of q and k.
type turn func(position float64, pair int) (angle, q, k float64)

// plainTurn returns the angles of Su et al. for width dimensions.
func plainTurn(base float64, width int) turn {
	return func(p float64, pair int) (angle, q, k float64) {
		return p * math.Pow(base, -2*float64(pair)/float64(width)), 1, 1
	}
}

// turnBy returns the angles for given frequencies, with q and k multiplied by a factor.
func turnBy(frequency []float64, factor float64) turn {
	return func(p float64, pair int) (angle, q, k float64) {
		return p * frequency[pair], factor, factor
	}
}

// first returns the turn of the first pairs only; the others stay unchanged.
func (t turn) first(kept int) turn {
	return func(p float64, pair int) (angle, q, k float64) {
		if angle, q, k = t(p, pair); pair >= kept {
			angle = 0
		}
		return angle, q, k
	}
}

// oddHead returns the error for an odd head width.
func (c Config) oddHead() error {
	return fmt.Errorf("%s: the head width %d = %d/%d is odd; pairs of dimensions are rotated",
		c.scheme, c.HeadWidth(), c.DModel, c.Heads)
}

// rotary rotates pairs of dimensions by fixed angles.
type rotary struct {
	None
	cos, sin   *torchpe.Param // [E,N,P] for P pairs
	kCos, kSin *torchpe.Param // those of keys, if they differ from those of queries
	width      int            // width of a block of dimensions that are paired with each other
	half       bool
	attention  Attention
	rows       func(Positions) []int // the tables' row for each token
}

// newRotary returns the encoding that rotates the first width dimensions by the place on the line.
func newRotary(c Config, ps *torchpe.ParamSet, width int, turn turn) (*rotary, error) {
	if width%2 != 0 {
		return nil, c.oddHead()
	}
	from := c.float("positions-from")
	r := c.rotaryTables(ps, c.Positions.Tokens(), width/2,
		func(row, pair int) (angle, q, k float64) { return turn(from+float64(row), pair) })
	r.width, r.rows = width, indexOf
	return r, nil
}

// newAxialRotary returns the encoding that gives each coordinate a block of pairs. built has the
// coordinates of the token at each place; coordinate returns those passed to turn.
func (c Config) newAxialRotary(ps *torchpe.ParamSet, built [][]float64, pairs int, turn turn,
	coordinate func(place, axis int) float64) *rotary {
	axes := len(built[0])
	r := c.rotaryTables(ps, len(built), axes*pairs, func(row, pair int) (angle, q, k float64) {
		return turn(coordinate(row, pair/pairs), pair%pairs)
	})
	r.width = 2 * pairs
	r.rows = func(p Positions) []int { return p.placesIn(c.scheme, built) }
	return r
}

// rotaryTables declares tables of rows x pairs. The caller sets width and rows of the result.
func (c Config) rotaryTables(ps *torchpe.ParamSet, rows, pairs int,
	turn func(row, pair int) (angle, q, k float64)) *rotary {
	same := true
	for row := range rows {
		_, q, k := turn(row, 0)
		same = same && q == k
	}
	table := func(name string, f func(float64) float64, keys bool) *torchpe.Param {
		return ps.Add(name, false, computed(func(i int) float64 {
			angle, q, k := turn(i/pairs, i%pairs)
			if keys {
				return f(angle) * k
			}
			return f(angle) * q
		}), rows, pairs)
	}
	r := &rotary{
		cos: table("pe.cos", math.Cos, false), sin: table("pe.sin", math.Sin, false),
		half: c.halves(), attention: rotaryAttention(c),
	}
	r.kCos, r.kSin = r.cos, r.sin
	if !same {
		r.kCos, r.kSin = table("pe.key-cos", math.Cos, true), table("pe.key-sin", math.Sin, true)
	}
	return r
}

// halves reports whether pairs are k and k+r/2. Schemes without the option set this themselves.
func (c Config) halves() bool { return c.Options[ropeLayout.Name] == "half" }

// rotaryAttention returns the attention of rotations: without biases in the code's reading.
func rotaryAttention(c Config) Attention {
	a := PlainAttention
	a.Bias = c.Options[attentionBias.Name] == "true"
	a.LinearInit = c.Options[attentionInit.Name] == "linear"
	return a
}

func (r *rotary) Sites(int) Site { return AtQK }

func (r *rotary) Attention(int) Attention { return r.attention }

func (r *rotary) Begin(s *torchpe.Scope, p Positions) Hooks {
	rows := r.rows(p)
	at := func(t *torchpe.Param) torchpe.Tensor { // [E,1,1,N,P]
		return rowsAt(s, t.In(s), 1, rows).Unsqueeze(1).Unsqueeze(1)
	}
	h := &rotaryHooks{q: rotation{at(r.cos), at(r.sin)}, width: r.width, half: r.half}
	if h.k = h.q; r.kCos != r.cos {
		h.k = rotation{at(r.kCos), at(r.kSin)}
	}
	return h
}

// rotation holds cosines and sines [E,1,1,N,P], times a factor if there is one.
type rotation struct{ cos, sin torchpe.Tensor }

type rotaryHooks struct {
	Identity
	q, k  rotation
	width int
	half  bool
}

func (h *rotaryHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return h.q.apply(a.Q, h.width, h.half), h.k.apply(a.K, h.width, h.half), a.V
}

// apply rotates the first dimensions of x [E,B,H,N,Dh], in blocks of the given width. The
// dimensions beyond the 2P that have angles stay unchanged.
func (t rotation) apply(x torchpe.Tensor, width int, half bool) torchpe.Tensor {
	pairs, dh := t.cos.Size(-1), x.Size(-1)
	if !half {
		width = 2 * pairs // adjacent pairs do not depend on blocks
	}
	if width == dh {
		return torchpe.RotatePairs(x, t.cos, t.sin, half)
	}
	var parts []torchpe.Tensor
	for at := 0; at < 2*pairs; at += width {
		cos, sin := t.cos.Narrow(-1, at/2, width/2), t.sin.Narrow(-1, at/2, width/2)
		parts = append(parts, torchpe.RotatePairs(x.Narrow(-1, at, width), cos, sin, half))
	}
	if rest := dh - 2*pairs; rest > 0 {
		parts = append(parts, x.Narrow(-1, 2*pairs, rest))
	}
	return torchpe.Cat(-1, parts...)
}

// turning returns hooks that apply a layer's map to both queries and keys [E,B,H,N,Dh].
func turning(ofLayer func(layer int) func(x torchpe.Tensor) torchpe.Tensor) Hooks {
	return qkvHooks{change: func(a Attn) (q, k, v torchpe.Tensor) {
		turned := ofLayer(a.Layer)
		return turned(a.Q), turned(a.K), a.V
	}}
}

// turningBy returns hooks that rotate pairs by cosines and sines of each layer [E,L,H,N,Dh/2].
func turningBy(cosines, sines torchpe.Tensor, half bool) Hooks {
	return turning(func(layer int) func(x torchpe.Tensor) torchpe.Tensor {
		cos, sin := layerOf(cosines, layer), layerOf(sines, layer)
		return func(x torchpe.Tensor) torchpe.Tensor { return torchpe.RotatePairs(x, cos, sin, half) }
	})
}
