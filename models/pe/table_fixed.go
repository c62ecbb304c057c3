// Tables of sinusoids and of features of coordinates.

package pe

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

var (
	sinusoidBase = option("sinusoid-base", "10000", between(1, math.Inf(1)),
		"base of the wavelengths of sinusoids")
	sinusoidLayout = option("sinusoid-layout", "interleaved", oneOf("interleaved", "tutorial", "concat", "t2t"),
		"columns of sinusoids: sine next to cosine of each frequency; a frequency for each "+
			"column; "+
			"all sines before all cosines; the same with frequencies down to 1/base")
	fixedDropout = option("fixed-pe-dropout", "0.1", between(0, 1),
		"dropout on the sum of token and fixed PE, also at evaluation "+
			"(as the published code has it)").inText("0")
)

// sinusoidRow returns a function that writes the sinusoid of position p to out, in the layouts
//
//	interleaved  sin and cos of one frequency side by side (Vaswani et al. 2017)
//	tutorial     P[p,j] = sin(p 10000^(-j/D)) for even j, cosine for odd j: a frequency a column
//	             (Foumani et al., tutorial on positional encoding of time series, NeurIPS 2025)
//	concat       P[p] = [sin(p f_i) | cos(p f_i)],  f_i = 10000^(-i/h), h = D/2 (Transformer-XL, MAE)
//	t2t          the same with f_i = 10000^(-i/(h-1)), so that the last is 1/10000 (tensor2tensor)
//
// width is D in the exponents. If the number of columns is odd the last is a sine; with t2t it
// stays 0, as in tensor2tensor and fairseq.
func sinusoidRow(layout string, base float64, width int) func(p float64, out []float64) {
	last := width / 2
	switch layout {
	case "interleaved":
		return func(p float64, out []float64) {
			for i := 0; i < len(out); i += 2 {
				angle := p / math.Pow(base, float64(i)/float64(width))
				if out[i] = math.Sin(angle); i+1 < len(out) {
					out[i+1] = math.Cos(angle)
				}
			}
		}
	case "tutorial":
		return func(p float64, out []float64) {
			for j := range out {
				angle := p * math.Pow(base, -float64(j)/float64(width))
				if out[j] = math.Sin(angle); j%2 == 1 {
					out[j] = math.Cos(angle)
				}
			}
		}
	case "t2t":
		last--
	}
	return func(p float64, out []float64) {
		h := len(out) / 2
		for i := range h {
			out[i], out[h+i] = math.Sincos(p * math.Pow(base, -float64(i)/float64(last)))
		}
	}
}

// oddWidth returns the error for an odd d_model.
func (c Config) oddWidth() error {
	return fmt.Errorf("%s: d_model %d is odd; sines and cosines come in pairs", c.scheme, c.DModel)
}

// checkSinusoid returns an error if a sinusoid of this many columns, with the given width in its
// exponents, cannot have the layout.
func checkSinusoid(scheme, layout string, columns, width int) error {
	if layout == "concat" && columns%2 != 0 {
		return fmt.Errorf("%s: a sinusoid of width %d is odd, but --sinusoid-layout concat has as "+
			"many sines as cosines: use another d_model or layout", scheme, columns)
	}
	if layout == "t2t" && width < 4 {
		return fmt.Errorf("%s: a sinusoid of width %d has one frequency, but --sinusoid-layout t2t "+
			"needs at least two: use a larger d_model or another layout", scheme, width)
	}
	return nil
}

// The published code keeps a dropout of 0.1 on the sum, also at evaluation.
var _ = Register(Scheme{Name: "1d-fixed", Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		from, layout := c.float("positions-from"), c.text("sinusoid-layout")
		if err := checkSinusoid("1d-fixed", layout, c.DModel, c.DModel); err != nil {
			return nil, err
		}
		write := sinusoidRow(layout, c.float("sinusoid-base"), c.DModel)
		row := func(i int, out []float64) { write(from+float64(i), out) }
		return newFixed(c, ps, c.float("fixed-pe-dropout"), row, indexOf), nil
	}}, placement, positionsFrom, sinusoidBase, sinusoidLayout, fixedDropout)

