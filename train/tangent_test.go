package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// The two-layer linear model f(x) = V U x has df_c/dV = e_c (U x)' and df_c/dU = V'e_c x', so that
// its traced tangent kernel is K(x,y) = C <U x, U y> + ||V||² <x, y>.
func TestTangentKernelOfLinearModel(t *testing.T) {
	const members, n, in, hidden, out = 2, 5, 3, 4, 2
	ps := torchpe.NewParamSet(members, torchpe.Float64, torchpe.CPU)
	defer ps.Close()
	normal := func(_ int, rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = rng.NormFloat64()
		}
	}
	u, v := ps.Add("u", true, normal, hidden, in), ps.Add("v", true, normal, out, hidden)
	expect.NoError(t, ps.Build([]uint64{1, 2}))
	x := make([]float64, n*in)
	normal(0, torchpe.Stream(3, "x"), x)
	within := torchpe.NewScope()
	defer within.Close()
	kernels := expect.Must(tangentKernels(within, ps, outputs{n, out, func(s *torchpe.Scope, i int) torchpe.Tensor {
		xi := torchpe.Of(s, torchpe.CPU, x[i*in:(i+1)*in], 1, in, 1).Expand(members, in, 1)
		return v.In(s).MatMul(u.In(s).MatMul(xi)).Reshape(members, out)
	}}))
	us := expect.Must(ps.Values("u"))
	vs := expect.Must(ps.Values("v"))
	for m := range members {
		um, vm := us[m*hidden*in:(m+1)*hidden*in], vs[m*out*hidden:(m+1)*out*hidden]
		for i := range n {
			for j := range n {
				xi, xj := x[i*in:(i+1)*in], x[j*in:(j+1)*in]
				want := dot(vm, vm) * dot(xi, xj)
				for h := range hidden {
					want += out * dot(um[h*in:(h+1)*in], xi) * dot(um[h*in:(h+1)*in], xj)
				}
				expect.Near(t, fmt.Sprint("member ", m), kernels[m][i*n+j], want, 1e-10*math.Abs(want)+1e-12)
			}
		}
	}
}

func TestAlignment(t *testing.T) {
	a := []float64{2, 1, 1, 3}
	expect.Near(t, "of a kernel and its double", alignment(a, []float64{4, 2, 2, 6}), 1, 1e-15)
	expect.Equal(t, "of kernels that share nothing", alignment([]float64{1, 0, 0, 0}, []float64{0, 0, 0, 1}), 0)
}

// A model that has hardly learned has the tangent kernel of its start; one that has learned has
// not. Members of an ensemble have what each has alone.
func TestTangentAlignments(t *testing.T) {
	var from *config.FromConfig
	var dir string
	of := func(lr float64, sigma ...float64) []float64 {
		c := tiny(t, "learn")
		c.From = from
		c.TangentPuzzles, c.LimitSteps, c.DType = 8, 20, "float64"
		member := c.Members[0]
		c.Members = nil
		for i, s := range sigma {
			m := member
			m.LR, m.Sigma, m.Seed = lr, &s, uint64(i+1)
			c.Members = append(c.Members, m)
		}
		var result runlog.Result
		dir, result = runTiny(t, c)
		var out []float64
		for _, m := range result.Members {
			if math.IsNaN(m.Measures.Get("tangent_alignment")) {
				t.Fatal("no alignment in the result")
			}
			out = append(out, m.Measures["tangent_alignment"])
		}
		return out
	}
	expect.Near(t, "without training", of(1e-12, 0.2)[0], 1, 1e-6)
	alone, both := of(1e-2, 0.2), of(1e-2, 0.2, 2)
	if alone[0] > 0.99 || alone[0] < -1 {
		t.Errorf("after training %g, want less than 1", alone[0])
	}
	expect.Near(t, "alone, and beside another", alone[0], both[0], 1e-9)
	from = &config.FromConfig{Run: dir, Take: config.TakeAll}
	expect.Near(t, "without training, from weights of a run", of(1e-12, 0.2, 2)[0], 1, 1e-6)
}

