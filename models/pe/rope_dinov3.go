// rope-dinov3: rotary encoding of tokens on a grid as in DINOv3 (Siméoni et al. 2025, "DINOv3",
// section 3.2), at coordinates that run over the image whatever its size.
//
//	c = 2 (i + 1/2 + offset)/n - 1 for row i of n, and for columns likewise
//	pair m of the first half of the pairs turned by 2 pi c_row/T_m, of the second by 2 pi c_column/T_m
//	T_m = base^(4m/Dh),  or from the least to the largest period in equal ratios
//
// Pairs are (q_k, q_k+Dh/2), as published; timm has neighbours too. In training coordinates may be
// drawn anew in each step, the same for all samples: c becomes (c + shift) jitter rescale, with a
// shift and a jitter for each axis and one rescale. A shift is uniform in +-a, the logarithm of the
// others in +-ln a. Released weights hold periods rounded to bfloat16; ours are not rounded.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	dinoPeriods = Option{Name: "dinov3-periods", Default: "auto",
		Check: orWord(positives, "auto"),
		Help: "least and largest period of rope-dinov3 with a comma between; auto: those of " +
			"--rope-2d-base"}
	dinoNormalize = Option{Name: "dinov3-normalize", Default: "separate",
		Check: oneOf("separate", "max", "min"),
		Help:  "side of the grid that coordinates of rope-dinov3 are divided by: each its own, the longer, the shorter"}
	dinoOffset = Option{Name: "dinov3-offset", Default: "0", Check: number(0, 1),
		Help: "offset of tokens of rope-dinov3 on the grid, in steps"}
	dinoLayout = Option{Name: "dinov3-layout", Default: "half", Check: oneOf("interleaved", "half"),
		Help: "which dimensions rope-dinov3 turns together: k and k+Dh/2 (half), or 2k and 2k+1"}
	dinoShift = Option{Name: "dinov3-shift", Default: "0", Check: number(0, 1e3),
		Help: "largest shift of the coordinates of rope-dinov3 in training"}
	dinoJitter = Option{Name: "dinov3-jitter", Default: "1", Check: number(1, 1e3),
		Help: "largest factor of each coordinate of rope-dinov3 in training"}
	dinoRescale = Option{Name: "dinov3-rescale", Default: "1", Check: number(1, 1e3),
		Help: "largest factor of both coordinates of rope-dinov3 in training"}
)

func init() {
	Register(Scheme{
		Name:         "rope-dinov3",
		Needs:        NeedsGrid,
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{rope2DBase, dinoPeriods, dinoNormalize, dinoOffset, dinoLayout, dinoShift,
			dinoJitter, dinoRescale, attentionBias, attentionInit},
		New: newDINOv3,
	})
}

// dino turns pairs by tables, and in training by coordinates that are drawn.
type dino struct {
	*rotary
	places    *torchpe.Param // [E,N,2] {row, column}; nil where nothing is drawn
	frequency *torchpe.Param // [E,Dh/4]
	bounds    *torchpe.Param // [E,5] of shifts, logarithms of jitters, and of the rescale
}

func newDINOv3(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh := c.HeadWidth()
	if dh%4 != 0 {
		return nil, fmt.Errorf("rope-dinov3: the head width %d = %d/%d is not divisible by 4: "+
			"two coordinates turn pairs", dh, c.DModel, c.Heads)
	}
	frequency, err := dinoFrequencies(c)
	if err != nil {
		return nil, err
	}
	built := c.Positions.byPlace(2)
	places := dinoPlaces(c, built)
	r := c.rotaryTables(ps, len(built), dh/2, func(row, pair int) (angle, q, k float64) {
		return places[2*row+pair/(dh/4)] * frequency[pair%(dh/4)], 1, 1
	})
	r.width, r.half = dh, c.Options.Text(dinoLayout.Name) == "half"
	r.rows = func(p Positions) []int { return p.placesIn("rope-dinov3", built) }
	shift, jitter, rescale := c.Options.Float(dinoShift.Name), math.Log(c.Options.Float(dinoJitter.Name)),
		math.Log(c.Options.Float(dinoRescale.Name))
	if shift == 0 && jitter == 0 && rescale == 0 {
		return r, nil
	}
	return &dino{
		rotary: r, places: ps.Add("pe.places", false, copied(places), len(built), 2),
		frequency: ps.Add("pe.frequency", false, copied(frequency), dh/4),
		bounds:    ps.Add("pe.bounds", false, copied([]float64{shift, shift, jitter, jitter, rescale}), 5),
	}, nil
}

