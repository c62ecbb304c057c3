package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/listing"
)

func newRunsCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "runs",
		Short: "List and compare runs",
		Long:  "List and compare the runs in any directories, finished or not.",
	}, newRunsListCommand(), newRunsCompareCommand())
}

func newRunsListCommand() *cobra.Command {
	var q listing.Query
	cmd := &cobra.Command{
		Use:   "list [DIR...]",
		Short: "List models, one per row: settings that differ, status and numbers",
		Long: `Print a table of the models of runs in directories (default: runs) and the folders below them, one
row per model. A setting has a column if it differs between the models shown. Status is done, diverged,
running (a process writes to the run) or stopped; the numbers of unfinished runs are those of their last
record.

Filters (--where) are KEY OP VALUE, joined by commas, all of which must hold; OP is one of = != < <=
> >= and, for patterns with * and ?, ~ and !~. KEY is a column, or a setting by its key in config.json;
the last part of the key is enough if it is unique.

On a narrow terminal, columns that do not fit are left out; CSV, for a pipe or file, has these, too.`,
		Example: `  torchpe runs list
  torchpe runs list runs --where 'pe=learn,sigma<=0.5' --sort -validation,sigma
  torchpe runs list runs --where 'run~table1/*' --columns run,sigma,validation,d_model --csv models.csv
  torchpe runs list runs --unfinished --json`,
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&q.Where, "where", nil, "filter, such as pe=learn,sigma<=0.5; may be given several times")
	fl.StringVar(&q.Sort, "sort", "", "columns to sort by, joined by commas; -COLUMN sorts in descending order")
	fl.StringSliceVar(&q.Columns, "columns", nil, "columns to show, in this order (default: the usual ones)")
	fl.BoolVar(&q.Unfinished, "unfinished", false, "only unfinished runs")
	return tabled(cmd, func(c *call) (r result, err error) {
		l, notes, err := readRuns(c.args)
		if err != nil {
			return r, err
		}
		if l, err = l.Select(q); err != nil {
			return r, usageError{err}
		}
		t := l.Table()
		runs := map[string]bool{}
		for _, row := range l.Rows {
			runs[row.Dir] = true
		}
		r = result{value: t, table: &t, notes: notes,
			print: printf("%s of %s\n", wording.Count(len(l.Rows), "model"), wording.Count(len(runs), "run"))}
		t.More = "--columns or --csv -"
		return r, nil
	})
}

// runFolders returns the folders in the arguments, by default the folder to which train writes.
func runFolders(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	if info, err := os.Stat(defaultRuns); err != nil || !info.IsDir() {
		return nil, usagef("there is no folder %s here: name one with runs", defaultRuns)
	}
	return []string{defaultRuns}, nil
}

// readRuns lists all models in the runFolders of the arguments, and returns notes on what cannot be read.
func readRuns(args []string) (l *listing.List, notes []string, err error) {
	dirs, err := runFolders(args)
	if err != nil {
		return nil, nil, err
	}
	if l, err = listing.Read(dirs...); err != nil {
		return nil, nil, err
	}
	for _, s := range l.Skipped {
		notes = append(notes, "left out: "+s.Reason)
	}
	if len(l.Rows) == 0 {
		none := fmt.Sprintf("%s: no run in %s", dirs[0], map[bool]string{true: "it", false: "them"}[len(dirs) == 1])
		if _, err := os.Stat(filepath.Join(dirs[0], "sweep.json")); err == nil {
			none = fmt.Sprintf("%s: no finished run yet; see torchpe sweep status %s", dirs[0],
				wording.Quote(dirs[0]))
		}
		return nil, nil, usagef("%s", strings.Join(append([]string{none}, notes...), "\n"))
	}
	return l, notes, nil
}

func newRunsCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare [RUN...]",
		Short: "Compare runs: settings that differ, numbers and curves",
		Long: `Print one row per configuration: the settings that differ, and the mean and SD over seeds of each
number. Models that differ in any setting besides the seed, in their state, or in the RUN in which they
were found, are in different rows. Settings that change no result, such as the device, are left out. The
numbers of unfinished runs are those of their last record. A pipe or file gets CSV. With --out, also
draw curves and write index.html with all of it, figures as PDF, SVG and PNG, and the table as CSV,
LaTeX, Markdown, HTML and JSON.

A RUN (default: runs) is a run directory, or a folder with several, of any task.`,
		Example: `  torchpe runs compare runs/a runs/b
  torchpe runs compare runs --out comparison`,
	}
	to := destination{force: true}
	to.add(cmd, "folder for figures, tables and index.html (default: none)")
	return tabled(cmd, func(c *call) (r result, err error) {
		l, notes, err := readRuns(c.args)
		if err != nil {
			return r, err
		}
		l = l.Average()
		t := l.Table()
		if t.Note != "" { // CSV has none
			notes, t.Note = append(notes, t.Note), ""
		}
		r = result{value: t, table: &t, notes: notes}
		t.More = "--csv -, --json or --out"
		if to.path == "" {
			return r, nil
		}
		if !c.given("csv") {
			c.csv = "" // a person reads the files
		}
		r.print = printf("%s\n", to.file("index.html"))
		return r, l.WritePage(to.path)
	})
}
