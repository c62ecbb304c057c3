package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/analysis"
	"torchpe/train"
	"torchpe/train/config"
)

func newAnalyzeCommand() *cobra.Command {
	cmd := parent(&cobra.Command{
		Use:   "analyze",
		Short: "Measure learned positions and attention, of runs or of your own arrays",
		Long: `Measure what models learned: of finished runs, or of your own arrays.

A RUN is the directory of a finished run, or a folder with runs below it.
FILE[:tensor] is an array: .npy, .csv, .tsv or .txt; or a tensor by its name in .safetensors,
.npz, HDF5 or .mat, where the name may be left out if only one tensor fits. --header yes|no says
whether the first line of a text holds names, where it may be either.
A number that has no value is a dash, and null with --json.`,
	}, newAnalyzeNoiseCommand())
	for _, m := range analysis.Measures() {
		cmd.AddCommand(newMeasureCommand(m))
	}
	return cmd
}

// newMeasureCommand returns the subcommand of a measure.
func newMeasureCommand(m analysis.Measure) *cobra.Command {
	var in analysis.Input
	to := destination{endings: m.Extensions}
	cmd := &cobra.Command{Use: m.Use, Short: m.Short, Long: m.Long, Example: m.Example, Args: cobra.ArbitraryArgs}
	fl := cmd.Flags()
	m.Flags(fl, &in)
	headerFlag(fl, &in.Header)
	if m.Out != "" {
		to.add(cmd, m.Out)
	}
	return leaf(cmd, ofInput(func(c *call) (r result, err error) {
		in.Args, in.Out, in.JSON = c.args, to.path, c.json
		report, err := m.Run(&in)
		if err != nil {
			c.noteAll(in.Notes)
			return r, err
		}
		if in.Out != "" {
			r.files = to.holding(bytesOf(report.File))
		}
		r.value, r.notes = report.JSON, in.Notes
		r.print = func(w io.Writer) { printReport(w, in, report) }
		return r, nil
	}), &to)
}

// printReport prints what a measure found as tables, or says what --out holds.
func printReport(w io.Writer, in analysis.Input, r *analysis.Report) {
	if in.Out != "" {
		for _, what := range r.Wrote {
			fmt.Fprintf(w, "%s: %s\n", what, in.Out)
		}
		return
	}
	for _, t := range r.Tables {
		printTable(w, t.Head, t.Rows)
		if t.Foot != "" {
			fmt.Fprintln(w, t.Foot)
		}
	}
}

// noiseFlags holds the flags of "torchpe analyze noise".
type noiseFlags struct {
	amplitudes []string
	options    train.NoiseOptions
}

func newAnalyzeNoiseCommand() *cobra.Command {
	var f noiseFlags
	cmd := &cobra.Command{
		Use:   "noise RUN",
		Short: "Accuracy on validation puzzles with noise on the token embeddings",
		Long: `Load the newest checkpoint of a run on Latin squares, finished or not, and answer its
validation puzzles with Gaussian noise N(0, a²) added to each token's embedding, in each dimension
on its own, before any positional encoding.

All amplitudes a of a repeat scale one draw, which depends on the member's seed alone: curves over a
are smooth, and two encodings trained with one seed are compared under the same noise. Nothing is
written. "torchpe train --noise" measures the same at the end of a run.`,
		Example: `  torchpe analyze noise runs/first
  torchpe analyze noise runs/first --amplitudes 0.05,0.1,0.5,1 --repeats 50 --json`,
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.amplitudes, "amplitudes", nil,
		"standard deviations a of the noise (default: the run's --noise)")
	fl.Var(bounded{&f.options.Repeats, 1, math.MaxInt}, "repeats",
		"draws of the noise (default: the run's --noise-repeats)")
	fl.StringVar(&f.options.Device, "device", "", "device: auto, cpu, cuda or cuda:i (default: the run's)")
	return leaf(cmd, f.run)
}

func (f *noiseFlags) run(c *call) (r result, err error) {
	if c.given("amplitudes") {
		f.options.Amplitudes, err = config.ParseNoise(strings.Join(f.amplitudes, ","))
		if err == nil && len(f.options.Amplitudes) == 0 {
			err = errors.New("none leaves nothing to measure")
		}
		if err != nil {
			return r, usagef("--amplitudes: %w", err)
		}
	}
	report, err := train.Noise(c.args[0], f.options)
	if err != nil {
		return r, err
	}
	if report.Warning != "" {
		r.notes = []string{report.Warning}
	}
	r.value = struct {
		Run string `json:"run"`
		train.NoiseReport
	}{c.args[0], report}
	r.print = func(w io.Writer) {
		head, rows := report.Table()
		printTable(w, head, rows)
		fmt.Fprintf(w, "step %d: accuracy on %s with noise N(0, a²) on each token "+
			"embedding; mean ± SD of %s\n", report.Step, wording.Count(report.Puzzles, "validation puzzle"),
			wording.Count(report.Repeats, "draw"))
	}
	return r, nil
}
