package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"torchpe/internal/expect"
)

// spatialVectors reads a file of reference vectors that BrainSpace's code wrote; a test without
// them is skipped.
func spatialVectors(t *testing.T, name string, cases any) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "pe-new", name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no reference vectors at %s", path)
	}
	expect.NoError(t, json.Unmarshal(text, &struct{ Cases any }{cases}))
}

// Tolerances of the vectors' files, absolute and relative alike.
const (
	moranTolerance = 1e-9
	spinTolerance  = 1e-12
)

func differ(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	expect.Near(t, what, got, want, tolerance*(1+math.Abs(want)))
}

func flat(rows [][]float64) []float64 { return slices.Concat(rows...) }

func TestMoranAgainstBrainSpace(t *testing.T) {
	var cases []struct {
		Name   string
		Config struct{ Procedure string }
		Inputs struct {
			Weights, X, Mem [][]float64
			Signs           [][][]float64
		}
		Outputs struct {
			Eigenvalues []float64
			Nulls       json.RawMessage // [draws][n], or [draws][n][maps]
		}
	}
	spatialVectors(t, "moran_randomization.json", &cases)
	drawn := 0
	for _, c := range cases {
		n := len(c.Inputs.Weights)
		m, err := NewMoran(flat(c.Inputs.Weights), n)
		if err != nil || len(m.values) != len(c.Outputs.Eigenvalues) {
			t.Fatalf("%s: %v, %v", c.Name, m, err)
		}
		for i, want := range c.Outputs.Eigenvalues {
			differ(t, fmt.Sprintf("%s: eigenvalue %d", c.Name, i), m.values[i], want, moranTolerance)
			sign := 1.0
			if m.vectors.At(0, i)*c.Inputs.Mem[0][i] < 0 {
				sign = -1
			}
			for j := range n {
				differ(t, fmt.Sprintf("%s: eigenvector %d", c.Name, i), sign*m.vectors.At(j, i), c.Inputs.Mem[j][i],
					moranTolerance)
			}
		}
		for k, signs := range c.Inputs.Signs { // of the singleton procedure
			drawn++
			var turns []*mat.Dense
			for _, sign := range flat(signs) {
				turns = append(turns, mat.NewDense(1, 1, []float64{sign}))
			}
			got := m.turn(TableOf(c.Inputs.X), turns).Values
			for i, want := range nulls(t, c.Outputs.Nulls)[k] {
				differ(t, fmt.Sprintf("%s: draw %d, number %d", c.Name, k, i), got[i], want, moranTolerance)
			}
		}
	}
	if drawn < 5 {
		t.Errorf("%d draws were compared", drawn)
	}
}

// The weights of a grid have equal eigenvalues, whose eigenvectors depend on the order of the tokens. p does
// not, and surrogates keep covariances and Moran's I.
func TestMoranOfAnyOrder(t *testing.T) {
	const n, d, draws = 16, 3, 1999
	rng := rand.New(rand.NewPCG(4, 4))
	table, points := Table{n, d, make([]float64, n*d)}, Table{n, 2, make([]float64, n*2)}
	labels := make([]int, n)
	for i := range n {
		points.Values[2*i], points.Values[2*i+1] = float64(i/4), float64(i%4)
		labels[i] = i / 8
		for j := range d {
			table.Values[i*d+j] = rng.NormFloat64() + float64(labels[i])
		}
	}
	var first float64
	for order := range 6 {
		of := make([]int, n)
		for i := range of {
			of[i] = i
		}
		if order > 0 {
			of = rng.Perm(n)
		}
		x, at, modules := Table{n, d, nil}, Table{n, 2, nil}, make([]int, n)
		for i, from := range of {
			x.Values = append(x.Values, table.Values[from*d:(from+1)*d]...)
			at.Values = append(at.Values, points.Values[2*from:2*from+2]...)
			modules[i] = labels[from]
		}
		w := InverseDistances(at.Distances(Euclidean), n)
		m := expect.Must(NewMoran(w, n))
		if slices.Max(m.sizes) < 2 {
			t.Fatalf("groups of eigenvalues %v", m.sizes)
		}
		q := modularity(Proximity(x.Distances(Euclidean)), modules)
		p := Reached(Null(m.Surrogate(x, Euclidean, modules), draws, 7), q)
		if order == 0 {
			first = p
		}
		expect.Near(t, fmt.Sprintf("order %d: p", order), p, first, 0.05)
		var turns []*mat.Dense
		for _, size := range m.sizes {
			turns = append(turns, drawTurn(size, rng))
		}
		turned := m.turn(x, turns)
		for c := range d {
			for k := range d {
				differ(t, "covariance", spatial(turned, c, k, nil), spatial(x, c, k, nil), moranTolerance)
				differ(t, "Moran's I", spatial(turned, c, k, w), spatial(x, c, k, w), moranTolerance)
			}
		}
	}
}

