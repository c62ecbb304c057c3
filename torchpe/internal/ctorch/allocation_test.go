package ctorch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"torchpe/internal/expect"
)

// failNew in the environment makes the test binary a process whose allocations in C++ can fail: its
// value is the file by which testdata/failing_new.cc is told when.
const failNew = "TORCHPE_FAIL_NEW"

// allocations is the content of that file.
type allocations struct {
	mode, left, failed int64
}

// What allocations.mode means.
const (
	noneFails = iota
	oneFails
	allFailFrom // that one
	tensorFails // one, of memory for a tensor
)

// TestFailingAllocations lets the n-th allocation of C++ fail - operator new, or memory for a tensor -
// for n = 1, 2, ... until a function of the C interface passes; once alone, and once with all that
// follow. Each time it returns an error that says so and leaves no tensor behind, and the process lives.
// With Backward memory for tensors alone fails: libtorch takes graphs of gradients down in destructors
// that call operator new, and ends the process where that fails.
func TestFailingAllocations(t *testing.T) {
	if path := os.Getenv(failNew); path != "" {
		failAllocations(t, path)
		return
	}
	if other := os.Getenv("LD_PRELOAD"); other != "" {
		t.Skipf("%s is preloaded, which may have an operator new of its own", other) // scripts/test_asan.sh
	}
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("there is no c++ to compile testdata/failing_new.cc with")
	}
	dir := t.TempDir()
	library, told := filepath.Join(dir, "failing_new.so"), filepath.Join(dir, "told")
	if out, err := exec.Command(compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library,
		"testdata/failing_new.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	expect.NoError(t, os.WriteFile(told, make([]byte, unsafe.Sizeof(allocations{})), 0o600))
	cmd := exec.Command(os.Args[0], "-test.run=^TestFailingAllocations$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, failNew+"="+told)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Errorf("%v\n%s", err, text[max(0, len(text)-8000):])
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "failed one by one") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// failAllocations runs in the process whose allocations can fail.
func failAllocations(t *testing.T, path string) {
	f := expect.Must(os.OpenFile(path, os.O_RDWR, 0))
	defer f.Close()
	memory := expect.Must(syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(allocations{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
	a := (*allocations)(unsafe.Pointer(unsafe.SliceData(memory)))
	// libtorch keeps what is left of a failed backward pass in the queue of its thread. The next pass there
	// frees it, in destructors that call operator new and end the process where that fails. So all runs on
	// one thread, and passes through each function come last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := [...]int64{oneFails: 1000, allFailFrom: 1000, tensorFails: 500}
	for mode := int64(oneFails); mode <= tensorFails; mode++ {
		failed, least := int64(0), least[mode]
		for _, o := range operations {
			if o.name == "GELU" { // oneDNN's dnnl_engine_create dereferences what it has not got
				continue
			}
			failed += a.failEach(t, o, mode)
			if mode != tensorFails {
				continue
			}
			if o, ok := o.withBackward(t); ok {
				failed += a.failEach(t, o, mode)
			}
		}
		if failed < least {
			t.Errorf("mode %d: only %d allocations failed, want %d", mode, failed, least)
		}
		t.Logf("mode %d: %d allocations of %d functions failed one by one", mode, failed, len(operations))
	}
}

// withBackward returns the operation followed by Backward of its results, where they have gradients.
func (o operation) withBackward(t *testing.T) (operation, bool) {
	both := o
	both.name += " and Backward"
	both.run = func(a arguments) ([]Handle, error) {
		made, err := o.made(a)
		made = slices.DeleteFunc(made, func(h Handle) bool { return h == 0 })
		for _, h := range made {
			if err == nil {
				err = backwardOfSum(h)
			}
		}
		return nil, errors.Join(err, Release(made))
	}
	for k, s := range o.tensors {
		if s.dtype == Float32 && s.shape != nil {
			both.tensors = slices.Clone(both.tensors)
			both.tensors[k].make = func() Handle {
				h := s.tensor()
				check(requireGrad(h))
				return h
			}
		}
	}
	a := both.good()
	defer a.free()
	return both, both.call(t, a) == nil
}

// backwardOfSum adds the gradients of the sum of a tensor to what it was made of.
func backwardOfSum(h Handle) error {
	sum, err := apply("Sum", h, true, 0)
	if err != nil {
		return err
	}
	return errors.Join(backward(sum), Release([]Handle{sum}))
}

// failEach returns how many allocations of an operation failed until it passed.
func (a *allocations) failEach(t *testing.T, o operation, mode int64) (failed int64) {
	open := Live()
	for n := int64(1); n < 3000; n++ {
		operands := o.good()
		atomic.StoreInt64(&a.left, n)
		atomic.StoreInt64(&a.failed, 0)
		atomic.StoreInt64(&a.mode, mode)
		err := o.call(t, operands)
		atomic.StoreInt64(&a.mode, noneFails)
		hit := atomic.LoadInt64(&a.failed) > 0
		if hit {
			failed++
		}
		if err != nil && (!hit || !strings.Contains(err.Error(), "memory")) {
			t.Errorf("%s, allocation %d: %v", o.name, n, err)
		}
		operands.free()
		if now := Live(); now != open {
			t.Fatalf("%s, allocation %d: %d tensors are left", o.name, n, now-open)
		}
		if !hit && err == nil {
			return failed
		}
	}
	t.Errorf("%s does not pass", o.name)
	return failed
}

// Memory that a step frees is there for the next one, on whatever thread: it is not paged in anew.
func TestMemoryIsKept(t *testing.T) {
	const numbers, tensors = 3 << 20, 20 // of 12 MiB
	runtime.LockOSThread()               // Go's other threads wait, so that a thread of its own is new
	defer runtime.UnlockOSThread()
	faults := make(chan int64)
	go func() {
		runtime.LockOSThread() // and ends with the goroutine
		var before, after syscall.Rusage
		for i := range 20 {
			if i == 10 { // the heap has its size
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			}
			var all []Handle
			for range tensors {
				all = append(all, must(Full([]int{numbers}, 1, Float32, CPU)))
			}
			check(Release(all))
		}
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		faults <- after.Minflt - before.Minflt
	}()
	// With a heap for each thread these are as many as one round needs, 10 times as many where all is given
	// back. Some tensors may need new pages where another thread's allocation lies between freed ones.
	const pages = tensors * numbers * 4 / 4096
	if n := <-faults; n > pages/2 {
		t.Errorf("%d pages were paged in by 10 rounds that need the same %d", n, pages)
	}
}
