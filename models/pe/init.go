package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// Init is how learned tables start; the zero Init is N(0, sigma^2). With tables in R^{N x D}, one for each place where they are added:
//
//	normal         N(0, sigma^2)
//	uniform        U(-a, a), a = sqrt(3) sigma: the same standard deviation
//	orthogonal     orthonormal rows (columns where N > D), uniform among such matrices, times sigma sqrt(max(N, D))
//	zeros          0
//	sinusoidal-1d  the table of 1d-fixed, in the reading's defaults; by Scale as it is, or times a number
//	sinusoidal-2d  the same of 2d-fixed
//	low-rank:R     A B / |A B|_F times sigma sqrt(N D), A in R^{N x R} and B in R^{R x D} from N(0, 1)
//	matched:S      a draw of N(0, 1), scaled to the Frobenius norm of the table of scheme S
//
// The Frobenius norm of normal and uniform is sigma sqrt(N D) in the mean square, that of orthogonal and low-rank is that exactly.
type Init struct {
	Kind     string // one of those above without what follows the colon; "" is normal
	Rank     int    // of low-rank
	Scheme   string // of matched
	Scale    string // of the sinusoids: "own" (or "") leaves them as they are, "sigma" scales to a norm of sigma sqrt(N D)
	Fidelity string // reading from which the other scheme's options come, "code" or "text"
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
)

// InitForms lists what ParseInit reads.
const InitForms = "normal, uniform, orthogonal, zeros, sinusoidal-1d, sinusoidal-2d, low-rank:R, matched:SCHEME"

// ParseInit reads how learned tables start and, for sinusoids, at what scale ("" is own); the options of other schemes are those of a
// reading.
func ParseInit(text, scale, fidelity string) (Init, error) {
	kind, argument, colon := strings.Cut(text, ":")
	i := Init{Kind: kind, Scale: scale, Fidelity: fidelity}
	switch kind {
	case "", normalInit:
		i.Kind = ""
	case uniformInit, orthogonal, zerosInit, sinusoidal1D, sinusoidal2D:
	case lowRank:
		rank, err := strconv.Atoi(argument)
		if err != nil || rank < 1 {
			return i, fmt.Errorf("%q: a rank of at least 1 follows the colon, as in low-rank:2", text)
		}
		i.Rank, colon = rank, false
	case matched:
		if _, err := Find(argument); err != nil {
			return i, fmt.Errorf("%q: the name of a scheme follows the colon, as in matched:2d-fixed: %w", text, err)
		}
		i.Scheme, colon = argument, false
	default:
		return i, fmt.Errorf("%q is not one of %s", text, InitForms)
	}
	if colon {
		return i, fmt.Errorf("%q: nothing follows %s", text, kind)
	}
	switch {
	case scale != "" && scale != "own" && scale != "sigma":
		return i, fmt.Errorf("scale %q is not one of own, sigma", scale)
	case scale != "" && !i.sinusoid():
		return i, fmt.Errorf("scale %s of %s: only the sinusoids have one", scale, i)
	}
	return i, nil
}

// String is what ParseInit reads.
func (i Init) String() string {
	switch i.Kind {
	case "":
		return normalInit
	case lowRank:
		return fmt.Sprintf("%s:%d", i.Kind, i.Rank)
	case matched:
		return i.Kind + ":" + i.Scheme
	}
	return i.Kind
}

// UsesSigma says whether sigma has an effect.
func (i Init) UsesSigma() bool {
	return i.Kind != zerosInit && i.Kind != matched && (!i.sinusoid() || i.Scale == "sigma")
}

func (i Init) sinusoid() bool { return i.Kind == sinusoidal1D || i.Kind == sinusoidal2D }

// start returns how learned tables of rows x width start. Row i belongs to the token whose Index is i where perToken; a scheme with
// other tables has no start that another scheme's table gives.
func (c Config) start(scheme string, rows, width int, perToken bool) (torchpe.Init, error) {
	i := c.Init
	size := rows * width
	sigma := func(member int) float64 { return c.Sigma[member] }
	norm := func(member int) float64 { return sigma(member) * math.Sqrt(float64(size)) }
	// each fills one table after another.
	each := func(fill func(member int, rng *rand.Rand, table []float64)) torchpe.Init {
		return func(member int, rng *rand.Rand, out []float64) {
			for at := 0; at+size <= len(out); at += size {
				fill(member, rng, out[at:at+size])
			}
		}
	}
	if (i.Kind == matched || i.sinusoid()) && !perToken {
		return nil, fmt.Errorf("%s: --pe-init %s: its tables have no row for each token, as learn's have; take another start or --pe learn", scheme, i)
	}
	switch i.Kind {
	case "":
		return ofSigma(c), nil
	case zerosInit:
		return torchpe.Constant(0), nil
	case uniformInit:
		return func(member int, rng *rand.Rand, out []float64) {
			torchpe.Uniform(math.Sqrt(3)*sigma(member))(member, rng, out)
		}, nil
	case orthogonal:
		return each(func(member int, rng *rand.Rand, table []float64) {
			orthonormal(rng, rows, width, table)
			scale(table, sigma(member)*math.Sqrt(float64(max(rows, width))))
		}), nil
	case lowRank:
		if i.Rank > min(rows, width) {
			return nil, fmt.Errorf("%s: --pe-init %s: tables of %d x %d have at most rank %d", scheme, i, rows, width, min(rows, width))
		}
		return each(func(member int, rng *rand.Rand, table []float64) {
			product(rng, i.Rank, width, table)
			toNorm(table, norm(member))
		}), nil
	case matched:
		other, err := c.tableOf(i.Scheme)
		if err != nil {
			return nil, fmt.Errorf("%s: --pe-init %s: %w", scheme, i, err)
		}
		target := frobenius(other)
		return each(func(_ int, rng *rand.Rand, table []float64) {
			fillNormal(rng, table)
			toNorm(table, target)
		}), nil
	}
	other, err := c.tableOf(map[string]string{sinusoidal1D: "1d-fixed", sinusoidal2D: "2d-fixed"}[i.Kind])
	if err != nil {
		return nil, fmt.Errorf("%s: --pe-init %s: %w", scheme, i, err)
	}
	return each(func(member int, _ *rand.Rand, table []float64) {
		copy(table, other)
		if i.Scale == "sigma" {
			toNorm(table, norm(member))
		}
	}), nil
}

