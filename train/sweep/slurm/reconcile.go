package slurm

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// taskOutcome tells whether the folder of a task has an end of it.
type taskOutcome int

// The outcomes of tasks.
const (
	openTask  taskOutcome = iota // not started, or stopped before its end
	endedTask                    // done or failed, with a record of it
	busyTask                     // a process works on it: must not be started again
)

// taskState is the state of a task in its folder.
type taskState struct {
	Outcome taskOutcome
	// Stopped is the time at which the last program stopped in good order; zero if it did not.
	Stopped time.Time
}

// Report lists the tasks of an array after a call of reconcile. Each task is in one of the lists.
type Report struct {
	Ended     []int // by their folders
	Waiting   []int // pending or running in Slurm, or busy by their folders
	Held      []int // in the queue, until someone says scontrol release
	Submitted []int // now
	GivenUp   []int // lost after each of MaxSubmissions submissions
	Left      []int // to be submitted, but that failed: see the error

	Jobs   []Job         // those of Submitted
	States map[int]State // in Slurm, of each task that was ever submitted
}

// Reconcile submits each task of an array that has no end and is not in the queue: at first all,
// later what was lost with a node, at a time limit, or by the controller. It can be called at any
// time and as often as one likes, but not by two processes at once. The queue is asked before the
// folders, so that a task that ends in between is not taken for lost.
//
// A task that is lost after [Options].MaxSubmissions submissions is given up. Submissions do not
// count after which the task stopped in good order or was cancelled, nor excused ones; see
// [ExcuseSweep].
func (c *client) Reconcile(ctx context.Context, a Array,
	stateOf func(task int) (taskState, error)) (Report, error) {
	if err := a.Validate(); err != nil {
		return Report{}, err
	}
	jobs, err := recordedJobs(a.Dir, a.Name)
	if err != nil {
		return Report{}, err
	}
	r := Report{}
	if len(jobs) > 0 {
		if r.States, err = c.States(ctx, jobs); err != nil {
			return Report{}, err
		}
	}
	var open []int
	orderly := map[int]time.Time{}
	for _, t := range a.Tasks {
		s, err := stateOf(t)
		if err != nil {
			return Report{}, fmt.Errorf("task %d: %w", t, err)
		}
		state, known := r.States[t]
		switch {
		case s.Outcome == endedTask:
			r.Ended = append(r.Ended, t)
		case known && state.Phase == Held:
			r.Held = append(r.Held, t)
		case s.Outcome == busyTask, known && state.Phase != Gone:
			r.Waiting = append(r.Waiting, t)
		default:
			open = append(open, t)
			orderly[t] = s.Stopped
		}
	}
	if err := discountCleanStops(a.Dir, jobs, r.States, orderly); err != nil {
		return r, err
	}
	for _, t := range open {
		if submissions(jobs, t) >= a.Options.submissions() {
			r.GivenUp = append(r.GivenUp, t)
		} else {
			r.Left = append(r.Left, t)
		}
	}
	if len(r.Left) == 0 {
		return r, nil
	}
	a.Tasks = slices.Clone(r.Left)
	r.Jobs, err = c.Submit(ctx, a)
	for _, j := range r.Jobs {
		r.Submitted = append(r.Submitted, j.Tasks...)
	}
	r.Left = slices.DeleteFunc(r.Left, func(t int) bool { return slices.Contains(r.Submitted, t) })
	return r, err
}

// submissions counts those of a task that count.
func submissions(jobs []Job, task int) (n int) {
	for _, j := range jobs {
		if !j.Withdrawn && slices.Contains(j.Tasks, task) && !slices.Contains(j.Excused, task) {
			n++
		}
	}
	return n
}

// discountCleanStops excuses the last submission of each open task that stopped in good order since, at
// the given time, or that was cancelled in Slurm.
func discountCleanStops(
	dir string, jobs []Job, states map[int]State, stopped map[int]time.Time) error {
	for i := range jobs {
		var tasks []int
		for _, t := range jobs[i].Tasks {
			at, open := stopped[t]
			later := slices.ContainsFunc(jobs[i+1:], func(j Job) bool {
				return !j.Withdrawn && slices.Contains(j.Tasks, t)
			})
			cancelled := states[t].Name == jobs[i].Name && states[t].Slurm == "CANCELLED"
			if open && !later && (cancelled || !at.Before(jobs[i].Submitted)) {
				tasks = append(tasks, t)
			}
		}
		if err := jobs[i].excuse(dir, tasks); err != nil {
			return err
		}
	}
	return nil
}

// excuseAll makes all submissions of an array so far not count, to try its tasks again.
func excuseAll(dir, name string) error {
	jobs, err := recordedJobs(dir, name)
	if err != nil {
		return err
	}
	for i := range jobs {
		if err := jobs[i].excuse(dir, jobs[i].Tasks); err != nil {
			return err
		}
	}
	return nil
}

// excuse records that a job's submission of tasks does not count.
func (j *Job) excuse(dir string, tasks []int) error {
	before := len(j.Excused)
	for _, t := range tasks {
		if !slices.Contains(j.Excused, t) {
			j.Excused = append(j.Excused, t)
		}
	}
	if len(j.Excused) == before {
		return nil
	}
	disk, err := openFolder(dir, false)
	if err != nil {
		return err
	}
	defer disk.Close()
	return disk.record(*j)
}
