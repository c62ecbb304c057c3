// Command torchpe trains small transformers that differ only in their positional encoding and shows
// what each one learned. `torchpe --help` lists its commands; each lives in a file of its own
// name, and holds flags and printing: the work is done by the packages that it calls.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

func main() {
	surviveClosedOutput()
	root := newRootCommand()
	out, notes := &escaped{file: os.Stdout}, &escaped{file: os.Stderr}
	root.SetOut(out)
	root.SetErr(notes)
	err := root.Execute()
	if out.err != nil {
		err = out.err
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintln(notes, "torchpe: "+plainText(err))
	}
	os.Exit(exitCode(err))
}

// systemCall and parseError match what Go's library puts before the cause of an error.
var (
	systemCall = regexp.MustCompile(`\b(?:l?stat|open|openat|fdopendir) (\S+): ` +
		`(no such file or directory|permission denied|not a directory)`)
	parseError = regexp.MustCompile(`strconv\.Parse\w+: parsing ("[^"]*"): (?:invalid syntax|value out of range)`)
)

// plainText returns an error in words for a reader who knows neither system calls nor Go.
func plainText(err error) string {
	return parseError.ReplaceAllString(systemCall.ReplaceAllString(err.Error(), "$1: $2"), "$1 is no number that fits")
}

// newRootCommand returns the whole command line.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "torchpe",
		Short: "Which position does each token of a transformer have, and can the model learn it?",
		Long: `torchpe trains ensembles of small encoder transformers that differ only in their positional encoding (PE) and
shows what each one learned. It re-does, and goes beyond, "Learning positional encodings in transformers depends on
initialization" (Ito et al. 2025, arXiv 2406.08272).

Exit codes:` + exitLines(),
		Example: `  torchpe doctor
  torchpe train --pe learn --sigma 0.2 --preset quick --out runs/first
  torchpe data lst show
  torchpe demo`,
		Version:       runlog.HostEnvironment(nil).Build(),
		Args:          noArguments,
		RunE:          showHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().Var(newMemoryFlag(), "max-memory",
		"memory that reading one file of data may take, such as 8G (default: half of what is free)")
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { printUsage(cmd.OutOrStderr(), cmd, false); return nil })
	root.AddCommand(newTrainCommand(), newSweepCommand(), newAdviseCommand(), newDemoCommand(), newDataCommand(),
		newPECommand(), newAnalyzeCommand(), newReportCommand(), newRunsCommand(), newExportCommand(),
		newImportCommand(), newDoctorCommand(), newBenchCommand())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra takes the name of another shell for a wish for help
			cmd.Args, cmd.RunE = noArguments, showHelp
		}
	}
	completeValues(root)
	return root
}

// flagError makes a mistake in the flags a usage error that suggests the flag that may be meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if _, name, ok := strings.Cut(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		best := wording.Nearest(name, names)
		if other := config.OtherNames[name]; cmd.Flags().Lookup(other) != nil {
			best = other
		}
		if best != "" {
			hint = fmt.Sprintf("; did you mean --%s?", best)
		}
	}
	return usagef("%s: %w%s: see %s --help", cmd.CommandPath(), err, hint, cmd.CommandPath())
}

// noArguments refuses arguments with a usage error, which suggests the subcommand that may be meant.
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

// showHelp prints the help of a command that only holds others. Without it cobra ignores mistyped
// names.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }
