package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// client calls Slurm's commands, from PATH. Its zero value is ready to use.
type client struct {
	// timeout ends a command that hangs; 0 means a minute. Slurm's own commands give up on a dead
	// controller after 9 s. Tests set it.
	timeout time.Duration
	// run runs a command; nil means as a process. Tests set it.
	run func(ctx context.Context, argv []string) (output, error)
}

// output holds the output of a command and its exit status.
type output struct {
	Stdout, Stderr string
	Status         int
}

// commandError says that one of Slurm's commands failed.
type commandError struct {
	Command string // sbatch, squeue, scontrol or scancel
	Status  int    // exit status; -1 when it could not be run or did not end
	Message string // what it said, on one line

	// Unreachable says that the controller did not answer: nothing is known about any job.
	Unreachable bool

	err error
}

// Error says which command failed and what it said.
func (e *commandError) Error() string {
	s := e.Command + ": " + e.Message
	if e.Status > 0 {
		s += fmt.Sprintf(" (exit status %d)", e.Status)
	}
	if e.Unreachable {
		s += "; the Slurm controller does not answer: what is queued or running is not known now, try again later"
	}
	return s
}

// Unwrap returns the reason of a command that could not be run.
func (e *commandError) Unwrap() error { return e.err }

// isUnreachable says whether an error means that Slurm's controller did not answer.
func isUnreachable(err error) bool {
	var e *commandError
	return errors.As(err, &e) && e.Unreachable
}

// unreachable lists parts of messages of a controller that is down, starting or overloaded.
var unreachable = []string{
	"Unable to contact slurm controller",
	"Socket timed out",
	"Slurm backup controller in standby mode",
	"Slurm controller not responding",
	"Zero Bytes were transmitted or received",
	"Transport endpoint is not connected",
	"Connection refused",
	"Connection timed out",
	"Connection reset by peer",
	"Communication connection failure",
	"Unexpected message received",
	"Resource temporarily unavailable",
}

// call runs one command and returns its standard output. Any exit status but 0 is an error.
func (c *client) call(ctx context.Context, command string, args ...string) (string, error) {
	run, timeout := c.run, c.timeout
	if run == nil {
		run = runProcess
	}
	if timeout == 0 {
		timeout = time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := run(limited, append([]string{command}, args...))
	if err == nil && out.Status == 0 {
		return out.Stdout, nil
	}
	e := &commandError{Command: command, Status: -1, err: err}
	switch {
	case ctx.Err() != nil:
		e.Message, e.err = "interrupted", context.Cause(ctx)
		return "", e
	case limited.Err() != nil:
		e.Message, e.err = fmt.Sprintf("no answer within %v", timeout), limited.Err()
		e.Unreachable = true
		return "", e
	case errors.Is(err, exec.ErrNotFound):
		e.Message = command + " is not on PATH: is this a machine of the cluster?"
		return "", e
	case err != nil:
		e.Message = err.Error()
		return "", e
	}
	e.Status, e.Message = out.Status, oneLine(out.Stderr+"\n"+out.Stdout)
	for _, part := range unreachable {
		e.Unreachable = e.Unreachable || strings.Contains(e.Message, part)
	}
	return "", e
}

// oneLine joins the lines of a command's message, and cuts it when it is long.
func oneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	s = strings.Join(lines, "; ")
	if len(s) > 1000 {
		s = strings.ToValidUTF8(s[:1000], "") + "..."
	}
	if s == "" {
		s = "failed without a message"
	}
	return s
}

// runProcess runs a command as a process in the environment that environment returns.
func runProcess(ctx context.Context, argv []string) (output, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = 2 * time.Second // a child that it left behind may keep the pipes open
	err := cmd.Run()
	out := output{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil && exit.Exited() {
		out.Status, err = exit.ExitCode(), nil
	}
	return out, err
}

// environment returns the environment for Slurm's commands: without the user's filters and formats
// of squeue and scancel, without waiting in sbatch, and without the variables of a job around this
// process, which sbatch would hand on to the new job (SLURM_RESTART_COUNT above all).
func environment(env []string) []string {
	var kept []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case name == "SLURM_CONF", name == "SLURM_JWT":
		case strings.HasPrefix(name, "SLURM_"), strings.HasPrefix(name, "SLURMD_"),
			strings.HasPrefix(name, "SQUEUE_"), strings.HasPrefix(name, "SCANCEL_"),
			name == "SBATCH_WAIT", name == "SBATCH_CLUSTERS", name == "SBATCH_ARRAY_INX",
			name == "SBATCH_IGNORE_PBS", name == "LC_ALL":
			continue
		}
		kept = append(kept, e)
	}
	// SLURM_BITSTR_LEN: squeue cuts a long list of array indexes to 64 characters otherwise.
	// LC_ALL: messages in English.
	return append(kept, "SLURM_BITSTR_LEN=0", "LC_ALL=C")
}
