package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe/internal/ctorch"
)

// twin is an optimizer of one member, in Go and float64: Kingma & Ba 2015, algorithm 1; decoupled
// decay as in Loshchilov & Hutter 2019, algorithm 2, with the learning rate as the schedule (as in
// PyTorch).
type twin struct {
	method  Method
	p, m, v []float64
	steps   int
}

// step makes a step with scale times the gradient g.
func (o *twin) step(g []float64, scale, lr, decay float64, active bool) {
	o.steps++
	if !active {
		return
	}
	for i := range o.p {
		d := g[i] * scale
		switch o.method {
		case SGD:
			o.p[i] -= lr * (d + decay*o.p[i])
			continue
		case AdamW:
			o.p[i] -= lr * decay * o.p[i]
		case Adam:
			d += decay * o.p[i]
		}
		o.m[i] = 0.9*o.m[i] + 0.1*d
		o.v[i] = 0.999*o.v[i] + 0.001*d*d
		first := o.m[i] / (1 - math.Pow(0.9, float64(o.steps)))
		second := o.v[i] / (1 - math.Pow(0.999, float64(o.steps)))
		o.p[i] -= lr * first / (math.Sqrt(second) + 1e-8)
	}
}

// clipping returns the factor that limits the norm of g, as in PyTorch; 0 for no limit.
func clipping(g []float64, limit float64) float64 {
	sum := 0.0
	for _, x := range g {
		sum += x * x
	}
	if limit == 0 {
		return 1
	}
	return math.Min(1, limit/(math.Sqrt(sum)+1e-6))
}

// parameters makes a set of E members with n values each in two parameters, drawn from rng.
func parameters(t *testing.T, E, n int, dtype DType) *ParamSet {
	t.Helper()
	ps := NewParamSet(E, dtype, CPU)
	ps.Add("a", true, Normal(0, 1), n-3)
	ps.Add("b", true, Uniform(1), 3)
	seeds := make([]uint64, E)
	for e := range seeds {
		seeds[e] = uint64(e)
	}
	expect.NoError(t, ps.Build(seeds))
	return ps
}

// setGradients puts g [E,n] where Backward would, for the one parameter of n numbers.
func setGradients(ps *ParamSet, g []float64) {
	s := NewScope()
	defer s.Close()
	ps.Grads(s).Narrow(1, 0, ps.Count()).CopyFrom(Of(s, CPU, g, ps.Members, ps.Count()).To(ps.DType, CPU))
}

// flat returns its values [E,n].
func flat(ps *ParamSet) []float64 {
	s := NewScope()
	defer s.Close()
	return ps.Flat(s).Narrow(1, 0, ps.Count()).Float64s()
}

// TestOptimizers makes twelve steps with settings that differ between members and steps: learning
// rate, decay, clipping, and a member that pauses; and with two groups of columns and gaps beside them.
// Clipping is of the whole gradient of a member.
func TestOptimizers(t *testing.T) {
	for _, method := range []Method{Adam, AdamW, SGD} {
		for _, dtype := range []DType{Float64, Float32} {
			for _, clip := range []float64{0, 0.5} {
				eachForm(func(form int) {
					for _, n := range []int{4, 37, 1029} { // one, some and more parameters than a kernel's block takes
						name := fmt.Sprintf("%s %s, clipping at %g, form %d, %d parameters",
							method, dtype, clip, form, n)
						compareOptimizer(t, name, parameters(t, 3, n, dtype), method, clip, []int{0, n})
					}
					name := fmt.Sprintf("%s %s, clipping at %g, form %d, groups", method, dtype, clip, form)
					compareOptimizer(t, name, parameters(t, 3, 37, dtype), method, clip, []int{0, 5, 9, 20, 21, 37})
				})
			}
		}
	}
}

// compareOptimizer compares steps on ps with twins that each hold the columns of a member between two
// bounds; every second range of columns is a group.
func compareOptimizer(t *testing.T, name string, ps *ParamSet, method Method, clip float64, bounds []int) {
	t.Helper()
	defer ps.Close()
	n := ps.Count()
	o := optimizerOf(method, ps)
	defer o.Close()
	var twins [][]*twin // by member and range
	for p := range slices.Chunk(flat(ps), n) {
		var own []*twin
		for i, from := range bounds[:len(bounds)-1] {
			p := slices.Clone(p[from:bounds[i+1]])
			own = append(own, &twin{method, p, make([]float64, len(p)), make([]float64, len(p)), 0})
		}
		twins = append(twins, own)
	}
	rng := rand.New(rand.NewPCG(60, 0))
	for step := range 12 {
		set := StepSettings{LR: []float64{0.1, 0.01, 0.3 / float64(step+1)},
			WeightDecay: []float64{0, 0.1, 0.02}, Active: []bool{true, step%3 != 1, true}, ClipNorm: clip}
		for i := 1; i < len(bounds)-1; i += 2 {
			set.Groups = append(set.Groups, Group{bounds[i], bounds[i+1],
				[]float64{0.02 * float64(i), 0, 0.3 / float64(step+1)}, []float64{0.3, 0.1 * float64(i), 0.01}})
		}
		g := normals(rng, len(twins)*n)
		var want []float64
		for e, own := range twins {
			g := g[e*n : (e+1)*n]
			for i := range g {
				if e == 0 {
					g[i] *= 0.01 // stays below the limit of the norm
				} else if !set.Active[e] {
					g[i] = math.NaN() // would show
				}
			}
			scale := clipping(g, clip)
			for i, w := range own {
				lr, decay := set.LR[e], set.WeightDecay[e]
				if i%2 == 1 {
					lr, decay = set.Groups[i/2].LR[e], set.Groups[i/2].WeightDecay[e]
				}
				w.step(g[bounds[i]:bounds[i+1]], scale, lr, decay, set.Active[e])
				want = append(want, w.p...)
			}
		}
		setGradients(ps, g)
		expect.NoError(t, o.Step(set))
		near(t, fmt.Sprint(name, ", step ", step+1), flat(ps), want,
			map[DType]float64{Float64: 1e-13, Float32: 2e-5}[ps.DType])
	}
	expect.Equal(t, name, o.Steps(), 12)
}

