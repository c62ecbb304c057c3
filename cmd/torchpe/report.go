package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"torchpe/internal/plural"
	"torchpe/report/document"
	"torchpe/report/lengths"
	"torchpe/report/own"
	"torchpe/report/paper"
	"torchpe/report/runs"
)

// reportFlags holds the flags of "torchpe report".
type reportFlags struct {
	out, fidelity string
	panels, json  bool
}

func newReportCommand() *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make every figure and table that the runs in a folder can feed",
		Long: `Find the finished runs in DIR and the folders below it, and make from them every figure and
table of the paper that they can feed, with the paper's printed numbers beside ours, and some that
the paper lacks.

OUT/index.html has all of it on one page. Beside it lie each figure as PDF, SVG and PNG with its
numbers as CSV, and each table as CSV, LaTeX (booktabs), Markdown, HTML and JSON. What is missing is
listed with the command that makes it.

Runs of masked prediction on data of your own get a page of their own: learning curves beside baselines, errors by
encoding and by test subject, maps of the learned positions with names and modules, similarities and attention. It is
OUT/index.html where all runs are such, else OUT/own/index.html.

Runs of tasks sequence and text get a page of accuracy and perplexity against length, OUT/index.html or
OUT/lengths/index.html.

Runs of several sizes, data sets or lengths of training are not mixed: those with the most models
are shown, and the others named.`,
		Example: `  torchpe report runs
  torchpe report runs --fidelity text --out report-text
  torchpe report compare runs/a runs/b`,
		Args: oneFolder("a folder with runs"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.OutOrStdout(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "",
		"directory to write to; files of an earlier report are replaced (default DIR/report)")
	fl.StringVar(&f.fidelity, "fidelity", "",
		"reading of the paper whose runs on puzzles are shown, code or text (default: that with more models)")
	fl.BoolVar(&f.panels, "panels", false,
		"also write each panel by itself, 3.3 inches wide where it fits: fig2_b.pdf")
	fl.BoolVar(&f.json, "json", false, "print what was made, and what is missing, as JSON")
	cmd.AddCommand(newReportCompareCommand())
	return cmd
}

// oneFolder accepts exactly one argument, DIR; another number is a usage error.
func oneFolder(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: %d arguments; want one, DIR: %s", cmd.CommandPath(), len(args), what)
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
	all, _, err := runs.Find(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, own.IsOwn) {
		onlyOwn := !slices.ContainsFunc(all, func(r *runs.Run) bool { return !own.IsOwn(r) })
		to := f.out
		if !onlyOwn {
			to = filepath.Join(f.out, "own")
		}
		if err := reportOwn(out, dir, to, f); err != nil || onlyOwn {
			return err
		}
	}
	if slices.ContainsFunc(all, lengths.IsSequence) {
		onlyLengths := !slices.ContainsFunc(all, func(r *runs.Run) bool { return !lengths.IsSequence(r) })
		to := f.out
		if !onlyLengths {
			to = filepath.Join(f.out, "lengths")
		}
		if err := reportLengths(out, dir, to, f); err != nil || onlyLengths {
			return err
		}
	}
	study, err := paper.Read(dir, f.fidelity)
	if err != nil {
		return err
	}
	if study.Runs == 0 {
		for _, note := range study.Notes {
			fmt.Fprintln(escaped{os.Stderr}, "torchpe: "+note)
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
	fmt.Fprintf(out, "%s and %s from %s: %s\n", plural.Of(w.Figures, "figure"),
		plural.Of(w.Tables, "table"), plural.Of(study.Runs, "run"), w.Index)
	if len(w.Missing) > 0 {
		fmt.Fprintf(out, "What is missing (%d) stands there with the commands that make it.\n", len(w.Missing))
	}
	return nil
}

// reportOwn makes the report of the runs on own data.
func reportOwn(out io.Writer, dir, to string, f reportFlags) error {
	study, err := own.Read(dir)
	if err != nil {
		return err
	}
	w, err := study.Write(to, f.panels)
	return sayWritten(out, w, err, plural.Of(study.Runs, "run")+" on own data", f.json)
}

// reportLengths makes the report of the runs of task sequence.
func reportLengths(out io.Writer, dir, to string, f reportFlags) error {
	study, err := lengths.Read(dir)
	if err != nil {
		return err
	}
	w, err := study.Write(to, f.panels)
	return sayWritten(out, w, err, plural.Of(study.Runs, "run")+" of tasks sequence and text", f.json)
}

// sayWritten prints what a report has, or returns the error that ended it.
func sayWritten(out io.Writer, w document.Written, err error, from string, asJSON bool) error {
	if errors.Is(err, fs.ErrExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, w)
	}
	for _, note := range w.Notes {
		fmt.Fprintln(out, note)
	}
	_, err = fmt.Fprintf(out, "%s and %s from %s: %s\n", plural.Of(w.Figures, "figure"),
		plural.Of(w.Tables, "table"), from, w.Index)
	return err
}