// dinoFrequencies returns 2 pi/T_m.
func dinoFrequencies(c Config) ([]float64, error) {
	frequency, base := make([]float64, c.HeadWidth()/4), 100.0
	if c.Options.Text(rope2DBase.Name) != "auto" {
		base = c.Options.Float(rope2DBase.Name)
	}
	for m := range frequency {
		frequency[m] = 2 * math.Pi * math.Pow(base, -4*float64(m)/float64(c.HeadWidth()))
	}
	text := c.Options.Text(dinoPeriods.Name)
	if text == "auto" {
		return frequency, nil
	}
	ends := strings.Split(text, ",")
	if len(ends) != 2 {
		return nil, fmt.Errorf("rope-dinov3: --dinov3-periods %s has %d numbers: the least and the "+
			"largest period, as in 2,50", text, len(ends))
	}
	least, _ := strconv.ParseFloat(ends[0], 64)
	largest, _ := strconv.ParseFloat(ends[1], 64)
	for m := range frequency {
		ratio := math.Pow(largest/least, float64(m)/float64(max(1, len(frequency)-1)))
		frequency[m] = 2 * math.Pi / (least * ratio)
	}
	return frequency, nil
}

// dinoPlaces returns the coordinates {row, column} of the tokens on the grid, one token after the
// other.
func dinoPlaces(c Config, built [][]float64) []float64 {
	rows, columns := c.Positions.Extent()
	sides := [2]float64{float64(rows), float64(columns)}
	switch c.Options.Text(dinoNormalize.Name) {
	case "max":
		sides[0] = max(sides[0], sides[1])
		sides[1] = sides[0]
	case "min":
		sides[0] = min(sides[0], sides[1])
		sides[1] = sides[0]
	}
	places, offset := make([]float64, 0, 2*len(built)), c.Options.Float(dinoOffset.Name)
	for _, cell := range built {
		for axis, i := range cell {
			places = append(places, 2*(i+0.5+offset)/sides[axis]-1)
		}
	}
	return places
}

func (d *dino) Begin(s *torchpe.Scope, p Positions) Hooks {
	if !p.Training {
		return d.rotary.Begin(s, p)
	}
	bounds := d.bounds.In(s)
	u := uniform(s, bounds).MulScalar(2).AddScalar(-1) // in [-1, 1)
	return d.drawn(s, p, u.Mul(bounds))
}

// drawn returns the hooks with coordinates changed by draws [E,5]: the shift of each axis, the
// logarithm of its jitter, and that of the rescale.
func (d *dino) drawn(s *torchpe.Scope, p Positions, draws torchpe.Tensor) Hooks {
	at := rowsAt(s, d.places.In(s), 1, d.rows(p)).Add(draws.Narrow(1, 0, 2).Unsqueeze(1))
	factors := draws.Narrow(1, 2, 2).Add(draws.Narrow(1, 4, 1)).Exp()
	at = at.Mul(factors.Unsqueeze(1)) // [E,N,2]
	frequency := d.frequency.In(s).Unsqueeze(1).Unsqueeze(1)
	angles := at.Unsqueeze(-1).Mul(frequency) // [E,N,2,Dh/4]
	e, n := angles.Size(0), angles.Size(1)
	angles = angles.Reshape(e, 1, 1, n, -1)
	t := rotation{cos: angles.Cos(), sin: angles.Sin()}
	return &rotaryHooks{q: t, k: t, width: d.width, half: d.half}
}

// uniform returns numbers of like's shape in U(0, 1), drawn for each member from its seed and the
// step: 24 draws of a bit each.
func uniform(s *torchpe.Scope, like torchpe.Tensor) torchpe.Tensor {
	const bits = 24
	weights := make([]float64, bits)
	for i := range weights {
		weights[i] = math.Pow(2, -float64(i+2)) // a bit that is kept is 2
	}
	ones := torchpe.Full(s, 1, like.DType(), like.Device(), append(like.Shape(), bits)...)
	return ones.Dropout(0.5).Mul(numbers(s, like, weights, bits)).Sum(-1)
}