// The published code uses the number of tokens in training for L.
var _ = Register(Scheme{Name: "tape", Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		length := cmp.Or(c.int("tape-length"), c.Trained, c.Positions.Tokens())
		write := sinusoidRow("interleaved", c.float("sinusoid-base"), c.DModel)
		row := func(i int, out []float64) { write(float64(i)*float64(c.DModel)/float64(length), out) }
		return newFixed(c, ps, 0, row, indexOf), nil
	}}, placement, sinusoidBase,
	option("tape-length", "0", whole(0, 1<<30), "length L of tape; 0 for the tokens of training"))

// DETR adds P to the inputs of queries and keys in every block: that is the scheme detr. MAE is
// columns-first from 0 with --sinusoid-layout concat, simple ViT the same with t2t.
var _ = Register(Scheme{Name: "2d-fixed", Needs: NeedsGrid, Extrapolates: Always, New: newSinusoid2D},
	placement, positionsFrom,
	option("grid-order", "columns-first", oneOf("rows-first", "columns-first"),
		"which coordinate the first half of the dimensions of 2d-fixed encodes").inText("rows-first"),
	option("grid-exponent", "half", oneOf("half", "full"),
		"width in the exponent of 2d-fixed: that of one coordinate's half, or d_model as the "+
			"text literally says"),
	option("grid-normalize", "false", yesNo, "whether coordinates of 2d-fixed run from 0 to 2 pi, as in DETR"),
	sinusoidBase, sinusoidLayout, fixedDropout)

func newSinusoid2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("2d-fixed: d_model %d is odd: each of two coordinates needs half of it", c.DModel)
	}
	from, half, layout := c.float("positions-from"), c.DModel/2, c.text("sinusoid-layout")
	width := half
	if c.is("grid-exponent", "full") {
		width = c.DModel
	}
	if err := checkSinusoid("2d-fixed", layout, half, width); err != nil {
		return nil, err
	}
	write, scale := sinusoidRow(layout, c.float("sinusoid-base"), width), [2]float64{1, 1}
	if c.yes("grid-normalize") {
		rows, columns := c.Positions.Extent()
		for axis, places := range []int{rows, columns} {
			scale[axis] = 2 * math.Pi / (from + float64(places-1) + 1e-6)
		}
	}
	row := func(i int, out []float64) {
		first, second := scale[0]*(from+float64(c.Positions.Cells[i][0])),
			scale[1]*(from+float64(c.Positions.Cells[i][1]))
		if c.is("grid-order", "columns-first") {
			first, second = second, first
		}
		write(first, out[:half])
		write(second, out[half:])
	}
	rowOf := make(map[[2]int]int, len(c.Positions.Cells))
	for i, cell := range c.Positions.Cells {
		rowOf[cell] = i
	}
	rows := func(p Positions) []int {
		at := make([]int, p.Tokens())
		for i, cell := range p.cells("2d-fixed") {
			row, ok := rowOf[cell]
			if !ok {
				panic(&torchpe.Error{Op: "2d-fixed", Msg: fmt.Sprintf("token %d is in cell %v, "+
					"for which the encoding was not built", i, cell)})
			}
			at[i] = row
		}
		return at
	}
	return newFixed(c, ps, c.float("fixed-pe-dropout"), row, rows), nil
}

// tatp22's sinusoids are interleaved, of width 2 ceil(D/6), and cut off after D columns; those of
// vit-pytorch are [sin | cos] with frequencies 10000^(-i/(D/6-1)), i < D/6 rounded down, and zeros
// in the remaining columns. On a grid the frame is 0.
var _ = Register(Scheme{Name: "3d-fixed", Needs: NeedsSpace, Extrapolates: Always, New: newSinusoid3D},
	placement, positionsFrom,
	option("space-layout", "cut", oneOf("cut", "padded"),
		"three sinusoids in D columns: frame first, rounded up and cut off; or column first, "+
			"rounded down and padded with zeros"),
	sinusoidBase)