// spatial returns the sum of products of two centred columns of a table, over all pairs of tokens with
// weights, or without any over each token alone.
func spatial(x Table, c, k int, w []float64) (sum float64) {
	a, b := centred(mat.Col(nil, c, x.dense())), centred(mat.Col(nil, k, x.dense()))
	for i := range a {
		if w == nil {
			sum += a[i] * b[i]
			continue
		}
		for j := range b {
			sum += w[i*x.Tokens+j] * a[i] * b[j]
		}
	}
	return sum
}

// nulls reads surrogate maps with an axis of maps or without.
func nulls(t *testing.T, text json.RawMessage) (out [][]float64) {
	t.Helper()
	var many [][][]float64
	if json.Unmarshal(text, &many) == nil {
		for _, rows := range many {
			out = append(out, flat(rows))
		}
		return out
	}
	expect.NoError(t, json.Unmarshal(text, &out))
	return out
}

func TestSpinsAgainstBrainSpace(t *testing.T) {
	var cases []struct {
		Name   string
		Config struct{ Unique bool }
		Inputs struct {
			Left    [][]float64   `json:"points_lh"`
			Right   [][]float64   `json:"points_rh"`
			Normals [][][]float64 `json:"normals"`
		}
		Outputs struct {
			Rotations [][][]float64
			Left      [][]int `json:"spins_lh"`
			Right     [][]int `json:"spins_rh"`
		}
	}
	spatialVectors(t, "spin_test.json", &cases)
	for _, c := range cases {
		left := len(c.Inputs.Left)
		right := make([]bool, left+len(c.Inputs.Right))
		for i := left; i < len(right); i++ {
			right[i] = true
		}
		s, err := NewSphere(append(c.Inputs.Left, c.Inputs.Right...), right)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for k, normals := range c.Inputs.Normals {
			r := rotation(flat(normals))
			for i, want := range flat(c.Outputs.Rotations[k]) {
				differ(t, fmt.Sprintf("%s: rotation %d", c.Name, k), r[i/3][i%3], want, spinTolerance)
			}
			got := s.spin(r)
			if !c.Config.Unique {
				got = nearestTokens(s, r)
			}
			want := append([]int(nil), c.Outputs.Left[k]...)
			if c.Outputs.Right != nil {
				for _, from := range c.Outputs.Right[k] {
					want = append(want, left+from)
				}
			}
			expect.Equal(t, fmt.Sprintf("%s: spin %d", c.Name, k), fmt.Sprint(got), fmt.Sprint(want))
		}
	}
	if len(cases) < 3 {
		t.Errorf("%d cases", len(cases))
	}
}

// nearestTokens returns for each turned token the nearest one of its hemisphere.
func nearestTokens(s *Sphere, r [3][3]float64) []int {
	from := make([]int, len(s.points))
	for side, tokens := range s.sides {
		for _, i := range tokens {
			at, least := rotate(s.points[i], r, side == 1), math.Inf(1)
			for _, j := range tokens {
				p := s.points[j]
				if d := length([3]float64{at[0] - p[0], at[1] - p[1], at[2] - p[2]}); d < least {
					from[i], least = j, d
				}
			}
		}
	}
	return from
}

