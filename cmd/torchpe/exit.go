package main

import (
	"errors"
	"fmt"
)

// Exit codes of the program; scripts and schedulers rely on them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // SIGINT: state saved
	exitTerminated  = 143 // SIGTERM or SIGHUP: state saved
	exitRequeue     = 75  // SIGUSR1, which a scheduler sends before its time limit: state saved
)

// usageError marks a mistake in the command line or a configuration: exit code 2, nothing written.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef returns a usageError with a formatted message.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitCode maps an error of a command to the program's exit code.
func exitCode(err error) int {
	var usage usageError
	var interrupted interruptedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &interrupted):
		return interrupted.code
	default:
		return exitFailed
	}
}

// interruptedError says that a signal stopped the command after its state was saved.
type interruptedError struct {
	code int
	msg  string
}

func (e interruptedError) Error() string { return e.msg }
