package pe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// started returns the initial pe.table [E][L][N*D] of a model of 3 layers with a table each.
func started(t *testing.T, init, scale string, p pe.Positions, d int, seeds []uint64,
	sigma []float64) [][][]float64 {
	t.Helper()
	i := expect.Must(pe.ParseInit(init, scale, "code"))
	m := petest.Spec{
		Scheme: "learn", Layers: 3, DModel: d, Positions: p, Seeds: seeds, Sigma: sigma,
		Change: func(c *models.Config) { c.PEInit = i },
	}.Model(t)
	var tables [][][]float64
	for member := range slices.Chunk(valuesOf(m, "pe.table"), 3*p.Tokens()*d) {
		tables = append(tables, slices.Collect(slices.Chunk(member, p.Tokens()*d)))
	}
	return tables
}

// rank counts the singular values of rows of the given width that are above 1e-9 of the first.
func rank(x []float64, width int) int {
	var svd mat.SVD
	svd.Factorize(mat.NewDense(len(x)/width, width, slices.Clone(x)), mat.SVDNone)
	values := svd.Values(nil)
	return len(slices.DeleteFunc(values, func(v float64) bool { return v <= 1e-9*values[0] }))
}

// TestInits compares each start with its closed form: norms, orthogonality, rank, bounds and
// moments.
func TestInits(t *testing.T) {
	seeds, sigma := []uint64{3, 4}, []float64{0.2, 1.5}
	for _, size := range []struct{ rows, columns, d int }{{2, 4, 24}, {4, 5, 12}, {4, 4, 16}} {
		n, d, p := size.rows*size.columns, size.d, pe.Grid(size.rows, size.columns)
		for _, init := range []string{"normal", "uniform", "orthogonal", "zeros", "sinusoidal-1d",
			"sinusoidal-2d", "low-rank:3", "low-rank:1", "matched:2d-fixed", "matched:random"} {
			for e, tables := range started(t, init, "", p, d, seeds, sigma) {
				for layer, x := range tables {
					name := fmt.Sprintf("%s, %d x %d, member %d, block %d", init, n, d, e, layer)
					full := sigma[e] * math.Sqrt(float64(n*d))
					switch init {
					case "zeros":
						expect.Near(t, name, norm(x), 0, 0)
					case "sinusoidal-1d", "sinusoidal-2d":
						fixed := petest.Spec{Scheme: init[len("sinusoidal-"):] + "-fixed", DModel: d, Positions: p,
							Given: given("fixed-pe-dropout=0")}
						expect.Near(t, name, norm(difference(x, tableOf(t, fixed).Values)), 0, 1e-12)
					case "matched:2d-fixed": // sines and cosines of one angle: 1 a pair
						expect.Near(t, name+": norm", norm(x), math.Sqrt(float64(n*d)/2), 1e-9)
					case "low-rank:3", "low-rank:1":
						expect.Near(t, name+": norm", norm(x), full, 1e-9)
						expect.Equal(t, fmt.Sprintf("%s: rank", name), rank(x, d), int(init[len(init)-1]-'0'))
					case "orthogonal":
						expect.Near(t, name+": norm", norm(x), full, 1e-9)
						gram(t, name, x, n, d, sigma[e]*sigma[e]*float64(max(n, d)))
					case "normal", "uniform":
						expect.Near(t, name+": norm", norm(x), full, 0.15*full)
						bound := sigma[e] * math.Sqrt(3)
						beyond := slices.ContainsFunc(x, func(v float64) bool { return math.Abs(v) > bound })
						expect.Equal(t, name+": there are numbers beyond sqrt(3) sigma", beyond, init == "normal")
					}
					if layer > 0 && !strings.HasPrefix(init, "sinusoidal") && init != "zeros" &&
						norm(difference(x, tables[0])) == 0 {
						t.Errorf("%s starts as block 0", name)
					}
				}
			}
			for _, scaled := range []string{"sinusoidal-1d", "sinusoidal-2d"} {
				for e, tables := range started(t, scaled, "sigma", p, d, seeds, sigma) {
					expect.Near(t, scaled+" scaled to sigma", norm(tables[2]),
						sigma[e]*math.Sqrt(float64(n*d)), 1e-9)
				}
			}
		}
	}
}

// gram checks that the rows of x (its columns where there are more rows) are orthogonal with
// squares of `square`.
func gram(t *testing.T, name string, x []float64, n, d int, square float64) {
	t.Helper()
	var a mat.Matrix = mat.NewDense(n, d, x)
	if n > d {
		a = a.T()
	}
	var products mat.Dense
	products.Mul(a, a.T())
	for i, v := range products.RawMatrix().Data {
		want := 0.0
		if i%(min(n, d)+1) == 0 {
			want = square
		}
		expect.Near(t, fmt.Sprintf("%s: product %d", name, i), v, want, 1e-12*square*float64(max(n, d)))
	}
}

