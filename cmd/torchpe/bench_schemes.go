package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
)

// benchSchemesFlags holds the flags of "torchpe bench schemes".
type benchSchemesFlags struct {
	config configFlags
	only   []string
	steps  int
	json   bool
}

func newBenchSchemesCommand() *cobra.Command {
	var f benchSchemesFlags
	cmd := &cobra.Command{
		Use:   "schemes",
		Short: "Time a training step of every positional encoding beside one without",
		Long: `Time a training step of every positional encoding beside one without.

Trains each scheme at its default options, one step of it and one of nope in turn, and prints the
medians and their ratio.`,
		Example: `  torchpe bench schemes --preset quick
  torchpe bench schemes --preset nmar --only learn,rope,t5 --steps 20 --json`,
		Args: noArguments,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.only, "only", nil, "these schemes alone")
	fl.IntVar(&f.steps, "steps", 30, "steps of each")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	f.config.bench = true
	headFlags(fl, "measurement")
	f.config.add(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "only", "json")...)
	return cmd
}

func (f *benchSchemesFlags) run(cmd *cobra.Command, _ []string) error {
	w, say := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.steps < 1 {
		return usagef("--steps %d: at least 1", f.steps)
	}
	if err := f.config.refuseAutoMembers("torchpe bench step --members auto measures it"); err != nil {
		return err
	}
	c, notes, err := f.config.resolve()
	if err != nil {
		return usageError{err}
	}
	for _, n := range notes {
		fmt.Fprintln(say, "torchpe: "+n)
	}
	names := f.only
	if names == nil {
		names = pe.Names()
	}
	for _, n := range names {
		if _, err := pe.Find(n); err != nil {
			return usagef("--only: %v", err)
		}
	}
	if !f.json {
		fmt.Fprintf(w, "%-20s %10s %10s %8s %12s %8s\n", "PE", "ms a step", "nope's", "times", "parameters", "loss")
	}
	var costs []train.SchemeCost
	failed := 0
	err = train.BenchSchemes(c, names, f.steps, func(s train.SchemeCost) {
		costs = append(costs, s)
		if s.Err != "" {
			failed++
		}
		switch {
		case f.json:
		case s.Err != "":
			fmt.Fprintf(w, "%-20s %s\n", s.PE, s.Err)
		default:
			fmt.Fprintf(w, "%-20s %10.2f %10.2f %8.2f %12d %8.3f\n", s.PE, s.StepMS, s.NopeMS,
				s.Ratio, s.Parameters, s.Loss)
		}
	})
	if err == nil && f.json {
		err = printJSON(w, costs)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d encodings cannot be trained so; --only names those to time", failed, len(names))
	}
	return err
}
