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

// faulty returns a simulation in dir whose n-th operation fails.
func faulty(t *testing.T, dir string, fault faultDisk) (*simulation, *faultDisk) {
	t.Helper()
	d := &fault
	d.model = newModel(t, dir)
	wrap := func(inner disk) disk { d.disk = inner; return d }
	return newSimulation(dir, Options{wrap: wrap}), d
}

// where describes the fault of a disk.
func (d *faultDisk) where(n int) string {
	return fmt.Sprintf("fault at operation %d (%s)", n, d.log[len(d.log)-1])
}

// TestCrashAtEveryOperation kills the run at its n-th operation for every n, with half of a write
// done; then it must hold an old or the new checkpoint, and go on to the same files as an
// uninterrupted run. The same must hold for a machine that loses its power: of what was not synced,
// everything, nothing or a part survives, in any combination.
func TestCrashAtEveryOperation(t *testing.T) {
	want := uninterrupted(t)
	images := 0
	for n := 1; ; n++ {
		s, d := faulty(t, filepath.Join(fastDir(t), "run"), faultDisk{n: n, err: errCrash, crash: true})
		err := s.run()
		if err == nil {
			t.Logf("%d operations, %d images", n-1, images)
			if n < 80 {
				t.Error("the simulation is too short to show anything")
			}
			return
		}
		if !errors.Is(err, errCrash) {
			t.Fatalf("operation %d: %v", n, err)
		}
		d.model.images(t, func(dir, treatment string) {
			images++
			lost := *s
			lost.dir, lost.powerLoss = dir, true
			lost.finish(t, want, d.where(n)+", unsynced bytes "+treatment)
		})
		s.finish(t, want, d.where(n))
	}
}

// TestCrashWhileResuming kills the run at its n-th operation, and then what resumes it at its m-th.
func TestCrashWhileResuming(t *testing.T) {
	want := uninterrupted(t)
	for n := 40; n < 160; n += 7 {
		for m := 1; m <= 60; m += 3 {
			dir := filepath.Join(fastDir(t), "run")
			first, d := faulty(t, dir, faultDisk{n: n, err: errCrash, crash: true})
			if err := first.run(); err == nil {
				return
			}
			second, e := faulty(t, dir, faultDisk{n: m, err: errCrash, crash: true})
			second.saved, second.trying = first.saved, first.trying
			if err := second.run(); err == nil {
				break
			}
			if second.saved < first.saved {
				second.saved = first.saved
			}
			second.finish(t, want, d.where(n)+", then "+e.where(m))
		}
	}
}

// TestErrorAtEveryOperation makes the n-th operation fail once, as a full disk or a bad sector
// does: the error comes back, of a full disk with what was to be written, and the run can be resumed.
func TestErrorAtEveryOperation(t *testing.T) {
	want := uninterrupted(t)
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO, syscall.ESTALE} {
		for n := 1; ; n++ {
			s, d := faulty(t, filepath.Join(fastDir(t), "run"), faultDisk{n: n, err: fault})
			err := s.run()
			if d.done < n {
				break
			}
			switch {
			case err == nil && !strings.HasPrefix(d.log[n-1], "remove"):
				// Removing what is not there, or tidying after another error, may fail quietly;
				// nothing else.
				t.Errorf("operation %d (%s) failed, and nothing was said", n, d.log[n-1])
			case err != nil && !errors.Is(err, fault):
				t.Errorf("operation %d (%s): error %v does not match %v", n, d.log[n-1], err, fault)
			case err != nil && !strings.Contains(err.Error(), s.dir):
				t.Errorf("operation %d (%s): error %v does not name the run", n, d.log[n-1], err)
			}
			var space *SpaceError
			if fault == syscall.ENOSPC && strings.HasPrefix(d.log[n-1], "write") &&
				(!errors.As(err, &space) || space.Dir != s.dir || space.Need == 0 && d.log[n-1] != "write "+lockFile) {
				t.Errorf("operation %d (%s): %v", n, d.log[n-1], err)
			}
			s.finish(t, want, fmt.Sprintf("%v at operation %d (%s)", fault, n, d.log[n-1]))
		}
	}
}

// TestGoingOnAfterAnError makes the n-th operation fail once; the caller repeats the call that
// failed and goes on with the same Run, as after freeing space.
func TestGoingOnAfterAnError(t *testing.T) {
	want := uninterrupted(t)
	for n := 1; ; n++ {
		s, d := faulty(t, filepath.Join(fastDir(t), "run"), faultDisk{n: n, err: syscall.ENOSPC})
		s.repeat = true
		err := s.run()
		if d.done < n {
			t.Logf("%d operations", n-1)
			return
		}
		if err != nil && !strings.HasPrefix(d.log[len(d.log)-1], "close") && !strings.Contains(d.log[n-1], lockFile) {
			t.Errorf("operation %d (%s): %v", n, d.log[n-1], err)
		}
		s.finish(t, want, fmt.Sprintf("repeated after operation %d (%s)", n, d.log[n-1]))
	}
}

// TestCrashWhileForcing kills Create at its n-th operation while it removes a complete run: what is
// left is that run, a part of it that can be resumed, or a directory for a new one; never a run
// that is complete and is not.
func TestCrashWhileForcing(t *testing.T) {
	want := uninterrupted(t)
	for n := 1; ; n++ {
		dir := filepath.Join(fastDir(t), "run")
		expect.NoError(t, newSimulation(dir, Options{wrap: lazy}).run())
		s, d := faulty(t, dir, faultDisk{n: n, err: errCrash, crash: true})
		s.opts.Force = true
		r, err := Create(dir, []byte(`{"task":"lst"}`), Environment{}, s.opts)
		if err == nil {
			t.Logf("%d operations", n-1)
			_ = r.Close()
			return
		}
		if err := newSimulation(dir, Options{wrap: lazy}).run(); err != nil {
			t.Errorf("%s: %v", d.where(n), err)
		}
		files := snapshot(t, dir)
		for _, name := range []string{configFile, metricsFile, checkpointFile, resultFile} {
			if files[name] != want[name] {
				t.Errorf("%s: %s differs", d.where(n), name)
			}
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
			s, _ := faulty(t, dir, faultDisk{n: 75, err: errCrash, crash: true})
			if err := s.run(); !errors.Is(err, errCrash) || s.saved < 6 {
				t.Fatal(s.saved, err)
			}
			saved := s.saved
			x := expect.Faults{N: n, Err: fault, Of: expect.Reads}
			err := x.During(newSimulation(dir, Options{wrap: lazy}).run)
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
