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

// onSweep returns a call that opens the sweep of the argument for run.
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
		Short: "Say what is done, running, failed, lost or pending, from the folders alone",
		Long: `Say what is done, running, failed, lost or pending, from the folders alone.

A task is lost if its worker died without a message; torchpe sweep resume continues it.`,
		Example: `  torchpe sweep status my-sweep --watch
  torchpe sweep status my-sweep --json`,
	}
	watch := cmd.Flags().Bool("watch", false, "print it again every two seconds, until all tasks have ended or Ctrl-C")
	leaf(cmd, onSweep(func(c *call, s *sweep.Sweep) (r result, err error) {
		if *watch {
			return r, c.watchSweep()
		}
		st, err := statusOf(s, c.notes)
		return result{value: st, print: func(w io.Writer) { printStatus(w, st) }}, err
	}))
	cmd.MarkFlagsMutuallyExclusive("json", "watch")
	return cmd
}

// watchSweep prints the status again and again until nothing runs or waits, on a terminal in place.
func (c *call) watchSweep() error {
	for {
		s, err := sweep.Open(c.args[0]) // anew: values may have been added
		if err != nil {
			return err
		}
		st, err := statusOf(s, c.notes)
		_ = s.Close()
		if err != nil {
			return err
		}
		if file, ok := fileOf(c.out); ok && onTerminal(c.out) {
			fmt.Fprint(file, "\x1b[H\x1b[2J")
		}
		printStatus(c.out, st)
		if st.Settled() || isBroken(c.out) {
			return nil
		}
		time.Sleep(2 * time.Second)
	}
}

// open prepares to continue a sweep, with the flags of its last launch.
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
		Short: "Try failed tasks again, and take tasks over from hosts that died",
		Long: `Try failed tasks again (--failed), from their last checkpoint, or from their start with
--fresh; take over tasks of workers on other hosts that fell silent (--lost). Finished
tasks are not repeated, nor are runs that diverged: they would diverge again.`,
	}
	fl := cmd.Flags()
	failed := fl.Bool("failed", false, "tasks that failed")
	fl.BoolVar(&f.takeLost, "lost", false, "tasks whose worker on another host is dead")
	fresh := fl.Bool("fresh", false, "from their first step")
	f.add(fl)
	cmd.MarkFlagsOneRequired("failed", "lost")
	return leaf(cmd, onSweep(func(c *call, s *sweep.Sweep) (r result, err error) {
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
		Long: `Ask all workers, on any host, to save and stop; they do so within seconds. torchpe
sweep resume continues.`,
	}, onSweep(func(_ *call, s *sweep.Sweep) (result, error) {
		return result{print: printf("%s: workers save and stop; torchpe sweep resume %s continues\n", s.Dir,
				wording.Quote(s.Dir))},
			errors.Join(s.Cancel(), slurm.Cancel(context.Background(), s))
	}))
}
