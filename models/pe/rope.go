// rope: rotary encoding (Su et al. 2021, RoFormer, section 3.2; appendix A.1 of the paper).
//
//	(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/r);  k likewise
//
// on the first r dimensions of queries and keys of every head, r = Dh unless --rope-dims says otherwise (GPT-NeoX). With --rope-layout
// half the pairs are (q_k, q_k+r/2), as in GPT-NeoX and Hugging Face's Llama: the same up to the order of dimensions. The published
// code's projections have no biases; its positions start at 0.

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
	ropeLayout = Option{Name: "rope-layout", Default: "interleaved", Check: oneOf("interleaved", "half"),
		Help: "which dimensions are turned together: 2k and 2k+1, or k and k+r/2 (half)"}
	ropeDims = Option{Name: "rope-dims", Default: "all", Check: allOrEven,
		Help: "how many dimensions of a head are turned: all, or an even number; the rest stay as they are"}
)

func init() {
	Register(Scheme{
		Name:    "rope",
		Summary: "rotation of queries and keys by the token's place",
		Title:   "RoFormer: Enhanced Transformer with Rotary Position Embedding", Year: 2021,
		Reference: "Su et al. 2021, arXiv 2104.09864",
		Formula:   "(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/Dh);  k likewise", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true, Printed: true},
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeDims, attentionBias, attentionInit},
		New:     newRoPE,
	})
}

// allOrEven checks the number of dimensions that are turned.
func allOrEven(v string) error {
	if n, err := strconv.Atoi(v); v != "all" && (err != nil || n < 2 || n%2 != 0) {
		return fmt.Errorf("%q is neither all nor an even number of at least 2", v)
	}
	return nil
}

func newRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims, base := c.HeadWidth(), c.Options.Float(ropeBase.Name)
	if v := c.Options.Text(ropeDims.Name); v != "all" {
		if dims = c.Options.Int(ropeDims.Name); dims > c.HeadWidth() {
			return nil, fmt.Errorf("rope: --rope-dims %d is more than the head width %d = %d/%d", dims, c.HeadWidth(), c.DModel, c.Heads)
		}
	}
	return newRotary(c, ps, rotary{name: "rope", width: dims, turn: plainTurn(base, dims)})
}

// rotary is what schemes that turn pairs by fixed angles differ in.
type rotary struct {
	name  string
	width int // dimensions of a block, which are paired with each other; 0 for the whole head
	// turn returns by which angle a pair is turned at a position, and by which factor q and k are multiplied.
	turn   func(position float64, pair int) (angle, q, k float64)
	causal bool
}

// plainTurn are the angles of Su et al. over width dimensions.
func plainTurn(base float64, width int) func(float64, int) (angle, q, k float64) {
	return func(p float64, pair int) (angle, q, k float64) {
		return p * math.Pow(base, -2*float64(pair)/float64(width)), 1, 1
	}
}

// rotated is an encoding that turns pairs of dimensions by fixed angles.
type rotated struct {
	None
	cos, sin   *torchpe.Param // [E,N,P] for P pairs
	kCos, kSin *torchpe.Param // those of keys, where they differ from those of queries
	width      int            // of a block; there are 2P/width blocks, and what is left of a head is not turned
	half       bool
	attention  Attention
	rows       func(Positions) []int // the tables' row for each token
}

// newRotary makes the encoding of one block of dimensions, turned by the place on the line.
func newRotary(c Config, ps *torchpe.ParamSet, r rotary) (Encoding, error) {
	if r.width == 0 {
		r.width = c.HeadWidth()
	}
	if r.width%2 != 0 {
		return nil, fmt.Errorf("%s: the head width %d = %d/%d is odd; it turns pairs", r.name, c.HeadWidth(), c.DModel, c.Heads)
	}
	from := c.Options.Float(positionsFrom.Name)
	e := rotatedBy(c, ps, c.Positions.Tokens(), r.width/2, func(row, pair int) (angle, q, k float64) {
		return r.turn(from+float64(row), pair)
	})
	e.width, e.rows = r.width, func(p Positions) []int { return p.Index }
	e.attention.Causal = r.causal
	return e, nil
}

// rotatedBy declares the tables of rows x pairs.
func rotatedBy(c Config, ps *torchpe.ParamSet, rows, pairs int, turn func(row, pair int) (angle, q, k float64)) *rotated {
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
	e := &rotated{
		cos: table("pe.cos", math.Cos, false), sin: table("pe.sin", math.Sin, false),
		half: c.Options.Text(ropeLayout.Name) == "half", attention: rotaryAttention(c),
	}
	e.kCos, e.kSin = e.cos, e.sin
	if !same {
		e.kCos, e.kSin = table("pe.key-cos", math.Cos, true), table("pe.key-sin", math.Sin, true)
	}
	return e
}

// rotaryAttention is the attention around schemes that turn pairs: in the published code's reading without biases.
func rotaryAttention(c Config) Attention {
	a := PlainAttention
	a.Bias, a.LinearInit = c.Options.Bool(attentionBias.Name), c.Options.Text(attentionInit.Name) == "linear"
	return a
}

func (r *rotated) Sites() Site { return AtQK }

func (r *rotated) Attention() Attention { return r.attention }

func (r *rotated) Begin(s *torchpe.Scope, p Positions) Hooks {
	rows := r.rows(p)
	at := func(t *torchpe.Param) torchpe.Tensor { // [E,1,1,N,P]
		return rowsAt(s, t.In(s), 1, rows).Unsqueeze(1).Unsqueeze(1)
	}
	h := &rotatedHooks{q: turning{at(r.cos), at(r.sin)}, width: r.width, half: r.half}
	if h.k = h.q; r.kCos != r.cos {
		h.k = turning{at(r.kCos), at(r.kSin)}
	}
	return h
}

// turning are cosines and sines [E,1,1,N,P], multiplied by a factor where there is one.
type turning struct{ cos, sin torchpe.Tensor }

type rotatedHooks struct {
	Identity
	q, k  turning
	width int
	half  bool
}

func (h *rotatedHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return h.q.apply(a.Q, h.width, h.half), h.k.apply(a.K, h.width, h.half), a.V
}

// apply turns the first dimensions of x [E,B,H,N,Dh], in blocks of the given width.
func (t turning) apply(x torchpe.Tensor, width int, half bool) torchpe.Tensor {
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
