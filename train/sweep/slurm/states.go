package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Phase is the state of a task in the queue.
type Phase string

// The phases.
const (
	Pending Phase = "pending" // in the queue, for the first time or again
	Running Phase = "running" // started and not yet out of the queue
	Held    Phase = "held"    // in the queue, but will not start before someone releases it
	Gone    Phase = "gone"    // not in the queue: only the task's folder says how it ended
)

// State is the state of a task in Slurm.
type State struct {
	Phase  Phase  `json:"phase"`
	Slurm  string `json:"slurm,omitempty"`  // PENDING, TIMEOUT; empty when Slurm has forgotten the job
	Reason string `json:"reason,omitempty"` // why it waits or ended: JobArrayTaskLimit, NonZeroExitCode
	Job    string `json:"job,omitempty"`    // 12_3
	Node   string `json:"node,omitempty"`
	Name   string `json:"name,omitempty"` // of the job that Job and the rest are of
}

// phases maps Slurm's states. One that is not listed is taken for Running.
var phases = map[string]Phase{
	"PENDING": Pending, "REQUEUED": Pending, "REQUEUE_FED": Pending, "CONFIGURING": Pending,
	"REQUEUE_HOLD": Held, "SPECIAL_EXIT": Held, "RESV_DEL_HOLD": Held,
	"COMPLETED": Gone, "CANCELLED": Gone, "FAILED": Gone, "TIMEOUT": Gone, "NODE_FAIL": Gone,
	"BOOT_FAIL": Gone, "DEADLINE": Gone, "OUT_OF_MEMORY": Gone, "PREEMPTED": Gone, "REVOKED": Gone,
}

// row is one line of squeue.
type row struct {
	id                        int
	indexes                   []int
	state, reason, node, name string
}

// States asks the queue for every task of some jobs. A task of several jobs has the state of the
// newest that is in the queue, or else of the newest. A silent controller is an error: see
// [isUnreachable].
func (c *client) States(ctx context.Context, jobs []Job) (map[int]State, error) {
	rows, err := c.queue(ctx, jobs)
	if err != nil {
		return nil, err
	}
	states := map[int]State{}
	for _, j := range jobs {
		for _, t := range j.Tasks {
			if s, ok := states[t]; !ok || s.Phase == Gone {
				states[t] = State{Phase: Gone, Name: j.Name}
			}
		}
		for _, r := range rows {
			if r.name != j.Name {
				continue
			}
			for _, i := range r.indexes {
				s := State{
					Phase: r.phase(), Slurm: r.state, Reason: r.reason, Job: fmt.Sprintf("%d_%d", r.id, i),
					Node: r.node, Name: j.Name,
				}
				for _, t := range j.line(i) {
					if s.Phase != Gone || states[t].Phase == Gone {
						states[t] = s
					}
				}
			}
		}
	}
	return states, nil
}

// phase returns the phase of a line's tasks.
func (r row) phase() Phase {
	p, known := phases[r.state]
	if !known {
		return Running
	}
	if p != Pending {
		return p
	}
	reason := strings.ToLower(r.reason) // an array may have several, separated by commas
	for _, held := range []string{"jobheld", "requeued held", "requeued_held"} {
		if strings.Contains(reason, held) {
			return Held
		}
	}
	return p
}

// Waits counts the waiting tasks by Slurm's reasons: "3 JobArrayTaskLimit".
func Waits(states map[int]State) []string {
	counts := map[string]int{}
	for _, s := range states {
		if s.Phase != Pending && s.Phase != Held {
			continue
		}
		counts[cmp.Or(s.Reason, "no reason given")]++
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return lines
}

// queue returns the lines of squeue for jobs with the names of these.
func (c *client) queue(ctx context.Context, jobs []Job) ([]row, error) {
	var rows []row
	// Linux takes 128 kB in one argument.
	for part := range slices.Chunk(jobs, 500) {
		names := make([]string, len(part))
		for i, j := range part {
			if !validJob(j.Name) {
				return nil, fmt.Errorf("%q is not the name of a job of this program", j.Name)
			}
			names[i] = j.Name
		}
		out, err := c.call(ctx, "squeue", "--noheader", "--array", "--states=all", "--user="+user(),
			"--name="+strings.Join(names, ","), "--format=%F|%K|%T|%r|%N|%j")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			r, err := parseRow(strings.TrimRight(line, "\r\n"))
			if err != nil {
				return nil, err
			}
			if slices.Contains(names, r.name) {
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

func parseRow(line string) (row, error) {
	f := strings.SplitN(line, "|", 6)
	if len(f) != 6 {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	r := row{state: f[2], reason: f[3], node: f[4], name: f[5]}
	var err error
	if r.id, err = strconv.Atoi(f[0]); err != nil || r.state == "" {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
	}
	// An array whose waiting part was cancelled is listed once without indexes.
	if f[1] == "N/A" && phases[r.state] == Gone {
		return r, nil
	}
	if r.indexes, err = parseRanges(f[1]); err != nil {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q: %w", line, err)
	}
	if r.reason == "None" {
		r.reason = ""
	}
	return r, nil
}

// validJob says whether a name can be of a job that this package submitted. Other names are not
// passed to Slurm's commands.
func validJob(name string) bool {
	for i := range name {
		if suffix.MatchString(name[i:]) && validName.MatchString(name[:i]) {
			return true
		}
	}
	return false
}

// Cancel cancels the jobs that are in the queue. A running program gets TERM, and KILL after the
// site's KillWait. Jobs are named, because Slurm may give an id again.
func (c *client) Cancel(ctx context.Context, jobs []Job) error {
	var faults []error
	for _, j := range jobs {
		if !validJob(j.Name) {
			faults = append(faults, fmt.Errorf("%q is not the name of a job of this program", j.Name))
			continue
		}
		_, err := c.call(ctx, "scancel", "--user="+user(), "--name="+j.Name)
		var failed *commandError
		if errors.As(err, &failed) && strings.Contains(failed.Message, "Invalid job id") {
			continue // it ended meanwhile
		}
		if err != nil {
			faults = append(faults, err)
		}
		if isUnreachable(err) {
			break
		}
	}
	return errors.Join(faults...)
}
