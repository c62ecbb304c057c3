// liere: Lie rotational encoding (Ostmeier et al. 2024, "LieRE: Lie Rotational Positional
// Encodings"): blocks of queries and keys are turned by the exponential of a trained skew matrix for
// each coordinate.
//
//	R(x) = exp(sum_a x_a A_a),  A_a skew in R^{g x g},  q_i <- R(x_i) q_i,  k_j <- R(x_j) k_j
//
// for each block of g dimensions of a head; what is left over stays. A_a differ between blocks and
// are shared by layers and, unless --liere-share says otherwise, by heads. Their entries start in
// U(0, 2 pi). As in the published code coordinates run from 0 to steps/expected over each axis, both
// ends included, for the number of steps along it; expected is --liere-steps, the steps themselves
// where it is 0. Matrices of two axes do not commute, so that logits know the offset alone on a line
// alone. The published code trains both triangles of a g x g matrix and uses the upper one.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	liereBlock = Option{Name: "liere-block", Default: "8", Check: whole(2, 1<<12),
		Help: "dimensions of a block that liere turns at once; a narrower head is one block"}
	liereShare = Option{Name: "liere-share", Default: "heads", Check: oneOf("heads", "none"),
		Help: "whether heads share the matrices of liere, or have their own (none)"}
	liereSteps = Option{Name: "liere-steps", Default: "0", Check: stepsOfAxes,
		Help: "steps along an axis over which coordinates of liere run from 0 to 1: a number, or " +
			"one for each axis with commas between; 0: those there are; raw: coordinates as they are"}
)

func init() {
	Register(Scheme{
		Name:         "liere",
		Needs:        NeedsPoints,
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{liereBlock, liereShare, liereSteps, attentionBias, attentionInit},
		New:     newLieRE,
	})
}

// stepsOfAxes checks --liere-steps.
func stepsOfAxes(v string) error {
	if v == "raw" {
		return nil
	}
	for _, part := range strings.Split(v, ",") {
		if err := whole(0, 1<<20)(part); err != nil {
			return fmt.Errorf("%w, nor several with commas between, nor raw", err)
		}
	}
	return nil
}

type liere struct {
	None
	skew      *torchpe.Param // [E,M,H or 1,Dh/g,g(g-1)/2], rows of the upper triangle
	places    *torchpe.Param // [E,N,M]
	rows      func(Positions) []int
	block     int // g
	halvings  int // of the exponent
	attention Attention
}

func newLieRE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	built := c.Positions.byPlace(0)
	flat, err := liereCoordinates(built, c.Options.Text(liereSteps.Name))
	if err != nil {
		return nil, err
	}
	axes, g, heads := len(built[0]), min(c.Options.Int(liereBlock.Name), c.HeadWidth()), 1
	if c.Options.Text(liereShare.Name) == "none" {
		heads = c.Heads
	}
	r := &liere{
		skew: ps.Add("pe.skew", true, uniformBelow(2*math.Pi), axes, heads, c.HeadWidth()/g,
			g*(g-1)/2),
		places: ps.Add("pe.places", false, copied(flat), len(built), axes),
		rows:   func(p Positions) []int { return p.placesIn("liere", built) },
		block:  g, attention: rotaryAttention(c),
	}
	// The sum of absolute values of a row of the exponent, at the start at most.
	most := 0.0
	for point := range slices.Chunk(flat, axes) {
		sum := 0.0
		for _, x := range point {
			sum += math.Abs(x)
		}
		most = max(most, sum)
	}
	r.halvings = max(0, int(math.Ceil(math.Log2(most*2*math.Pi*float64(g)))))
	return r, nil
}

// liereCoordinates returns the coordinates of --liere-steps, one token after the other.
func liereCoordinates(points [][]float64, text string) ([]float64, error) {
	flat, axes := slices.Concat(points...), len(points[0])
	if text == "raw" {
		return flat, nil
	}
	list := strings.Split(text, ",")
	if len(list) != 1 && len(list) != axes {
		return nil, fmt.Errorf("liere: --liere-steps %s has %d numbers, and there are %d "+
			"coordinates a token", text, len(list), axes)
	}
	low, high := bounds(points)
	for a := range axes {
		expected, _ := strconv.ParseFloat(list[min(a, len(list)-1)], 64)
		steps := map[float64]bool{}
		for _, point := range points {
			steps[point[a]] = true
		}
		end := 1.0
		if expected > 0 {
			end = float64(len(steps)) / expected
		}
		for i := a; i < len(flat); i += axes {
			flat[i] = end * (flat[i] - low[a]) / max(high[a]-low[a], math.SmallestNonzeroFloat64)
		}
	}
	return flat, nil
}

