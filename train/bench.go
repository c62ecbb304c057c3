package train

import (
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

	Precision string  `json:"precision"`
	DeviceMB  float64 `json:"peak_gpu_mb,omitempty"`
	Graph     bool    `json:"graph,omitempty"` // steps were recorded and replayed

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
	done, err := c.onDevice()
	if err != nil {
		return Bench{}, err
	}
	defer done()
	task, err := newTask(c)
	if err != nil {
		return Bench{}, err
	}
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
		StepsPerEpoch: task.stepsPerEpoch(), Precision: torchpe.Precision(), Graph: e.graphs,
	}
	memory, err := torchpe.MemoryOf(e.device)
	b.DeviceMB = float64(memory.Peak) / (1 << 20)
	return b, err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// blocks is how many times are taken on a GPU, each of several steps: to wait for every step would stop it from working ahead.
const blocks = 10

// timeSteps makes warmup steps, then measures each of the next, or on a GPU the mean of some.
func (e *ensemble) timeSteps(warmup, steps, full int, profile bool) (times []time.Duration, phases []ProfiledPhase, err error) {
	block := 1
	if e.device != torchpe.CPU {
		block = max(1, steps/blocks)
		if err := torchpe.ResetPeakMemory(e.device); err != nil {
			return nil, nil, err
		}
	}
	made := 0
	run := func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := e.step(made%full, full); err != nil {
				return 0, err
			}
			made++
		}
		err := torchpe.Synchronize(e.device)
		return time.Since(start), err
	}
	if _, err := run(warmup); err != nil {
		return nil, nil, err
	}
	if profile {
		torchpe.StartProfile()
	}
	var sum time.Duration
	for left := steps; left > 0; left -= block {
		n := min(block, left)
		took, err := run(n)
		if err != nil {
			return nil, nil, err
		}
		times, sum = append(times, took/time.Duration(n)), sum+took
	}
	if !profile {
		return times, nil, nil
	}
	for i, d := range torchpe.StopProfile() {
		phases = append(phases, ProfiledPhase{torchpe.ProfileParts[i], ms(d) / float64(steps)})
		sum -= d
	}
	return times, append(phases, ProfiledPhase{"everything else", ms(sum) / float64(steps)}), nil
}
