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

// Phase is where a task stands in the queue.
type Phase string

// The phases.
const (
	Pending Phase = "pending" // in the queue, for the first time or again
	Running Phase = "running" // started and not yet out of the queue
	Held    Phase = "held"    // in the queue, but will not start before someone releases it
	Gone    Phase = "gone"    // not in the queue: only the task's folder says how it ended
)

// State is where Slurm has a task.
type State struct {
	Phase  Phase  `json:"phase"`
	Slurm  string `json:"slurm,omitempty"`  // Slurm's own word: PENDING, TIMEOUT; empty when Slurm has forgotten the job
	Reason string `json:"reason,omitempty"` // why it waits or ended: JobArrayTaskLimit, BeginTime, NonZeroExitCode
	Job    string `json:"job,omitempty"`    // 12_3
	Node   string `json:"node,omitempty"`
	Name   string `json:"name,omitempty"` // of the job that Job and the rest are of
}

// phases says what Slurm's states mean. One that is not here is in the queue, for all that is known.
var phases = map[string]Phase{
	"PENDING": Pending, "REQUEUED": Pending, "REQUEUE_FED": Pending, "CONFIGURING": Pending,
	"REQUEUE_HOLD": Held, "SPECIAL_EXIT": Held, "RESV_DEL_HOLD": Held,
	"COMPLETED": Gone, "CANCELLED": Gone, "FAILED": Gone, "TIMEOUT": Gone, "NODE_FAIL": Gone, "BOOT_FAIL": Gone, "DEADLINE": Gone, "OUT_OF_MEMORY": Gone,
	"PREEMPTED": Gone, "REVOKED": Gone,
}

// row is one line of squeue.
type row struct {
	id                        int
	indexes                   []int
	state, reason, node, name string
}

// States asks the queue for every task of some jobs. A task of several jobs has the state of the newest that is in the queue,
// or else of the newest. A controller that does not answer is an error, never a guess: see [Unreachable].
func (c *Client) States(ctx context.Context, jobs []Job) (map[int]State, error) {
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
				s := State{Phase: r.phase(), Slurm: r.state, Reason: r.reason, Job: fmt.Sprintf("%d_%d", r.id, i), Node: r.node, Name: j.Name}
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

// phase says what a line means for its tasks.
func (r row) phase() Phase {
	p, known := phases[r.state]
	if !known {
		return Running
	}
	// The reason of an array may be several, with commas between.
	if reason := strings.ToLower(r.reason); p == Pending && (strings.Contains(reason, "jobheld") || strings.Contains(reason, "requeued held") || strings.Contains(reason, "requeued_held")) {
		return Held
	}
	return p
}

// Waits counts the tasks that are in the queue and have not started, by the reasons that Slurm gives: "3 JobArrayTaskLimit".
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

// queue returns what squeue says of jobs with the names of these.
func (c *Client) queue(ctx context.Context, jobs []Job) ([]row, error) {
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
		out, err := c.call(ctx, "squeue", "--noheader", "--array", "--states=all", "--user="+user(), "--name="+strings.Join(names, ","), "--format=%F|%K|%T|%r|%N|%j")
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

// parseRow reads a line of squeue.
func parseRow(line string) (row, error) {
	f := strings.SplitN(line, "|", 6)
	if len(f) != 6 {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
	}
	r := row{state: strings.TrimSpace(f[2]), reason: strings.TrimSpace(f[3]), node: strings.TrimSpace(f[4]), name: strings.TrimSpace(f[5])}
	var err error
	if r.id, err = strconv.Atoi(strings.TrimSpace(f[0])); err != nil || r.state == "" {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q", line)
	}
	// An array of which the waiting part was cancelled is listed once without indexes. What is in the queue has indexes.
	if strings.TrimSpace(f[1]) == "N/A" && phases[r.state] == Gone {
		return r, nil
	}
	if r.indexes, err = parseRanges(strings.TrimSpace(f[1])); err != nil {
		return row{}, fmt.Errorf("squeue printed a line that cannot be read: %q: %w", line, err)
	}
	if r.reason == "None" {
		r.reason = ""
	}
	return r, nil
}

// validJob says whether a name can be of a job that this package submitted. Anything else is not handed to Slurm's commands.
func validJob(name string) bool {
	for i := range name {
		if suffix.MatchString(name[i:]) && validName.MatchString(name[:i]) {
			return true
		}
	}
	return false
}

// ErrGone says that Slurm does not know a job any more.
var ErrGone = errors.New("slurm does not know this job any more")

// ReusedError says that a job id belongs to another job now.
type ReusedError struct {
	ID        int
	Want, Got string
}

// Error says which job has the id.
func (e *ReusedError) Error() string {
	return fmt.Sprintf("job %d is %q now, not %q: Slurm gave the id again after its controller lost its memory", e.ID, e.Got, e.Want)
}

// Verify checks that a job's id still has its name. It returns ErrGone, a *ReusedError, or that Slurm could not be asked.
func (c *Client) Verify(ctx context.Context, j Job) error {
	if j.ID <= 0 {
		return fmt.Errorf("job %s has no id", j.Name)
	}
	out, err := c.call(ctx, "squeue", "--noheader", "--states=all", "--jobs="+strconv.Itoa(j.ID), "--format=%F|%j")
	var failed *CommandError
	if errors.As(err, &failed) && strings.Contains(failed.Message, "Invalid job id") {
		return ErrGone
	}
	if err != nil {
		return err
	}
	other := ErrGone
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "|")
		if strings.TrimSpace(id) != strconv.Itoa(j.ID) {
			continue
		}
		if name == j.Name {
			return nil
		}
		other = &ReusedError{ID: j.ID, Want: j.Name, Got: name}
	}
	return other
}

// Cancel cancels what of the jobs is in the queue. A running program gets TERM, and KILL after the site's KillWait. It goes by name, so
// that no job is hit that has the id now.
func (c *Client) Cancel(ctx context.Context, jobs []Job) error {
	var faults []error
	for _, j := range jobs {
		if !validJob(j.Name) {
			faults = append(faults, fmt.Errorf("%q is not the name of a job of this program", j.Name))
			continue
		}
		_, err := c.call(ctx, "scancel", "--user="+user(), "--name="+j.Name)
		var failed *CommandError
		if errors.As(err, &failed) && strings.Contains(failed.Message, "Invalid job id") {
			continue // it ended meanwhile
		}
		if err != nil {
			faults = append(faults, err)
		}
		if Unreachable(err) {
			break
		}
	}
	return errors.Join(faults...)
}
