package train

import (
	"runtime"
	"slices"
	"time"

	"torchpe/torchpe"
)

// Bench is what BenchStep measured.
type Bench struct {
	Device  string  `json:"device"`
	Threads int     `json:"threads"`
	Members int     `json:"members"`
	Batch   int     `json:"batch"`
	Median  float64 `json:"step_ms_median"`
	Min     float64 `json:"step_ms_min"`
	PeakRSS float64 `json:"peak_rss_mb"`

	StepsPerEpoch int             `json:"steps_per_epoch"`
	Phases        []ProfiledPhase `json:"phases,omitempty"`
}

// ProfiledPhase is the mean time of one part of a step.
type ProfiledPhase struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// BenchStep times training steps of a configuration on the puzzles it names, after warmup steps.
func BenchStep(c Config, warmup, steps int, profile bool) (Bench, error) {
	if err := c.Resolve(); err != nil {
		return Bench{}, err
	}
	task, err := newTask(c)
	if err != nil {
		return Bench{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := newEnsemble(c, task)
	if err != nil {
		return Bench{}, err
	}
	defer e.close()
	if c.Threads == 0 {
		if c.Threads, err = e.calibrate(); err != nil {
			return Bench{}, err
		}
	}
	torchpe.SetThreads(c.Threads)
	times, phases, err := e.timeSteps(warmup, steps, max(1, task.stepsPerEpoch()-1), profile) // the last of an epoch may be smaller
	if err != nil {
		return Bench{}, err
	}
	slices.Sort(times)
	b := Bench{
		Device: e.device.String(), Threads: c.Threads, Members: e.members(), Batch: c.Batch,
		Median: ms(times[len(times)/2]), Min: ms(times[0]), PeakRSS: PeakRSSMB(), Phases: phases,
		StepsPerEpoch: task.stepsPerEpoch(),
	}
	return b, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timeSteps makes warmup steps, then measures each of the next.
func (e *ensemble) timeSteps(warmup, steps, full int, profile bool) (times []time.Duration, phases []ProfiledPhase, err error) {
	sums := newRunning(e.members())
	var gradients, optimizer time.Duration
	for i := range warmup + steps {
		if i == warmup && profile {
			torchpe.StartProfile()
			gradients, optimizer = 0, 0
		}
		start := time.Now()
		if _, err := e.step(i%full, &sums); err != nil {
			return nil, nil, err
		}
		middle := time.Now()
		if err := e.update(i, warmup+steps); err != nil {
			return nil, nil, err
		}
		end := time.Now()
		gradients, optimizer = gradients+middle.Sub(start), optimizer+end.Sub(middle)
		if i >= warmup {
			times = append(times, end.Sub(start))
		}
	}
	if !profile {
		return times, nil, nil
	}
	rest := gradients + optimizer
	for i, d := range torchpe.StopProfile() {
		phases = append(phases, ProfiledPhase{torchpe.ProfileParts[i], ms(d) / float64(steps)})
		rest -= d
	}
	return times, append(phases, ProfiledPhase{"everything else", ms(rest) / float64(steps)}), nil
}
