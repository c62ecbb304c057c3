// Rotations by a token's coordinates.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/torchpe"
)

var rope2DBase = option("rope-2d-base", "auto", orWord(positive, "auto"),
	"base of the frequencies of rope-2d and rope-dinov3; auto: 100, or 10 for mixed ones")

// base2D returns --rope-2d-base.
func (c Config) base2D(auto float64) float64 {
	if c.is("rope-2d-base", "auto") {
		return auto
	}
	return c.float("rope-2d-base")
}

// twoCoordinates returns an error if a head cannot be divided into pairs for two coordinates.
func (c Config) twoCoordinates() error {
	if c.HeadWidth()%4 == 0 {
		return nil
	}
	return fmt.Errorf("%s: the head width %d = %d/%d is not divisible by 4: two coordinates rotate pairs",
		c.scheme, c.HeadWidth(), c.DModel, c.Heads)
}

// x is the column of a cell, the second of its coordinates, unless rows come first: timm's
// grid_indexing "ij".
var _ = Register(Scheme{Name: "rope-2d", Needs: NeedsPlane, MinHeadWidth: 4, Extrapolates: Always,
	New: newRoPE2D},
	option("rope-2d", "axial", oneOf("axial", "mixed"),
		"half of a head for each coordinate (axial), or trained frequencies for both in "+
			"every pair (mixed)"),
	rope2DBase,
	option("rope-2d-order", "columns-first", oneOf("columns-first", "rows-first"),
		"coordinate of the first half of a head in rope-2d (x)").later(),
	ropeLayout,
	option("rope-unit", "1", between(1e-9, math.Inf(1)), "divisor of the coordinates before the rotation"),
	attentionBias, attentionInit)

func newRoPE2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if err := c.twoCoordinates(); err != nil {
		return nil, err
	}
	dh, unit, built := c.HeadWidth(), c.float("rope-unit"), c.Positions.byPlace(2)
	first := int(oneIf(c.is("rope-2d-order", "columns-first"))) // the axis of x
	at := func(place, axis int) float64 { return built[place][(first+axis)%2] / unit }
	if c.is("rope-2d", "axial") {
		return c.newAxialRotary(ps, built, dh/4, plainTurn(c.base2D(100), dh/2), at), nil
	}
	base := c.base2D(10)
	draw := func(_ int, rng *rand.Rand, out []float64) {
		for layer := range slices.Chunk(out, c.Heads*dh) {
			mixedStart(layer, base, dh/2, rng.Float64)
		}
	}
	frequencies := ps.Add("pe.frequencies", true, draw, c.Layers, 2, c.Heads, dh/2)
	places := ps.Add("pe.places", false,
		computed(func(i int) float64 { return at(i/2, i%2) }), c.Positions.Tokens(), 2)
	half := c.halves()
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		x := rowsAt(s, places.In(s), 1, p.placesIn("rope-2d", built)) // [E,N,2]
		f := frequencies.In(s).Permute(0, 1, 3, 2, 4)                 // [E,L,H,2,Dh/2]
		angles := x.Unsqueeze(1).Unsqueeze(1).MatMul(f)
		return turningBy(angles.Cos(), angles.Sin(), half)
	}}, nil
}

// mixedStart writes the initial frequencies [2,H,pairs] of a layer, the axial ones along two
// orthogonal directions. A draw from U(0, 1) for each head gives its direction, in turns.
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

// As in lucidrains' library for any number M of axes, a block is 2 floor(Dh/2M) wide. With
// --rope-max-frequency the two ends of an axis are the same ("pixel").
var _ = Register(Scheme{Name: "rope-3d", Needs: NeedsPoints, // three of them unless --rope-axes says otherwise
	MinHeadWidth: 6, Extrapolates: Always, New: newRoPE3D},
	option("rope-axes", "3", orWord(whole(1, 64), "all"),
		"number of coordinates of rope-3d, each of which rotates a block of a head, or all").later(),
	ropeBase.idle("rope-max-frequency", "!0"), ropeLayout,
	option("rope-max-frequency", "0", between(0, 1e6),
		"rope-3d with frequencies in equal steps from pi to this times pi/2, over coordinates "+
			"from -1 to 1; 0: those of rope"),
	attentionBias, attentionInit)

