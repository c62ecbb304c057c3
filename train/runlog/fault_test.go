package runlog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

// faults makes the n-th change of a file fail.
func faults(n int, err error) *expect.Faults {
	return &expect.Faults{N: n, Err: err, Of: expect.Changes}
}

// where names the operation that failed.
func where(x *expect.Faults) string { return fmt.Sprintf("fault at operation %d (%s)", x.N, x.First) }

// isOfLock reports whether the operation that failed is one on the lock.
func isOfLock(x *expect.Faults) bool { return strings.HasSuffix(x.First, lockFile) }

// TestCrashAtEveryOperation kills the run at its n-th operation for every n, with half of a write
// done; then it must hold an old or the new checkpoint, and go on to the same files as an
// uninterrupted run. The same must hold for a machine that loses its power: of what was not synced,
// everything, nothing or a part survives, in any combination.
func TestCrashAtEveryOperation(t *testing.T) {
	want := uninterrupted(t)
	images := 0
	for n := 1; ; n++ {
		s, x := newSimulation(filepath.Join(fastDir(t), "run")), faults(n, expect.ErrCrash)
		m := &model{dir: s.dir, durable: map[string]*inode{}}
		x.Of = func(operation, name string) bool {
			if x.Done < n { // it is alive
				m.before(operation, name)
			}
			return expect.Changes(operation, name)
		}
		err := x.During(s.run)
		if err == nil {
			t.Logf("%d operations, %d images", n-1, images)
			if n < 80 {
				t.Error("the simulation is too short to show anything")
			}
			return
		}
		if !errors.Is(err, expect.ErrCrash) {
			t.Fatalf("operation %d: %v", n, err)
		}
		m.images(t, func(dir, treatment string) {
			images++
			lost := *s
			lost.dir, lost.powerLoss = dir, true
			lost.finish(t, want, where(x)+", unsynced bytes "+treatment)
		})
		s.finish(t, want, where(x))
	}
}

// TestCrashWhileResuming kills the run at its n-th operation, and then what resumes it at its m-th.
func TestCrashWhileResuming(t *testing.T) {
	want := uninterrupted(t)
	for n := 40; n < 160; n += 7 {
		for m := 1; m <= 60; m += 3 {
			dir := filepath.Join(fastDir(t), "run")
			first, x := newSimulation(dir), faults(n, expect.ErrCrash)
			if err := x.During(first.run); err == nil {
				return
			}
			second, y := newSimulation(dir), faults(m, expect.ErrCrash)
			second.saved, second.trying = first.saved, first.trying
			if err := y.During(second.run); err == nil {
				break
			}
			second.saved = max(second.saved, first.saved)
			second.finish(t, want, where(x)+", then "+where(y))
		}
	}
}

// TestErrorAtEveryOperation makes the n-th operation fail once, as a full disk or a bad sector
// does: the error comes back, of a full disk with what was to be written, and the run can be resumed.
func TestErrorAtEveryOperation(t *testing.T) {
	want := uninterrupted(t)
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO, syscall.ESTALE} {
		for n := 1; ; n++ {
			s, x := newSimulation(filepath.Join(fastDir(t), "run")), faults(n, fault)
			err := x.During(s.run)
			if x.Done < n {
				break
			}
			switch {
			case err == nil && !strings.HasPrefix(x.First, "remove"):
				// Removing what is not there, or tidying after another error, may fail quietly;
				// nothing else.
				t.Errorf("operation %d (%s) failed, and nothing was said", n, x.First)
			case err != nil && !errors.Is(err, fault):
				t.Errorf("operation %d (%s): error %v does not match %v", n, x.First, err, fault)
			case err != nil && !strings.Contains(err.Error(), s.dir):
				t.Errorf("operation %d (%s): error %v does not name the run", n, x.First, err)
			}
			var space *SpaceError
			if fault == syscall.ENOSPC && strings.HasPrefix(x.First, "write") &&
				(!errors.As(err, &space) || space.Dir != s.dir || space.Need == 0 && !isOfLock(x)) {
				t.Errorf("operation %d (%s): %v", n, x.First, err)
			}
			s.finish(t, want, fmt.Sprintf("%v at operation %d (%s)", fault, n, x.First))
		}
	}
}

// TestGoingOnAfterAnError makes the n-th operation fail once; the caller repeats the call that
// failed and goes on with the same Run, as after freeing space.
func TestGoingOnAfterAnError(t *testing.T) {
	want := uninterrupted(t)
	for n := 1; ; n++ {
		s, x := newSimulation(filepath.Join(fastDir(t), "run")), faults(n, syscall.ENOSPC)
		s.repeat = true
		err := x.During(s.run)
		if x.Done < n {
			t.Logf("%d operations", n-1)
			return
		}
		if err != nil && !strings.HasPrefix(x.First, "close") && !isOfLock(x) {
			t.Errorf("operation %d (%s): %v", n, x.First, err)
		}
		s.finish(t, want, fmt.Sprintf("repeated after operation %d (%s)", n, x.First))
	}
}

// TestCrashWhileForcing kills Create at its n-th operation while it removes a complete run: what is
// left is that run, a part of it that can be resumed, or a directory for a new one; never a run
// that is complete and is not.
func TestCrashWhileForcing(t *testing.T) {
	want := uninterrupted(t)
	for n := 1; ; n++ {
		dir := filepath.Join(fastDir(t), "run")
		expect.NoError(t, newSimulation(dir).run())
		x := faults(n, expect.ErrCrash)
		err := x.During(func() error {
			r, err := Create(dir, []byte(`{"task":"lst"}`), Environment{}, Options{Force: true})
			if err == nil {
				_ = r.Close()
			}
			return err
		})
		if err == nil {
			t.Logf("%d operations", n-1)
			return
		}
		expect.Equal(t, where(x), newSimulation(dir).run(), nil)
		files := snapshot(t, dir)
		for _, name := range []string{configFile, metricsFile, checkpointFile, resultFile} {
			expect.Equal(t, where(x), files[name], want[name])
		}
	}
}

// A resume of which the n-th read fails, or gives half of the bytes, n = 1, 2, ...: an error that
// names the run, or the same files in the end as a run that nothing stopped.
func TestReadFaultsWhileResuming(t *testing.T) {
	want := uninterrupted(t)
	for _, fault := range []error{syscall.EIO, syscall.ESTALE, atomicfile.ErrShort} {
		for n, more := 1, true; more; n++ {
			dir := filepath.Join(fastDir(t), "run")
			s := newSimulation(dir)
			if err := faults(75, expect.ErrCrash).During(s.run); !errors.Is(err, expect.ErrCrash) || s.saved < 6 {
				t.Fatal(s.saved, err)
			}
			saved := s.saved
			x := expect.Faults{N: n, Err: fault, Of: expect.Reads}
			err := x.During(newSimulation(dir).run)
			if err != nil && (!errors.Is(err, fault) || !strings.Contains(err.Error(), dir)) {
				t.Errorf("%v at %s: %v", fault, x.First, err)
			}
			c, err := load(t, dir)
			if err != nil || c.Step < saved {
				t.Fatalf("%v at %s: checkpoint %v, %v, step %d was saved", fault, x.First, c, err, saved)
			}
			s.saved = c.Step
			s.finish(t, want, fmt.Sprintf("%v at %s", fault, x.First))
			if more = x.Done >= n; !more {
				t.Logf("%v: %d reads", fault, x.Done)
			}
		}
	}
}