func newSinusoid3D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	layout, width, padded := "interleaved", 2*((c.DModel+5)/6), c.is("space-layout", "padded")
	if padded {
		layout, width = "t2t", 2*(c.DModel/6)
		if width < 4 {
			return nil, fmt.Errorf("3d-fixed: d_model %d has room for fewer than two frequencies "+
				"per coordinate: give at least 12, or --space-layout cut", c.DModel)
		}
	}
	from, write := c.float("positions-from"), sinusoidRow(layout, c.float("sinusoid-base"), width)
	all, points := make([]float64, max(c.DModel, 3*width)), c.Positions.coordinates("3d-fixed", 3)
	row := func(i int, out []float64) {
		at := slices.Clone(points[i])
		if padded {
			slices.Reverse(at)
		}
		for axis, x := range at {
			write(from+x, all[axis*width:(axis+1)*width])
		}
		copy(out, all)
	}
	return newFixed(c, ps, 0, row, newCoordinateIndex("3d-fixed", c.Positions, 3).of), nil
}

// The last column is a sine if D is odd. f plays the role of the index k: with f_k = k these are
// the sinusoids of 1d-fixed. Each block that adds a PE has its own f.
var _ = Register(Scheme{Name: "learn-waves", Extrapolates: Always, New: newWaves}, placement, sinusoidBase)

func newWaves(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	base, tables, half := c.float("sinusoid-base"), tablesFor(c), (c.DModel+1)/2
	index := ps.Add("pe.index", true, torchpe.Normal(0, 1), tables, half)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		f := index.In(s)
		frequency := f.MulScalar(-math.Log(base) / (float64(c.DModel) / 2)).Exp().Unsqueeze(2)
		angles := frequency.Mul(places(s, f, p.Index)) // [E,T,N,D/2]
		table := torchpe.Stack(-1, angles.Sin(), angles.Cos())
		return &tableHooks{tables: table.Reshape(c.Members, tables, p.Tokens(), 2*half).Narrow(-1, 0, c.DModel)}
	}), nil
}

// The G groups of a token's coordinates, in order, share all weights; each gives D/G dimensions.
// GELU is exact. The MLP starts as torch.nn.Linear does. Coordinates are not scaled.
var _ = Register(Scheme{Name: "learn-fourier", Needs: NeedsPoints, Extrapolates: Always, New: newLearnFourier},
	option("fourier-gamma", "2", between(1e-6, 1e6),
		"gamma of learn-fourier: the smaller, the finer the initial waves"),
	option("fourier-spread", "deviation", oneOf("variance", "deviation"),
		"whether gamma^-2 is the variance or the standard deviation of the initial waves of "+
			"learn-fourier").inText("variance"),
	option("fourier-features", "0", whole(0, 1<<16),
		"F, the features of learn-fourier, an even number; 0 for d_model"),
	option("fourier-hidden", "32", whole(1, 1<<16), "hidden units of the MLP of learn-fourier"),
	option("fourier-groups", "1", whole(1, 1<<10),
		"G, the groups into which learn-fourier splits the coordinates"))

func newLearnFourier(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims, groups := len(c.Positions.coordinates("learn-fourier", 0)[0]), c.int("fourier-groups")
	f, hidden, d := c.int("fourier-features"), c.int("fourier-hidden"), c.DModel
	if f == 0 {
		f = d
	}
	switch {
	case f%2 != 0:
		return nil, fmt.Errorf("learn-fourier: %d features are an odd number; cosines and sines "+
			"come in pairs: set --fourier-features", f)
	case dims%groups != 0 || d%groups != 0:
		return nil, fmt.Errorf("learn-fourier: --fourier-groups %d does not divide both the %d "+
			"coordinates of a token and d_model %d", groups, dims, d)
	}
	deviation := 1 / c.float("fourier-gamma")
	if c.is("fourier-spread", "deviation") {
		deviation /= c.float("fourier-gamma")
	}
	waves := ps.Add("pe.waves", true, torchpe.Normal(0, deviation), f/2, dims/groups)
	in, out := newLinearMap(ps, "pe.in.", f, hidden), newLinearMap(ps, "pe.out.", hidden, d/groups)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		flat := slices.Concat(p.coordinates("learn-fourier", dims)...)
		w, n := waves.In(s), p.Tokens()
		x := numbers(s, w, flat, 1, n*groups, dims/groups)
		angles := x.MatMul(w.Transpose(1, 2)) // [E,N G,F/2]
		r := torchpe.Cat(-1, angles.Cos(), angles.Sin()).MulScalar(1 / math.Sqrt(float64(f)))
		y := out.of(torchpe.LinearGELU(r, in.w.In(s), in.b.In(s))) // [E,N G,D/G]
		return &tableHooks{tables: y.Reshape(c.Members, 1, n, d)}
	}), nil
}

