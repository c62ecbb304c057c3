package pe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"torchpe/torchpe"
)

// Init says how learned tables start; the zero Init is N(0, sigma^2). Tables are in R^{N x D}, one
// for each block in which they are added:
//
//	normal         N(0, sigma^2)
//	uniform        U(-a, a), a = sqrt(3) sigma: the same standard deviation
//	orthogonal     orthonormal rows (columns where N > D), times sigma sqrt(max(N, D))
//	zeros          0
//	sinusoidal-1d  the table of 1d-fixed, in the reading's defaults, scaled as Scale says
//	sinusoidal-2d  the same of 2d-fixed
//	low-rank:R     A B times sigma sqrt(N D) / |A B|_F, A in R^{N x R}, B in R^{R x D} of N(0, 1)
//	matched:S      a draw of N(0, 1), scaled to the Frobenius norm of the table of scheme S
//	mds:K          Y Q times sigma sqrt(N D) / |Y|_F, Y in R^{N x K} the tokens' Coordinates and Q in
//	               R^{K x D} drawn with orthonormal rows: no column is preferred, and the rows are as
//	               far apart as the coordinates, up to scale
//	gradients:K    the same with other coordinates
//
// The Frobenius norm of normal and uniform is sigma sqrt(N D) in the mean square; that of
// orthogonal, low-rank, mds and gradients is so exactly.
type Init struct {
	Kind     string // one of the above, without the colon and what follows; "" is normal
	Rank     int    // for low-rank, mds and gradients; 0 if not given
	Scheme   string // for matched
	Scale    string // for the sinusoids: "own" (or "") or "sigma", for a norm of sigma sqrt(N D)
	Fidelity string // reading for the other scheme's options, "code" or "text"
	// Coordinates [N][K] are those of mds and gradients, by the Index of tokens. The caller sets
	// them, because it knows the tokens' distances or series.
	Coordinates [][]float64
}

// The kinds of Init.
const (
	normalInit   = "normal"
	uniformInit  = "uniform"
	orthogonal   = "orthogonal"
	zerosInit    = "zeros"
	sinusoidal1D = "sinusoidal-1d"
	sinusoidal2D = "sinusoidal-2d"
	lowRank      = "low-rank"
	matched      = "matched"

	MDSInit       = "mds"
	GradientsInit = "gradients"
)

// InitForms lists the forms that ParseInit accepts.
const InitForms = "normal, uniform, orthogonal, zeros, sinusoidal-1d, sinusoidal-2d, " +
	"low-rank:R, matched:SCHEME, mds, mds:K, gradients, gradients:K"

// ParseInit reads an Init and, for sinusoids, its scale ("" is own). Options of other schemes have
// the defaults of the reading fidelity.
func ParseInit(text, scale, fidelity string) (Init, error) {
	kind, argument, colon := strings.Cut(text, ":")
	i := Init{Kind: kind, Scale: scale, Fidelity: fidelity}
	switch kind {
	case "", normalInit:
		i.Kind = ""
	case uniformInit, orthogonal, zerosInit, sinusoidal1D, sinusoidal2D:
	case lowRank, MDSInit, GradientsInit:
		if !colon && kind != lowRank {
			break
		}
		rank, err := strconv.Atoi(argument)
		if err != nil || rank < 1 {
			return i, fmt.Errorf("%q: after the colon comes a rank of at least 1, as in %s:2", text, kind)
		}
		i.Rank, colon = rank, false
	case matched:
		if _, err := Find(argument); err != nil {
			return i, fmt.Errorf("%q: after the colon comes the name of a scheme, as in matched:2d-fixed: %w",
				text, err)
		}
		i.Scheme, colon = argument, false
	default:
		return i, fmt.Errorf("%q is not one of %s", text, InitForms)
	}
	if colon {
		return i, fmt.Errorf("%q: %s takes nothing after it", text, kind)
	}
	switch {
	case scale != "" && scale != "own" && scale != "sigma":
		return i, fmt.Errorf("scale %q is not one of own, sigma", scale)
	case scale != "" && !i.sinusoid():
		return i, fmt.Errorf("scale %s of %s: only sinusoids have a scale", scale, i)
	}
	return i, nil
}

// String returns the text that ParseInit reads.
func (i Init) String() string {
	switch i.Kind {
	case "":
		return normalInit
	case lowRank, MDSInit, GradientsInit:
		if i.Rank > 0 {
			return fmt.Sprintf("%s:%d", i.Kind, i.Rank)
		}
	case matched:
		return i.Kind + ":" + i.Scheme
	}
	return i.Kind
}

// UsesSigma reports whether sigma has an effect.
func (i Init) UsesSigma() bool {
	return i.Kind != zerosInit && i.Kind != matched && (!i.sinusoid() || i.Scale == "sigma")
}

// sinusoids maps the sinusoidal starts to the schemes with these tables.
var sinusoids = map[string]string{sinusoidal1D: "1d-fixed", sinusoidal2D: "2d-fixed"}

func (i Init) sinusoid() bool { return sinusoids[i.Kind] != "" }

// start returns the Init of learned tables of rows x width. perToken says that row i belongs to the
// token whose Index is i: only such tables can start as another scheme's table.
func (c Config) start(rows, width int, perToken bool) (torchpe.Init, error) {
	if c.initial != nil {
		return c.initial, nil
	}
	init, err := c.tableInit(rows, width, perToken)
	if err != nil {
		return nil, fmt.Errorf("%s: --pe-init %s: %w", c.scheme, c.Init, err)
	}
	return init, nil
}

