package torchpe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// TestParamSetLayout checks where parameters lie: trained ones one after the other in the columns
// of the flat buffer, at multiples of 32 with zeros between, the others in theirs, and that writing
// to one writes to the other.
func TestParamSetLayout(t *testing.T) {
	ps := NewParamSet(2, Float64, CPU)
	a := ps.Add("a", true, Constant(1), 2, 3)
	f := ps.Add("f", false, Constant(2), 4)
	b := ps.Add("b", true, Constant(3))
	expect.NoError(t, ps.Build([]uint64{5, 6}))
	defer ps.Close()
	s := kept(t, NewScope())
	if ps.Count() != 7 || ps.Columns() != 64 || a.Offset() != 0 || b.Offset() != 32 ||
		f.Offset() != 0 || a.PerMember() != 6 || b.PerMember() != 1 {
		t.Errorf("%d trained, offsets %d, %d, %d", ps.Count(), a.Offset(), b.Offset(), f.Offset())
	}
	if !slices.Equal(a.In(s).Shape(), []int{2, 2, 3}) || !slices.Equal(b.In(s).Shape(), []int{2}) ||
		ps.Get("a") != a || ps.Get("c") != nil || len(ps.All()) != 3 {
		t.Errorf("shapes %v and %v", a.In(s).Shape(), b.In(s).Shape())
	}
	row := func(a, b float64) []float64 { // of a member
		v := make([]float64, 64)
		copy(v, slices.Repeat([]float64{1}, 6))
		v[0], v[32] = a, b
		return v
	}
	near(t, "flat buffer", ps.Flat(s).Float64s(), append(row(1, 3), row(1, 3)...), 0)
	frozen := append(slices.Repeat([]float64{2}, 4), make([]float64, 28)...)
	near(t, "frozen buffer", Tensor{ps.frozen, s}.Float64s(), append(frozen, frozen...), 0)
	expect.NoError(t, ps.Set("b", []float64{10, 20}))
	ps.Flat(s).Narrow(1, 0, 1).Fill(-1)
	near(t, "after writing", ps.Flat(s).Float64s(), append(row(-1, 10), row(-1, 20)...), 0)
	values := expect.Must(ps.Values("a"))
	near(t, "a", values, []float64{-1, 1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1}, 0)
}

// TestParamSetDraws checks that a parameter's first values depend on the member's seed and the
// parameter's name alone.
func TestParamSetDraws(t *testing.T) {
	build := func(seeds []uint64, names ...string) *ParamSet {
		ps := NewParamSet(len(seeds), Float64, CPU)
		for _, name := range names {
			ps.Add(name, name != "frozen", Normal(0, 1), 3, 2)
		}
		expect.NoError(t, ps.Build(seeds))
		return ps
	}
	ensemble, alone := build([]uint64{1, 2}, "w", "frozen", "v"), build([]uint64{2}, "x", "v", "frozen")
	defer ensemble.Close()
	defer alone.Close()
	for _, name := range []string{"v", "frozen"} {
		identical(t, name+" of the second member", valuesOf(ensemble, name)[6:], valuesOf(alone, name))
	}
	w := valuesOf(ensemble, "w")
	if slices.Equal(w[:6], w[6:]) || slices.Equal(w, valuesOf(ensemble, "v")) {
		t.Error("two members, or two parameters, have the same values")
	}
	want := make([]float64, 6)
	Normal(0, 1)(0, Stream(2, "v"), want)
	identical(t, "v from its stream", valuesOf(alone, "v"), want)
}

