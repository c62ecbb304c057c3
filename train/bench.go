package train

import (
	"math"
	"slices"
	"time"

	"torchpe/torchpe"
	"torchpe/train/runlog"
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
	Attention string  `json:"attention,omitempty"` // with many tokens, if given
	DeviceMB  float64 `json:"peak_gpu_mb,omitempty"`
	Graph     bool    `json:"graph,omitempty"` // steps were recorded and replayed

	StepsPerEpoch int     `json:"steps_per_epoch"`
	RecordMS      float64 `json:"record_ms,omitempty"`

	data *runlog.DataSummary // of masked prediction, if records are timed
}

// BenchOptions say how steps are timed.
type BenchOptions struct {
	Warmup, Steps int           // Warmup steps come before the timed Steps
	WarmupFor     time.Duration // warm-up lasts at least this long: a GPU's clocks take seconds to rise
	Record        bool          // also time the measurements of a record
	Trace         string        // file for libtorch's trace of a few more steps; "" for none
	// Enough ends the warm-up on a CPU, and then the timing, as soon as each has taken this long. 0 = never.
	Enough time.Duration
}

// tracedSteps is the number of steps in a trace.
const tracedSteps = 3

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
	if o.Trace != "" { // an empty trace shows early whether the file can be written
		if err := torchpe.Trace(o.Trace, func() error { return nil }); err != nil {
			return Bench{}, err
		}
	}
	times, err := e.timeSteps(o)
	if err != nil {
		return Bench{}, err
	}
	slices.Sort(times)
	b := Bench{Device: e.device.String(), Threads: c.Threads, Members: e.members(), Batch: c.Batch,
		Median: ms(times[len(times)/2]), Min: ms(times[0]),
		PeakRSS:   peakRSSMB(),
		Precision: torchpe.Precision(), Attention: c.Attention, Graph: e.graphs, StepsPerEpoch: task.stepsPerEpoch()}
	if o.Record {
		start := time.Now()
		tables, err := e.peTables()
		if err == nil {
			_, err = task.measure(e, tables)
		}
		if err != nil {
			return Bench{}, err
		}
		b.RecordMS = ms(time.Since(start))
		var r runlog.Result
		task.completeResult(&r)
		b.data = r.Data
	}
	if o.Trace != "" {
		if err := e.traceSteps(o); err != nil {
			return Bench{}, err
		}
	}
	memory, err := torchpe.MemoryOf(e.device)
	b.DeviceMB = float64(memory.Peak) / (1 << 20)
	return b, err
}

// traceSteps writes libtorch's trace of a few more steps.
func (e *ensemble) traceSteps(o BenchOptions) error {
	full := max(1, e.task.stepsPerEpoch()-1)
	return torchpe.Trace(o.Trace, func() error {
		for i := range tracedSteps {
			if err := e.step((o.Warmup+o.Steps+i)%full, full); err != nil {
				return err
			}
		}
		return torchpe.Synchronize(e.device)
	})
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// blocks is the number of timings on a GPU, each over several steps: waiting after every step would
// slow it down.
const blocks = 10

// timeSteps runs warm-up steps, then times each following step, or on a GPU blocks of steps, of
// which it returns means. The number of steps may be slightly larger than requested.
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
		sum += took
	}
	sum = 0
	for left := o.Steps; left > 0 && !enough(); left -= block {
		took, err := run(block)
		if err != nil {
			return nil, err
		}
		times, sum = append(times, took/time.Duration(block)), sum+took
	}
	return times, nil
}
