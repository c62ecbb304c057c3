// Command torchpe trains small transformers that differ only in their positional encoding and shows
// what each one learned. `torchpe --help` lists its commands. A command consists of its flags, one
// call and one result; harness.go declares --json, --csv, --out, --force and --quiet, checks the
// arguments and prints the result.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"torchpe/internal/paper"
	"torchpe/train/runlog"
)

func main() {
	surviveClosedOutput()
	root := newRootCommand()
	out, notes := &escaped{file: os.Stdout}, &escaped{file: os.Stderr}
	root.SetOut(out)
	root.SetErr(notes)
	message, err := execute(root)
	if out.err != nil {
		message, err = out.err.Error(), begunError{out.err}
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintln(notes, "torchpe: "+message)
	}
	os.Exit(exitCode(err))
}

func newRootCommand() *cobra.Command {
	root := parent(&cobra.Command{
		Use:   "torchpe",
		Short: "Which position does each token of a transformer have, and can the model learn it?",
		Long: `torchpe trains ensembles of small encoder transformers that differ only in their positional encoding (PE) and
shows what each one learned. It reproduces and extends "` + paper.Title + `"
(Ito et al. 2025, arXiv 2406.08272).

Exit codes:` + exitLines(),
		Example: `  torchpe doctor
  torchpe train --pe learn --sigma 0.2 --preset quick --out runs/first
  torchpe demo`,
		Version:       runlog.HostEnvironment(nil).Build(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}, newTrainCommand(), newSweepCommand(), newAdviseCommand(), newDemoCommand(), newDataCommand(),
		newPECommand(), newAnalyzeCommand(), newReportCommand(), newRunsCommand(), newExportCommand(),
		newImportCommand(), newDoctorCommand(), newBenchCommand())
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().Var(newMemoryFlag(), "max-memory",
		"memory for reading one file of data, such as 8G (default: half of the free memory)")
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { printUsage(cmd.OutOrStderr(), cmd, false); return nil })
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra shows its help for an unknown shell
			parent(cmd)
		}
	}
	completeValues(root)
	markErrors(root)
	return root
}
