package main

import (
	"fmt"
	"io"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/sweep"
)

// printOutcome prints the counts, and the tasks and runs that did not end well.
func printOutcome(out io.Writer, s *sweep.Sweep, st sweep.Status) {
	fmt.Fprintln(out, st)
	printTroubles(out, st)
	if st.DoneRuns > 0 {
		fmt.Fprintf(out, "Runs: %s. torchpe runs list %[2]s lists them, torchpe report %[2]s makes the figures.\n",
			s.RunDir(""), wording.Quote(s.Dir))
	}
}

// printStatus prints the counts, the running tasks, and those that did not end well.
func printStatus(out io.Writer, st sweep.Status) {
	fmt.Fprintln(out, st)
	var rows [][]string
	for _, t := range st.Tasks {
		b := t.Heartbeat
		if t.State != sweep.StateRunning || b == nil {
			continue
		}
		row := []string{fmt.Sprint(t.Index), wording.List(1, t.Runs), fmt.Sprintf("pid %d on %s", b.PID, b.Host),
			"starting", "", max(0, time.Since(b.Time)).Round(time.Second).String() + " ago"}
		if b.Total > 0 {
			row[3] = fmt.Sprintf("%d/%d", b.Step, b.Total)
		}
		if left, ok := b.Left(); ok {
			row[4] = wording.Seconds(left)
		}
		rows = append(rows, row)
	}
	if rows != nil {
		printTable(out, []string{"task", "running", "worker", "step", "left", "last sign"}, rows)
	}
	printTroubles(out, st)
}

// printTroubles prints the tasks and runs that did not end well.
func printTroubles(out io.Writer, st sweep.Status) {
	troubles := st.Troubles()
	if len(troubles) == 0 {
		return
	}
	const most = 20
	var rows [][]string
	for _, t := range troubles[:min(most, len(troubles))] {
		rows = append(rows, []string{fmt.Sprint(t.Task), t.Run, t.Reason, t.FirstLine(), t.Log})
	}
	printTable(out, []string{"task", "run", "reason", "what happened", "log"}, rows)
	if n := len(troubles); n > most {
		fmt.Fprintf(out, "and %d more: torchpe sweep status --json %s lists all\n", n-most, wording.Quote(st.Dir))
	}
}
