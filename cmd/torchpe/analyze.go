package main

import "github.com/spf13/cobra"

func newAnalyzeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "analyze", Short: "Measure a trained run", Args: noArguments, RunE: showHelp}
	cmd.AddCommand(newAnalyzeNoiseCommand())
	return cmd
}
