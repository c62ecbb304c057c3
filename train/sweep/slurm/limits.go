package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// limits are the settings of a cluster that matter to arrays.
type limits struct {
	// maxTasks bounds the jobs of one array: MaxArraySize, or max_array_tasks.
	maxTasks int
	// requeues says that the site queues a job again that exits with [ExitRequeue].
	requeues bool
}

// limits asks the controller.
func (c *client) limits(ctx context.Context) (limits, error) {
	out, err := c.call(ctx, "scontrol", "show", "config")
	if err != nil {
		return limits{}, err
	}
	config := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(line, "="); ok {
			config[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	var l limits
	if l.maxTasks, err = strconv.Atoi(config["MaxArraySize"]); err != nil {
		return limits{}, fmt.Errorf("scontrol show config: MaxArraySize is %q, not a number",
			config["MaxArraySize"])
	}
	for _, p := range strings.Split(config["SchedulerParameters"], ",") {
		if text, ok := strings.CutPrefix(p, "max_array_tasks="); ok {
			if n, err := strconv.Atoi(text); err == nil {
				l.maxTasks = min(n, l.maxTasks)
			}
		}
	}
	codes, err := parseRanges(config["RequeueExit"])
	l.requeues = err == nil && slices.Contains(codes, ExitRequeue)
	return l, nil
}

// parseRanges reads a list of numbers as Slurm writes them: 3, 0-3, 5,7-9, 0-8:2, with the throttle
// of an array as in 0-3%2. A list that was cut short is an error.
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
