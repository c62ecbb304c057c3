package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"torchpe/report/listing"
)

func newRunsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, compare and remove runs",
		Long:  "List, compare and remove the runs in any directories, finished or not.",
		Args:  noArguments,
		RunE:  showHelp,
	}
	cmd.AddCommand(newRunsListCommand(), newRunsDiffCommand(), newRunsRemoveCommand())
	return cmd
}

const whereHelp = `Filters (--where) are KEY OP VALUE, joined by commas, all of which must hold; OP is one of = != < <= > >= and, for patterns with *
and ?, ~ and !~. KEY is a column, or a setting by its key in config.json; the last part of the key is enough where it is the only one.`

func newRunsListCommand() *cobra.Command {
	var q listing.Query
	var asJSON bool
	var csv, parquet string
	cmd := &cobra.Command{
		Use:   "list DIR...",
		Short: "A table of runs, a row a model: settings that differ, status and numbers",
		Long: `Print a table of the runs in directories and the folders below them, a row a model. A setting has a column where it differs
between the models shown. Status is done, diverged, running (a process writes to the run) or stopped; the numbers of runs that are
not finished are those of their last record.

` + whereHelp,
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
			return printRuns(cmd.OutOrStdout(), l, asJSON, csv, parquet)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	addWhere(cmd, &q.Where)
	fl.StringVar(&q.Sort, "sort", "", "columns to sort by, joined by commas; -COLUMN puts the greatest first")
	fl.StringSliceVar(&q.Columns, "columns", nil, "columns to show, in their order (default: the usual ones)")
	fl.BoolVar(&q.Unfinished, "unfinished", false, "only runs that are not finished")
	fl.BoolVar(&asJSON, "json", false, "print the table as JSON")
	fl.StringVar(&csv, "csv", "", "write the table to this file as CSV; - prints it")
	fl.StringVar(&parquet, "parquet", "", "write the table to this file as Apache Parquet")
	return cmd
}

// addWhere adds --where, whose values keep their commas.
func addWhere(cmd *cobra.Command, where *[]string) {
	cmd.Flags().StringArrayVar(where, "where", nil, "filter, such as pe=learn,sigma<=0.5; may be given several times")
}

// atLeastOne is what a command checks its arguments with that takes one or more.
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

// printRuns prints a list, or writes it to files and says so.
func printRuns(out io.Writer, l *listing.List, asJSON bool, csv, parquet string) error {
	t := l.Table()
	for _, file := range []struct {
		path  string
		write func(string) error
	}{{csv, l.WriteCSV}, {parquet, l.WriteParquet}} {
		if file.path == "" || file.path == "-" {
			continue
		}
		if err := file.write(file.path); err != nil {
			return err
		}
		if !asJSON && csv != "-" {
			fmt.Fprintf(out, "%s: %s\n", file.path, countOf(len(l.Rows), "model"))
		}
	}
	switch {
	case csv == "-":
		return t.CSV(out)
	case asJSON:
		return t.JSON(out)
	case csv != "" || parquet != "":
		return nil
	}
	if err := t.Terminal(out); err != nil {
		return err
	}
	whole, part := l.Runs(l)
	_, err := fmt.Fprintf(out, "%s of %s\n", countOf(len(l.Rows), "model"), countOf(len(whole)+len(part), "run"))
	return err
}

func newRunsDiffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Two runs side by side: settings that differ, and numbers",
		Long: `Print the settings in which two runs differ, and their numbers side by side. Where a run has several models their mean and SD are shown:
of each sigma, where both runs have the same ones. Settings that change no result, such as the device, are left out.`,
		Example: "  torchpe runs diff runs/a runs/b",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s: name two runs", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := listing.Compare(args[0], args[1])
			if err != nil {
				return usageError{err}
			}
			out := cmd.OutOrStdout()
			if asJSON {
				text, err := d.JSON()
				if err == nil {
					_, err = out.Write(text)
				}
				return err
			}
			if err := d.Settings.Terminal(out); err != nil {
				return err
			}
			fmt.Fprintln(out)
			return d.Numbers.Terminal(out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print both tables as one JSON object")
	return cmd
}

// isTerminal says whether somebody can be asked.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
