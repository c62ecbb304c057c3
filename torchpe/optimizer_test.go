package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/torchpe/internal/ctorch"
)

// twin is an optimizer of one member, in Go and float64: Kingma & Ba 2015, algorithm 1; decoupled
// decay as in Loshchilov & Hutter 2019, algorithm 2, with the learning rate as the schedule (as in
// PyTorch); clipping as in PyTorch.
type twin struct {
	method  Method
	p, m, v []float64
	steps   int
}

func (o *twin) step(g []float64, lr, decay, clip float64, active bool) {
	o.steps++
	if !active {
		return
	}
	scale, sum := 1.0, 0.0
	for _, x := range g {
		sum += x * x
	}
	if clip > 0 {
		scale = math.Min(1, clip/(math.Sqrt(sum)+1e-6))
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
	noError(t, ps.Build(seeds))
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
// rate, decay, clipping, and a member that pauses.
func TestOptimizers(t *testing.T) {
	const E, n = 3, 37
	for _, method := range []Method{Adam, AdamW, SGD} {
		for _, dtype := range []DType{Float64, Float32} {
			for _, clip := range []float64{0, 0.5} {
				for _, fused := range []bool{true, false} {
					SetFused(fused)
					name := fmt.Sprintf("%s %s, clipping at %g, fused %v", method, dtype, clip, fused)
					compareOptimizer(t, name, parameters(t, E, n, dtype), method, clip)
				}
			}
		}
	}
	SetFused(true)
}

func compareOptimizer(t *testing.T, name string, ps *ParamSet, method Method, clip float64) {
	t.Helper()
	defer ps.Close()
	E, n := ps.Members, ps.Count()
	o := optimizerOf(t, method, ps)
	defer o.Close()
	twins := make([]*twin, E)
	for e, p := range slices.Collect(slices.Chunk(flat(ps), n)) {
		twins[e] = &twin{method, p, make([]float64, n), make([]float64, n), 0}
	}
	rng := rand.New(rand.NewPCG(60, 0))
	for step := range 12 {
		g := normals(rng, E*n)
		for i := range n {
			g[i] *= 0.01 // member 0 stays below the limit of the norm
		}
		set := StepSettings{LR: []float64{0.1, 0.01, 0.3 / float64(step+1)},
			WeightDecay: []float64{0, 0.1, 0.02}, Active: []bool{true, step%3 != 1, true},
			ClipNorm: clip}
		setGradients(ps, g)
		noError(t, o.Step(set))
		var want []float64
		for e, w := range twins {
			w.step(g[e*n:(e+1)*n], set.LR[e], set.WeightDecay[e], clip, set.Active[e])
			want = append(want, w.p...)
		}
		near(t, fmt.Sprint(name, ", step ", step+1), flat(ps), want,
			map[DType]float64{Float64: 1e-13, Float32: 2e-5}[ps.DType])
	}
	if o.Steps() != 12 {
		t.Errorf("%s: %d steps counted", name, o.Steps())
	}
}

// TestAdamFirstStep checks the closed form of the first step, lr g/(|g| + eps): the learning rate,
// whatever the gradient.
func TestAdamFirstStep(t *testing.T) {
	ps := parameters(t, 1, 5, Float64)
	defer ps.Close()
	o := optimizerOf(t, Adam, ps)
	defer o.Close()
	before, g := flat(ps), []float64{1e-3, -1e3, 1, 0, 1e-8}
	setGradients(ps, g)
	noError(t, o.Step(StepSettings{LR: []float64{0.25}, WeightDecay: []float64{0}, Active: []bool{true}}))
	var want []float64
	for i, p := range before {
		want = append(want, p-0.25*g[i]/(math.Abs(g[i])+1e-8))
	}
	near(t, "after the first step", flat(ps), want, 1e-14)
}

// TestSGDOnQuadratic checks that on f(p) = p^2/2 each step multiplies p with 1 - lr, and ZeroGrad
// and Backward between.
func TestSGDOnQuadratic(t *testing.T) {
	ps := parameters(t, 2, 6, Float64)
	defer ps.Close()
	o := optimizerOf(t, SGD, ps)
	defer o.Close()
	want := flat(ps)
	for range 5 {
		noError(t, o.ZeroGrad())
		s := NewScope()
		loss := ps.Get("a").In(s).Square().Sum().Add(ps.Get("b").In(s).Square().Sum()).MulScalar(0.5)
		loss.Backward()
		s.Close()
		noError(t, o.Step(StepSettings{LR: []float64{0.1, 0.4}, WeightDecay: []float64{0, 0},
			Active: []bool{true, true}}))
		for i := range want {
			want[i] *= []float64{0.9, 0.6}[i/6]
		}
	}
	near(t, "after five steps", flat(ps), want, 1e-15)
	if o.State(nil) != nil {
		t.Error("SGD has a state")
	}
}

// TestAdamThreads checks that a buffer large enough to be shared out gives the same bits with one
// and two threads.
func TestAdamThreads(t *testing.T) {
	const n = 100_003
	g := normals(rand.New(rand.NewPCG(61, 0)), n)
	run := func() []float64 {
		ps := parameters(t, 1, n, Float32)
		defer ps.Close()
		o := optimizerOf(t, AdamW, ps)
		defer o.Close()
		setGradients(ps, g)
		for range 3 {
			noError(t, o.Step(StepSettings{LR: []float64{0.01}, WeightDecay: []float64{0.1},
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
	s := NewScopeNoGrad()
	defer s.Close()
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
		o := optimizerOf(t, Adam, ps)
		return ps, o
	}
	step := func(ps *ParamSet, o *Optimizer, k int) {
		setGradients(ps, normals(rand.New(rand.NewPCG(62, uint64(k))), 9))
		noError(t, o.Step(set))
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
	s := NewScope()
	defer s.Close()
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
	if _, err := NewOptimizer("rmsprop", ps); err == nil {
		t.Error("an unknown method is no error")
	}
	setGradients(ps, normals(rand.New(rand.NewPCG(63, 0)), 10))
	for _, method := range []Method{Adam, AdamW, SGD} {
		o := optimizerOf(t, method, ps)
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
			if err := o.Step(set); err == nil {
				t.Errorf("%s takes settings with %s", method, name)
			}
		}
		identical(t, string(method)+" after refused steps", flat(ps), before)
		if o.Steps() != 0 {
			t.Errorf("%s counts %d refused steps", method, o.Steps())
		}
		o.Close()
		o.Close()
		if err := o.Step(StepSettings{LR: two, WeightDecay: two, Active: on}); err == nil {
			t.Errorf("%s steps after Close", method)
		}
	}
}