// The PE's motion is that between the tables of the start and those in the probes; its truth is
// 2d-fixed.
func TestPEMotion(t *testing.T) {
	c := tiny(t, "learn")
	c.LimitSteps, c.Noise = 4, nil
	moved := func(lr float64) runlog.Numbers {
		for m := range c.Members {
			c.Members[m].LR = lr
		}
		_, result := runTiny(t, c)
		m := result.Members[0].Measures
		for _, family := range []string{"pe_moved", "pe_disparity", "pe_cosine", "pe_start_cosine"} {
			expect.Equal(t, fmt.Sprintf("%s: %v: numbers, one for each block,", family, m), len(m.Of(family)),
				c.Layers)
		}
		return m
	}
	still, far := moved(1e-12), moved(0.05)
	// Adam moves each number by about lr a step: 4 steps of 0.05 against sigma 0.2.
	for i := range c.Layers {
		block := fmt.Sprint("/", i)
		if m := far["pe_moved"+block]; still["pe_moved"+block] > 1e-9 || m < 0.2 || m > 1.05 {
			t.Errorf("block %d moved by %g and %g of its norm, want 0 and up to 4*0.05/0.2", i,
				still["pe_moved"+block], m)
		}
		start, cosine := still["pe_start_cosine"+block], still["pe_cosine"+block]
		if math.Abs(start-cosine) > 1e-9 || math.Abs(far["pe_start_cosine"+block]-cosine) > 1e-9 {
			t.Errorf("block %d: cosine %g at the start, %g and %g without training", i,
				far["pe_start_cosine"+block], start, cosine)
		}
		expect.Near(t, "cosine of random numbers with 2d-fixed", cosine, 0, 5/math.Sqrt(16*float64(c.DModel)))
	}
	if s := still["pe_gradient_share"]; !(s > 0 && s < 1) {
		t.Errorf("the PE's share of the gradient is %g, want in (0,1)", s)
	}
}

// A PE that starts as the sinusoids of the grid is the ground truth.
func TestPEMotionOfTruth(t *testing.T) {
	c := tiny(t, "learn")
	c.PEInit, c.LimitSteps, c.Noise = "sinusoidal-2d", 1, nil
	for m := range c.Members {
		c.Members[m].LR = 1e-12
	}
	_, result := runTiny(t, c)
	m := result.Members[0].Measures
	for block := range c.Layers {
		cosine, disparity := m.Get(fmt.Sprint("pe_cosine/", block)), m.Get(fmt.Sprint("pe_disparity/", block))
		expect.Near(t, fmt.Sprintf("block %d: cosine", block), cosine, 1, 1e-5)
		expect.Near(t, fmt.Sprintf("block %d: disparity", block), disparity, 0, 1e-5)
	}
}

// Maps of the PE stand in the records where they are asked for, in no result, and change no other
// number.
func TestRecordMaps(t *testing.T) {
	c := tiny(t, "learn")
	c.LimitSteps, c.Noise, c.LogEvery = 4, nil, 1
	plainDir, plain := runTiny(t, c)
	c.RecordMaps = true
	dir, result := runTiny(t, c)
	expect.Equal(t, "members", result.Members, plain.Members)
	without := recordsOf(t, plainDir)
	for i, r := range recordsOf(t, dir) {
		most := 0.0
		for _, at := range r.Map {
			most = max(most, math.Abs(at[0]), math.Abs(at[1]))
		}
		if len(r.Map) != 16 || most != 1 || without[i].Map != nil ||
			!reflect.DeepEqual(r.Measures, without[i].Measures) {
			t.Errorf("record %d: %d points up to %g; without maps %v", i, len(r.Map), most, without[i].Map)
		}
	}
}