// TestInits checks the spread of what the initialisers draw: PyTorch's bounds for linear maps.
func TestInits(t *testing.T) {
	const n = 100_000
	for _, c := range []struct {
		name              string
		init              Init
		low, high, spread float64
	}{
		{"Uniform(0.5)", Uniform(0.5), -0.5, 0.5, 0.25 / 3}, {"FanIn(16)", FanIn(16), -0.25, 0.25, 0.0625 / 3},
		{"Xavier(20,34)", Xavier(20, 34), -1. / 3, 1. / 3, 1. / 27},
		{"Normal(2,3)", Normal(2, 3), -20, 24, 9}, {"Constant(7)", Constant(7), 7, 7, 0},
	} {
		v := make([]float64, n)
		c.init(0, rand.New(rand.NewPCG(70, 0)), v)
		mean, variance := moments(v)
		if slices.Min(v) < c.low || slices.Max(v) > c.high || variance < 0.97*c.spread-1e-12 ||
			variance > 1.03*c.spread+1e-12 ||
			math.Abs(mean-(c.low+c.high)/2) > 0.01*(c.high-c.low)+1e-9 {
			t.Errorf("%s: from %g to %g, mean %g, variance %g; want variance %g", c.name,
				slices.Min(v), slices.Max(v), mean, variance, c.spread)
		}
	}
}

func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

// TestBadParamSet declares and builds sets that cannot be: errors that name the trouble, and
// nothing is left.
func TestBadParamSet(t *testing.T) {
	before := Live()
	for name, shape := range map[string][]int{"negative": {-1, 3}, "too large": {1 << 40, 1 << 10},
		"overflow": {1 << 32, 1 << 32}, "rank 9": {1, 1, 1, 1, 1, 1, 1, 1}} {
		for _, trainable := range []bool{true, false} {
			ps := NewParamSet(2, Float32, CPU)
			ps.Add("good", true, Constant(1), 3)
			ps.Add("bad", trainable, Constant(1), shape...)
			expect.Refused(t, name, ps.Build([]uint64{1, 2}))
			ps.Close()
		}
	}
	if sys := DescribeSystem(); len(sys.GPUs) == 0 {
		ps := NewParamSet(1, Float32, CUDA(0))
		ps.Add("a", true, Constant(1), 3)
		expect.Error(t, ps.Build([]uint64{1}), "cuda:0")
	}
	ps := NewParamSet(2, Float64, CPU)
	ps.Add("a", true, Constant(1), 3)
	failing(t, "ParamSet.Add", func() { ps.Add("a", true, Constant(1), 3) })
	expect.Refused(t, "one seed for two members", ps.Build([]uint64{1}))
	expect.Refused(t, "values before Build", expect.ErrorOf(ps.Values("a")))
	expect.NoError(t, ps.Build([]uint64{1, 2}))
	n := Live()
	if err := ps.Build([]uint64{1, 2}); err == nil || Live() != n {
		t.Errorf("building twice: %v, %d tensors more", err, Live()-n)
	}
	failing(t, "ParamSet.Add", func() { ps.Add("b", true, Constant(1), 3) })
	_, unknown := ps.Values("b")
	for name, err := range map[string]error{"unknown": unknown, "set unknown": ps.Set("b", nil),
		"too few": ps.Set("a", make([]float64, 5)), "too many": ps.Set("a", make([]float64, 7))} {
		expect.Refused(t, name, err)
	}
	ps.Close()
	ps.Close()
	expect.Refused(t, "values after Close", expect.ErrorOf(ps.Values("a")))
	expect.Refused(t, "setting after Close", ps.Set("a", make([]float64, 6)))
	live(t, "after all", before, 0)
}

// TestStream: a name is hashed by FNV-1a, whose hash of "a" is af63dc4c8601ec8c in its authors' list.
func TestStream(t *testing.T) {
	expect.Equal(t, "the first number", Stream(7, "a").Uint64(), rand.NewPCG(7, 0xaf63dc4c8601ec8c).Uint64())
}

// TestRenamed: parameters are declared under other names within Renamed only, also where it is
// nested.
func TestRenamed(t *testing.T) {
	ps := NewParamSet(1, Float32, CPU)
	add := func(name string) { ps.Add(name, true, Constant(0), 1) }
	in := func(prefix string) func(string) string { return func(name string) string { return prefix + name } }
	ps.Renamed(in("a."), func() {
		add("x")
		ps.Renamed(in("b."), func() { add("x") })
		add("y")
	})
	add("x")
	var names []string
	for _, p := range ps.All() {
		names = append(names, p.Name)
	}
	expect.Equal(t, "declared", names, []string{"a.x", "a.b.x", "a.y", "x"})
}
