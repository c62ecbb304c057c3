package train

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// OutOfMemory says whether an error is of a device or a host that has no memory left.
func OutOfMemory(err error) bool {
	return says(err, "out of memory", "not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
}

// DeviceLost says whether an error is of a GPU or its driver, and not of what was asked of it: another GPU, or this one after a
// restart, may do it.
func DeviceLost(err error) bool {
	return !OutOfMemory(err) && says(err, "CUDA error", "CUDNN_STATUS", "CUBLAS_STATUS", "the GPU has not answered")
}

func says(err error, texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(err.Error(), t) {
			return true
		}
	}
	return false
}

// explain adds to an error what would help.
func explain(c Config, err error) error {
	switch {
	case OutOfMemory(err):
		return fmt.Errorf("%w\n%d members with batch %d did not fit: fewer --members or a smaller --batch need less (--members auto measures how many fit)",
			err, len(c.Members), c.Batch)
	case DeviceLost(err):
		return fmt.Errorf("%w\nthe GPU failed: its state is in nvidia-smi and in the kernel's log (dmesg, lines with Xid); --resume goes on from the last checkpoint, on any device", err)
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
	return fmt.Sprintf("%s: the GPU has not answered for %v, since it was given step %d: see nvidia-smi and the kernel's log; --resume goes on from the last checkpoint", e.Dir, e.After, e.Step)
}

// watch notices when signs of life stop coming: before each step, record, checkpoint and the end's measures.
type watch struct {
	step  atomic.Int64
	beat  atomic.Int64 // monotonic nanoseconds since start
	start time.Time
	done  chan struct{}
}

// newWatch calls stalled once when there was no sign of life for the given time.
func newWatch(after time.Duration, dir string, stalled func(*StalledError)) *watch {
	w := &watch{start: time.Now(), done: make(chan struct{})}
	go func() {
		tick := time.NewTicker(max(after/10, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
			}
			if time.Since(w.start)-time.Duration(w.beat.Load()) > after {
				stalled(&StalledError{Dir: dir, Step: int(w.step.Load()), After: after})
				return
			}
		}
	}()
	return w
}

// alive says that work goes on.
func (w *watch) alive(step int) {
	if w != nil {
		w.step.Store(int64(step))
		w.beat.Store(int64(time.Since(w.start)))
	}
}

func (w *watch) stop() { close(w.done) }