func newRoPE3D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	axes, err := c.ropeAxes()
	if err != nil {
		return nil, err
	}
	pairs, built := c.HeadWidth()/(2*axes), c.Positions.byPlace(axes)
	if pairs == 0 {
		return nil, fmt.Errorf("rope-3d: the head width %d = %d/%d is less than %d, a pair for each "+
			"coordinate: use fewer heads or a larger d_model", c.HeadWidth(), c.DModel, c.Heads, 2*axes)
	}
	turn := plainTurn(c.float("rope-base"), 2*pairs)
	at := func(place, axis int) float64 { return built[place][axis] }
	if highest := c.float("rope-max-frequency"); highest > 0 {
		steps := highest/2 - 1
		turn = func(p float64, pair int) (angle, q, k float64) {
			return p * math.Pi * (1 + steps*float64(pair)/float64(max(1, pairs-1))), 1, 1
		}
		at = unitRange(built)
	}
	return c.newAxialRotary(ps, built, pairs, turn, at), nil
}

// unitRange returns coordinates scaled to -1 to 1 on each axis, or -1 if all are the same.
func unitRange(points [][]float64) func(place, axis int) float64 {
	low, high := bounds(points)
	return func(place, axis int) float64 {
		if high[axis] == low[axis] {
			return -1
		}
		return -1 + 2*(points[place][axis]-low[axis])/(high[axis]-low[axis])
	}
}

// ropeAxes returns the number of coordinates of --rope-axes, which the tokens must have.
func (c Config) ropeAxes() (int, error) {
	axes := c.int("rope-axes")
	if c.is("rope-axes", "all") {
		points, _ := c.Positions.Coordinates(0)
		return len(points[0]), nil
	}
	if axes == 3 {
		return axes, Scheme{Name: c.scheme, Needs: NeedsSpace}.Fits(c.Positions)
	}
	if _, ok := c.Positions.Coordinates(axes); !ok {
		return 0, fmt.Errorf("%s: --rope-axes %d needs as many coordinates per token, but the tokens lie "+
			"on %v", c.scheme, axes, c.Positions)
	}
	return axes, nil
}

// A pair is rotated by one coordinate, as given by --mrope-sections and --mrope-order. Qwen2-VL has
// sections 16,24,24 of frame, row and column with the frequencies of the whole head, Qwen3-VL
// 24,20,20 of interleaved axes. In Wan (even) and FLUX (8,28,28) each axis has its own frequencies.
var _ = Register(Scheme{Name: "mrope", Needs: NeedsPoints, MinHeadWidth: 2, Extrapolates: Always,
	New: newMRoPE},
	option("mrope-sections", "even", orWord(listOf("whole numbers", whole(0, 1<<16)), "even"),
		"numbers of pairs of mrope that the coordinates rotate, comma-separated; even: the same number "+
			"for each of all coordinates, and the remaining ones for the first"),
	option("mrope-order", "sections", oneOf("sections", "interleaved"),
		"pairs of a coordinate of mrope adjacent to each other, or alternating between all coordinates "+
			"with the remaining ones for the first"),
	option("mrope-frequencies", "head", oneOf("head", "axis"),
		"frequencies of mrope: those of rope over all rotated pairs, or for each coordinate "+
			"those of rope over its own"),
	ropeBase, ropeLayout, attentionBias, attentionInit)

func newMRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	sections, err := c.mropeSections()
	if err != nil {
		return nil, err
	}
	axes, pairs := axesOfPairs(sections, c.is("mrope-order", "interleaved"))
	base, frequency := c.float("rope-base"), make([]float64, len(axes))
	seen := make([]int, len(sections)) // pairs of each axis before the current one
	for k, axis := range axes {
		frequency[k] = math.Pow(base, -float64(k)/float64(len(axes)))
		if c.is("mrope-frequencies", "axis") {
			frequency[k] = math.Pow(base, -float64(seen[axis])/float64(pairs[axis]))
		}
		seen[axis]++
	}
	built := c.Positions.byPlace(len(sections))
	r := c.rotaryTables(ps, len(built), len(axes), func(row, pair int) (angle, q, k float64) {
		return built[row][axes[pair]] * frequency[pair], 1, 1
	})
	r.width = 2 * len(axes)
	r.rows = func(p Positions) []int { return p.placesIn(c.scheme, built) }
	return r, nil
}

// mropeSections returns the number of pairs that each coordinate rotates.
func (c Config) mropeSections() ([]int, error) {
	all, text := c.HeadWidth()/2, c.text("mrope-sections")
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	if text == "even" {
		points, _ := c.Positions.Coordinates(0)
		sections := slices.Repeat([]int{all / len(points[0])}, len(points[0]))
		sections[0] += all % len(sections)
		return sections, nil
	}
	var sections []int
	sum := 0
	for _, n := range c.floats("mrope-sections") {
		sections, sum = append(sections, int(n)), sum+int(n)
	}
	if sum == 0 || sum > all {
		return nil, fmt.Errorf("mrope: --mrope-sections %s rotates %d pairs, but the head width %d = %d/%d "+
			"has %d", text, sum, c.HeadWidth(), c.DModel, c.Heads, all)
	}
	if _, ok := c.Positions.Coordinates(len(sections)); !ok {
		return nil, fmt.Errorf("mrope: --mrope-sections %s needs %d coordinates per token, but the tokens lie "+
			"on %v", text, len(sections), c.Positions)
	}
	return sections, nil
}

// axesOfPairs returns the axis that rotates each pair, and the number of pairs of each axis. With M
// interleaved axes, pair k belongs to axis k mod M up to M times the section of that axis, and to
// the first axis beyond it (Qwen3-VL).
func axesOfPairs(sections []int, interleaved bool) (axes, pairs []int) {
	for axis, n := range sections {
		axes = append(axes, slices.Repeat([]int{axis}, n)...)
	}
	pairs = make([]int, len(sections))
	for k := range axes {
		if interleaved {
			if axes[k] = k % len(sections); k >= len(sections)*sections[axes[k]] {
				axes[k] = 0
			}
		}
		pairs[axes[k]]++
	}
	return axes, pairs
}

// Directions follow one low-discrepancy sequence over the pairs of all heads, so that heads differ.
// vit-pytorch uses unscaled cells with frequencies from 1 to 10000; other code, as here, uses
// coordinates from -1 to 1 with frequencies from 0.2 to 20.
var _ = Register(Scheme{Name: "golden-gate", Needs: NeedsPoints, MinHeadWidth: 2, Extrapolates: Always,
	New: newGoldenGate},
	option("golden-gate-range", "unit", oneOf("unit", "raw"),
		"coordinates of golden-gate from -1 to 1 on each axis, or unscaled"),
	option("golden-gate-frequencies", "0.2,20", twoPositive,
		"smallest and largest frequency of golden-gate, comma-separated, in equal ratios from pair "+
			"to pair"),
	option("golden-gate-zero", "0", between(0, 1), "share of the pairs of golden-gate that are not rotated"),
	ropeLayout, attentionBias, attentionInit)

// twoPositive checks for two comma-separated positive numbers.
func twoPositive(v string) error {
	if strings.Count(v, ",") != 1 {
		return fmt.Errorf("%q is not two comma-separated numbers above 0", v)
	}
	return positives(v)
}