// These networks concatenate z to the channels of their input. Before a linear map this is the same
// as adding C z to x, which a transformer of fixed width can do: C and b are trained, z is not.
// Coordinates are scaled as in neuraloperator's grid (i/H, j/W), or unscaled.
var _ = Register(Scheme{Name: "fourier-features", Needs: NeedsPoints, Extrapolates: Always,
	New: newFourierFeatures},
	option("features", "gaussian", oneOf("gaussian", "nerf", "transformer", "grid"),
		"features of coordinates in fourier-features: waves in random directions, octaves, "+
			"sinusoids, or the coordinates themselves"),
	option("feature-levels", "8", whole(1, 1<<12),
		"m, the number of waves of fourier-features: each gives a sine and a cosine"),
	option("feature-scale", "1", between(1e-9, 1e9),
		"standard deviation of the frequencies of --features gaussian").idle("features", "!gaussian"),
	option("feature-range", "unit", oneOf("unit", "raw"),
		"coordinates of fourier-features: each axis scaled to [0, 1), or unscaled"))

func newFourierFeatures(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	const name = "fourier-features"
	built := c.Positions.coordinates(name, 0)
	n, dims, m, kind := len(built), len(built[0]), c.int("feature-levels"), c.text("features")
	if dims > 3 {
		return nil, fmt.Errorf("%s: %d coordinates per token; it takes at most 3", name, dims)
	}
	if kind == "nerf" && m > 30 {
		return nil, fmt.Errorf("%s: --feature-levels %d: the last octave of --features nerf has "+
			"the frequency 2^%d, beyond the precision of numbers; give at most 30", name, m, m-1)
	}
	flat := slices.Concat(built...)
	if c.is("feature-range", "unit") {
		low, high := bounds(built)
		for axis := range dims {
			span := high[axis] - low[axis] + leastGap(built, axis) // n lines of a grid end at (n-1)/n
			for i := axis; i < len(flat); i += dims {
				if flat[i] -= low[axis]; span > 0 {
					flat[i] /= span
				}
			}
		}
	}
	points, rows := ps.Add("pe.points", false, copied(flat), n, dims), newCoordinateIndex(name, c.Positions, dims)
	var waves *torchpe.Param
	features := 2 * m * dims
	switch kind {
	case "gaussian":
		features = 2 * m
		waves = ps.Add("pe.waves", false, torchpe.Normal(0, c.float("feature-scale")), m, dims)
	case "grid":
		features = dims
	default:
		waves = ps.Add("pe.octaves", false, computed(func(k int) float64 {
			if kind == "nerf" {
				return math.Pi * math.Pow(2, float64(k))
			}
			return math.Pow(10000, -2*float64(k)/float64(m))
		}), m)
	}
	toModel := newLinearMap(ps, "pe.", features, c.DModel)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		z := rowsAt(s, points.In(s), 1, rows.of(p)) // [E,N,M]
		switch e, n := z.Size(0), p.Tokens(); kind {
		case "grid":
		case "gaussian":
			angles := z.MatMul(waves.In(s).Transpose(1, 2)).MulScalar(2 * math.Pi) // [E,N,m]
			z = torchpe.Cat(-1, angles.Sin(), angles.Cos())
		default:
			angles := z.Unsqueeze(-1).Mul(waves.In(s).Reshape(e, 1, 1, m)) // [E,N,M,m]
			z = torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(e, n, 2*m*dims)
		}
		return &tableHooks{tables: toModel.of(z).Unsqueeze(1)}
	}), nil
}
