package slurm

import (
	"context"
	"fmt"
	"slices"
)

// Outcome is what a task's folder tells.
type Outcome int

// The outcomes.
const (
	Open  Outcome = iota // not started, or stopped before its end
	Ended                // done or failed, with a record of it
	Busy                 // a process gave a sign of life lately: not to be started beside it
)

// Report says where the tasks of an array stand after [Client.Reconcile]. Each task is in one of the lists.
type Report struct {
	Ended     []int // by their folders
	Waiting   []int // pending or running in Slurm, or busy by their folders
	Held      []int // in the queue, until someone says scontrol release
	Submitted []int // now
	GivenUp   []int // submitted MaxSubmissions times without reaching an end
	Left      []int // to be submitted, but that failed: see the error

	Jobs   []Job         // those of Submitted
	States map[int]State // what Slurm said of each task that was ever submitted
}

// Over says whether nothing is left to wait for.
func (r Report) Over() bool {
	return len(r.Waiting)+len(r.Held)+len(r.Submitted)+len(r.Left) == 0
}

// Reconcile submits each task of an array that has no end and is not in the queue: at first all, later what was lost with a
// node, at a time limit, or by the controller. It can be called at any time and as often as one likes, but not by two
// processes at once. The queue is asked before the folders, so that a task that ends in between is not taken for lost.
func (c *Client) Reconcile(ctx context.Context, a Array, outcome func(task int) (Outcome, error)) (Report, error) {
	if err := a.Validate(); err != nil {
		return Report{}, err
	}
	jobs, err := Recorded(a.Dir, a.Name)
	if err != nil {
		return Report{}, err
	}
	r := Report{}
	if len(jobs) > 0 {
		if r.States, err = c.States(ctx, jobs); err != nil {
			return Report{}, err
		}
	}
	submissions := map[int]int{}
	for _, j := range jobs {
		if !j.Withdrawn {
			for _, t := range j.Tasks {
				submissions[t]++
			}
		}
	}
	most := a.Options.MaxSubmissions
	if most == 0 {
		most = DefaultSubmissions
	}
	for _, t := range a.Tasks {
		o, err := outcome(t)
		if err != nil {
			return Report{}, fmt.Errorf("task %d: %w", t, err)
		}
		state, known := r.States[t]
		switch {
		case o == Ended:
			r.Ended = append(r.Ended, t)
		case known && state.Phase == Held:
			r.Held = append(r.Held, t)
		case o == Busy, known && state.Phase != Gone:
			r.Waiting = append(r.Waiting, t)
		case submissions[t] >= most:
			r.GivenUp = append(r.GivenUp, t)
		default:
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
