package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/report/compare"
	"torchpe/report/runs"
)

func newReportCompareCommand() *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Set runs side by side: their settings, final numbers and curves",
		Long: `Print the settings in which runs differ and their final numbers, a row a member. With --out, also draw their curves and write
index.html with all of it, figures as PDF, SVG and PNG, and tables as CSV, LaTeX, Markdown, HTML and JSON.

A RUN is a run directory, or a folder of some. Runs may be of any task; each task has its own table and curves.`,
		Example: `  torchpe report compare runs/a runs/b
  torchpe report compare runs --out comparison`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: name at least one run", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, out, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory for figures, tables and index.html; none where empty")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the tables as JSON")
	return cmd
}

func runCompare(out, notes io.Writer, args []string, dir string, asJSON bool) error {
	var all []*runs.Run
	for _, arg := range args {
		found, skipped, err := runs.Find(arg)
		if err != nil {
			return usagef("%s: %w", arg, err)
		}
		for _, s := range skipped {
			fmt.Fprintln(notes, "torchpe: left out: "+s.Reason)
		}
		if len(found) == 0 {
			return usagef("%s: no finished run in it", arg)
		}
		for _, r := range found {
			if len(args) > 1 && r.Name != strings.TrimSuffix(arg, "/") {
				r.Name = strings.TrimSuffix(arg, "/")
				if len(found) > 1 {
					r.Name += "/" + strings.TrimPrefix(r.Dir, arg)
				}
			}
			all = append(all, r)
		}
	}
	c, err := compare.Runs(all)
	if err != nil {
		return err
	}
	if dir != "" {
		if err := c.Write(dir); errors.Is(err, fs.ErrExist) {
			return usageError{err}
		} else if err != nil {
			return err
		}
	}
	for i, t := range c.Tables() {
		write := t.Terminal
		if asJSON {
			write = t.JSON
		}
		if i > 0 && !asJSON {
			fmt.Fprintln(out)
		}
		if err := write(out); err != nil {
			return err
		}
	}
	if dir != "" && !asJSON {
		fmt.Fprintf(out, "%s/index.html\n", strings.TrimSuffix(dir, "/"))
	}
	return nil
}
