package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/report/analysis"
)

func newAnalyzeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "analyze",
		Short: "The metrics, of runs and of your own arrays",
		Long: `Measure what models learned: of finished runs, or of your own arrays.

A RUN is the directory of a finished run, or a folder with runs below it.
FILE[:tensor] is an array: .npy, .csv, .tsv or .txt; or a tensor by its name in .safetensors,
.npz, HDF5 or .mat, where the name may be left out if only one tensor fits. --header yes|no says
whether the first line of a text holds names, where it may be either.
A number that has no value is a dash, and null with --json.`,
		Args: noArguments,
		RunE: showHelp,
	}
	for _, m := range analysis.Measures() {
		cmd.AddCommand(newMeasureCommand(m))
	}
	cmd.AddCommand(newAnalyzeNoiseCommand())
	return cmd
}

// newMeasureCommand returns the subcommand of a measure.
func newMeasureCommand(m analysis.Measure) *cobra.Command {
	var in analysis.Input
	var file outFlags
	cmd := &cobra.Command{Use: m.Use, Short: m.Short, Long: m.Long, Example: m.Example, Args: cobra.ArbitraryArgs}
	fl := cmd.Flags()
	fl.SortFlags = false
	m.Flags(fl, &in)
	headerFlag(fl, &in.Header)
	fl.BoolVar(&in.JSON, "json", false, "print as JSON")
	m.Options(fl)
	if m.Out != "" {
		file.add(cmd, m.Out)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := file.check(m.Extensions...); err != nil {
			return err
		}
		in.Args, in.Out = args, file.out
		report, err := m.Run(&in)
		for _, n := range in.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+n)
		}
		if err != nil {
			return usageError{err}
		}
		if in.Out != "" {
			if err := file.write(report.File); err != nil {
				return err
			}
		}
		if in.JSON {
			return printJSON(cmd.OutOrStdout(), report.JSON)
		}
		printReport(cmd.OutOrStdout(), in, report)
		return nil
	}
	return cmd
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