// spread returns n points spread evenly over a sphere (a Fibonacci lattice).
func spread(n int) (points [][]float64) {
	for i := range n {
		z := 1 - (2*float64(i)+1)/float64(n)
		at, r := float64(i)*math.Pi*(3-math.Sqrt(5)), math.Sqrt(1-z*z)
		points = append(points, []float64{r * math.Cos(at), r * math.Sin(at), z})
	}
	return points
}

// smooth returns the root of the covariance exp(-d^2/2r^2) of maps over tokens at distances d [n,n].
func smooth(d []float64, n int, r float64) *mat.TriDense {
	covariance := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			covariance.SetSym(i, j, math.Exp(-d[i*n+j]*d[i*n+j]/(2*r*r)))
		}
		covariance.SetSym(i, i, 1+1e-9)
	}
	var c mat.Cholesky
	c.Factorize(covariance)
	var root mat.TriDense
	c.LTo(&root)
	return &root
}

// fields draws k independent maps [n,k] with a root of their covariance.
func fields(root *mat.TriDense, k int, rng *rand.Rand) []float64 {
	n, _ := root.Dims()
	x := mat.NewDense(n, k, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	x.Mul(root, x)
	return x.RawMatrix().Data
}

// Smooth tables against smooth modules that were drawn apart from them, 80 tokens on a sphere of
// radius 1: p is at most 0.05 in about 5 % of draws where the null keeps what is smooth, and in most
// of them where labels are dealt at random. Modules that are in the table are found by all. With -v
// it prints the rates that docs/analyze.md has.
func TestSmoothChance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	points := spread(chanceTokens)
	distances := TableOf(points).Distances(Euclidean)
	m := expect.Must(NewMoran(InverseDistances(distances, chanceTokens), chanceTokens))
	sphere := expect.Must(NewSphere(points, nil))
	rng := rand.New(rand.NewPCG(20, 26))
	for _, c := range []struct {
		reach, effect float64
		least, most   [3]float64 // of permute, moran, spin
	}{
		{0.35, 0, [3]float64{0.4, 0.01, 0.01}, [3]float64{1, 0.1, 0.1}},
		{0.5, 0, [3]float64{0.8, 0.02, 0.02}, [3]float64{1, 0.1, 0.1}},
		{1, 0, [3]float64{0.8, 0.01, 0.01}, [3]float64{1, 0.15, 0.15}},
		{0.5, 1, [3]float64{0.9, 0.6, 0.6}, [3]float64{1, 1, 1}},
	} {
		got := chance(smooth(distances, chanceTokens, c.reach), c.effect, m, sphere, rng)
		t.Logf("maps smooth over %v, modules %v higher: p <= 0.05 by permute, moran, spin in %.1f %%", c.reach,
			c.effect, []float64{100 * got[0], 100 * got[1], 100 * got[2]})
		for i, share := range got {
			if share < c.least[i] || share > c.most[i] {
				t.Errorf("test %d: %v: want %v to %v", i, share, c.least[i], c.most[i])
			}
		}
	}
}

const chanceTokens = 80

// chance returns how often p is at most 0.05 by permutation, Moran and spin, in draws of a table and
// of four modules, in each of which a dimension of its own is higher by effect.
func chance(root *mat.TriDense, effect float64, m *Moran, sphere *Sphere, rng *rand.Rand) (share [3]float64) {
	const n, d, modules, tries, draws = chanceTokens, 8, 4, 400, 19
	for made := 0; made < tries; made++ {
		table, likely := Table{n, d, fields(root, d, rng)}, fields(root, modules, rng)
		labels := make([]int, n)
		for i := range labels {
			of := likely[i*modules : (i+1)*modules]
			labels[i] = slices.Index(of, slices.Max(of))
			table.Values[i*d+labels[i]] += effect
		}
		if slices.Max(labels) == slices.Min(labels) { // one module
			made--
			continue
		}
		w := Proximity(table.Distances(Euclidean))
		q := modularity(w, labels)
		for i, draw := range []Surrogate{Permuted(w, labels), m.Surrogate(table, Euclidean, labels),
			sphere.Surrogate(w, labels)} {
			if Reached(Null(draw, draws, rng.Uint64()), q) <= 0.05 {
				share[i] += 1.0 / tries
			}
		}
	}
	return share
}
