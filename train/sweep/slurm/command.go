package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// patience ends a command that hangs. Slurm's own commands give up on a dead controller after 9 s.
var patience = time.Minute

// call runs one of Slurm's commands from PATH and returns its standard output. After an error nothing
// is known about any job: a controller that is down looks like one that refuses.
func call(ctx context.Context, command string, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, command, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = 2 * time.Second // a child that it left behind may keep the pipes open
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("no answer within %v", patience)
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%w: is this a machine of the cluster?", err)
	}
	said := strings.Join(strings.Fields(stderr.String()+" "+stdout.String()), " ")
	if len(said) > 1000 {
		said = strings.ToValidUTF8(said[:1000], "") + "..."
	}
	return "", fmt.Errorf("%s: %w: %s", command, err, said)
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
	return append(kept, "LC_ALL=C") // messages in English
}

// user returns whose jobs to ask for.
func user() string { return strconv.Itoa(os.Getuid()) }

// largestArray asks the controller how many jobs an array may have: MaxArraySize, or
// max_array_tasks.
func largestArray(ctx context.Context) (int, error) {
	out, err := call(ctx, "scontrol", "show", "config")
	if err != nil {
		return 0, err
	}
	config := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(line, "="); ok {
			config[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	most, err := strconv.Atoi(config["MaxArraySize"])
	if err != nil || most < 1 {
		return 0, fmt.Errorf("scontrol show config: MaxArraySize is %q: this cluster takes no job arrays",
			config["MaxArraySize"])
	}
	for p := range strings.SplitSeq(config["SchedulerParameters"], ",") {
		if text, ok := strings.CutPrefix(p, "max_array_tasks="); ok {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				most = min(n, most)
			}
		}
	}
	return most, nil
}