// TestAdamThreads checks that a buffer large enough to be shared out gives the same bits with one
// and two threads.
func TestAdamThreads(t *testing.T) {
	const n = 100_003
	g := normals(rand.New(rand.NewPCG(61, 0)), n)
	run := func() []float64 {
		ps := parameters(t, 1, n, Float32)
		defer ps.Close()
		o := optimizerOf(AdamW, ps)
		defer o.Close()
		setGradients(ps, g)
		for range 3 {
			expect.NoError(t, o.Step(StepSettings{LR: []float64{0.01}, WeightDecay: []float64{0.1},
				Active: []bool{true}, ClipNorm: 1}))
		}
		return flat(ps)
	}
	one := run()
	withThreads(2, func() { identical(t, "Adam with two threads", run(), one) })
}

// TestGradNorms checks 3-4-5 triangles, and that float32 norms do not overflow in between.
func TestGradNorms(t *testing.T) {
	ps := parameters(t, 2, 4, Float32)
	defer ps.Close()
	setGradients(ps, []float64{3, 0, -4, 0, 3e30, 4e30, 0, 0})
	s := kept(t, NewScopeNoGrad())
	h, err := ctorch.Result("MemberNorm", ctorch.Operands{Tensors: []ctorch.Handle{ps.grads}})
	norms := s.own("MemberNorm", h, err).Float64s()
	near(t, "norms", norms[:1], []float64{5}, 1e-15)
	near(t, "large norm", []float64{norms[1] / 5e30}, []float64{1}, 1e-7)
}

// TestResumedOptimizer checks that state and count of steps, put into a new optimizer, go on as the
// old one does.
func TestResumedOptimizer(t *testing.T) {
	set := StepSettings{LR: []float64{0.1}, WeightDecay: []float64{0.01}, Active: []bool{true}}
	create := func() (*ParamSet, *Optimizer) {
		ps := parameters(t, 1, 9, Float64)
		o := optimizerOf(Adam, ps)
		return ps, o
	}
	step := func(ps *ParamSet, o *Optimizer, k int) {
		setGradients(ps, normals(rand.New(rand.NewPCG(62, uint64(k))), 9))
		expect.NoError(t, o.Step(set))
	}
	ps, o := create()
	defer ps.Close()
	defer o.Close()
	for k := range 3 {
		step(ps, o, k)
	}
	other, resumed := create()
	defer other.Close()
	defer resumed.Close()
	s := kept(t, NewScope())
	other.Flat(s).CopyFrom(ps.Flat(s))
	from := o.State(s)
	for name, to := range resumed.State(s) {
		to.CopyFrom(from[name])
	}
	resumed.SetSteps(o.Steps())
	for k := 3; k < 6; k++ {
		step(ps, o, k)
		step(other, resumed, k)
	}
	identical(t, "resumed", flat(other), flat(ps))
}

// TestBadOptimizer gives settings that do not fit and an unknown method: errors, which change
// nothing.
func TestBadOptimizer(t *testing.T) {
	ps := parameters(t, 2, 5, Float64)
	defer ps.Close()
	expect.Refused(t, "an unknown method", expect.ErrorOf(NewOptimizer("rmsprop", ps)))
	setGradients(ps, normals(rand.New(rand.NewPCG(63, 0)), 10))
	s := kept(t, NewScopeNoGrad())
	for _, method := range []Method{Adam, AdamW, SGD} {
		o := optimizerOf(method, ps)
		before := flat(ps)
		two, on := []float64{0.1, 0.1}, []bool{true, true}
		for name, set := range map[string]StepSettings{
			"nothing": {}, "no decay": {LR: two, Active: on},
			"no active":  {LR: two, WeightDecay: two},
			"no rates":   {WeightDecay: two, Active: on},
			"one rate":   {LR: two[:1], WeightDecay: two, Active: on},
			"one decay":  {LR: two, WeightDecay: two[:1], Active: on},
			"one active": {LR: two, WeightDecay: two, Active: on[:1]},
			"three of each": {LR: []float64{1, 1, 1}, WeightDecay: []float64{1, 1, 1},
				Active: []bool{true, true, true}},
			"three active": {LR: two, WeightDecay: two, Active: []bool{true, true, true}},
		} {
			expect.Refused(t, fmt.Sprintf("%s takes settings with %s", method, name), o.Step(set))
		}
		identical(t, string(method)+" after refused steps", flat(ps), before)
		expect.Equal(t, method, o.Steps(), 0)
		expect.Equal(t, fmt.Sprintf("%s has no state", method), o.State(nil) == nil, method == SGD)
		for name, bad := range map[string]Tensor{"float32": Zeros(s, Float32, CPU, 2, 6),
			"five columns": Zeros(s, Float64, CPU, 2, 5), "three members": Zeros(s, Float64, CPU, 3, 6)} {
			if Catch(func() { o.updateColumns(0, ps.Columns(), bad) }) == nil {
				t.Errorf("%s takes settings on the device of %s", method, name)
			}
		}
		o.Close()
		o.Close()
		expect.Refused(t, method, o.Step(StepSettings{LR: two, WeightDecay: two, Active: on}))
	}
}
