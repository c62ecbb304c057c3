package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// noiseFlags holds the flags of "torchpe analyze noise".
type noiseFlags struct {
	amplitudes []string
	repeats    int
	device     string
	json       bool
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
		Args: oneRun,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.amplitudes, "amplitudes", nil,
		"standard deviations a of the noise (default: the run's --noise)")
	fl.IntVar(&f.repeats, "repeats", 0, "draws of the noise (default: the run's --noise-repeats)")
	fl.StringVar(&f.device, "device", "", "device: auto, cpu, cuda or cuda:i (default: the run's)")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	return cmd
}

// oneRun takes a run directory and nothing else.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: name one run directory, such as runs/first; %d were given", cmd.CommandPath(), len(args))
	}
	return nil
}

func parseAmplitudes(texts []string) ([]float64, error) {
	values, err := config.ParseNoise(strings.Join(texts, ","))
	if err != nil {
		return nil, usagef("--amplitudes: %w", err)
	}
	if len(values) == 0 {
		return nil, usagef("--amplitudes: none leaves nothing to measure")
	}
	return values, nil
}

func (f *noiseFlags) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("repeats") && f.repeats < 1 {
		return usagef("--repeats: %d is less than 1", f.repeats)
	}
	o := train.NoiseOptions{Repeats: f.repeats, Device: f.device}
	if cmd.Flags().Changed("amplitudes") {
		var err error
		if o.Amplitudes, err = parseAmplitudes(f.amplitudes); err != nil {
			return err
		}
	}
	r, err := train.Noise(args[0], o)
	if err != nil {
		if errors.Is(err, runlog.ErrNoRun) {
			return usageError{err}
		}
		return err
	}
	if r.Warning != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "torchpe: "+r.Warning)
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			Run string `json:"run"`
			train.NoiseReport
		}{args[0], r})
	}
	printNoise(cmd.OutOrStdout(), r)
	return nil
}

// printNoise prints a row a member and a column an amplitude.
func printNoise(out io.Writer, r train.NoiseReport) {
	head := []string{"PE", "sigma", "seed", "without"}
	for _, a := range r.Amplitudes {
		head = append(head, fmt.Sprintf("a = %g", a))
	}
	var rows [][]string
	for _, m := range r.Members {
		seed := fmt.Sprint(m.Seed)
		if m.DivergedAtStep > 0 {
			seed += fmt.Sprintf(" (diverged at step %d)", m.DivergedAtStep)
		}
		row := []string{m.PE, numberText(m.Sigma), seed, share(m.ValidationAccuracy)}
		for _, level := range m.Noise {
			text := share(level.Mean)
			if level.SD != nil {
				text += " ± " + share(*level.SD)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	printTable(out, head, rows)
	fmt.Fprintf(out, "step %d: accuracy on %s with noise N(0, a²) on each token "+
		"embedding; mean ± SD of %s\n", r.Step, wording.Count(r.Puzzles, "validation puzzle"),
		wording.Count(r.Repeats, "draw"))
}