func newGoldenGate(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	pairs, built := c.HeadWidth()/2, c.Positions.byPlace(0)
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	axes, n := len(built[0]), c.Positions.Tokens()
	places := func(place, axis int) float64 { return built[place][axis] }
	if c.is("golden-gate-range", "unit") {
		places = unitRange(built)
	}
	frequency := c.goldenFrequencies(pairs)
	directions := goldenDirections(c.Heads*pairs, axes)
	table := func(name string, f func(float64) float64) *torchpe.Param { // [E,H,N,P]
		return ps.Add(name, false, computed(func(i int) float64 {
			head, place, pair, angle := i/(n*pairs), i/pairs%n, i%pairs, 0.0
			for axis, x := range directions[head*pairs+pair] {
				angle += x * places(place, axis)
			}
			return f(angle * frequency[pair])
		}), c.Heads, n, pairs)
	}
	cos, sin := table("pe.cos", math.Cos), table("pe.sin", math.Sin)
	width, half := c.HeadWidth(), c.halves()
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		rows := p.placesIn(c.scheme, built)
		at := func(t *torchpe.Param) torchpe.Tensor { return rowsAt(s, t.In(s), 2, rows).Unsqueeze(1) }
		t := rotation{at(cos), at(sin)}
		return &rotaryHooks{q: t, k: t, width: width, half: half}
	}}, nil
}

// goldenFrequencies returns the frequency of each pair of a head: 0 for the first ones, then from
// the smallest to the largest.
func (c Config) goldenFrequencies(pairs int) []float64 {
	ends := c.floats("golden-gate-frequencies")
	low, high := ends[0], ends[1]
	still := int(math.RoundToEven(c.float("golden-gate-zero") * float64(pairs)))
	frequency := make([]float64, pairs)
	for k := still; k < pairs; k++ {
		part := float64(k-still) / float64(max(1, pairs-still-1))
		frequency[k] = low * math.Pow(high/low, part)
	}
	return frequency
}

// goldenDirections returns n unit vectors spread evenly in d dimensions: the multiples of powers of
// 1/g mod 1, as normal quantiles, divided by their length. g^(d+1) = g + 1 is solved with ten steps
// as in the published code.
func goldenDirections(n, d int) [][]float64 {
	g := 2.0
	for range 10 {
		g = math.Pow(1+g, 1/float64(d+1))
	}
	all := make([][]float64, n)
	for i := range all {
		u, squares := make([]float64, d), 0.0
		for axis := range u {
			step := math.Pow(1/g, float64(axis+1))
			u[axis] = math.Erfinv(2*math.Mod(float64(i+1)*step, 1) - 1)
			squares += u[axis] * u[axis]
		}
		for axis := range u {
			u[axis] /= math.Sqrt(squares)
		}
		all[i] = u
	}
	return all
}

// In training, coordinates may be drawn anew in each step, the same for all samples: c becomes (c +
// shift) jitter rescale, with a shift and a jitter for each axis and one rescale. A shift is
// uniform in +-a, the logarithms of the others in +-ln a.
var _ = Register(Scheme{Name: "rope-dinov3", Needs: NeedsGrid, MinHeadWidth: 4, Extrapolates: Always,
	New: newDINOv3},
	rope2DBase.idle("dinov3-periods", "!auto"),
	option("dinov3-periods", "auto", orWord(positives, "auto"),
		"smallest and largest period of rope-dinov3, comma-separated; auto: those of "+
			"--rope-2d-base"),
	option("dinov3-normalize", "separate", oneOf("separate", "max", "min"),
		"side of the grid by which coordinates of rope-dinov3 are divided: their own, the longer or the shorter"),
	option("dinov3-offset", "0", between(0, 1), "offset of tokens of rope-dinov3 on the grid, in steps"),
	option("dinov3-layout", "half", oneOf("interleaved", "half"),
		"which dimensions rope-dinov3 rotates together: k and k+Dh/2 (half), or 2k and 2k+1"),
	option("dinov3-shift", "0", between(0, 1e3), "largest shift of the coordinates of rope-dinov3 in training"),
	option("dinov3-jitter", "1", between(1, 1e3),
		"largest factor of each coordinate of rope-dinov3 in training"),
	option("dinov3-rescale", "1", between(1, 1e3),
		"largest factor of both coordinates of rope-dinov3 in training"),
	attentionBias, attentionInit)

