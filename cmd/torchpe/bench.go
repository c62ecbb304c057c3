package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/layers"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
)

func newBenchCommand() *cobra.Command {
	return parent(&cobra.Command{Use: "bench", Short: "Measure speed and memory"}, newBenchStepCommand())
}

// benchFlags holds the flags of "torchpe bench step" that say how to measure.
type benchFlags struct {
	config        configFlags
	steps, warmup int
	warmupSeconds float64
	trace         string
}

func newBenchStepCommand() *cobra.Command {
	f := benchFlags{steps: 30, warmup: 5}
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Time a training step",
		Long: `Time a training step of any configuration that "torchpe train" takes, on generated data.

Runs warm-up steps, then prints the median and the shortest of the measured steps, and the peak memory of the
process.
To see where the time goes, run it under perf, or on a GPU under nsys.
Several encodings in --pe are timed one after the other, one row each; the memory of a row is then the peak of the
process so far.
scripts/peer_torch.py measures the same model in PyTorch.`,
		Example: `  torchpe bench step --preset lst
  torchpe bench step --preset quick --members 4
  torchpe bench step --preset nmar
  torchpe bench step --preset lst --pe rope --json
  torchpe bench step --preset quick --pe nope,learn,rope,t5`,
	}
	fl := cmd.Flags()
	fl.Var(bounded{&f.steps, 1, math.MaxInt}, "steps", "steps to measure")
	fl.Var(bounded{&f.warmup, 0, math.MaxInt}, "warmup", "warm-up steps")
	fl.Float64Var(&f.warmupSeconds, "warmup-seconds", 0, "continue warming up until this many seconds have passed")
	fl.StringVar(&f.trace, "trace", "", "write libtorch's trace of a few more steps to `FILE`, for ui.perfetto.dev")
	f.config.bench = true
	headFlags(fl, "measurement")
	f.config.add(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "warmup")...)
	return leaf(cmd, f.run)
}

func (f *benchFlags) run(c *call) (r result, err error) {
	if !(f.warmupSeconds >= 0 && f.warmupSeconds <= 3600) {
		return r, usagef("--warmup-seconds %g: want 0 to 3600", f.warmupSeconds)
	}
	configs, err := f.configs(c)
	if err != nil {
		return r, usageError{err}
	}
	if f.trace != "" && len(configs) > 1 {
		return r, usagef("--trace: want one encoding in --pe, not %d", len(configs))
	}
	var measured []benchedScheme
	for _, config := range configs {
		b, err := f.measure(config)
		if err != nil {
			return r, err
		}
		measured = append(measured, b)
		if !c.json {
			b.print(c.out)
		}
	}
	if r.value = measured; len(measured) == 1 {
		r.value = measured[0]
	}
	return r, nil
}

// configs returns a configuration for each encoding of --pe.
func (f *benchFlags) configs(c *call) (all []train.Config, err error) {
	value := f.config.values["pe"]
	names := []string{value.String()}
	if !layers.Differ(names[0]) {
		names = strings.Split(names[0], ",")
	}
	for _, name := range names {
		if len(names) > 1 {
			if err := value.Set(name); err != nil {
				return nil, err
			}
		}
		resolved, notes, err := f.config.resolve()
		if err != nil {
			return nil, err
		}
		c.noteAll(notes)
		all = append(all, resolved)
	}
	return all, nil
}

// benchedScheme holds the measurements of one encoding, as --json prints them.
type benchedScheme struct {
	Preset string `json:"preset"`
	PE     string `json:"pe"`
	train.Bench
}

// measure times the steps of one configuration, and writes their trace if --trace is given.
func (f *benchFlags) measure(c train.Config) (benchedScheme, error) {
	b, err := train.BenchStep(c, train.BenchOptions{Warmup: f.warmup, Steps: f.steps,
		WarmupFor: time.Duration(f.warmupSeconds * float64(time.Second)), Trace: f.trace})
	return benchedScheme{f.config.base(), c.PE, b}, err
}

func (b benchedScheme) print(w io.Writer) {
	fmt.Fprintf(w, "%s %s: %s, batch %d, %s, %s: %.1f ms per step (shortest %.1f), at most %.0f MB\n",
		b.Preset, b.PE, wording.Count(b.Members, "member"), b.Batch, b.Device,
		wording.Count(b.Threads, "thread"),
		b.Median, b.Min, b.PeakRSS)
	if b.DeviceMB > 0 {
		attention := ""
		if b.Attention != "" {
			attention = ", attention " + b.Attention
		}
		fmt.Fprintf(w, "  at most %.0f MB of the GPU's memory, %s products%s, %s\n", b.DeviceMB, b.Precision,
			attention, map[bool]string{true: "recorded steps", false: "kernels launched one by one"}[b.Graph])
	}
}
