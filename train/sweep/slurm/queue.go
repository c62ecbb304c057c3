package slurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"torchpe/train/sweep"
)

// Place is the state of a task that Slurm has in its queue, waiting or running.
type Place struct {
	State  string // as Slurm calls it: PENDING, RUNNING
	Reason string // why it waits: JobArrayTaskLimit
}

// Held reports whether the task waits until someone releases it.
func (p Place) Held() bool {
	if p.State == "REQUEUE_HOLD" || p.State == "SPECIAL_EXIT" || p.State == "RESV_DEL_HOLD" {
		return true
	}
	reason := strings.ReplaceAll(strings.ToLower(p.Reason), "_", " ") // an array may have several
	return p.State == "PENDING" && (strings.Contains(reason, "jobheld") || strings.Contains(reason, "requeued held"))
}

// Waits counts the waiting tasks by Slurm's reasons: "3 JobArrayTaskLimit".
func Waits(queue map[int]Place) []string {
	counts := map[string]int{}
	for _, p := range queue {
		if p.State == "PENDING" || p.Held() {
			counts[cmp.Or(p.Reason, "no reason given")]++
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return lines
}

// Queued asks Slurm which tasks of a sweep are in its queue. It leaves out tasks that have ended, whose job
// Slurm may still have, such as one that is held because requeueing failed. Where nothing was ever
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

// queueOf returns the tasks of jobs that are in the queue.
func queueOf(ctx context.Context, jobs []Job) (map[int]Place, error) {
	queue := map[int]Place{}
	for part := range slices.Chunk(jobs, 500) { // Linux takes 128 kB in one argument
		byName := map[string]Job{}
		for _, j := range part {
			byName[j.Name] = j
		}
		// Without --states squeue lists what is pending, running, suspended or completing.
		out, err := call(ctx, "squeue", "--noheader", "--array", "--user="+user(),
			"--name="+strings.Join(slices.Sorted(maps.Keys(byName)), ","), "--format=%K|%T|%j|%r")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			// A line that cannot be read must not be taken for a task that is not there.
			f := strings.SplitN(strings.TrimSpace(line), "|", 4)
			if len(f) < 4 || f[1] == "" {
				return nil, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
			}
			job, ours := byName[f[2]]
			if !ours {
				continue
			}
			index, err := strconv.ParseUint(f[0], 10, 31)
			if err != nil {
				return nil, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
			}
			for _, task := range job.tasksOf(int(index)) {
				queue[task] = Place{State: f[1], Reason: strings.TrimPrefix(f[3], "None")}
			}
		}
	}
	return queue, nil
}

// Cancel takes a sweep's tasks out of Slurm's queue. A running program gets TERM, and KILL after the
// site's KillWait. Jobs are named, because Slurm may give an id again. The first error ends it: where
// the controller is down, each call takes seconds.
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
