package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/report/analysis"
)

func newAnalyzeCommand() *cobra.Command {
	cmd := parent(&cobra.Command{
		Use:   "analyze",
		Short: "Measure learned positions and attention, of runs or of your own arrays",
		Long: `Measure what models learned: of finished runs, or of your own arrays.

A RUN is the directory of a finished run, or a folder with runs below it.
FILE[:tensor] is an array: .npy, .csv, .tsv or .txt; or a tensor by its name in .safetensors,
.npz, HDF5 or .mat (the name is optional if only one tensor fits). --header yes|no says whether the
first line of a text holds names, if that is unclear.
A number without a value is a dash, or null with --json.`,
	})
	for _, m := range analysis.Measures() {
		cmd.AddCommand(newMeasureCommand(m))
	}
	return cmd
}

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
			r.files = to.holding(atomicfile.Text(report.File))
		}
		r.value, r.notes = report.JSON, in.Notes
		r.print = func(w io.Writer) { printReport(w, in, report) }
		return r, nil
	}), &to)
}

// printReport prints the tables of a measure, or says what --out holds.
func printReport(w io.Writer, in analysis.Input, r *analysis.Report) {
	if in.Out != "" {
		for _, t := range r.Tables {
			fmt.Fprintf(w, "%s: %s\n", t.Foot, in.Out)
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
