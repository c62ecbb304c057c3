package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
)

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure speed and memory", Args: noArguments, RunE: showHelp}
	cmd.AddCommand(newBenchStepCommand())
	return cmd
}

// benchFlags holds the flags of "torchpe bench step" that say how to measure.
type benchFlags struct {
	config        configFlags
	steps, warmup int
	warmupSeconds float64
	profile, json bool
	trace         string
}

func newBenchStepCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Time a training step",
		Long: `Time a training step of any configuration that "torchpe train" takes, on generated data.

Runs warm-up steps, then prints the median and the shortest of the measured ones, and the peak memory of the process; on
a CPU also the least time that the step's products and memory need at the rates that this machine is measured to reach.
Several encodings in --pe are timed one after the other, a row each without that least time; the memory of a row is then
the most that the process has used so far.
scripts/peer_torch.py measures the same model in PyTorch.`,
		Example: `  torchpe bench step --preset lst
  torchpe bench step --preset quick --members 4 --profile
  torchpe bench step --preset nmar
  torchpe bench step --preset lst --pe rope --json
  torchpe bench step --preset quick --pe nope,learn,rope,t5`,
		Args: noArguments,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.steps, "steps", 30, "steps to measure")
	fl.IntVar(&f.warmup, "warmup", 5, "steps before that")
	fl.Float64Var(&f.warmupSeconds, "warmup-seconds", 0, "and more of these until so many seconds have passed")
	fl.BoolVar(&f.profile, "profile", false, "also print where the time goes")
	fl.StringVar(&f.trace, "trace", "", "write a GPU's kernels, times and bytes (on the CPU: operators) to CSV `FILE`")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	f.config.bench = true
	headFlags(fl, "measurement")
	f.config.add(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "warmup", "json")...)
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command, _ []string) error {
	w, say := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.steps < 1 || f.warmup < 0 {
		return usagef("--steps %d, --warmup %d: at least 1 and 0", f.steps, f.warmup)
	}
	if !(f.warmupSeconds >= 0 && f.warmupSeconds <= 3600) {
		return usagef("--warmup-seconds %g: 0 to 3600", f.warmupSeconds)
	}
	configs, err := f.configs(say)
	if err != nil {
		return usageError{err}
	}
	if f.trace != "" && len(configs) > 1 {
		return usagef("--trace: one encoding in --pe, not %d", len(configs))
	}
	var measured []benchedScheme
	for _, c := range configs {
		b, err := f.measure(c, len(configs) == 1, say)
		if err != nil {
			return err
		}
		measured = append(measured, b)
		if !f.json {
			b.print(w)
		}
	}
	switch {
	case !f.json:
		return nil
	case len(measured) == 1:
		return printJSON(w, measured[0])
	}
	return printJSON(w, measured)
}

// configs returns a configuration for each encoding of --pe.
func (f *benchFlags) configs(say io.Writer) (all []train.Config, err error) {
	value := f.config.values["pe"]
	names := strings.Split(value.String(), ",")
	for _, name := range names {
		if len(names) > 1 {
			if err := value.Set(name); err != nil {
				return nil, err
			}
		}
		c, notes, err := f.config.resolve()
		if err != nil {
			return nil, err
		}
		for _, n := range notes {
			fmt.Fprintln(say, "torchpe: "+n)
		}
		all = append(all, c)
	}
	return all, nil
}

// benchedScheme holds the measurements of one encoding, as --json prints them.
type benchedScheme struct {
	Preset string `json:"preset"`
	PE     string `json:"pe"`
	train.Bench
}

