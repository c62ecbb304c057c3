package main

import "github.com/spf13/cobra"

func newDataCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Generate, check and describe data sets",
		Args:  noArguments,
		RunE:  showHelp,
	}
	cmd.AddCommand(newDataInfoCommand(), newLSTCommand(), newNMARCommand(), newHCPCommand(),
		newSequenceCommand(), newDataPositionsCommand())
	return cmd
}
