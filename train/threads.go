package train

import (
	"runtime"
	"syscall"
	"time"

	"torchpe/torchpe"
)

// worthThread is the least speed-up for which twice the threads are taken: two CPUs that share a
// core gain nothing.
const worthThread = 1.25

// setThreads sets the number of threads and returns it; 0 stands for the fastest.
func (e *ensemble) setThreads(n int) (_ int, err error) {
	if n == 0 {
		if n, err = e.calibrate(); err != nil {
			return 0, err
		}
	}
	torchpe.SetThreads(n)
	return n, nil
}

// calibrate finds the number of threads for this model's step: it doubles them as long as the step
// gets faster. The result is stored with the run, so that repeating it computes the same.
func (e *ensemble) calibrate() (int, error) {
	if e.device != torchpe.CPU {
		return 1, nil
	}
	best := 1
	fastest, err := e.timeStep(best)
	for n := 2; err == nil && n <= min(runtime.NumCPU(), 16); n *= 2 {
		var took time.Duration
		if took, err = e.timeStep(n); err != nil || float64(took)*worthThread > float64(fastest) {
			break
		}
		best, fastest = n, took
	}
	return best, err
}

// timeStep returns the shortest of three steps without active members: no parameter changes.
func (e *ensemble) timeStep(threads int) (time.Duration, error) {
	torchpe.SetThreads(threads)
	nothing := newTrainSums(e.members())
	defer e.optimizer.SetSteps(e.optimizer.Steps())
	if err := e.buffers.reset(nothing, make([]bool, e.members())); err != nil {
		return 0, err
	}
	shortest := time.Duration(1<<63 - 1)
	for range 3 {
		start := time.Now()
		if err := e.step(0, 1); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest, e.buffers.reset(nothing, e.active)
}

// peakRSSMB returns the most memory this process held at any time, in megabytes.
func peakRSSMB() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024 // Linux counts in KiB
}
