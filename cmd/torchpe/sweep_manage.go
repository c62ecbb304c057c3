package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// onSweep returns a function that opens the sweep in the argument and calls run with it.
func onSweep(run func(*call, *sweep.Sweep) (result, error)) func(*call) (result, error) {
	return func(c *call) (r result, err error) {
		s, err := sweep.Open(c.args[0])
		if err != nil {
			return r, err
		}
		defer s.Close()
		return run(c, s)
	}
}

func newSweepStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Show which tasks are done, running, failed, lost or pending",
		Long: `Show which tasks are done, running, failed, lost or pending, by the files in DIR. If tasks were
submitted to Slurm, squeue shows which of them wait.

A task is lost if its worker died without a message. torchpe sweep resume continues it, or, if the
worker was on another host, torchpe sweep retry --lost. "watch torchpe sweep status DIR" repeats the
output.`,
		Example: `  torchpe sweep status my-sweep
  torchpe sweep status my-sweep --json`,
	}
	return leaf(cmd, onSweep(func(c *call, s *sweep.Sweep) (r result, err error) {
		st, err := statusOf(s, c.notes)
		return result{value: st, print: func(w io.Writer) { printStatus(w, st) }}, err
	}))
}

// open prepares to continue a sweep with the flags of its last launch.
func (f *launchFlags) open(c *call, s *sweep.Sweep) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.recall(s.Dir, c.notes)
}

func newSweepResumeCommand() *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue pending and lost tasks",
	}
	f.add(cmd.Flags())
	return leaf(cmd, onSweep(func(c *call, s *sweep.Sweep) (r result, err error) {
		if err := f.open(c, s); err != nil {
			return r, err
		}
		return f.launch(c, s)
	}))
}

func newSweepRetryCommand() *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "retry DIR",
		Short: "Retry failed tasks, and take over tasks from dead hosts",
		Long: `Retry failed tasks (--failed), from their last checkpoint or, with --fresh, from their start; take
over tasks of workers on other hosts whose heartbeat stopped (--lost). Finished tasks are not repeated, nor
are runs that diverged: they would diverge again.`,
	}
	fl := cmd.Flags()
	failed := fl.Bool("failed", false, "tasks that failed")
	fl.BoolVar(&f.takeLost, "lost", false, "tasks of workers on other hosts whose heartbeat stopped")
	fresh := fl.Bool("fresh", false, "restart from the first step")
	f.add(fl)
	return leaf(cmd, onSweep(func(c *call, s *sweep.Sweep) (r result, err error) {
		if !*failed && !f.takeLost {
			return r, usagef("missing: --failed or --lost")
		}
		if *fresh && !*failed {
			return r, usagef("--fresh has no effect without --failed")
		}
		if err := f.open(c, s); err != nil {
			return r, err
		}
		if *failed {
			if err := s.ClearFailures(*fresh); err != nil {
				return r, err
			}
		}
		return f.launch(c, s)
	}))
}

func newSweepCancelCommand() *cobra.Command {
	return action(&cobra.Command{
		Use:   "cancel DIR",
		Short: "Ask all workers, on any host, to save and stop",
		Long: `Ask all workers, on any host, to save and stop, which takes seconds. torchpe sweep resume
continues.`,
	}, onSweep(func(_ *call, s *sweep.Sweep) (r result, err error) {
		st, err := s.Status(nil)
		if err != nil {
			return r, err
		}
		says := "nothing was running: all tasks have ended"
		if st.Counts[sweep.StateDone]+st.Counts[sweep.StateFailed] < len(st.Tasks) {
			says, err = "workers save and stop; torchpe sweep resume "+wording.Quote(s.Dir)+" continues", s.Cancel()
		}
		r.print = printf("%s: %s\n", s.Dir, says)
		return r, errors.Join(err, slurm.Cancel(context.Background(), s))
	}))
}

// printOutcome prints the counts, and the failed tasks and runs.
func printOutcome(out io.Writer, s *sweep.Sweep, st sweep.Status) {
	fmt.Fprintln(out, st)
	printTroubles(out, st)
	if st.DoneRuns > 0 {
		fmt.Fprintf(out, "Runs: %s. torchpe runs list %[2]s lists them, torchpe report %[2]s makes the figures.\n",
			s.RunDir(""), wording.Quote(s.Dir))
	}
}

// printStatus prints the counts, the running tasks, and the failed tasks and runs.
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
		printTable(out, []string{"task", "running", "worker", "step", "left", "last heartbeat"}, rows)
	}
	printTroubles(out, st)
}

// printTroubles prints the failed tasks and runs.
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
