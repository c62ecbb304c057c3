package torchpe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe/internal/ctorch"
)

// TestRoundTrip puts values of each Go type in and takes them out, as themselves and converted.
func TestRoundTrip(t *testing.T) {
	s := kept(t, NewScope())
	roundTrip(t, s, Float32, []float32{0, -1.5, math.MaxFloat32, float32(math.Inf(1)), math.SmallestNonzeroFloat32, 3})
	roundTrip(t, s, Float64, []float64{0, -1.5, math.MaxFloat64, math.Inf(-1), math.SmallestNonzeroFloat64, 3})
	roundTrip(t, s, Int64, []int64{0, -1, math.MaxInt64, math.MinInt64, 5, 6})
	roundTrip(t, s, Bool, []bool{true, false, false, true, true, false})

	x := Of(s, CPU, []float64{-1.7, 0, 2.3}, 3)
	expect.Equal(t, "as int64", Values[int64](x), []int64{-1, 0, 2})
	expect.Equal(t, "as bool", Values[bool](x), []bool{true, false, true})
	expect.Equal(t, "as float32", Values[float32](Of(s, CPU, []int64{3, -4}, 2)), []float32{3, -4})
	expect.Equal(t, "numbers with a history",
		len(Values[float32](Of(s, CPU, []float32{1}, 1).To(Float64, CPU).RequireGrad().Exp())), 1)
}

func roundTrip[T Element](t *testing.T, s *Scope, dtype DType, want []T) {
	t.Helper()
	x := Of(s, CPU, want, 2, 3)
	if have := Values[T](x); !slices.Equal(have, want) || x.DType() != dtype || x.Device() != CPU ||
		!slices.Equal(x.Shape(), []int{2, 3}) {
		t.Errorf("%s: %v came back as %v, %s %v on %s", dtype, want, have, x.DType(), x.Shape(), x.Device())
	}
	turned := []T{want[0], want[3], want[1], want[4], want[2], want[5]}
	expect.Equal(t, fmt.Sprintf("%s: transposed", dtype), Values[T](x.Transpose(0, 1)), turned)
	want[0] = want[5]
	expect.Equal(t, fmt.Sprintf("%s: the tensor shares the caller's memory", dtype),
		slices.Equal(Values[T](x), want), false)
}

// TestBadCreation makes tensors that cannot be: an *Error each time.
func TestBadCreation(t *testing.T) {
	s := kept(t, NewScope())
	for op, calls := range map[string][]func(){
		"Of": {
			func() { Of(s, CPU, []float64{1, 2}, 3) }, func() { Of(s, CPU, []float64{1, 2}) },
			func() { Of(s, CPU, []float64{}, 1) },
			func() { Of(s, CPU, []float64{1, 2}, -1, -2) },
			func() { Of(s, CPU, []float64(nil), 1<<32, 1<<32) },
			func() { Of(s, CPU, []float64{1}, 1, 1, 1, 1, 1, 1, 1, 1, 1) },
			func() { Of(s, Device(-7), []float64{1}, 1) },
		},
		"Full": {
			func() { Full(s, 0, Float32, CPU, -1) }, func() { Full(s, 0, Float32, CPU, 1<<62, 8) },
			func() { Full(s, 0, Float32, CPU, 1<<58) }, func() { Full(s, 0, DType(9), CPU, 1) },
			func() { Full(s, math.NaN(), Int64, CPU, 1) }, func() { Full(s, 1e300, Int64, CPU, 1) },
			func() { Zeros(s, Float32, CPU, slices.Repeat([]int{1}, 9)...) },
		},
		"RandN": {func() { RandN(s, 1, Float32, CPU, -1) }, func() { RandN(s, 1, Float32, CUDA(127), 1) },
			func() { RandN(s, 1, DType(-1), CPU, 1) }},
	} {
		for _, f := range calls {
			failing(t, op, f)
		}
	}
	x := Full(s, 1.5, Float32, CPU, 2, 3)
	failing(t, "Item", func() { x.Item() })
	failing(t, "Size", func() { x.Size(2) })
	failing(t, "Size", func() { x.Size(-3) })
	if x.Size(0) != 2 || x.Size(-1) != 3 || x.Size(-2) != 2 || x.Select(0, 0).Select(0, 0).Item() != 1.5 {
		t.Error("sizes or item are wrong")
	}
	failing(t, "CopyFrom", func() { x.CopyFrom(x.Transpose(0, 1)) })
	failing(t, "Backward", func() { x.Backward() })
	failing(t, "RequireGrad", func() { Full(s, 1, Int64, CPU, 2).RequireGrad() })
	// One place in memory for three elements.
	failing(t, "CopyFrom", func() { x.Sum().Expand(3).CopyFrom(x.Select(0, 0)) })
}

