package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"torchpe/train"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
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

// exitCodes has the meaning of each exit code; docs/command-line.md has the same table.
var exitCodes = []struct {
	code  int
	means string
}{
	{exitDone, "done"},
	{exitFailed, "failed: a file cannot be read, the data do not fit the flags, or every model diverged; of a sweep: " +
		"a task failed or a run diverged"},
	{exitUsage, "the command line or the configuration is wrong, or names a file that is missing or would be " +
		"overwritten; nothing was written"},
	{exitDiskFull, "the disk, a quota or a limit on file sizes is used up; the last checkpoint is whole"},
	{exitRequeue, "stopped by SIGUSR1; the state is saved"},
	{exitInterrupted, "stopped by SIGINT (Ctrl-C); the state is saved"},
	{exitBrokenPipe, "output pipe closed; all files are complete"},
	{exitTerminated, "stopped by SIGTERM or SIGHUP; the state is saved"},
}

func exitLines() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "\n  %-3d  %s", e.code, e.means)
	}
	return b.String()
}

// usageError marks a mistake in the command line or a configuration: exit code 2, nothing written.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// begunError marks an error of a command that had begun. Any other error is from cobra, about the command line.
type begunError struct{ error }

func (e begunError) Unwrap() error { return e.error }

// markErrors marks the errors that a command and those below it return.
func markErrors(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				return begunError{err}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		markErrors(c)
	}
}

// interruptedError says that a signal stopped the command after its state was saved.
type interruptedError struct {
	code int
	msg  string
}

func (e interruptedError) Error() string { return e.msg }

// taskError marks an error of a task of a sweep, which has its own record: it is never a usage error.
type taskError struct{ error }

// exitCode maps an error of a command to the program's exit code.
func exitCode(err error) int {
	var interrupted interruptedError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, syscall.EPIPE):
		return exitBrokenPipe
	case !errors.As(err, new(begunError)):
		return exitUsage
	case errors.As(err, &interrupted):
		return interrupted.code
	case isDiskFull(err):
		return exitDiskFull
	case isUsage(err):
		return exitUsage
	}
	return exitFailed
}

// isUsage reports whether the user asked for something impossible: by the flags, by the configuration,
// or by a path that is missing or would be overwritten.
func isUsage(err error) bool {
	if errors.As(err, new(taskError)) {
		return false
	}
	for _, of := range []error{fs.ErrNotExist, syscall.ENOTDIR, fs.ErrExist, runlog.ErrNoRun, runlog.ErrExists,
		sweep.ErrNoSweep} {
		if errors.Is(err, of) {
			return true
		}
	}
	return errors.As(err, new(usageError)) || errors.As(err, new(*train.ConfigError))
}

// isDiskFull reports whether an error means that a disk, a quota or a limit on file sizes is used up.
func isDiskFull(err error) bool {
	return errors.As(err, new(*runlog.SpaceError)) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// plainWords replaces messages of cobra and Go's library with words for readers who know neither.
var plainWords = []struct {
	pattern *regexp.Regexp
	words   string
}{
	{regexp.MustCompile(`\b(?:l?stat|open|openat|fdopendir) (\S+): ` +
		`(no such file or directory|permission denied|not a directory)`), "$1: $2"},
	{regexp.MustCompile(`strconv\.Parse\w+: parsing ("[^"]*"): (?:invalid syntax|value out of range)`),
		"$1 is not a number that fits"},
	{regexp.MustCompile(`^invalid argument (".*?") for "(?:-., )?(--[^"]+)" flag: `), "$2 $1: "},
}

// groupWords replaces cobra's messages on flags that are missing or do not go together. The pattern
// finds their names.
var groupWords = []struct {
	pattern     *regexp.Regexp
	words, join string
}{
	{regexp.MustCompile(`^required flag\(s\) (.*) not set`), "missing: %s", " and "},
	{regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required`), "missing: %s", " or "},
	{regexp.MustCompile(`none of the others can be; \[(.*)\] were all set`),
		"%s exclude each other: give one", " and "},
	{regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must`),
		"%s go together: give all or none", " and "},
}

// plainText returns an error in words for a reader who knows neither system calls nor Go.
func plainText(err error) string {
	text := err.Error()
	for _, g := range groupWords {
		if m := g.pattern.FindStringSubmatch(text); m != nil {
			names := strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(m[1]))
			return fmt.Sprintf(g.words, "--"+strings.Join(names, g.join+"--"))
		}
	}
	for _, p := range plainWords {
		text = p.pattern.ReplaceAllString(text, p.words)
	}
	return text
}

// execute runs the command line. It returns the error in plain words; after a mistake on the command line, the
// message names the command whose help to read.
func execute(root *cobra.Command) (message string, err error) {
	cmd, err := root.ExecuteC()
	if err == nil {
		return "", nil
	}
	message = plainText(err)
	if !errors.As(err, new(begunError)) {
		_, path, _ := strings.Cut(cmd.CommandPath()+": ", " ")
		message = fmt.Sprintf("%s%s; see %s --help", path, message, cmd.CommandPath())
	}
	return message, err
}

// surviveClosedOutput turns writing to a closed pipe into an error. Without it the Go runtime ends the program,
// for example in the middle of training in `torchpe train 2>&1 | head`.
func surviveClosedOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// untilSignal returns a context that ends with the first SIGINT, SIGTERM, SIGHUP or SIGUSR1, and a function
// that returns the exit code for it. The second signal ends the process at once. Signals that were ignored at
// the start, such as SIGHUP under nohup, stay ignored.
func untilSignal(w io.Writer) (context.Context, func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		c := signalCode(<-signals)
		code <- c
		fmt.Fprintln(w, "torchpe: finishing the step and saving; a second signal stops at once")
		cancel()
		os.Exit(signalCode(<-signals))
	}()
	return ctx, func() int { return <-code }
}

func signalCode(s os.Signal) int {
	switch s {
	case syscall.SIGTERM, syscall.SIGHUP:
		return exitTerminated
	case syscall.SIGUSR1:
		return exitRequeue
	}
	return exitInterrupted
}