// dino rotates pairs by tables, or in training by drawn coordinates.
type dino struct {
	*rotary
	places    *torchpe.Param // [E,N,2] {row, column}
	frequency *torchpe.Param // [E,Dh/4]
	bounds    *torchpe.Param // [E,5] of shifts, logarithms of jitters, and of the rescale
}

func newDINOv3(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if err := c.twoCoordinates(); err != nil {
		return nil, err
	}
	frequency, err := dinoFrequencies(c)
	if err != nil {
		return nil, err
	}
	dh, built := c.HeadWidth(), c.Positions.byPlace(2)
	places := dinoPlaces(c, built)
	r := c.newAxialRotary(ps, built, dh/4, turnBy(frequency, 1),
		func(place, axis int) float64 { return places[2*place+axis] })
	r.width, r.half = dh, c.is("dinov3-layout", "half")
	shift, jitter, rescale := c.float("dinov3-shift"), math.Log(c.float("dinov3-jitter")),
		math.Log(c.float("dinov3-rescale"))
	if shift == 0 && jitter == 0 && rescale == 0 {
		return r, nil
	}
	return &dino{
		rotary: r, places: ps.Add("pe.places", false, copied(places), len(built), 2),
		frequency: ps.Add("pe.frequency", false, copied(frequency), dh/4),
		bounds:    ps.Add("pe.bounds", false, copied([]float64{shift, shift, jitter, jitter, rescale}), 5),
	}, nil
}

// dinoFrequencies returns 2 pi/T_m, with periods in equal ratios from the smallest to the largest
// if they are given.
func dinoFrequencies(c Config) ([]float64, error) {
	frequency, base := make([]float64, c.HeadWidth()/4), c.base2D(100)
	for m := range frequency {
		frequency[m] = 2 * math.Pi * math.Pow(base, -4*float64(m)/float64(c.HeadWidth()))
	}
	text := c.text("dinov3-periods")
	if text == "auto" {
		return frequency, nil
	}
	ends := c.floats("dinov3-periods")
	if len(ends) != 2 {
		return nil, fmt.Errorf("rope-dinov3: --dinov3-periods %s has %d numbers: give the smallest and the "+
			"largest period, such as 2,50", text, len(ends))
	}
	for m := range frequency {
		ratio := math.Pow(ends[1]/ends[0], float64(m)/float64(max(1, len(frequency)-1)))
		frequency[m] = 2 * math.Pi / (ends[0] * ratio)
	}
	return frequency, nil
}

// dinoPlaces returns the coordinates {row, column} of the tokens on the grid, token by token.
func dinoPlaces(c Config, built [][]float64) []float64 {
	rows, columns := c.Positions.Extent()
	sides := [2]float64{float64(rows), float64(columns)}
	switch c.text("dinov3-normalize") {
	case "max":
		sides[0] = max(sides[0], sides[1])
		sides[1] = sides[0]
	case "min":
		sides[0] = min(sides[0], sides[1])
		sides[1] = sides[0]
	}
	places, offset := make([]float64, 0, 2*len(built)), c.float("dinov3-offset")
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
	u := uniform(s, bounds, bounds.Shape()...).MulScalar(2).AddScalar(-1) // in [-1, 1)
	return d.drawn(s, p, u.Mul(bounds))
}

// drawn returns the hooks with coordinates changed by draws [E,5]: the shift of each axis, the
// logarithm of its jitter, and the logarithm of the rescale.
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

// uniformBits is the number of bits that uniform draws for a number.
const uniformBits = 24

// uniform returns numbers in U(0, 1), of like's dtype on its device, drawn for each member from its
// seed and the step. A dropout of one half draws each bit.
func uniform(s *torchpe.Scope, like torchpe.Tensor, shape ...int) torchpe.Tensor {
	weights := make([]float64, uniformBits)
	for i := range weights {
		weights[i] = math.Pow(2, -float64(i+2)) // a kept bit is 2
	}
	ones := torchpe.Full(s, 1, like.DType(), like.Device(), append(shape, uniformBits)...)
	return ones.Dropout(0.5).Mul(numbers(s, like, weights, uniformBits)).Sum(-1)
}
