package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
)

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
