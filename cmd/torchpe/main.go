// Command torchpe trains small transformers that differ only in their positional encoding and shows what each one learned.
// `torchpe --help` lists its commands; each is thin and lives in a file of its own name.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/nearest"
)

func main() {
	err := newRootCommand().Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torchpe: "+err.Error())
	}
	os.Exit(exitCode(err))
}

// newRootCommand returns the whole command line.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "torchpe",
		Short: "Which position does each token of a transformer have, and can the model learn it?",
		Long: `torchpe trains ensembles of small encoder transformers that differ only in their positional encoding (PE) and
shows what each one learned. It re-does, and goes beyond, "Learning positional encodings in transformers depends on
initialization" (Ito et al. 2025, arXiv 2406.08272).`,
		Example: `  torchpe doctor
  torchpe train --pe learn --sigma 0.2 --preset quick --out runs/first
  torchpe data lst show
  torchpe demo`,
		Args:          noArguments,
		RunE:          showHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newTrainCommand(), newSweepCommand(), newDemoCommand(), newDataCommand(), newPECommand(),
		newAnalyzeCommand(), newReportCommand(), newRunsCommand(), newDoctorCommand(), newBenchCommand())
	return root
}

// flagError makes a mistake in the flags a usage error that suggests the flag that may be meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if _, name, ok := strings.Cut(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if best := nearest.Name(name, names); best != "" {
			hint = fmt.Sprintf("; did you mean --%s?", best)
		}
	}
	return usagef("%s: %w%s: see %s --help", cmd.CommandPath(), err, hint, cmd.CommandPath())
}

// noArguments is cobra.NoArgs as a usage error that suggests the subcommand that may be meant.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // edits
	hint := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", names[0])
	}
	where := cmd.CommandPath() + ": "
	if where == "torchpe: " { // as every message begins
		where = ""
	}
	return usagef("%sunknown argument %q%s: see %s --help", where, args[0], hint, cmd.CommandPath())
}

// showHelp is what a command does that only holds others. Without it cobra ignores mistyped names.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }
