package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the settings of a cluster that matter to arrays.
type Limits struct {
	Version string // of Slurm, as 22.05.8
	Cluster string

	// MaxArraySize bounds the array INDEX: indexes go from 0 to MaxArraySize-1. Slurm's default is 1001.
	MaxArraySize int
	// MaxArrayTasks bounds how many jobs one array has; MaxArraySize unless SchedulerParameters says less.
	MaxArrayTasks int
	// MaxJobs is how many jobs the controller keeps, of all users.
	MaxJobs int

	RequeueExit   []int         // exit statuses after which the site itself queues a job again
	KillWait      time.Duration // from TERM to KILL at the time limit
	PreemptMode   string        // OFF, REQUEUE, CANCEL, SUSPEND, ...
	PreemptSignal bool          // preempted jobs get the signal of --signal
}

// Requeues says whether the site queues a job again that exits with [ExitRequeue].
func (l Limits) Requeues() bool { return slices.Contains(l.RequeueExit, ExitRequeue) }

// Limits asks the controller.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	out, err := c.call(ctx, "scontrol", "show", "config")
	if err != nil {
		return Limits{}, err
	}
	config := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(line, "="); ok {
			config[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	l := Limits{Version: config["SLURM_VERSION"], Cluster: config["ClusterName"], PreemptMode: config["PreemptMode"]}
	for key, to := range map[string]*int{"MaxArraySize": &l.MaxArraySize, "MaxJobCount": &l.MaxJobs} {
		if *to, err = strconv.Atoi(config[key]); err != nil {
			return Limits{}, fmt.Errorf("scontrol show config: %s is %q, not a number", key, config[key])
		}
	}
	if wait, err := strconv.Atoi(strings.TrimSuffix(config["KillWait"], " sec")); err == nil {
		l.KillWait = time.Duration(wait) * time.Second
	}
	l.MaxArrayTasks = l.MaxArraySize
	for _, p := range strings.Split(config["SchedulerParameters"], ",") {
		if n, err := strconv.Atoi(strings.TrimPrefix(p, "max_array_tasks=")); err == nil && strings.HasPrefix(p, "max") {
			l.MaxArrayTasks = min(n, l.MaxArrayTasks)
		}
	}
	l.PreemptSignal = strings.Contains(config["PreemptParameters"]+config["SlurmctldParameters"], "preempt_send_user_signal")
	if codes, err := parseRanges(config["RequeueExit"]); err == nil {
		l.RequeueExit = codes
	}
	return l, nil
}

// parseRanges reads a list of numbers as Slurm writes them: 3, 0-3, 5,7-9, 0-8:2, with the throttle of an array as in 0-3%2. A list that
// was cut short is an error.
func parseRanges(s string) ([]int, error) {
	s, _, _ = strings.Cut(strings.Trim(s, "[]"), "%")
	var list []int
	for _, part := range strings.Split(s, ",") {
		span, step, stepped := strings.Cut(part, ":")
		first, last, isRange := strings.Cut(span, "-")
		from, err := strconv.ParseUint(first, 10, 31)
		to, by := from, uint64(1)
		if err == nil && isRange {
			to, err = strconv.ParseUint(last, 10, 31)
		}
		if err == nil && stepped {
			by, err = strconv.ParseUint(step, 10, 31)
		}
		if err != nil || to < from || by == 0 || to-from > maxIndex {
			return nil, fmt.Errorf("%q is not a list of array indexes", s)
		}
		for i := from; i <= to; i += by {
			list = append(list, int(i))
		}
	}
	return list, nil
}

// maxIndex is Slurm's own bound of MaxArraySize.
const maxIndex = 4_000_001
