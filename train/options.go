package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// Options say how Run treats the run directory, and who observes the run.
type Options struct {
	Resume    bool // continue the run in the directory, or start one if there is none
	Force     bool // replace the run in the directory
	BreakLock bool // take over the lock of a dead process on another host
	Command   []string
	Observer  Observer // may be nil

	// AllowChanged lists keys of settings that may differ between a resumed run and its checkpoint.
	// The run's environment records what changed at which step.
	AllowChanged []string

	// SameData, if not empty, is the SHA-256 that the data must have, and SameDataAs the run that
	// was trained on them.
	SameData, SameDataAs string

	// Stalled, which may be nil, is called from another goroutine when a GPU has not answered for
	// StallAfter. A hanging driver cannot be stopped: a program can only report it and end.
	Stalled    func(*StalledError)
	StallAfter time.Duration
}

// Observer receives the progress of a run.
type Observer interface {
	Started(done, total int)   // steps done before, and in all
	Stepped(done int)          // after each step, or on a GPU after several
	Logged(rs []runlog.Record) // each member's newest record; for a stopped one, its last
	Noticed(message string)    // something that the user should read
}

// noopObserver ignores everything.
type noopObserver struct{}

var _ Observer = noopObserver{}

func (noopObserver) Started(int, int)       {}
func (noopObserver) Stepped(int)            {}
func (noopObserver) Logged([]runlog.Record) {}
func (noopObserver) Noticed(string)         {}

// Interrupted says that the context ended before the run did. The state is saved. If data were
// still being read, Interrupted is zero.
type Interrupted struct {
	Step, Total int
	next        string // the command, or its flags, that continues the run
}

func (e *Interrupted) Error() string {
	if e.Total == 0 {
		return "interrupted while reading data, before the first step"
	}
	return fmt.Sprintf("interrupted after step %d of %d; the state is saved, %s continues",
		e.Step, e.Total, e.next)
}

// ConfigError says that no model can be built from a configuration: the encoding does not fit it.
type ConfigError struct{ error }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.error }

// DataError says that the data cannot be read, or differ from those of the checkpoint.
type DataError struct{ error }

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.error }

// claimRunDir locks the run directory for a new run, or for continuing one.
func claimRunDir(dir string, o Options) (run *runlog.Run, resumed bool, err error) {
	opts := runlog.Options{Force: o.Force, BreakLock: o.BreakLock}
	if o.Resume {
		run, err := runlog.Resume(dir, opts)
		if !errors.Is(err, runlog.ErrNoRun) {
			return run, true, err
		}
	}
	run, err = runlog.Claim(dir, opts)
	return run, false, err
}

func environment(c Config, command []string) runlog.Environment {
	env, sys := runlog.HostEnvironment(command), torchpe.DescribeSystem()
	env.LibtorchBuilt, env.LibtorchRunning = sys.LibtorchBuilt, sys.LibtorchRunning
	env.BLAS, env.BLASKernel, env.Threads = sys.BLAS, sys.BLASKernel, c.Threads
	if device, err := torchpe.ParseDevice(c.Device); err == nil {
		env.Device, env.Precision = device.String(), c.precisionOn(device)
		if i, ok := device.GPU(); ok && i < len(sys.GPUs) {
			env.GPU = sys.GPUs[i].Name
		}
	}
	return env
}

// outOfMemory reports whether an error says that the device or the host is out of memory.
func outOfMemory(err error) bool {
	return mentionsAny(err,
		"out of memory", "not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
}

// deviceLost reports whether a GPU or its driver failed. Another GPU, or this one after a restart,
// may succeed.
func deviceLost(err error) bool {
	return !outOfMemory(err) &&
		mentionsAny(err, "CUDA error", "CUDNN_STATUS", "CUBLAS_STATUS", "the GPU has not answered")
}

func mentionsAny(err error, texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(err.Error(), t) })
}

func withAdvice(c Config, err error) error {
	switch {
	case outOfMemory(err):
		return fmt.Errorf("%w\n%s with batch %d did not fit: fewer --members or a smaller "+
			"--batch need less", err,
			wording.Count(len(c.Members), "member"), c.Batch)
	case deviceLost(err):
		return fmt.Errorf("%w\nthe GPU failed: its state is in nvidia-smi and in the kernel's log "+
			"(dmesg, lines with Xid); --resume continues from the last checkpoint, on any device", err)
	}
	return err
}

// StalledError says that a GPU has not answered for too long.
type StalledError struct {
	Dir   string
	Step  int // the last step given to the GPU
	After time.Duration
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("%s: the GPU has not answered for %v, since step %d: see "+
		"nvidia-smi and the kernel's log; --resume continues from the last checkpoint",
		e.Dir, e.After, e.Step)
}

// watchdog reports a run that makes no progress. It is notified before each step, record and
// checkpoint, and before the measures at the end.
type watchdog struct {
	step  atomic.Int64
	after time.Duration
	timer *time.Timer
}

// newWatchdog returns a watchdog that calls stalled once when it has not been notified for the given time.
func newWatchdog(after time.Duration, dir string, stalled func(*StalledError)) *watchdog {
	w := &watchdog{after: after}
	w.timer = time.AfterFunc(after, sync.OnceFunc(func() {
		stalled(&StalledError{Dir: dir, Step: int(w.step.Load()), After: after})
	}))
	return w
}

// notify says that work continues. A nil watchdog ignores it.
func (w *watchdog) notify(step int) {
	if w != nil {
		w.step.Store(int64(step))
		w.timer.Reset(w.after)
	}
}

func (w *watchdog) stop() { w.timer.Stop() }