// TestNoGPU asks for a GPU that is not there: the error is one line that names it.
func TestNoGPU(t *testing.T) {
	s := kept(t, NewScope())
	n := len(DescribeSystem().GPUs)
	x := Full(s, 1, Float32, CPU, 2)
	for op, f := range map[string]func(){
		"Full": func() { Full(s, 1, Float32, CUDA(n), 2) }, "Of": func() { Of(s, CUDA(n), []float64{1}, 1) },
		"RandN": func() { RandN(s, 1, Float32, CUDA(n), 2) }, "To": func() { x.To(Float32, CUDA(n)) },
	} {
		if e := failing(t, op, f); !strings.Contains(e.Msg, CUDA(n).String()) || len(e.Msg) > 200 ||
			strings.Contains(e.Msg, "\n") {
			t.Errorf("the error says %q", e.Msg)
		}
	}
}

// TestCopyAndFill checks that both write through views and are not recorded.
func TestCopyAndFill(t *testing.T) {
	s := kept(t, NewScope())
	x := Zeros(s, Float64, CPU, 2, 3)
	x.Transpose(0, 1).CopyFrom(Of(s, CPU, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	x.Select(0, 1).Narrow(0, 1, 2).Fill(9)
	near(t, "after writing", x.Float64s(), []float64{1, 3, 5, 2, 9, 9}, 0)
	w := Full(s, 2, Float64, CPU, 2).RequireGrad()
	w.Fill(3)
	w.CopyFrom(Full(s, 4, Float64, CPU, 2))
	w.Square().Sum().Backward()
	near(t, "gradient after writing", w.Grad().Float64s(), []float64{8, 8}, 0)
}

// TestRandN checks that the numbers depend on the seed alone.
func TestRandN(t *testing.T) {
	s := kept(t, NewScope())
	draw := func(seed uint64) []float64 { return RandN(s, seed, Float64, CPU, 100).Float64s() }
	identical(t, "the same seed", draw(1), draw(1))
	expect.Equal(t, "another seed draws the same", slices.Equal(draw(1), draw(2)), false)
}

// TestNames checks how types and devices are written and read.
func TestNames(t *testing.T) {
	for name, want := range map[string]DType{"float32": Float32, "float64": Float64} {
		if have, err := ParseDType(name); err != nil || have != want || have.String() != name {
			t.Errorf("%s is read as %s, error %v", name, have, err)
		}
	}
	for _, name := range []string{"", "int64", "Float32", "float16", "double"} {
		expect.Refused(t, name, expect.ErrorOf(ParseDType(name)))
	}
	if Int64.String() != "int64" || Bool.String() != "bool" || DType(7).String() != "DType(7)" ||
		CPU.String() != "cpu" || CUDA(3).String() != "cuda:3" {
		t.Error("a name is wrong")
	}
	gpus := len(DescribeSystem().GPUs)
	expect.Equal(t, "cpu is read as", expect.Must(ParseDevice("cpu")), CPU)
	expect.Equal(t, fmt.Sprintf("auto is the CPU with %d GPUs", gpus), expect.Must(ParseDevice("auto")) == CPU,
		gpus == 0)
	for _, name := range []string{"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1.5",
		CUDA(gpus).String(), "cuda:99999999999999999999", "cudax"} {
		expect.Error(t, expect.ErrorOf(ParseDevice(name)), name)
	}
	if dev, err := ParseDevice("cuda"); (err == nil) != (gpus > 0) || err == nil && dev != CUDA(0) {
		t.Errorf("cuda is read as %s, error %v, with %d GPUs", dev, err, gpus)
	}
}

// TestDescribeSystem checks that the description has something sensible everywhere.
func TestDescribeSystem(t *testing.T) {
	s := DescribeSystem()
	if s.LibtorchBuilt < "1.13" || s.LibtorchRunning == "" || s.BLAS == "" ||
		s.FusedKernels == "" || s.Threads != ctorch.Threads() || s.CPUs < 1 || s.CPU == "" {
		t.Errorf("%+v", s)
	}
	if s.TotalMemory < s.FreeMemory || s.FreeMemory <= 0 {
		t.Errorf("%d bytes of memory, %d free", s.TotalMemory, s.FreeMemory)
	}
	if s.CUDA != (s.CUDAReason == "") || s.CUDA != (len(s.GPUs) > 0) {
		t.Errorf("CUDA %v, %d GPUs, reason %q", s.CUDA, len(s.GPUs), s.CUDAReason)
	}
	if !slices.Contains(Methods(), string(AdamW)) || len(Methods()) != 3 {
		t.Errorf("optimizers %v", Methods())
	}
}

// Memory that cannot be had is an error that says how much was wanted, without libtorch's source.
func TestTooLarge(t *testing.T) {
	s := kept(t, NewScope())
	err := Catch(func() { Zeros(s, Float32, CPU, 1<<30, 1<<15) })
	expect.Error(t, err, "can't allocate memory: 1.407e+05 GB at once")
}
