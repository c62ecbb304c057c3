package main

import "github.com/spf13/cobra"

func newAnalyzeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "analyze",
		Short: "The metrics, of runs and of your own arrays",
		Long: `Measure what models learned: of finished runs, or of your own arrays.

A RUN is the directory of a finished run, or a folder with runs below it.
FILE[:tensor] is an array: .npy, .csv, .tsv or .txt; or a tensor by its name in .safetensors,
.npz, HDF5 or .mat, where the name may be left out if only one tensor fits. --header yes|no says
whether the first line of a text holds names, where it may be either.
A number that has no value is a dash, and null with --json.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newAnalyzeNetworkCommand(), newAnalyzeProcrustesCommand(),
		newAnalyzeAttentionCommand(), newAnalyzeDistancesCommand())
	cmd.AddCommand(newAnalyzeToeplitzCommand(), newAnalyzeMapCommand(), newAnalyzeRankCommand())
	cmd.AddCommand(newAnalyzeNoiseCommand())
	return cmd
}