func (c Config) tableInit(rows, width int, perToken bool) (torchpe.Init, error) {
	i, size := c.Init, rows*width
	norm := func(member int) float64 { return c.Sigma[member] * math.Sqrt(float64(size)) }
	// each fills one table after another.
	each := func(fill func(member int, rng *rand.Rand, table []float64)) torchpe.Init {
		return func(member int, rng *rand.Rand, out []float64) {
			for at := 0; at+size <= len(out); at += size {
				fill(member, rng, out[at:at+size])
			}
		}
	}
	switch i.Kind {
	case "":
		return ofSigma(c), nil
	case zerosInit:
		return torchpe.Constant(0), nil
	case uniformInit:
		return func(member int, rng *rand.Rand, out []float64) {
			torchpe.Uniform(math.Sqrt(3)*c.Sigma[member])(member, rng, out)
		}, nil
	case orthogonal:
		return each(func(member int, rng *rand.Rand, table []float64) {
			orthonormal(rng, rows, width, table)
			floats.Scale(c.Sigma[member]*math.Sqrt(float64(max(rows, width))), table)
		}), nil
	case lowRank:
		if most := min(rows, width); i.Rank > most {
			return nil, fmt.Errorf("tables of %d x %d have at most rank %d", rows, width, most)
		}
		return each(func(member int, rng *rand.Rand, table []float64) {
			product(rng, i.Rank, width, table)
			toNorm(table, norm(member))
		}), nil
	}
	if !perToken {
		return nil, errors.New("its tables do not have a row for each token, as learn's do; " +
			"choose another start or --pe learn")
	}
	if i.Kind == MDSInit || i.Kind == GradientsInit {
		return c.startAt(rows, width)
	}
	other, err := c.tableOf(cmp.Or(i.Scheme, sinusoids[i.Kind]))
	if err != nil {
		return nil, err
	}
	if i.Kind == matched {
		target := floats.Norm(other, 2)
		return each(func(_ int, rng *rand.Rand, table []float64) {
			fillNormal(rng, table)
			toNorm(table, target)
		}), nil
	}
	return each(func(member int, _ *rand.Rand, table []float64) {
		copy(table, other)
		if i.Scale == "sigma" {
			toNorm(table, norm(member))
		}
	}), nil
}

// startAt returns the Init of tables of rows x width that start at the tokens' coordinates.
func (c Config) startAt(rows, width int) (torchpe.Init, error) {
	x := c.Init.Coordinates
	switch {
	case len(x) != rows:
		return nil, fmt.Errorf("coordinates of %d tokens for tables of %d rows: Init.Coordinates needs "+
			"a row for each", len(x), rows)
	case len(x[0]) > width:
		return nil, fmt.Errorf("%d coordinates per token, but tables have %d columns", len(x[0]), width)
	}
	k := len(x[0])
	return func(member int, rng *rand.Rand, out []float64) {
		turn := make([]float64, k*width)
		for table := range slices.Chunk(out, rows*width) {
			orthonormal(rng, k, width, turn)
			clear(table)
			for i, point := range x {
				for a, v := range point {
					for j := range width {
						table[i*width+j] += v * turn[a*width+j]
					}
				}
			}
			toNorm(table, c.Sigma[member]*math.Sqrt(float64(rows*width)))
		}
	}, nil
}

// tableOf returns the table [N,D] that another scheme adds to the input of the first block, with
// row i for the token whose Index is i. Random tables of the scheme use seed 0.
func (c Config) tableOf(name string) (values []float64, err error) {
	other, err := Find(name)
	if err != nil {
		return nil, err
	}
	if other.Learned {
		return nil, fmt.Errorf("the norm of %s depends on its own sigma: "+
			"give a scheme with a fixed table, such as 2d-fixed", name)
	}
	fidelity := c.Init.Fidelity
	c.Members, c.Sigma, c.Init, c.Dropout = 1, nil, Init{}, 0
	if c.Options, err = other.Resolve(cmp.Or(fidelity, "code"), nil); err != nil {
		return nil, err
	}
	ps := torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)
	e, err := other.Build(c, ps)
	if err != nil {
		return nil, err
	}
	if e.Draw().Range > 0 || e.Sites(0)&AtEmbed == 0 || ps.Count() > 0 {
		return nil, fmt.Errorf("%s has no fixed table; 1d-fixed and 2d-fixed have one", name)
	}
	if err := ps.Build([]uint64{0}); err != nil {
		return nil, err
	}
	defer ps.Close()
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		order := make([]int, c.Positions.Tokens()) // the token of each row
		for token, row := range c.Positions.Index {
			order[row] = token
		}
		if table, ok := e.Begin(s, c.Positions.Permuted(order)).Table(0); ok &&
			len(table.Shape()) == 3 {
			values = table.Float64s()
		}
	})
	if err == nil && len(values) != c.Positions.Tokens()*c.DModel {
		err = fmt.Errorf("%s has no fixed table; 1d-fixed and 2d-fixed have one", name)
	}
	return values, err
}

// ofSigma draws N(0, sigma^2) with each member's sigma.
func ofSigma(c Config) torchpe.Init {
	return func(member int, rng *rand.Rand, out []float64) {
		torchpe.Normal(0, c.Sigma[member])(member, rng, out)
	}
}

// uniformBelow draws from U(0, high).
func uniformBelow(high float64) torchpe.Init {
	return func(_ int, rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = high * rng.Float64()
		}
	}
}

func fillNormal(rng *rand.Rand, out []float64) { torchpe.Normal(0, 1)(0, rng, out) }
