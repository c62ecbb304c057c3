package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/listing"
)

func newRunsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List and compare runs",
		Long:  "List and compare the runs in any directories, finished or not.",
		Args:  noArguments,
		RunE:  showHelp,
	}
	cmd.AddCommand(newRunsListCommand(), newRunsCompareCommand())
	return cmd
}

func newRunsListCommand() *cobra.Command {
	var q listing.Query
	var asJSON bool
	var csv string
	cmd := &cobra.Command{
		Use:   "list DIR...",
		Short: "A table of runs, a row a model: settings that differ, status and numbers",
		Long: `Print a table of the runs in directories and the folders below them, a row a model. A
setting has a column where it differs between the models shown. Status is done, diverged, running (a
process writes to the run) or stopped; the numbers of runs that are not finished are those of their
last record.

Filters (--where) are KEY OP VALUE, joined by commas, all of which must hold; OP is one of = != < <=
> >= and, for patterns with * and ?, ~ and !~. KEY is a column, or a setting by its key in
config.json; the last part of the key is enough where it is the only one.`,
		Example: `  torchpe runs list runs
  torchpe runs list runs --where 'pe=learn,sigma<=0.5' --sort -validation,sigma
  torchpe runs list runs --where 'run~table1/*' --columns run,sigma,validation,d_model --csv models.csv
  torchpe runs list runs --unfinished --json`,
		Args: atLeastOne("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := readRuns(cmd.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			if l, err = l.Select(q); err != nil {
				return usageError{err}
			}
			return printRuns(cmd.OutOrStdout(), l, asJSON, csv)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&q.Where, "where", nil, "filter, such as pe=learn,sigma<=0.5; may be given several times")
	fl.StringVar(&q.Sort, "sort", "", "columns to sort by, joined by commas; -COLUMN puts the greatest first")
	fl.StringSliceVar(&q.Columns, "columns", nil, "columns to show, in their order (default: the usual ones)")
	fl.BoolVar(&q.Unfinished, "unfinished", false, "only runs that are not finished")
	fl.BoolVar(&asJSON, "json", false, "print the table as JSON")
	fl.StringVar(&csv, "csv", "", "write the table to this file as CSV; - prints it")
	return cmd
}

// atLeastOne accepts one argument or more; none is a usage error.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s: name at least one %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// readRuns lists all models in directories, and says what cannot be read.
func readRuns(notes io.Writer, dirs []string) (*listing.List, error) {
	l, err := listing.Read(dirs...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	for _, s := range l.Skipped {
		fmt.Fprintln(notes, "torchpe: left out: "+s.Reason)
	}
	if len(l.Rows) == 0 {
		return nil, usagef("%s: no run in %s", dirs[0], map[bool]string{true: "it", false: "them"}[len(dirs) == 1])
	}
	return l, nil
}

// printRuns prints a list, or writes it to a file and says so.
func printRuns(out io.Writer, l *listing.List, asJSON bool, csv string) error {
	t := l.Table()
	if csv != "" && csv != "-" {
		if err := l.WriteCSV(csv); err != nil {
			return err
		}
		if !asJSON {
			fmt.Fprintf(out, "%s: %s\n", csv, wording.Count(len(l.Rows), "model"))
		}
	}
	switch {
	case csv == "-":
		return t.CSV(out)
	case asJSON:
		return t.JSON(out)
	case csv != "":
		return nil
	}
	t.More = "--columns or --csv -"
	if err := t.Terminal(out); err != nil {
		return err
	}
	runs := map[string]bool{}
	for _, r := range l.Rows {
		runs[r.Dir] = true
	}
	fmt.Fprintf(out, "%s of %s\n", wording.Count(len(l.Rows), "model"), wording.Count(len(runs), "run"))
	return nil
}
