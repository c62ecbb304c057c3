package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
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
	var f reportFlags
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
  torchpe report runs --fidelity text --out report-text`,
		Args: oneFolder("a folder with runs"),
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "",
		"directory to write to; files of an earlier report are replaced (default DIR/report)")
	fl.StringVar(&f.fidelity, "fidelity", "",
		"reading of the paper whose runs on puzzles are shown, code or text (default: that with more models)")
	fl.BoolVar(&f.panels, "panels", false,
		"also write each panel by itself, 3.3 inches wide where it fits: fig2_b.pdf")
	fl.BoolVar(&f.json, "json", false, "print what was made, and what is missing, as JSON")
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

// pages are the reports on runs that are not of the paper's tasks. Each is OUT/index.html where all runs
// are such, else it has a folder.
var pages = []struct {
	folder, of string
	has        func(*runs.Run) bool
	write      func(from, to string, panels bool) (w document.Written, runs int, err error)
}{
	{"own", "on own data", own.IsOwn, func(from, to string, panels bool) (w document.Written, runs int, err error) {
		study, err := own.Read(from)
		if err != nil {
			return w, 0, err
		}
		w, err = study.Write(to, panels)
		return w, study.Runs, err
	}},
	{"lengths", "of task sequence or text", lengths.IsSequence,
		func(from, to string, panels bool) (w document.Written, runs int, err error) {
			study, err := lengths.Read(from)
			if err != nil {
				return w, 0, err
			}
			w, err = study.Write(to, panels)
			return w, study.Runs, err
		}},
}

func (f *reportFlags) run(cmd *cobra.Command, args []string) error {
	out, dir := cmd.OutOrStdout(), args[0]
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
	for _, p := range pages {
		if !slices.ContainsFunc(all, p.has) {
			continue
		}
		to, alone := f.out, !slices.ContainsFunc(all, func(r *runs.Run) bool { return !p.has(r) })
		if !alone {
			to = filepath.Join(f.out, p.folder)
		}
		w, n, err := p.write(dir, to, f.panels)
		if err != nil {
			return existsAsUsage(err)
		}
		if f.json {
			err = printJSON(out, w)
		} else {
			printWritten(out, w, wording.Count(n, "run")+" "+p.of)
		}
		if err != nil || alone {
			return err
		}
	}
	return f.reportPaper(out, cmd.ErrOrStderr(), dir)
}

// reportPaper makes the report of the runs of the paper's tasks.
func (f *reportFlags) reportPaper(out, notes io.Writer, dir string) error {
	study, err := paper.Read(dir, f.fidelity)
	if err != nil {
		return err
	}
	if study.Runs == 0 {
		for _, note := range study.Notes {
			fmt.Fprintln(notes, "torchpe: "+note)
		}
		return usagef("%s: no finished run in it or below it; torchpe train makes one", dir)
	}
	w, err := study.Write(f.out, paper.Options{Panels: f.panels})
	if err != nil {
		return existsAsUsage(err)
	}
	if f.json {
		text, err := atomicfile.ReadFile(filepath.Join(f.out, "report.json"))
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	written := document.Written{Index: w.Index, Figures: w.Figures, Tables: w.Tables, Notes: w.Notes}
	printWritten(out, written, wording.Count(study.Runs, "run"))
	if len(w.Missing) > 0 {
		fmt.Fprintf(out, "What is missing (%d) stands there with the commands that make it.\n", len(w.Missing))
	}
	return nil
}

func printWritten(out io.Writer, w document.Written, from string) {
	for _, note := range w.Notes {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintf(out, "%s and %s from %s: %s\n", wording.Count(w.Figures, "figure"), wording.Count(w.Tables, "table"),
		from, w.Index)
}
