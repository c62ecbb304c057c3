// rope-2d: rotary encoding of tokens in a plane (Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", equations 3 to 6),
// in two kinds.
//
//	axial: the first half of a head is turned by the column x, the second by the row y: theta_k = base^(-4k/Dh), base 100
//	mixed: pair k of head h turned by x fx_hk + y fy_hk, with fx and fy trained, own to each layer
//
// fx and fy start as the axial frequencies of base 10 along two orthogonal directions, turned by a random angle for each head. With
// --rope-layout half each half of a head is paired within itself. Coordinates are divided by --rope-unit.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

var (
	rope2DKind = Option{Name: "rope-2d", Default: "axial", Check: oneOf("axial", "mixed"),
		Help: "half of a head for each coordinate (axial), or trained frequencies for both in every pair (mixed)"}
	rope2DBase = Option{Name: "rope-2d-base", Default: "auto", Check: autoOrPositive1,
		Help: "base of the frequencies of rope-2d; auto: 100 (axial), 10 (mixed)"}
	ropeUnit = Option{Name: "rope-unit", Default: "1", Check: number(1e-9, math.Inf(1)),
		Help: "what coordinates are divided by before they turn"}
)

func init() {
	Register(Scheme{
		Name:    "rope-2d",
		Summary: "rotation of queries and keys by column and row",
		Title:   "Rotary Position Embedding for Vision Transformer", Year: 2024,
		Reference: "Heo et al. 2024, arXiv 2403.13298",
		Formula: "axial: pair k of the first half turned by x theta_k, of the second by y theta_k,  theta_k = base^(-4k/Dh)\n" +
			"mixed: pair k of head h turned by x fx_hk + y fy_hk, fx and fy trained",
		Parameters:   "none (axial); L H Dh (mixed)",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true},
		Needs:        NeedsPlane,
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{rope2DKind, rope2DBase, ropeLayout, ropeUnit, attentionBias, attentionInit},
		New:     newRoPE2D,
	})
}

// autoOrPositive1 checks for auto or one number.
func autoOrPositive1(v string) error {
	if v == "auto" {
		return nil
	}
	if err := positive(v); err != nil {
		return fmt.Errorf("%w, nor auto", err)
	}
	return nil
}

func newRoPE2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, mixed := c.HeadWidth(), c.Options.Text(rope2DKind.Name) == "mixed"
	if dh%4 != 0 {
		return nil, fmt.Errorf("rope-2d: the head width %d = %d/%d is not divisible by 4: two coordinates turn pairs", dh, c.DModel, c.Heads)
	}
	base := c.Options.Float(rope2DBase.Name)
	if c.Options.Text(rope2DBase.Name) == "auto" {
		if base = 100; mixed {
			base = 10
		}
	}
	unit, built := c.Options.Float(ropeUnit.Name), c.Positions.byPlace(2)
	at := func(place, axis int) float64 { return built[place][1-axis] / unit } // x, the column, first
	rows := func(p Positions) []int { return p.placesIn("rope-2d", built) }
	if mixed {
		return newMixed(c, ps, base, at, rows), nil
	}
	e := rotatedBy(c, ps, len(built), dh/2, func(row, pair int) (angle, q, k float64) {
		return plainTurn(base, dh/2)(at(row, pair/(dh/4)), pair%(dh/4))
	})
	e.width, e.rows = dh/2, rows
	return e, nil
}

// mixed is the kind with trained frequencies.
type mixed struct {
	None
	frequencies *torchpe.Param // [E,L,2,H,Dh/2]
	places      *torchpe.Param // [E,N,2]
	half        bool
	attention   Attention
	rows        func(Positions) []int
}

func newMixed(c Config, ps *torchpe.ParamSet, base float64, at func(place, axis int) float64, rows func(Positions) []int) Encoding {
	pairs := c.HeadWidth() / 2
	draw := func(_ int, rng *rand.Rand, out []float64) {
		for layer := range c.Layers {
			for head := range c.Heads {
				direction := 2 * math.Pi * rng.Float64()
				for k := range pairs {
					magnitude := math.Pow(base, -2*float64(k%(pairs/2))/float64(pairs))
					angle := direction + math.Pi/2*float64(k/(pairs/2))
					x := ((layer*2)*c.Heads+head)*pairs + k
					out[x], out[x+c.Heads*pairs] = magnitude*math.Cos(angle), magnitude*math.Sin(angle)
				}
			}
		}
	}
	return &mixed{
		frequencies: ps.Add("pe.frequencies", true, draw, c.Layers, 2, c.Heads, pairs),
		places:      ps.Add("pe.places", false, computed(func(i int) float64 { return at(i/2, i%2) }), c.Positions.Tokens(), 2),
		half:        c.Options.Text(ropeLayout.Name) == "half", attention: rotaryAttention(c), rows: rows,
	}
}

func (m *mixed) Sites() Site { return AtQK }

func (m *mixed) Attention() Attention { return m.attention }

func (m *mixed) Begin(s *torchpe.Scope, p Positions) Hooks {
	frequencies := m.frequencies.In(s).Permute(0, 1, 3, 2, 4)                   // [E,L,H,2,Dh/2]
	places := rowsAt(s, m.places.In(s), 1, m.rows(p)).Unsqueeze(1).Unsqueeze(1) // [E,1,1,N,2]
	angles := places.MatMul(frequencies)                                        // [E,L,H,N,Dh/2]
	return &mixedHooks{cos: angles.Cos(), sin: angles.Sin(), half: m.half}
}

type mixedHooks struct {
	Identity
	cos, sin torchpe.Tensor // [E,L,H,N,Dh/2]
	half     bool
}

func (h *mixedHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	cos, sin := h.cos.Narrow(1, a.Layer, 1), h.sin.Narrow(1, a.Layer, 1) // [E,1,H,N,Dh/2] over the batch
	return torchpe.RotatePairs(a.Q, cos, sin, h.half), torchpe.RotatePairs(a.K, cos, sin, h.half), a.V
}
