package train

import (
	"errors"
	"math"
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
	Attention string  `json:"attention,omitempty"` // over many tokens, where it was given
	DeviceMB  float64 `json:"peak_gpu_mb,omitempty"`
	Graph     bool    `json:"graph,omitempty"` // steps were recorded and replayed

	StepsPerEpoch int             `json:"steps_per_epoch"`
	Phases        []ProfiledPhase `json:"phases,omitempty"`
	Limit         *Limit          `json:"limit,omitempty"` // on a CPU

	Trace []torchpe.Traced `json:"-"` // of TracedSteps steps
	Moved []torchpe.Moved  `json:"-"` // by a traced step on a GPU
}

// ProfiledPhase is one part of a step: its mean time, and what a machine must do for it.
type ProfiledPhase struct {
	Name    string  `json:"name"`
	MS      float64 `json:"ms"`
	GFLOP   float64 `json:"gflop"`    // operations of products, in 10^9
	MB      float64 `json:"mb"`       // 10^6 bytes read from memory and written, caches left out
	FloorMS float64 `json:"floor_ms"` // the longer of the times that these two take
}

// Limit is the least time of a step on a CPU: the sum of the floors of the fused operators, which run one
// after the other.
type Limit struct {
	GFLOP    float64 `json:"gflop"`
	MB       float64 `json:"mb"`
	Products float64 `json:"gflop_per_s"` // measured, with the threads of the step
	Copies   float64 `json:"gb_per_s"`
	MS       float64 `json:"ms"`
}

// BenchOptions say how steps are timed.
type BenchOptions struct {
	Warmup, Steps int           // Warmup steps come first
	WarmupFor     time.Duration // and more of these until this has passed: a GPU's clocks rise within seconds
	Profile       bool          // also time the parts of a step
	Limit         bool          // on a CPU also measure the machine, and count a step's work
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
	var moved []torchpe.Moved
	if o.Trace && e.device != torchpe.CPU { // the first step: later ones are replayed
		if moved, err = torchpe.CountMoved(func() error {
			return errors.Join(e.step(0, max(1, task.stepsPerEpoch()-1)), torchpe.Synchronize(e.device))
		}); err != nil {
			return Bench{}, err
		}
	}
	times, err := e.timeSteps(o)
	if err != nil {
		return Bench{}, err
	}
	b := Bench{Device: e.device.String(), Threads: c.Threads, Members: e.members(), Batch: c.Batch,
		PeakRSS: peakRSSMB()} // before the machine's rates are measured, in arrays of their own
	if e.device == torchpe.CPU && (o.Limit || o.Profile) {
		if err := e.profileSteps(o, &b); err != nil {
			return Bench{}, err
		}
	}
	var trace []torchpe.Traced
	if o.Trace {
		if trace, err = e.traceSteps(o.Warmup + o.Steps); err != nil {
			return Bench{}, err
		}
	}
	slices.Sort(times)
	b.Median, b.Min = ms(times[len(times)/2]), ms(times[0])
	b.StepsPerEpoch, b.Precision, b.Graph, b.Trace, b.Moved = task.stepsPerEpoch(), torchpe.Precision(), e.graphs,
		trace, moved
	b.Attention = c.Attention
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

// timeSteps makes warmup steps, then measures each of the next, or on a GPU the mean of some, which may
// be a few more than asked for.
func (e *ensemble) timeSteps(o BenchOptions) (times []time.Duration, err error) {
	e.buffers.inputs.repeat(max(1, e.task.stepsPerEpoch()-1)) // the last of an epoch may be smaller
	block := 1
	if e.device != torchpe.CPU {
		block = max(1, o.Steps/blocks)
		if err := torchpe.ResetPeakMemory(e.device); err != nil {
			return nil, err
		}
	}
	made := 0
	run := func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := e.step(made, math.MaxInt32); err != nil {
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
			return nil, err
		}
		times, sum = append(times, took), sum+took
	}
	if enough() {
		return times, nil
	}
	times, sum = nil, 0
	for left := o.Steps; left > 0 && !enough(); left -= block {
		took, err := run(block)
		if err != nil {
			return nil, err
		}
		times, sum = append(times, took/time.Duration(block)), sum+took
	}
	return times, nil
}

// profileSteps counts what a step does, or with o.Profile what o.Steps do, and measures the machine.
func (e *ensemble) profileSteps(o BenchOptions, b *Bench) error {
	rates, err := torchpe.MachineRates(e.dtype)
	if err != nil {
		return err
	}
	steps := 1
	if o.Profile {
		steps = o.Steps
	}
	full, start := max(1, e.task.stepsPerEpoch()-1), time.Now()
	torchpe.StartProfile()
	for i := range steps {
		if err := e.step((o.Warmup+o.Steps+i)%full, full); err != nil {
			return err
		}
	}
	rest := time.Since(start)
	parts, err := torchpe.StopProfile()
	if err != nil {
		return err
	}
	per := func(x float64) float64 { return x / float64(steps) }
	b.Limit = &Limit{Products: rates.Operations / 1e9, Copies: rates.Bytes / 1e9}
	for _, p := range parts {
		floor := per(ms(p.Floor(rates)))
		b.Limit.GFLOP += per(p.Operations / 1e9)
		b.Limit.MB += per(p.Bytes / 1e6)
		b.Limit.MS += floor
		if o.Profile {
			b.Phases = append(b.Phases,
				ProfiledPhase{p.Name, per(ms(p.Time)), per(p.Operations / 1e9), per(p.Bytes / 1e6), floor})
		}
		rest -= p.Time
	}
	if o.Profile {
		b.Phases = append(b.Phases, ProfiledPhase{Name: "everything else", MS: per(ms(rest))})
	}
	return nil
}
