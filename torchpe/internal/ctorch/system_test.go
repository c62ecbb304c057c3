package ctorch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"torchpe/internal/expect"
)

// systemCases holds a test for every C function of functions.h that is about the machine, not about
// tensors.
var systemCases = map[string]func(t *testing.T){
	"tp_abi": func(t *testing.T) { // init has compared it with abi
		header, err := os.ReadFile("shim/shim.h")
		if want := fmt.Sprintf("#define TP_ABI %d\n", abi); err != nil || !strings.Contains(string(header), want) {
			t.Errorf("shim.h has another interface than %d: %v", abi, err)
		}
	},
	"tp_live": func(t *testing.T) {
		before := Live()
		h := must(Full(nil, 0, Float32, CPU))
		expect.Equal(t, "tensors after making one", Live(), before+1)
		check(Release([]Handle{h}))
		expect.Equal(t, "tensors after freeing one", Live(), before)
	},
	"tp_free_text":       func(*testing.T) {}, // failure and taken call it for every error and text here
	"tp_release":         testRelease,
	"tp_system":          func(t *testing.T) { testVersions(t, DescribeSystem()) },
	"tp_running_version": func(t *testing.T) { testVersions(t, DescribeSystem()) },
	"tp_cuda_reason": func(t *testing.T) {
		s := DescribeSystem()
		expect.Equal(t, fmt.Sprintf("CUDA is available (why not: %q)", s.CUDAReason), s.CUDAAvailable,
			s.CUDAReason == "")
	},
	"tp_gpu": func(t *testing.T) {
		for _, i := range []int{-1, DescribeSystem().GPUs, 1 << 20} {
			if name, _, _, err := GPU(i); err == nil || name != "" {
				t.Errorf("GPU %d is %q, error %v", i, name, err)
			}
		}
	},
	"tp_blas": func(t *testing.T) {
		expect.Equal(t, "no name of the BLAS", DescribeSystem().BLAS == "", false)
	},
	"tp_blas_kernel": testKernels,
	"tp_blas_wanted": testKernels,
	"tp_blas_repair": testKernels,
	"tp_set_threads": testThreads,
	"tp_threads":     testThreads,
	"tp_kernels": func(t *testing.T) {
		if k := DescribeSystem().Kernels; !slices.Contains([]string{"avx512", "avx2", "generic", "neon"}, k) {
			t.Errorf("fused kernels for %q", k)
		}
	},
	"tp_set_fused":      func(*testing.T) { SetFusedForm(Composed); SetFusedForm(Fused) }, // torchpe tests them
	"tp_set_precision":  testPrecision,
	"tp_precision":      testPrecision,
	"tp_set_attention":  testAttentionForm,
	"tp_attention_form": testAttentionForm,

	"tp_trace_begin": testTrace,
	"tp_trace_end":   testTrace,
}

func TestSystem(t *testing.T) {
	for name, f := range systemCases {
		t.Run(name, f)
	}
}

func testVersions(t *testing.T, s System) {
	if s.BuiltVersion < 11300 || s.RunningVersion < 11300 || !strings.Contains(s.Running, ".") {
		t.Errorf("built with %d, running %d = %q; 1.13 is the oldest", s.BuiltVersion, s.RunningVersion, s.Running)
	}
}

func testKernels(t *testing.T) {
	if s := DescribeSystem(); s.BLASKernel == "" && s.BLASWanted != "" {
		t.Errorf("kernel %q is wanted of a BLAS that has no choice", s.BLASWanted)
	}
}

// testRelease frees open, closed, unknown and repeated handles: the open ones are freed, the others
// counted.
func testRelease(t *testing.T) {
	before := Live()
	a, b := must(Full(nil, 0, Float32, CPU)), must(Full(nil, 0, Float32, CPU))
	err := Release([]Handle{a, 0, 1 << 40, a, b})
	expect.Error(t, err, "3 of 5")
	expect.Equal(t, "tensors", Live(), before)
	expect.Refused(t, "freeing twice", Release([]Handle{b}))
	expect.Equal(t, "freeing nothing", Release(nil), nil)
	c := must(Full(nil, 0, Float32, CPU))
	defer Release([]Handle{c})
	if _, err := Describe(b); c == b || err == nil {
		t.Errorf("handle %x of a freed tensor names a newer one, %x", b, c)
	}
}

// testThreads sets absurd and good numbers of threads. A number holds for every thread of the
// program, also for those that libtorch knows already.
func testThreads(t *testing.T) {
	defer SetThreads(Threads())
	for _, n := range []int{0, -1, -1 << 31, 1 << 30} {
		SetThreads(n)
		if have := Threads(); have < 1 || have > 1024 {
			t.Errorf("%d threads after asking for %d", have, n)
		}
		x := must(Full([]int{1 << 18}, 1, Float32, CPU)) // large enough to be shared out
		y := must(apply("Exp", x, false))
		check(Release([]Handle{x, y}))
	}
	ask, have := make(chan int), make(chan int)
	var end sync.WaitGroup
	end.Go(func() {
		runtime.LockOSThread()
		for n := range ask {
			x := must(Full([]int{n}, 1, Float32, CPU))
			check(Release([]Handle{x}))
			have <- Threads()
		}
	})
	for _, n := range []int{2, 1, 3} {
		SetThreads(n)
		ask <- n
		expect.Equal(t, fmt.Sprintf("threads of another thread and this one after SetThreads(%d)", n),
			[2]int{<-have, Threads()}, [2]int{n, n})
	}
	close(ask)
	end.Wait()
}

// testTrace traces a transpose, into no file and into one, and nothing before or after; what was not
// begun cannot end.
func testTrace(t *testing.T) {
	runtime.LockOSThread() // libtorch profiles a thread
	defer runtime.UnlockOSThread()
	path := filepath.Join(t.TempDir(), "trace.json")
	x := must(Full([]int{2, 2}, 1, Float32, CPU))
	defer func() { check(Release([]Handle{x})) }()
	transpose := func() { check(Release([]Handle{must(apply("Transpose", x, false, 0, 1))})) }
	for _, to := range []string{"", path, ""} {
		transpose()
		check(TraceBegin(to != ""))
		transpose()
		names, err := TraceEnd(to)
		if err != nil && (to == "" || !strings.Contains(err.Error(), "Kineto")) {
			t.Errorf("a trace to %q: %v", to, err)
		}
		if err == nil && (strings.Count(names, "aten::transpose\n") != 1 ||
			strings.Count(names, "aten::as_strided\n") != 1) { // which transpose calls
			t.Errorf("the operators of a transpose are %q", names)
		}
	}
	expect.Refused(t, "the end of a trace that was not begun", expect.ErrorOf(TraceEnd(path)))
}

func testAttentionForm(t *testing.T) {
	for _, form := range []int{1, 0, 2, -1} {
		SetAttentionForm(form)
		expect.Equal(t, fmt.Sprint("form of attention ", form), AttentionForm(),
			map[bool]int{true: form}[form == 1])
	}
}

func testPrecision(t *testing.T) {
	for _, p := range []int{2, 1, 0, 7, -1} {
		SetPrecision(p)
		want := map[bool]int{true: p}[p >= 0 && p < 3] // another number is float32
		expect.Equal(t, fmt.Sprint("precision ", p), Precision(), want)
	}
}
