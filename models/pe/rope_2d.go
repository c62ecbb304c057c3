// rope-2d: rotary encoding of tokens in a plane (Heo et al. 2024, "Rotary Position Embedding for
// Vision Transformer", equations 3 to 6), in two kinds.
//
//	axial: the first half of a head is turned by the column x, the second by the row y:
//	       theta_k = base^(-4k/Dh), base 100
//	mixed: pair k of head h turned by x fx_hk + y fy_hk, with fx and fy trained, own to each layer
//
// fx and fy start as the axial frequencies of base 10 along two orthogonal directions, turned by a
// random angle for each head. With --rope-layout half each half of a head is paired within itself.
// Coordinates are divided by --rope-unit. With --rope-2d-order rows-first x is the row and y the
// column (timm's grid_indexing "ij"; its default for this encoding and the authors' code have the
// column first).

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/torchpe"
)

var (
	rope2DKind = Option{Name: "rope-2d", Default: "axial", Check: oneOf("axial", "mixed"),
		Help: "half of a head for each coordinate (axial), or trained frequencies for both in " +
			"every pair (mixed)"}
	rope2DBase = Option{Name: "rope-2d-base", Default: "auto", Check: orWord(positive, "auto"),
		Help: "base of the frequencies of rope-2d and rope-dinov3; auto: 100, or 10 for mixed ones"}
	rope2DOrder = Option{Name: "rope-2d-order", Default: "columns-first",
		Check: oneOf("columns-first", "rows-first"),
		Help:  "which coordinate rope-2d calls x: that of the first half of a head"}
	ropeUnit = Option{Name: "rope-unit", Default: "1", Check: number(1e-9, math.Inf(1)),
		Help: "divisor of the coordinates before the rotation"}
)

func init() {
	Register(Scheme{
		Name:         "rope-2d",
		Needs:        NeedsPlane,
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{rope2DKind, rope2DBase, later(rope2DOrder), ropeLayout, ropeUnit,
			attentionBias, attentionInit},
		New: newRoPE2D,
	})
}

func newRoPE2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, mixed := c.HeadWidth(), c.Options.Text(rope2DKind.Name) == "mixed"
	if dh%4 != 0 {
		return nil, fmt.Errorf("rope-2d: the head width %d = %d/%d is not divisible by 4: "+
			"two coordinates turn pairs", dh, c.DModel, c.Heads)
	}
	base := c.Options.Float(rope2DBase.Name)
	if c.Options.Text(rope2DBase.Name) == "auto" {
		if base = 100; mixed {
			base = 10
		}
	}
	unit, built := c.Options.Float(ropeUnit.Name), c.Positions.byPlace(2)
	first := int(oneIf(c.Options.Text(rope2DOrder.Name) == "columns-first")) // the axis of x
	at := func(place, axis int) float64 { return built[place][(first+axis)%2] / unit }
	rows := func(p Positions) []int { return p.placesIn("rope-2d", built) }
	if mixed {
		return c.newMixed(ps, base, at, rows), nil
	}
	turn := plainTurn(base, dh/2)
	r := c.rotaryTables(ps, len(built), dh/2, func(row, pair int) (angle, q, k float64) {
		return turn(at(row, pair/(dh/4)), pair%(dh/4))
	})
	r.width, r.rows = dh/2, rows
	return r, nil
}

// mixed rotates by trained frequencies.
type mixed struct {
	None
	frequencies *torchpe.Param // [E,L,2,H,Dh/2]
	places      *torchpe.Param // [E,N,2]
	half        bool
	attention   Attention
	rows        func(Positions) []int
}

// newMixed returns the encoding for places with these coordinates; rows returns those of tokens.
func (c Config) newMixed(ps *torchpe.ParamSet, base float64, at func(place, axis int) float64,
	rows func(Positions) []int) Encoding {
	pairs := c.HeadWidth() / 2
	draw := func(_ int, rng *rand.Rand, out []float64) {
		for layer := range slices.Chunk(out, 2*c.Heads*pairs) {
			mixedStart(layer, base, pairs, rng.Float64)
		}
	}
	return &mixed{
		frequencies: ps.Add("pe.frequencies", true, draw, c.Layers, 2, c.Heads, pairs),
		places: ps.Add("pe.places", false,
			computed(func(i int) float64 { return at(i/2, i%2) }), c.Positions.Tokens(), 2),
		half: c.Options.Text(ropeLayout.Name) == "half", attention: rotaryAttention(c), rows: rows,
	}
}

// mixedStart writes the first frequencies [2,H,pairs] of a layer: a draw from U(0, 1) for each head
// is its direction, in turns.
func mixedStart(out []float64, base float64, pairs int, draw func() float64) {
	for at := 0; at < len(out)/2; at += pairs {
		direction := 2 * math.Pi * draw()
		for k := range pairs {
			magnitude := math.Pow(base, -2*float64(k%(pairs/2))/float64(pairs))
			angle := direction + math.Pi/2*float64(k/(pairs/2))
			out[at+k] = magnitude * math.Cos(angle)
			out[at+k+len(out)/2] = magnitude * math.Sin(angle)
		}
	}
}

func (m *mixed) Sites() Site { return AtQK }

func (m *mixed) Attention() Attention { return m.attention }

func (m *mixed) Begin(s *torchpe.Scope, p Positions) Hooks {
	frequencies := m.frequencies.In(s).Permute(0, 1, 3, 2, 4) // [E,L,H,2,Dh/2]
	places := rowsAt(s, m.places.In(s), 1, m.rows(p))         // [E,N,2]
	angles := places.Unsqueeze(1).Unsqueeze(1).MatMul(frequencies)
	return &mixedHooks{cos: angles.Cos(), sin: angles.Sin(), half: m.half}
}

type mixedHooks struct {
	Identity
	cos, sin torchpe.Tensor // [E,L,H,N,Dh/2]
	half     bool
}

func (h *mixedHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	cos, sin := layerOf(h.cos, a.Layer), layerOf(h.sin, a.Layer) // [E,1,H,N,Dh/2]
	return torchpe.RotatePairs(a.Q, cos, sin, h.half), torchpe.RotatePairs(a.K, cos, sin, h.half),
		a.V
}
