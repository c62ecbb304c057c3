package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
	"torchpe/train/sweep/slurm"
)

// Exit codes of the program; scripts and schedulers rely on them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiskFull    = 74
	exitRequeue     = slurm.ExitRequeue // a scheduler sends SIGUSR1 before its time limit
	exitInterrupted = 130
	exitBrokenPipe  = 141
	exitTerminated  = 143
)

// exitCodes says what each exit code means; docs/command-line.md has the same table.
var exitCodes = []struct {
	code  int
	means string
}{
	{exitDone, "done"},
	{exitFailed, "failed, or every model diverged; of a sweep: a task failed or a run diverged"},
	{exitUsage, "the command line or the configuration is wrong, or names a file that is missing or would be " +
		"overwritten; nothing was written"},
	{exitDiskFull, "the disk, a quota or a limit on file sizes is used up; the last checkpoint is whole"},
	{exitRequeue, "stopped by SIGUSR1; the state is saved"},
	{exitInterrupted, "stopped by SIGINT (Ctrl-C); the state is saved"},
	{exitBrokenPipe, "output pipe closed; all files are complete"},
	{exitTerminated, "stopped by SIGTERM or SIGHUP; the state is saved"},
}

// exitLines lists the exit codes for help.
func exitLines() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "\n  %-3d  %s", e.code, e.means)
	}
	return b.String()
}

// usageError marks a mistake in the command line or a configuration: exit code 2, nothing written.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef returns a usageError with a formatted message.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// fileErrorAsUsage marks an error of a file or run that is missing, or would be overwritten, as one of
// usage: for commands that name it.
func fileErrorAsUsage(err error) error {
	for _, of := range []error{fs.ErrNotExist, syscall.ENOTDIR, fs.ErrExist, runlog.ErrNoRun, runlog.ErrExists} {
		if errors.Is(err, of) {
			return usageError{err}
		}
	}
	return err
}

// existsAsUsage marks an error of something that would be overwritten as one of usage.
func existsAsUsage(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return usageError{err}
	}
	return err
}

// exactly accepts as many arguments as there are names; another number is a usage error.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usagef("%s: want %s, not %s: see %s --help", cmd.CommandPath(), strings.Join(names, " and "),
				wording.Count(len(args), "argument"), cmd.CommandPath())
		}
		return nil
	}
}

// exitCode maps an error of a command to the program's exit code.
func exitCode(err error) int {
	var usage usageError
	var interrupted interruptedError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, syscall.EPIPE):
		return exitBrokenPipe
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &interrupted):
		return interrupted.code
	case isDiskFull(err):
		return exitDiskFull
	default:
		return exitFailed
	}
}

// isDiskFull reports whether an error is of a disk, a quota or a limit on files that is used up.
func isDiskFull(err error) bool {
	var space *runlog.SpaceError
	return errors.As(err, &space) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// interruptedError says that a signal stopped the command after its state was saved.
type interruptedError struct {
	code int
	msg  string
}

func (e interruptedError) Error() string { return e.msg }
