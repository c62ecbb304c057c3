package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/train/sweep"
)

// Place is the state of a task in Slurm's queue, waiting or running.
type Place struct {
	State  string // Slurm's name: PENDING, RUNNING
	Reason string // why it waits: JobArrayTaskLimit
}

// Held reports whether the task waits to be released.
func (p Place) Held() bool {
	if p.State == "REQUEUE_HOLD" || p.State == "SPECIAL_EXIT" || p.State == "RESV_DEL_HOLD" {
		return true
	}
	reason := strings.ReplaceAll(strings.ToLower(p.Reason), "_", " ") // an array may have several
	return p.State == "PENDING" && (strings.Contains(reason, "jobheld") || strings.Contains(reason, "requeued held"))
}

// Waits counts the waiting tasks by Slurm's reason: "3 JobArrayTaskLimit".
func Waits(queue map[int]Place) []string {
	counts := map[string]int{}
	for _, p := range queue {
		if p.State == "PENDING" || p.Held() {
			counts[cmp.Or(p.Reason, "waiting")]++
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return lines
}

// Queued asks Slurm which tasks of a sweep are in its queue. It omits tasks that have ended, whose
// job Slurm may still have, such as one that is held because requeueing failed. If nothing was ever
// submitted it does not ask.
func Queued(ctx context.Context, s *sweep.Sweep) (map[int]Place, error) {
	jobs, err := recordedJobs(s)
	if err != nil {
		return nil, err
	}
	queue, err := queueOf(ctx, jobs)
	maps.DeleteFunc(queue, func(i int, _ Place) bool { return s.Check(i) != nil || s.Task(i).Ended() })
	return queue, err
}

// queueOf returns the tasks of the jobs that are in the queue.
func queueOf(ctx context.Context, jobs []Job) (map[int]Place, error) {
	queue := map[int]Place{}
	for part := range slices.Chunk(jobs, 500) { // Linux allows 128 kB in one argument
		byName := map[string]Job{}
		for _, j := range part {
			byName[j.Name] = j
		}
		// Without --states squeue lists pending, running, suspended and completing jobs.
		out, err := call(ctx, "squeue", "--noheader", "--array", "--user="+user(),
			"--name="+strings.Join(slices.Sorted(maps.Keys(byName)), ","), "--format=%K|%T|%j|%r")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			// A task must not seem absent because its line cannot be read.
			f := strings.SplitN(strings.TrimSpace(line), "|", 4)
			if len(f) < 4 || f[1] == "" {
				return nil, fmt.Errorf("cannot read a line of squeue: %q", line)
			}
			job, ours := byName[f[2]]
			if !ours {
				continue
			}
			index, err := strconv.ParseUint(f[0], 10, 31)
			if err != nil {
				return nil, fmt.Errorf("cannot read a line of squeue: %q", line)
			}
			for _, task := range job.tasksOf(int(index)) {
				queue[task] = Place{State: f[1], Reason: strings.TrimPrefix(f[3], "None")}
			}
		}
	}
	return queue, nil
}

// Cancel removes a sweep's tasks from Slurm's queue. A running program gets TERM, and KILL after
// the site's KillWait. Jobs are selected by name, because Slurm may reuse an id. Cancel stops at
// the first error, because each call takes seconds if the controller is down.
func Cancel(ctx context.Context, s *sweep.Sweep) error {
	if jobs, err := recordedJobs(s); err != nil || len(jobs) == 0 {
		return err
	}
	return s.Exclusive(func() error {
		jobs, err := recordedJobs(s)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			_, err := call(ctx, "scancel", "--user="+user(), "--name="+j.Name)
			if err != nil && !strings.Contains(err.Error(), "Invalid job id") { // it ended meanwhile
				return err
			}
		}
		return nil
	})
}

// patience limits the time of a command that hangs. Slurm's own commands give up on a dead
// controller after 9 s.
var patience = time.Minute

// call runs one of Slurm's commands from PATH and returns its standard output. An error says
// nothing about jobs: a controller that is down looks like one that refuses.
func call(ctx context.Context, command string, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, command, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = 2 * time.Second // a remaining child process may keep the pipes open
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("no answer within %v", patience)
	case errors.Is(err, exec.ErrNotFound):
		return "", notFound(command, err)
	}
	said := strings.Join(strings.Fields(stderr.String()+" "+stdout.String()), " ")
	if len(said) > 1000 {
		said = strings.ToValidUTF8(said[:1000], "") + "..."
	}
	if said != "" {
		said = ": " + said
	}
	return "", fmt.Errorf("%s: %w%s", command, err, said)
}

func notFound(command string, err error) error {
	return fmt.Errorf("%s: %w: is this a machine of the cluster?", command, err)
}

// Installed returns an error if a command that submits jobs is not in PATH.
func Installed() error {
	for _, command := range []string{"scontrol", "sbatch"} {
		if _, err := exec.LookPath(command); err != nil {
			return notFound(command, err)
		}
	}
	return nil
}

// environment returns the environment for Slurm's commands. It removes the user's filters and
// formats of squeue and scancel, waiting in sbatch, and the variables of the job around this
// process, which sbatch would pass on to the new job (above all SLURM_RESTART_COUNT).
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

// user returns the id of the user whose jobs are queried.
func user() string { return strconv.Itoa(os.Getuid()) }

// largestArray asks the controller for the largest size of an array: MaxArraySize, or
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
		return 0, fmt.Errorf("scontrol show config: MaxArraySize is %q: this cluster does not allow job arrays",
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
