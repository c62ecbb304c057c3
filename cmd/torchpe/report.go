package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"torchpe/report/paper"
)

// reportFlags are the flags of "torchpe report".
type reportFlags struct {
	out, fidelity string
	panels, json  bool
}

func newReportCommand() *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make every figure and table that the runs in a folder can feed",
		Long: `Find the finished runs in DIR and the folders below it, and make from them every figure and table of the paper that they can
feed, with the paper's printed numbers beside ours, and some that the paper lacks.

OUT/index.html has all of it on one page. Beside it lie each figure as PDF, SVG and PNG with its numbers as CSV, and each table as
CSV, LaTeX (booktabs), Markdown, HTML and JSON. What is missing is listed with the command that makes it.

Runs of several sizes, data sets or lengths of training are not mixed: those with the most models are shown, and the others named.`,
		Example: `  torchpe report runs
  torchpe report runs --fidelity text --out report-text
  torchpe report compare runs/a runs/b`,
		Args: oneArgument("DIR", "a folder with runs"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.OutOrStdout(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "directory to write to; files of an earlier report are replaced (default DIR/report)")
	fl.StringVar(&f.fidelity, "fidelity", "", "reading of the paper whose runs on puzzles are shown, code or text (default: that with more models)")
	fl.BoolVar(&f.panels, "panels", false, "also write each panel by itself, 3.3 inches wide where it fits: fig2_b.pdf")
	fl.BoolVar(&f.json, "json", false, "print what was made, and what is missing, as JSON")
	cmd.AddCommand(newReportCompareCommand())
	return cmd
}

// oneArgument wants exactly one argument, a usage error otherwise.
func oneArgument(name, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: %d arguments; want one, %s: %s", cmd.CommandPath(), len(args), name, what)
		}
		return nil
	}
}

func runReport(out io.Writer, dir string, f reportFlags) error {
	if f.fidelity != "" && f.fidelity != "code" && f.fidelity != "text" {
		return usagef("--fidelity %q: it is code or text", f.fidelity)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usagef("%s: not a folder with runs", dir)
	}
	if f.out == "" {
		f.out = filepath.Join(dir, "report")
	}
	study, err := paper.Read(dir, f.fidelity)
	if err != nil {
		return err
	}
	if study.Runs == 0 {
		for _, note := range study.Notes {
			fmt.Fprintln(os.Stderr, "torchpe: "+note)
		}
		return usagef("%s: no finished run in it or below it; torchpe train makes one", dir)
	}
	w, err := study.Write(f.out, paper.Options{Panels: f.panels})
	if errors.Is(err, fs.ErrExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if f.json {
		text, err := os.ReadFile(filepath.Join(f.out, "report.json"))
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	for _, note := range w.Notes {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintf(out, "%s and %s from %s: %s\n", countOf(w.Figures, "figure"), countOf(w.Tables, "table"), countOf(study.Runs, "run"), w.Index)
	if len(w.Missing) > 0 {
		fmt.Fprintf(out, "What is missing (%d) stands there with the commands that make it.\n", len(w.Missing))
	}
	return nil
}
