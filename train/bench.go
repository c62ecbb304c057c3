package train

import (
	"slices"
	"time"

	"torchpe/torchpe"
)

// Bench holds the measurements of BenchStep.
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

	Trace []torchpe.Traced `json:"-"` // of TracedSteps steps
}

// ProfiledPhase is the mean time of one part of a step.
type ProfiledPhase struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// BenchOptions say how steps are timed.
type BenchOptions struct {
	Warmup, Steps int           // Warmup steps come first
	WarmupFor     time.Duration // and more of these until this has passed: a GPU's clocks rise within seconds
	Profile       bool          // also time the parts of a step
	Trace         bool          // then time every kernel of a GPU, or every operator, in TracedSteps steps
	// Enough ends the timing on a CPU as soon as the steps took so long. Where those of the warm-up do,
	// they are the measurement: what the first one does once takes less than a step that long. 0 = never.
	Enough time.Duration
}

// TracedSteps is the number of steps in a trace.
const TracedSteps = 3

// BenchStep times training steps of a configuration on its data.
func BenchStep(c Config, o BenchOptions) (Bench, error) {
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
	if c.Threads, err = e.setThreads(c.Threads); err != nil {
		return Bench{}, err
	}
	times, phases, err := e.timeSteps(o)
	if err != nil {
		return Bench{}, err
	}
	var trace []torchpe.Traced
	if o.Trace {
		if trace, err = e.traceSteps(o.Warmup + o.Steps); err != nil {
			return Bench{}, err
		}
	}
	slices.Sort(times)
	b := Bench{
		Device: e.device.String(), Threads: c.Threads, Members: e.members(), Batch: c.Batch,
		Median: ms(times[len(times)/2]), Min: ms(times[0]), PeakRSS: peakRSSMB(), Phases: phases,
		StepsPerEpoch: task.stepsPerEpoch(), Precision: torchpe.Precision(), Graph: e.graphs, Trace: trace,
	}
	memory, err := torchpe.MemoryOf(e.device)
	b.DeviceMB = float64(memory.Peak) / (1 << 20)
	return b, err
}

// traceSteps returns what TracedSteps more steps take time for. On a GPU these are its kernels.
func (e *ensemble) traceSteps(made int) ([]torchpe.Traced, error) {
	full := max(1, e.task.stepsPerEpoch()-1)
	if err := torchpe.Synchronize(e.device); err != nil {
		return nil, err
	}
	all, err := torchpe.Trace(func() error {
		for i := range TracedSteps {
			if err := e.step((made+i)%full, full); err != nil {
				return err
			}
		}
		return torchpe.Synchronize(e.device)
	})
	if e.device != torchpe.CPU {
		all = slices.DeleteFunc(all, func(t torchpe.Traced) bool { return !t.GPU })
	}
	return all, err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// blocks is the number of times taken on a GPU, each of several steps: waiting for every step would
// slow it down.
const blocks = 10

// timeSteps makes warmup steps, then measures each of the next, or on a GPU the mean of some.
func (e *ensemble) timeSteps(o BenchOptions) (
	times []time.Duration, phases []ProfiledPhase, err error) {
	full := max(1, e.task.stepsPerEpoch()-1) // the last of an epoch may be smaller
	block := 1
	if e.device != torchpe.CPU {
		block = max(1, o.Steps/blocks)
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
	var sum time.Duration
	enough := func() bool { return o.Enough > 0 && sum >= o.Enough && e.device == torchpe.CPU }
	for n := 0; (n < o.Warmup || sum < o.WarmupFor) && !enough(); n++ {
		took, err := run(1)
		if err != nil {
			return nil, nil, err
		}
		times, sum = append(times, took), sum+took
	}
	if enough() {
		return times, nil, nil
	}
	times, sum = nil, 0
	if o.Profile {
		torchpe.StartProfile()
	}
	for left := o.Steps; left > 0 && !enough(); left -= block {
		n := min(block, left)
		took, err := run(n)
		if err != nil {
			return nil, nil, err
		}
		times, sum = append(times, took/time.Duration(n)), sum+took
	}
	if !o.Profile {
		return times, nil, nil
	}
	for i, d := range torchpe.StopProfile() {
		phases = append(phases, ProfiledPhase{torchpe.ProfileParts[i], ms(d) / float64(o.Steps)})
		sum -= d
	}
	return times, append(phases, ProfiledPhase{"everything else", ms(sum) / float64(o.Steps)}), nil
}