// TestInitsOfMembers: a member of an ensemble starts as the same model alone, other seeds start
// otherwise, and without a start given the table has the bits that it has with normal.
func TestInitsOfMembers(t *testing.T) {
	p, seeds, sigma := pe.Grid(3, 4), []uint64{3, 4, 5}, []float64{0.2, 1.5, 0.2}
	for _, init := range []string{"", "normal", "uniform", "orthogonal", "low-rank:2",
		"matched:2d-fixed", "sinusoidal-2d", "zeros"} {
		all := started(t, init, "", p, 16, seeds, sigma)
		for e := range seeds {
			alone := started(t, init, "", p, 16, seeds[e:e+1], sigma[e:e+1])
			if fmt.Sprint(alone[0]) != fmt.Sprint(all[e]) {
				t.Errorf("%q: member %d starts otherwise alone", init, e)
			}
		}
		drawn := init != "sinusoidal-2d" && init != "zeros"
		expect.Equal(t, fmt.Sprintf("%q: members 0 and 2 differ", init),
			norm(difference(all[0][0], all[2][0])) > 0, drawn)
		if init == "normal" && fmt.Sprint(all) != fmt.Sprint(started(t, "", "", p, 16, seeds, sigma)) {
			t.Error("normal is not what no start is")
		}
	}
}

// TestInitsOfOtherTables: each table of a factorised PE starts by itself; stacks start their
// learned part.
func TestInitsOfOtherTables(t *testing.T) {
	for _, scheme := range []string{"axial", "learn-2d", "learn-resampled", "space-time", "abacus",
		"rope+learn", "t5+learn-2d"} {
		for _, init := range []string{"orthogonal", "uniform", "zeros", "low-rank:1"} {
			i, _ := pe.ParseInit(init, "", "code")
			m := petest.Spec{Scheme: scheme, Positions: pe.Grid(4, 4), Sigma: []float64{0.5},
				Change: func(c *models.Config) { c.PEInit = i }}.Model(t)
			tables := 0
			for _, q := range m.Params.All() {
				learned := strings.HasPrefix(q.Name, "pe.") && q.Trainable && len(q.Shape) == 4 &&
					!strings.HasPrefix(q.Name, "pe.t5.")
				if !learned {
					continue
				}
				tables++
				x := valuesOf(m, q.Name)
				size := q.Shape[2] * q.Shape[3]
				want := 0.5 * math.Sqrt(float64(size))
				if init == "zeros" {
					want = 0
				}
				if init != "uniform" {
					expect.Near(t, scheme+", "+q.Name+" "+init, norm(x[:size]), want, 1e-9)
				}
				if init == "low-rank:1" && rank(x[:size], q.Shape[3]) != 1 {
					t.Errorf("%s, %s: rank %d", scheme, q.Name, rank(x[:size], q.Shape[3]))
				}
			}
			if tables == 0 {
				t.Errorf("%s has no tables", scheme)
			}
		}
	}
}

// TestRefusedInits: bad words, schemes without a learned table, ranks that a table cannot have,
// norms that another scheme does not have.
func TestRefusedInits(t *testing.T) {
	for _, text := range []string{"gaussian", "low-rank", "low-rank:0", "low-rank:x", "matched",
		"matched:nothing", "zeros:1", "uniform:", "normal:2", "mds:0", "mds:", "gradients:x"} {
		expect.Refused(t, text, expect.ErrorOf(pe.ParseInit(text, "", "code")))
	}
	for _, c := range []struct{ init, scale string }{{"normal", "sigma"}, {"zeros", "own"},
		{"sinusoidal-1d", "big"}} {
		expect.Refused(t, fmt.Sprintf("--pe-init %s with a scale %s", c.init, c.scale),
			expect.ErrorOf(pe.ParseInit(c.init, c.scale, "code")))
	}
	for _, c := range []struct{ scheme, init, says string }{
		{"nope", "zeros", "no learned table"}, {"rope", "orthogonal", "no learned table"},
		{"2d-fixed", "uniform", "no learned table"},
		{"learn", "low-rank:9", "at most rank 8"}, {"learn", "matched:rope", "no fixed table"},
		{"learn", "matched:learn-2d", "own sigma"},
		{"learn", "matched:learn-fourier", "no fixed table"},
		{"axial", "matched:2d-fixed", "row for each token"},
		{"axial", "sinusoidal-1d", "row for each token"},
		{"floater", "zeros", "no learned table"},
		{"learn", "mds", "coordinates of 0 tokens"}, {"axial", "gradients:2", "row for each token"},
	} {
		i := expect.Must(pe.ParseInit(c.init, "", "code"))
		m, err := petest.Spec{Scheme: c.scheme, Change: func(m *models.Config) { m.PEInit = i }}.New()
		if err == nil {
			m.Close()
		}
		expect.Error(t, err, c.says)
	}
	i, _ := pe.ParseInit("sinusoidal-2d", "", "code")
	if m, err := (petest.Spec{Scheme: "learn", Positions: pe.Line(6),
		Change: func(m *models.Config) { m.PEInit = i }}).New(); err == nil {
		m.Close()
		t.Error("a line has a 2-D sinusoid")
	}
}
