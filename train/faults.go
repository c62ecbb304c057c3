package train

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"torchpe/internal/wording"
)

// outOfMemory reports whether an error says that the device or the host has no memory left.
func outOfMemory(err error) bool {
	return mentionsAny(err,
		"out of memory", "not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
}

// deviceLost reports whether a GPU or its driver failed. Another GPU, or this one after a restart, may do
// the same work.
func deviceLost(err error) bool {
	return !outOfMemory(err) &&
		mentionsAny(err, "CUDA error", "CUDNN_STATUS", "CUBLAS_STATUS", "the GPU has not answered")
}

func mentionsAny(err error, texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(err.Error(), t) {
			return true
		}
	}
	return false
}

// withAdvice adds to an error what a user can do.
func withAdvice(c Config, err error) error {
	switch {
	case outOfMemory(err):
		return fmt.Errorf("%w\n%s with batch %d did not fit: fewer --members or a smaller "+
			"--batch need less", err,
			wording.Count(len(c.Members), "member"), c.Batch)
	case deviceLost(err):
		return fmt.Errorf("%w\nthe GPU failed: its state is in nvidia-smi and in the kernel's log "+
			"(dmesg, lines with Xid); --resume goes on from the last checkpoint, on any device", err)
	}
	return err
}

// StalledError says that a GPU has not answered for too long.
type StalledError struct {
	Dir   string
	Step  int // the last that the GPU was given
	After time.Duration
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("%s: the GPU has not answered for %v, since it was given step %d: see "+
		"nvidia-smi and the kernel's log; --resume goes on from the last checkpoint",
		e.Dir, e.After, e.Step)
}

// watchdog reports a run that makes no progress. It is notified before each step, record,
// checkpoint and the measures at the end.
type watchdog struct {
	step  atomic.Int64
	after time.Duration
	timer *time.Timer
}

// newWatchdog calls stalled once when it was not notified for the given time.
func newWatchdog(after time.Duration, dir string, stalled func(*StalledError)) *watchdog {
	w := &watchdog{after: after}
	w.timer = time.AfterFunc(after, sync.OnceFunc(func() {
		stalled(&StalledError{Dir: dir, Step: int(w.step.Load()), After: after})
	}))
	return w
}

// notify says that work goes on. A nil watchdog ignores it.
func (w *watchdog) notify(step int) {
	if w != nil {
		w.step.Store(int64(step))
		w.timer.Reset(w.after)
	}
}

func (w *watchdog) stop() { w.timer.Stop() }