// measure times the steps of one configuration, and writes their trace where --trace asks for it.
func (f *benchFlags) measure(c train.Config, limit bool, say io.Writer) (benchedScheme, error) {
	if err := f.config.chooseMembers(&c, say); err != nil {
		return benchedScheme{}, err
	}
	b, err := train.BenchStep(c, train.BenchOptions{Warmup: f.warmup, Steps: f.steps, Profile: f.profile, Limit: limit,
		WarmupFor: time.Duration(f.warmupSeconds * float64(time.Second)), Trace: f.trace != ""})
	if err == nil && f.trace != "" {
		err = atomicfile.Write(f.trace, func(w io.Writer) error { return writeTrace(w, b) })
	}
	return benchedScheme{f.config.preset, c.PE, b}, err
}

// print prints the measurements as text.
func (b benchedScheme) print(w io.Writer) {
	fmt.Fprintf(w, "%s %s: %s, batch %d, %s, %s: %.1f ms a step (shortest %.1f), %.0f MB at most\n",
		b.Preset, b.PE, wording.Count(b.Members, "member"), b.Batch, b.Device,
		wording.Count(b.Threads, "thread"),
		b.Median, b.Min, b.PeakRSS)
	if b.DeviceMB > 0 {
		attention := ""
		if b.Attention != "" {
			attention = ", attention " + b.Attention
		}
		fmt.Fprintf(w, "  %.0f MB of the GPU's memory at most, %s products%s, %s\n", b.DeviceMB, b.Precision, attention,
			map[bool]string{true: "recorded steps", false: "kernels launched one by one"}[b.Graph])
	}
	if l := b.Limit; l != nil {
		fmt.Fprintf(w, "  %.2f GFLOP in products, %.0f MB moved; this CPU reaches %.0f GFLOP/s and %.1f GB/s: "+
			"%.1f ms at least, %.0f %% of the median\n", l.GFLOP, l.MB, l.Products, l.Copies, l.MS, 100*l.MS/b.Median)
	}
	printPhases(w, b.Phases)
}

// printPhases prints a row for each part of a step.
func printPhases(w io.Writer, phases []train.ProfiledPhase) {
	if len(phases) > 0 {
		fmt.Fprintf(w, "  %-16s %8s %8s %6s %9s %12s\n", "", "ms", "GFLOP", "MB", "at least", "of its time")
	}
	for _, p := range phases {
		if p.FloorMS == 0 {
			fmt.Fprintf(w, "  %-16s %8.2f\n", p.Name, p.MS)
			continue
		}
		fmt.Fprintf(w, "  %-16s %8.2f %8.2f %6.0f %9.2f %10.0f %%\n", p.Name, p.MS, p.GFLOP, p.MB, p.FloorMS,
			100*p.FloorMS/p.MS)
	}
}

// writeTrace writes a row for each kernel or operator, the longest first. Of a GPU's step rows come
// before that for all kernels, and for those whose bytes are known: what each must read and write.
func writeTrace(w io.Writer, b train.Bench) error {
	rows := csv.NewWriter(w)
	_ = rows.Write([]string{"name", "calls_a_step", "us_a_step", "mb_a_step"}) // Error has what fails
	row := func(name string, calls int, time time.Duration, mb string) {
		_ = rows.Write([]string{name, fmt.Sprintf("%.2f", float64(calls)/train.TracedSteps),
			fmt.Sprintf("%.3f", float64(time.Nanoseconds())/1000/train.TracedSteps), mb})
	}
	sum := func(name string, bytes float64, of func(string) bool) {
		var calls int
		var time time.Duration
		for _, t := range b.Trace {
			if of(t.Name) {
				calls, time = calls+t.Calls, time+t.Time
			}
		}
		row(name, calls, time, fmt.Sprintf("%.3f", bytes/1e6))
	}
	if len(b.Moved) > 0 {
		all := 0.0
		for _, m := range b.Moved {
			all += m.Bytes
		}
		sum("all", all, func(string) bool { return true })
	}
	for _, m := range b.Moved {
		sum("all "+m.Kernel, m.Bytes, m.Runs)
	}
	for _, t := range b.Trace {
		row(t.Name, t.Calls, t.Time, "")
	}
	rows.Flush()
	return rows.Error()
}
