package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/lengths"
	"torchpe/report/own"
	"torchpe/report/paper"
	"torchpe/report/ranking"
)

// reportFlags holds the flags of "torchpe report".
type reportFlags struct {
	to       destination
	fidelity string
}

func newReportCommand() *cobra.Command {
	f := reportFlags{to: destination{force: true}}
	cmd := &cobra.Command{
		Use:   "report [DIR]",
		Short: "Make all figures and tables that the runs in a folder allow",
		Long: `Find the finished runs in DIR (default: runs) and the folders below it, and make all figures
and tables of the paper that they allow, with the paper's printed numbers beside ours, and some that the paper lacks.

OUT/index.html has all of it on one page. The folder also has each figure as PDF, SVG and PNG with its
numbers as CSV, and each table as CSV, LaTeX (booktabs), Markdown, HTML and JSON. The page lists what
is missing, with the command that makes it.

Runs of masked prediction on your own data have their own page: learning curves beside baselines, errors by encoding
and by test subject, maps of the learned positions with names and modules, similarities and attention. It is
OUT/index.html if all runs are of this kind, else OUT/own/index.html. The paper's figures from runs of --task fmri
are then in OUT/paper/index.html.

Runs of the tasks sequence and text have a page of accuracy and perplexity against length, OUT/index.html or
OUT/lengths/index.html.

If at least ten encodings of five schemes were trained on a task, OUT/ranking/index.html ranks them.

Runs of several sizes or data sets are not mixed, nor are several lengths of training of one encoding: the page
shows those with the most models and names the others. Encodings of masked prediction that were trained for
different lengths are shown side by side, but not tested against each other.`,
		Example: `  torchpe report
  torchpe report runs --fidelity text --out report-text`,
	}
	fl := cmd.Flags()
	f.to.add(cmd, "directory to write to; files of an earlier report are replaced (default DIR/report)")
	fl.Var(choice{&f.fidelity, readings}, "fidelity",
		"reading of the paper whose puzzle runs are shown, code or text (default: the one with more models)")
	return leaf(cmd, f.run)
}

// study holds the runs of a report.
type study interface {
	Write(dir string) (document.Written, error)
	CountRuns() int
}

// pages lists the reports on runs that are not of the paper's tasks. A page is OUT/index.html if all runs are
// of its kind, else it has its own folder.
var pages = []struct {
	folder, of string
	has        func(*cohort.Run) bool
	read       func(dir string) (study, error)
}{
	{"own", "on own data", own.IsOwn, func(dir string) (study, error) { return own.Read(dir) }},
	{"lengths", "of task sequence or text", lengths.IsSequence,
		func(dir string) (study, error) { return lengths.Read(dir) }},
}

func (f *reportFlags) run(c *call) (r result, err error) {
	dirs, err := runFolders(c.args)
	if err != nil {
		return r, err
	}
	dir := dirs[0]
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return r, usagef("%s: not a folder with runs", dir)
	}
	f.to.path = cmp.Or(f.to.path, filepath.Join(dir, "report"))
	all, _, err := cohort.Find(dir)
	if err != nil {
		return r, err
	}
	if usable := slices.DeleteFunc(slices.Clone(all), isDiverged); len(usable) > 0 && len(usable) < len(all) {
		c.note(wording.Count(len(all)-len(usable), "run") + " left out: all models diverged")
		all = usable
	}
	if r, err = f.reports(c, dir, all); err != nil {
		return r, err
	}
	return r, f.rank(c, dir, all)
}

// isDiverged reports whether all models of a run diverged.
func isDiverged(r *cohort.Run) bool {
	models, _ := cohort.Models([]*cohort.Run{r})
	return models == nil
}

// reports makes the reports of all kinds of runs in a folder.
func (f *reportFlags) reports(c *call, dir string, all []*cohort.Run) (r result, err error) {
	for _, p := range pages {
		if !slices.ContainsFunc(all, p.has) {
			continue
		}
		to, alone := f.to.path, !slices.ContainsFunc(all, func(r *cohort.Run) bool { return !p.has(r) })
		if !alone {
			to = f.to.file(p.folder)
		}
		found, err := p.read(dir)
		if err != nil {
			return r, err
		}
		w, err := found.Write(to)
		if err != nil {
			return r, err
		}
		r = result{value: w, print: writtenText(w, wording.Count(found.CountRuns(), "run")+" "+p.of)}
		if alone && !slices.ContainsFunc(all, func(r *cohort.Run) bool { return r.Config.Task == "fmri" }) {
			return r, nil
		}
		if !c.json { // JSON is one document
			if err := c.show(r); err != nil {
				return r, err
			}
		}
		if alone {
			r, err = f.reportPaper(dir, f.to.file("paper"))
			r.value = w
			return r, err
		}
	}
	return f.reportPaper(dir, f.to.path)
}

// rank makes the page that ranks encodings, if there are enough, and notes its path.
func (f *reportFlags) rank(c *call, dir string, all []*cohort.Run) error {
	if !ranking.HasMany(all) {
		return nil
	}
	found, err := ranking.Read(dir)
	if err != nil || found.IsEmpty() {
		return err
	}
	w, err := found.Write(f.to.file("ranking"))
	if err == nil {
		c.note("encodings ranked, " + wording.Count(found.Runs, "run") + ": " + w.Index)
	}
	return err
}

// reportPaper makes the report of the runs of the paper's tasks, in a folder.
func (f *reportFlags) reportPaper(dir, to string) (r result, err error) {
	study, err := paper.Read(dir, f.fidelity)
	if err != nil {
		return r, err
	}
	if study.Runs == 0 {
		err := usagef("%s: no finished run here or below; torchpe train makes one", dir)
		return result{notes: study.Notes, err: err}, nil
	}
	w, err := study.Write(to)
	if err != nil {
		return r, err
	}
	body, err := atomicfile.ReadFile(filepath.Join(to, "report.json"))
	r.value = json.RawMessage(body)
	r.print = func(out io.Writer) {
		writtenText(w.Written, wording.Count(study.ShownRuns(), "run"))(out)
		if len(w.Missing) > 0 {
			fmt.Fprintf(out, "The page lists what is missing (%d), with the commands that make it.\n", len(w.Missing))
		}
	}
	return r, err
}

func writtenText(w document.Written, from string) func(io.Writer) {
	return func(out io.Writer) {
		for _, note := range w.Notes {
			fmt.Fprintln(out, note)
		}
		fmt.Fprintf(out, "%s and %s from %s: %s\n", wording.Count(w.Figures, "figure"),
			wording.Count(w.Tables, "table"),
			from, w.Index)
	}
}
