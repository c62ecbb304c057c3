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

// Client calls Slurm's commands. Its zero value takes them from PATH.
type Client struct {
	Sbatch, Squeue, Scontrol, Scancel string // paths or names; "" means the usual name

	// Timeout ends a command that hangs; 0 means a minute. Slurm's own commands give up on a dead controller after 9 s.
	Timeout time.Duration

	// Run runs a command; nil means as a process. Tests set it.
	Run func(ctx context.Context, argv []string) (Output, error)
}

// Output is what a command printed and its exit status.
type Output struct {
	Stdout, Stderr string
	Status         int
}

// CommandError says that one of Slurm's commands failed.
type CommandError struct {
	Command string // sbatch, squeue, scontrol or scancel
	Status  int    // exit status; -1 when it could not be run or did not end
	Message string // what it said, on one line

	// Unreachable says that the controller did not answer: nothing is known about any job.
	Unreachable bool

	err error
}

// Error says which command failed and what it said.
func (e *CommandError) Error() string {
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
func (e *CommandError) Unwrap() error { return e.err }

// Unreachable says whether an error means that Slurm's controller did not answer, so that trying later may help.
func Unreachable(err error) bool {
	var e *CommandError
	return errors.As(err, &e) && e.Unreachable
}

// unreachable are parts of what Slurm's commands say when the controller is down, starting or overloaded.
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
func (c *Client) call(ctx context.Context, command string, args ...string) (string, error) {
	path := map[string]string{"sbatch": c.Sbatch, "squeue": c.Squeue, "scontrol": c.Scontrol, "scancel": c.Scancel}[command]
	if path == "" {
		path = command
	}
	run, timeout := c.Run, c.Timeout
	if run == nil {
		run = runProcess
	}
	if timeout == 0 {
		timeout = time.Minute
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := run(limited, append([]string{path}, args...))
	switch {
	case err == nil && out.Status == 0:
		return out.Stdout, nil
	case ctx.Err() != nil:
		return "", &CommandError{Command: command, Status: -1, Message: "interrupted", err: context.Cause(ctx)}
	case limited.Err() != nil:
		return "", &CommandError{Command: command, Status: -1, Message: fmt.Sprintf("no answer within %v", timeout), Unreachable: true, err: limited.Err()}
	case errors.Is(err, exec.ErrNotFound):
		return "", &CommandError{Command: command, Status: -1, Message: path + " is not on PATH: is this a machine of the cluster?", err: err}
	case err != nil:
		return "", &CommandError{Command: command, Status: -1, Message: err.Error(), err: err}
	}
	e := &CommandError{Command: command, Status: out.Status, Message: oneLine(out.Stderr + "\n" + out.Stdout)}
	for _, part := range unreachable {
		e.Unreachable = e.Unreachable || strings.Contains(e.Message, part)
	}
	return "", e
}

// oneLine joins the lines of what a command said, without its end when that is long.
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

// runProcess runs a command as a process in an environment that does not bend its answers.
func runProcess(ctx context.Context, argv []string) (Output, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = 2 * time.Second // a child that it left behind may keep the pipes open
	err := cmd.Run()
	out := Output{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil && exit.Exited() {
		out.Status, err = exit.ExitCode(), nil
	}
	return out, err
}

// environment returns the environment for Slurm's commands: without the user's filters and formats of squeue and scancel, without
// waiting in sbatch, and without what a job around this process set, which sbatch would hand on to the new job
// (SLURM_RESTART_COUNT above all).
func environment(env []string) []string {
	var kept []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case name == "SLURM_CONF", name == "SLURM_JWT":
		case strings.HasPrefix(name, "SLURM_"), strings.HasPrefix(name, "SLURMD_"), strings.HasPrefix(name, "SQUEUE_"), strings.HasPrefix(name, "SCANCEL_"),
			name == "SBATCH_WAIT", name == "SBATCH_CLUSTERS", name == "SBATCH_ARRAY_INX", name == "SBATCH_IGNORE_PBS", name == "LC_ALL":
			continue
		}
		kept = append(kept, e)
	}
	// SLURM_BITSTR_LEN: squeue cuts a long list of array indexes to 64 characters otherwise. LC_ALL: messages in English.
	return append(kept, "SLURM_BITSTR_LEN=0", "LC_ALL=C")
}
