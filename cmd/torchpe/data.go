package main

import "github.com/spf13/cobra"

func newDataCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Generate, check and show data sets",
		Args:  noArguments,
		RunE:  showHelp,
	}
	cmd.AddCommand(newLSTCommand(), newNMARCommand(), newHCPCommand(), newSequenceCommand(),
		newDataPositionsCommand())
	return cmd
}
