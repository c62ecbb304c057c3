package slurm

import (
	"fmt"
	"strings"

	"torchpe/internal/wording"
)

// String says in lines what became of tasks that were to be submitted.
func (r Report) String() string {
	var b strings.Builder
	say := func(n int, before, after string) {
		if n > 0 {
			fmt.Fprintf(&b, "%s%s %s\n", before, wording.Count(n, "task"), after)
		}
	}
	n, ids := 0, []string(nil)
	for _, j := range r.Jobs {
		n, ids = n+len(j.Tasks), append(ids, fmt.Sprint(j.ID))
	}
	say(n, "submitted ", "to Slurm, job "+strings.Join(ids, ", "))
	say(len(r.Waiting), "", "in the queue or running already")
	say(len(r.Held), "", "held in the queue: scontrol release lets them start")
	say(len(r.Left), "", "not submitted")
	return b.String()
}
