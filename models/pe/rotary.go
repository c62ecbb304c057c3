// Rotation of pairs of dimensions, which the rope schemes and xpos share.

package pe

import (
	"fmt"
	"math"
	"strconv"

	"torchpe/torchpe"
)

var (
	ropeBase = Option{Name: "rope-base", Default: "10000", Check: number(1, math.Inf(1)),
		Help: "base of the rotation frequencies"}
	ropeLayout = Option{Name: "rope-layout", Default: "interleaved",
		Check: oneOf("interleaved", "half"),
		Help:  "which dimensions are turned together: 2k and 2k+1, or k and k+r/2 (half)"}
	ropeDims = Option{Name: "rope-dims", Default: "all", Check: allOrEven,
		Help: "how many dimensions of a head are turned: all, or an even number; the rest stay as " +
			"they are"}
	ropeProportion = Option{Name: "rope-proportion", Default: "1", Check: positiveUpTo(1),
		Help: "share of the pairs that are turned, the fastest first (p-RoPE); the rest stay as " +
			"they are"}
	ropeScale = Option{Name: "rope-scale", Default: "2", Check: number(1, 1e6),
		Help: "how many times longer than trained the sequence is; the base's factor alpha in " +
			"rope-ntk"}
	ropeTrained = Option{Name: "rope-trained-tokens", Default: "0", Check: whole(0, 1<<30),
		Help: "tokens that the rotation was trained on; with 0 a fixed --rope-scale (rope-pi, " +
			"rope-ntk), " +
			"or all tokens there are (rope-yarn, rope-longrope)"}
)

// turn returns the angle by which a pair of dimensions is rotated at a position, and the factors by
// which q and k are multiplied.
type turn func(position float64, pair int) (angle, q, k float64)

// plainTurn returns the angles of Su et al. over width dimensions.
func plainTurn(base float64, width int) turn {
	return func(p float64, pair int) (angle, q, k float64) {
		return p * math.Pow(base, -2*float64(pair)/float64(width)), 1, 1
	}
}

// allOrEven checks the number of dimensions that are turned.
func allOrEven(v string) error {
	if n, err := strconv.Atoi(v); v != "all" && (err != nil || n < 2 || n%2 != 0) {
		return fmt.Errorf("%q is neither all nor an even number of at least 2", v)
	}
	return nil
}

// turnedDims returns --rope-dims: the head width for all.
func (c Config) turnedDims() (int, error) {
	if c.Options.Text(ropeDims.Name) == "all" {
		return c.HeadWidth(), nil
	}
	dims := c.Options.Int(ropeDims.Name)
	if dims > c.HeadWidth() {
		return 0, fmt.Errorf("%s: --rope-dims %d is more than the head width %d = %d/%d",
			c.scheme, dims, c.HeadWidth(), c.DModel, c.Heads)
	}
	return dims, nil
}

// proportion returns the turn of --rope-proportion of the pairs of width dimensions.
func (c Config) proportion(t turn, width int) (turn, error) {
	share := c.Options.Float(ropeProportion.Name)
	kept := int(math.Floor(share * float64(width) / 2))
	if kept == 0 {
		return nil, fmt.Errorf("%s: --rope-proportion %g of %d pairs is not one pair: take at least %g",
			c.scheme, share, width/2, 2/float64(width))
	}
	return t.first(kept), nil
}

// first returns the turn that leaves all pairs but the first as they are.
func (t turn) first(kept int) turn {
	return func(p float64, pair int) (angle, q, k float64) {
		if angle, q, k = t(p, pair); pair >= kept {
			angle = 0
		}
		return angle, q, k
	}
}

// ntkBase returns the base that NTK-aware interpolation by alpha uses over width dimensions.
func ntkBase(base, alpha float64, width int) float64 {
	return base * math.Pow(alpha, float64(width)/float64(width-2))
}

// trainedTokens returns --rope-trained-tokens, or where it is 0 the number that the model was
// trained on.
func trainedTokens(c Config) float64 {
	if trained := c.Options.Float(ropeTrained.Name); trained > 0 {
		return trained
	}
	if c.Trained > 0 {
		return float64(c.Trained)
	}
	return float64(c.Positions.Tokens())
}

// oddHead returns the error of a head width that has no pairs.
func (c Config) oddHead() error {
	return fmt.Errorf("%s: the head width %d = %d/%d is odd; it turns pairs",
		c.scheme, c.HeadWidth(), c.DModel, c.Heads)
}

// rotary turns pairs of dimensions by fixed angles.
type rotary struct {
	None
	cos, sin   *torchpe.Param // [E,N,P] for P pairs
	kCos, kSin *torchpe.Param // those of keys, where they differ from those of queries
	width      int            // of a block of dimensions that are paired with each other
	half       bool
	attention  Attention
	rows       func(Positions) []int // the tables' row for each token
}

// newRotary returns the encoding that rotates the first width dimensions by the place on the line.
func newRotary(c Config, ps *torchpe.ParamSet, width int, turn turn) (*rotary, error) {
	if width%2 != 0 {
		return nil, c.oddHead()
	}
	from := c.Options.Float(positionsFrom.Name)
	r := c.rotaryTables(ps, c.Positions.Tokens(), width/2,
		func(row, pair int) (angle, q, k float64) { return turn(from+float64(row), pair) })
	r.width, r.rows = width, func(p Positions) []int { return p.Index }
	return r, nil
}

// rotaryTables declares the tables of rows x pairs. The caller sets width and rows of the
// result.
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
		half: c.Options.Text(ropeLayout.Name) == "half", attention: rotaryAttention(c),
	}
	r.kCos, r.kSin = r.cos, r.sin
	if !same {
		r.kCos, r.kSin = table("pe.key-cos", math.Cos, true), table("pe.key-sin", math.Sin, true)
	}
	return r
}

// rotaryAttention returns the attention around rotations: without biases in the code's reading.
func rotaryAttention(c Config) Attention {
	a := PlainAttention
	a.Bias = c.Options.Bool(attentionBias.Name)
	a.LinearInit = c.Options.Text(attentionInit.Name) == "linear"
	return a
}

func (r *rotary) Sites() Site { return AtQK }

func (r *rotary) Attention() Attention { return r.attention }

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

// rotation holds cosines and sines [E,1,1,N,P], multiplied by a factor where there is one.
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

// apply turns the first dimensions of x [E,B,H,N,Dh], in blocks of the given width. The dimensions
// beyond the 2P that have angles stay.
func (t rotation) apply(x torchpe.Tensor, width int, half bool) torchpe.Tensor {
	pairs, dh := t.cos.Size(-1), x.Size(-1)
	if !half {
		width = 2 * pairs // neighbours stay neighbours across blocks
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