// tableOf returns the table [N,D] that another scheme adds at the input of the first block, row i for the token whose Index is i. What the scheme
// draws comes from seed 0.
func (c Config) tableOf(name string) (values []float64, err error) {
	other, err := Find(name)
	if err != nil {
		return nil, err
	}
	if other.Learned {
		return nil, fmt.Errorf("the norm of %s is that of its own sigma: name a scheme whose table is fixed, such as 2d-fixed", name)
	}
	c.Members, c.Sigma, c.Init = 1, nil, Init{}
	if c.Options, err = other.Resolve(c.fidelity(), nil); err != nil {
		return nil, err
	}
	ps := torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)
	e, err := other.Build(c, ps)
	if err != nil {
		return nil, err
	}
	if _, draws := e.(Sampler); draws || e.Sites()&AtEmbed == 0 || ps.Count() > 0 {
		return nil, fmt.Errorf("%s has no fixed table; 1d-fixed and 2d-fixed have", name)
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
		if table, ok := e.Begin(s, c.Positions.Permuted(order)).Table(0); ok && len(table.Shape()) == 3 {
			values = table.Float64s()
		}
	})
	if err == nil && len(values) != c.Positions.Tokens()*c.DModel {
		err = fmt.Errorf("%s has no fixed table; 1d-fixed and 2d-fixed have", name)
	}
	return values, err
}

// fidelity is the reading from which other schemes' options come.
func (c Config) fidelity() string {
	if c.Init.Fidelity == "" {
		return "code"
	}
	return c.Init.Fidelity
}

func fillNormal(rng *rand.Rand, out []float64) { torchpe.Normal(0, 1)(0, rng, out) }

// product fills table [rows,width] with A B of the given rank, A drawn before B.
func product(rng *rand.Rand, rank, width int, table []float64) {
	rows := len(table) / width
	a, b := make([]float64, rows*rank), make([]float64, rank*width)
	fillNormal(rng, a)
	fillNormal(rng, b)
	for i := range rows {
		row := table[i*width : (i+1)*width]
		clear(row)
		for k := range rank {
			for j := range row {
				row[j] += a[i*rank+k] * b[k*width+j]
			}
		}
	}
}

// orthonormal fills table [rows,width] with orthonormal rows, or columns where there are more rows: normals, made orthogonal one after the
// other (Gram and Schmidt), which is uniform among such matrices.
func orthonormal(rng *rand.Rand, rows, width int, table []float64) {
	n, d := min(rows, width), max(rows, width)
	vectors := make([]float64, n*d)
	for i := range n {
		v := vectors[i*d : (i+1)*d]
		fillNormal(rng, v)
		for range 2 { // the second time takes away what rounding left
			for j := range i {
				u, dot := vectors[j*d:(j+1)*d], 0.0
				for k := range v {
					dot += u[k] * v[k]
				}
				for k := range v {
					v[k] -= dot * u[k]
				}
			}
		}
		toNorm(v, 1)
	}
	for i := range n {
		for j := range d {
			if rows <= width {
				table[i*width+j] = vectors[i*d+j]
			} else {
				table[j*width+i] = vectors[i*d+j]
			}
		}
	}
}

func frobenius(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}

// toNorm scales x to a Frobenius norm.
func toNorm(x []float64, norm float64) {
	if have := frobenius(x); have > 0 {
		scale(x, norm/have)
	}
}

// DropTables returns hooks that add their learned tables with each element dropped with probability p: one draw for each member and step, which
// all samples share. ok is false where they add none.
func DropTables(h Hooks, p float64) (dropped Hooks, ok bool) {
	switch h := h.(type) {
	case *tableHooks:
		if h.shared { // a fixed one
			return h, false
		}
		return &tableHooks{tables: h.tables.Dropout(p), each: h.each, dropout: h.dropout}, true
	case stackHooks:
		for i := range h {
			var part bool
			h[i].Hooks, part = DropTables(h[i].Hooks, p)
			ok = ok || part
		}
		return h, ok
	}
	return h, false
}
