package train

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// TaskStoppedError says that the task of a sweep was stopped before its end. Its state is saved.
type TaskStoppedError struct {
	error
	Cancelled bool // the sweep was cancelled; else the context ended
}

// Unwrap returns the reason why training stopped, and the step.
func (e *TaskStoppedError) Unwrap() error { return e.error }

// RunTask trains a claimed task of a sweep, from its last checkpoint if there is one, and releases
// the claim: the task is then done, failed, or stopped with a TaskStoppedError. It resumes
// regardless of the options. The observer, which must not be nil, is told of a failure before it is
// recorded, because the record includes the end of the task's log.
func RunTask(ctx context.Context, claim *sweep.Claim, c Config, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	observer, stalled := o.Observer, o.Stalled
	beats := &heartbeats{Observer: observer, claim: claim}
	fail := func(err error) error {
		observer.Noticed(err.Error())
		return claim.Fail(sweep.Failure{Reason: failureReason(err), ExitCode: 1, Message: err.Error()})
	}
	o.Resume, o.BreakLock, o.Observer = true, true, beats
	o.SameData, o.SameDataAs = claim.DataOfRuns(claim.Index)
	o.Stalled = func(err *StalledError) {
		if failed := fail(err); failed != nil {
			observer.Noticed(failed.Error())
		}
		if stalled != nil {
			stalled(err)
		}
	}
	stopBeating := beats.start(cancel)
	_, err := Run(ctx, c, claim.EnsembleDir(claim.Index), o)
	stopBeating()
	var interrupted *Interrupted
	if errors.As(err, &interrupted) {
		cancelled, why := claim.Cancelled(), "signal"
		if cancelled {
			why = "cancelled"
		}
		interrupted.next = "torchpe sweep resume " + wording.Quote(claim.Dir)
		return &TaskStoppedError{Cancelled: cancelled, error: errors.Join(claim.Stop(why), err)}
	}
	if err == nil || errors.Is(err, runlog.ErrComplete) { // complete: a worker died between training and splitting
		if err = claim.Complete(); err == nil {
			return nil
		}
	}
	return errors.Join(err, fail(err))
}

// failureReason returns the reason class of an error: see sweep.Failure.
func failureReason(err error) string {
	switch {
	case errors.As(err, new(*DataError)):
		return sweep.ReasonData
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return sweep.ReasonDisk
	case outOfMemory(err):
		return sweep.ReasonOOM
	case deviceLost(err):
		return sweep.ReasonDevice
	}
	return sweep.ReasonError
}

// beatEvery is the time between heartbeats.
const beatEvery = 2 * time.Second

// heartbeats is an Observer that also writes the heartbeats of a task.
type heartbeats struct {
	Observer
	claim              *sweep.Claim
	first, step, total atomic.Int64
}

func (h *heartbeats) Started(done, total int) {
	h.first.Store(int64(done))
	h.step.Store(int64(done))
	h.total.Store(int64(total))
	h.Observer.Started(done, total)
}

func (h *heartbeats) Stepped(done int) {
	h.step.Store(int64(done))
	h.Observer.Stepped(done)
}

// start writes heartbeats until the returned function is called, and calls cancel if the sweep is cancelled.
func (h *heartbeats) start(cancel func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	beat := func() {
		// A heartbeat that cannot be written is not a reason to stop training.
		_ = h.claim.Beat(int(h.first.Load()), int(h.step.Load()), int(h.total.Load()))
	}
	wg.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				beat()
				if h.claim.Cancelled() {
					cancel()
				}
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		beat()
	}
}

// Steps, members and time of a calibration.
const (
	calibrationWarmup  = 1
	calibrationSteps   = 3
	calibrationMembers = 2  // on a CPU, where the time grows with the members
	calibrationFrames  = 64 // held-out ones of masked prediction, whose time counts for the others
	calibrationEnough  = time.Second
)

// TimeStep measures the time of a step and a record of a task's configuration for the estimate of a
// sweep. It takes seconds.
func TimeStep(c config.Config) (sweep.StepTime, error) {
	b, err := BenchStep(calibrated(c, len(torchpe.DescribeSystem().GPUs)), BenchOptions{
		Warmup: calibrationWarmup, Steps: calibrationSteps, Enough: calibrationEnough,
		Record: true})
	if d := b.data; d != nil {
		frames := d.TestFrames
		if n := c.Masked.TestFrames; n > 0 {
			frames = min(frames, n)
		}
		b.RecordMS *= float64(frames) / float64(d.MeasuredFrames)
	}
	return sweep.StepTime{Device: b.Device, MemberMS: b.Median / float64(b.Members),
		StepsPerEpoch: b.StepsPerEpoch, RecordMS: b.RecordMS / float64(max(1, b.Members))}, err
}

// calibrated returns the configuration to time: with fewer members on a CPU, fewer held-out frames, and one
// thread if the number is open.
func calibrated(c config.Config, gpus int) Config {
	if c.Threads == 0 {
		c.Threads = 1
	}
	if c.Device == "cpu" || gpus == 0 {
		c.Members = c.Members[:min(calibrationMembers, len(c.Members))]
	}
	if c.Masked != nil {
		few := *c.Masked
		few.TestFrames, c.Masked = calibrationFrames, &few
	}
	return Config{c}
}

// Hardware describes this computer to the planner of sweeps.
func Hardware() sweep.Hardware {
	const mb = 1 << 20
	sys := torchpe.DescribeSystem()
	h := sweep.Hardware{CPUs: runtime.NumCPU(), MemoryMB: float64(sys.FreeMemory) / mb}
	for _, g := range sys.GPUs {
		memory := g.TotalMemory
		if g.FreeMemory > 0 {
			memory = g.FreeMemory
		}
		h.GPUsMB = append(h.GPUsMB, float64(memory)/mb)
	}
	return h
}
