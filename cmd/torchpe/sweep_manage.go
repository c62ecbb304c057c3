package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

func newSweepStatusCommand() *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Say what is done, running, failed, lost or pending, from the folders alone",
		Long: `Say what is done, running, failed, lost or pending, from the folders alone.

A task is lost when its worker died without a word; torchpe sweep resume goes on with it.`,
		Example: `  torchpe sweep status my-sweep --watch
  torchpe sweep status my-sweep --json`,
		Args: oneFolder("a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openSweep(args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if watch {
				return watchSweep(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
			}
			st, err := statusOf(s, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			summarise(s, st, cmd.ErrOrStderr())
			if asJSON {
				return printJSON(cmd.OutOrStdout(), st)
			}
			printStatus(cmd.OutOrStdout(), st)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "show it anew every two seconds, until all is settled or Ctrl-C")
	return cmd
}

// summarise writes summary.csv anew: no launcher waits for tasks that a scheduler runs. Where it
// cannot be written it prints that, and is no error.
func summarise(s *sweep.Sweep, st sweep.Status, progress io.Writer) {
	if err := s.WriteSummary(st); err != nil {
		fmt.Fprintf(progress, "torchpe: summary.csv stays as it is: %v\n", err)
	}
}

// printStatus prints the counts, the running tasks, and those that did not end well.
func printStatus(out io.Writer, st sweep.Status) {
	fmt.Fprintln(out, countsLine(st))
	var rows [][]string
	for _, t := range st.Tasks {
		if t.State != sweep.StateRunning || t.Heartbeat == nil {
			continue
		}
		b := t.Heartbeat
		row := []string{fmt.Sprint(t.Index), t.Runs[0] + moreText(len(t.Runs)-1),
			fmt.Sprintf("pid %d on %s", b.PID, b.Host), "starting", "", ""}
		if b.Total > 0 {
			row[3] = fmt.Sprintf("%d/%d", b.Step, b.Total)
		}
		if left, ok := b.Left(); ok {
			row[4] = timeText(left)
		}
		row[5] = max(0, time.Since(b.Time)).Round(time.Second).String() + " ago"
		rows = append(rows, row)
	}
	if rows != nil {
		printTable(out, []string{"task", "running", "worker", "step", "left",
			"last sign"}, rows)
	}
	printTroubles(out, st)
}

// watchSweep shows the status anew until nothing runs or pends, on a terminal in place.
func watchSweep(out, progress io.Writer, dir string) error {
	file, ok := fileOf(out)
	terminal := ok && term.IsTerminal(int(file.Fd()))
	for {
		s, err := openSweep(dir) // anew: values may have been added
		if err != nil {
			return err
		}
		st, err := statusOf(s, progress)
		settled := err == nil &&
			st.Counts[sweep.StateRunning]+st.Counts[sweep.StatePending]+st.Counts[sweep.StateLost] == 0
		if settled {
			summarise(s, st, progress)
		}
		_ = s.Close()
		if err != nil {
			return err
		}
		if terminal {
			fmt.Fprint(file, "\x1b[H\x1b[2J")
		}
		printStatus(out, st)
		if settled || isBroken(out) {
			return nil
		}
		time.Sleep(2 * time.Second)
	}
}

// open opens a sweep to go on with, with the flags of its last launch.
func (f *launchFlags) open(dir string, progress io.Writer) (*sweep.Sweep, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	s, err := openSweep(dir)
	if err != nil {
		return nil, err
	}
	if err := f.recall(s.Dir, progress); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newSweepResumeCommand() *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with what is pending or lost",
		Args:  oneFolder("a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.open(args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer s.Close()
			return f.launchAll(cmd.OutOrStdout(), cmd.ErrOrStderr(), s)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func newSweepRetryCommand() *cobra.Command {
	var f launchFlags
	var failed, fresh bool
	cmd := &cobra.Command{
		Use:   "retry DIR",
		Short: "Try failed tasks again, and take tasks over from hosts that died",
		Long: `Try failed tasks again (--failed), from their last checkpoint, or from their start with
--fresh; take over tasks of workers on other hosts that fell silent (--lost). On Slurm, tasks that
were given up are submitted again. What is done is not done again, nor are runs that diverged: they
would diverge again.`,
		Args: oneFolder("a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !failed && !f.takeLost {
				return usagef("%s: give --failed, --lost or both", cmd.CommandPath())
			}
			s, err := f.open(args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer s.Close()
			if failed {
				if err := s.ClearFailures(fresh); err != nil {
					return err
				}
			}
			if err := slurm.ExcuseSweep(s); err != nil {
				return err
			}
			return f.launchAll(cmd.OutOrStdout(), cmd.ErrOrStderr(), s)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&failed, "failed", false, "tasks that failed")
	fl.BoolVar(&f.takeLost, "lost", false, "tasks whose worker on another host is dead")
	fl.BoolVar(&fresh, "fresh", false, "from their first step")
	f.add(fl)
	return cmd
}

func newSweepCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel DIR",
		Short: "Ask all workers, wherever they run, to save and stop",
		Long: `Ask all workers, wherever they run, to save and stop; they do so within seconds. torchpe
sweep resume goes on.`,
		Args: oneFolder("a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openSweep(args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			if err := errors.Join(s.Cancel(), slurm.CancelSweep(context.Background(), s)); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: workers save and stop; torchpe sweep resume goes on\n", s.Dir)
			return nil
		},
	}
}