func (r *liere) Sites() Site { return AtQK }

func (r *liere) Attention() Attention { return r.attention }

func (r *liere) Begin(s *torchpe.Scope, p Positions) Hooks {
	upper := r.skew.In(s)
	shape := upper.Shape()
	e, axes, heads, blocks := shape[0], shape[1], shape[2], shape[3]
	x := rowsAt(s, r.places.In(s), 1, r.rows(p)) // [E,N,M]
	exponents := x.MatMul(upper.Reshape(e, axes, -1)).Reshape(e, p.Tokens(), heads, blocks, -1)
	u := r.triangle(s, exponents) // [E,N,H,Dh/g,g,g]
	turns := expOf(u.Sub(u.Transpose(-1, -2)), r.halvings)
	return &liereHooks{turns: turns.Permute(0, 2, 3, 1, 4, 5).Unsqueeze(1)}
}

// triangle puts numbers [...,g(g-1)/2] above the diagonal of matrices [...,g,g].
func (r *liere) triangle(s *torchpe.Scope, x torchpe.Tensor) torchpe.Tensor {
	shape, g := x.Shape(), r.block
	zero := shape[len(shape)-1] // the index of a 0 after the numbers
	index := make([]int, g*g)
	for i, next := 0, 0; i < g*g; i++ {
		if index[i] = zero; i/g < i%g {
			index[i] = next
			next++
		}
	}
	at := indexTensor(s, x.Device(), index, len(index))
	return x.Pad(-1, 0, 1, 0).IndexSelect(-1, at).Reshape(append(shape[:len(shape)-1], g, g)...)
}

// expOf returns the exponential of square matrices x [...,g,g]: the Taylor series to degree 18 of
// x/2^halvings, squared as often. Its error is below 1e-16 where the row sums of |x| are at most
// 2^halvings, and below 1e-11 where they are twice that.
func expOf(x torchpe.Tensor, halvings int) torchpe.Tensor {
	const degree = 18
	g := x.Size(-1)
	one := make([]float64, g*g)
	for i := range g {
		one[i*g+i] = 1
	}
	identity := numbers(x.Scope(), x, one, g, g)
	x = x.MulScalar(math.Pow(2, -float64(halvings)))
	sum := x.MulScalar(1. / degree).Add(identity)
	for n := degree - 1; n > 0; n-- { // Horner: 1 + x/1 (1 + x/2 (1 + ...))
		sum = x.MulScalar(1 / float64(n)).MatMul(sum).Add(identity)
	}
	for range halvings {
		sum = sum.MatMul(sum)
	}
	return sum
}

type liereHooks struct {
	Identity
	turns torchpe.Tensor // [E,1,H,Dh/g,N,g,g]
}

func (h *liereHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return h.turned(a.Q), h.turned(a.K), a.V
}

// turned returns R(x_i) x_i in each block of x [E,B,H,N,Dh].
func (h *liereHooks) turned(x torchpe.Tensor) torchpe.Tensor {
	shape := x.Shape()
	e, b, heads, n, dh := shape[0], shape[1], shape[2], shape[3], shape[4]
	blocks, g := h.turns.Size(3), h.turns.Size(5)
	parts := x.Narrow(-1, 0, blocks*g).Reshape(e, b, heads, n, blocks, g).Permute(0, 1, 2, 4, 3, 5).
		Unsqueeze(-1) // [E,B,H,Dh/g,N,g,1]
	y := h.turns.MatMul(parts).Squeeze(-1).Permute(0, 1, 2, 4, 3, 5).Reshape(e, b, heads, n, blocks*g)
	if rest := dh - blocks*g; rest > 0 {
		return torchpe.Cat(-1, y, x.Narrow(-1, blocks*g, rest))
	}
	return y
}
