package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newRunsCompareCommand() *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Set runs side by side: settings that differ, numbers and curves",
		Long: `Print a row a configuration: the settings that differ, and the mean and SD over seeds of
each number. Models that differ in any setting besides the seed, or in their state, or were found in
different RUNs, are in different rows; settings that change no result, such as the device, are left
out. The numbers of runs that are not finished are those of their last record. With --out, also draw
curves and write index.html with all of it, figures as PDF, SVG and PNG, and the table as CSV,
LaTeX, Markdown, HTML and JSON.

A RUN is a run directory, or a folder of some, of any task.`,
		Example: `  torchpe runs compare runs/a runs/b
  torchpe runs compare runs --out comparison`,
		Args: atLeastOne("run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := readRuns(cmd.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			l = l.Average()
			if out != "" {
				if err := l.WritePage(out); err != nil {
					return existsAsUsage(err)
				}
			}
			if asJSON {
				return l.Table().JSON(cmd.OutOrStdout())
			}
			t := l.Table()
			t.More = "--json or --out"
			if err := t.Terminal(cmd.OutOrStdout()); err != nil || out == "" {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(out, "index.html"))
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory for figures, tables and index.html; none where empty")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the table as JSON")
	return cmd
}
