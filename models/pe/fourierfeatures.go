// fourier-features: fixed features of coordinates (Tancik et al. 2020, "Fourier features let
// networks learn high frequency functions"; Mildenhall et al. 2020, NeRF, section 5.1; Li et al.
// 2021, Fourier neural operator).
//
//	gaussian     z(c) = [sin(2 pi c B^T) | cos(2 pi c B^T)],  B in R^{m x M} of N(0, scale^2)
//	nerf         z(c) = sin(2^k pi c_a), cos(2^k pi c_a) for each coordinate a and k < m
//	transformer  z(c) = sin(w_k c_a), cos(w_k c_a),  w_k = 10000^(-2k/m)
//	grid         z(c) = c
//	x <- x + C z + b,  C in R^{D x F}
//
// The transformer form is neuraloperator's code; its text has k/m. These networks concatenate z to
// the channels of their input. Before a linear map that is C z added to x, which is how it acts in
// a transformer of fixed width: C and b are trained, z is not. Coordinates are cells {row, column},
// points, or the line, scaled to [0, 1) as in neuraloperator's grid (i/H, j/W), or as they are.

package pe

import (
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

var (
	featureKind = Option{Name: "features", Default: "gaussian", Check: oneOf("gaussian", "nerf",
		"transformer", "grid"),
		Help: "features of coordinates in fourier-features: waves in random directions, octaves, " +
			"sinusoids, or the coordinates themselves"}
	featureLevels = Option{Name: "feature-levels", Default: "8", Check: whole(1, 1<<12),
		Help: "m, the waves of fourier-features: each gives a sine and a cosine"}
	featureScale = Option{Name: "feature-scale", Default: "1", Check: number(1e-9, 1e9),
		Help: "standard deviation of the frequencies of --features gaussian"}
	featureRange = Option{Name: "feature-range", Default: "unit", Check: oneOf("unit", "raw"),
		Help: "coordinates of fourier-features: scaled to [0, 1), or as they are"}
)

func init() {
	Register(Scheme{
		Name:         "fourier-features",
		Needs:        NeedsPoints,
		Extrapolates: Always,
		Options:      []Option{featureKind, featureLevels, featureScale, featureRange},
		New:          newFourierFeatures,
	})
}

type fourierFeature struct {
	atEmbed
	points *torchpe.Param // [E,N,M]
	waves  *torchpe.Param // [E,m,M] for gaussian, [E,m] for others; nil for grid
	w, b   *torchpe.Param // [E,D,F], [E,D]
	rows   coordinateIndex
}

func newFourierFeatures(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	const name = "fourier-features"
	points := c.Positions.coordinates(name, 0)
	n, dims := len(points), len(points[0])
	m, kind := c.Options.Int(featureLevels.Name), c.Options.Text(featureKind.Name)
	if dims > 3 {
		return nil, fmt.Errorf("%s: %d coordinates a token; it takes at most 3", name, dims)
	}
	if kind == "nerf" && m > 30 {
		return nil, fmt.Errorf("%s: --feature-levels %d: the last octave of --features nerf has "+
			"the frequency 2^%d, "+
			"beyond what numbers resolve; take at most 30", name, m, m-1)
	}
	f := &fourierFeature{rows: newCoordinateIndex(name, c.Positions, dims)}
	flat := slices.Concat(points...)
	if c.Options.Text(featureRange.Name) == "unit" {
		flat = unitScaled(points)
	}
	f.points = ps.Add("pe.points", false, copied(flat), n, dims)
	features := 2 * m * dims
	switch kind {
	case "gaussian":
		features = 2 * m
		f.waves = ps.Add("pe.waves", false, torchpe.Normal(0, c.Options.Float(featureScale.Name)),
			m, dims)
	case "grid":
		features = dims
	default:
		f.waves = ps.Add("pe.octaves", false, computed(func(k int) float64 {
			if kind == "nerf" {
				return math.Pi * math.Pow(2, float64(k))
			}
			return math.Pow(10000, -2*float64(k)/float64(m))
		}), m)
	}
	f.w, f.b = addLinear(ps, "pe.", features, c.DModel)
	return f, nil
}

func (f *fourierFeature) Begin(s *torchpe.Scope, p Positions) Hooks {
	z := rowsAt(s, f.points.In(s), 1, f.rows.of(p)) // [E,N,M]
	shape := z.Shape()
	e, n, dims := shape[0], shape[1], shape[2]
	switch {
	case f.waves == nil:
	case len(f.waves.Shape) == 3:
		angles := z.MatMul(f.waves.In(s).Transpose(1, 2)).MulScalar(2 * math.Pi) // [E,N,m]
		z = torchpe.Cat(-1, angles.Sin(), angles.Cos())
	default:
		m := f.waves.Shape[1]
		angles := z.Unsqueeze(-1).Mul(f.waves.In(s).Reshape(e, 1, 1, m)) // [E,N,M,m]
		z = torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(e, n, 2*m*dims)
	}
	return &tableHooks{tables: torchpe.Linear(z, f.w.In(s), f.b.In(s)).Unsqueeze(1)}
}
