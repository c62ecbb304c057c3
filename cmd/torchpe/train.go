package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"torchpe/train"
	"torchpe/train/runlog"
)

// trainFlags are the flags of "torchpe train" that say how to run, not what.
type trainFlags struct {
	config                                 configFlags
	out                                    string
	resume, force, breakLock, json, dryRun bool
	quiet                                  bool
}

func newTrainCommand() *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train one configuration, or several seeds of it at once",
		Long: `Train one configuration and write a run directory.

Defaults come from --preset (lst is the paper's Latin-square experiment; quick shows its effect in a minute) and from
--fidelity: where the paper's text and its published code differ, "code" or "text" chooses, and each difference is also a
flag of its own. What was resolved is stored in OUT/config.json; --config takes such a file.

--members K trains K seeds as one ensemble. --sigma, --lr and --weight-decay take one value, or one a member.

Ctrl-C finishes the step and saves; --resume goes on to the same result, bit for bit, as if nothing had happened.`,
		Example: `  torchpe train --pe learn --sigma 0.2 --preset quick
  torchpe train --pe learn-1.0 --members 3 --preset quick --out runs/three
  torchpe train --pe relative --fidelity text --seed 2235 --out runs/relative
  torchpe train --pe learn --sigma 0.2 --seeds paper --device cuda:0 --out runs/table1-learn-0.2
  torchpe train --resume --out runs/table1-learn-0.2
  torchpe train --task fmri --surrogate subjects=12,frames=1195
  torchpe train --task fmri --data rest/ --modules CortexSubcortex_LabelKey.txt
  torchpe train --task masked --modules sectors.csv --data prices.csv
  torchpe train --task masked --data eeg.csv --positions layout.csv --pe swin`,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.config.add(fl)
	fl.StringVarP(&f.out, "out", "o", "", "run directory (default runs/<task>_<pe>_<fidelity>_seed<N>)")
	fl.BoolVar(&f.resume, "resume", false, "go on with the run in --out; start it where there is none")
	fl.BoolVar(&f.force, "force", false, "replace the run in --out")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the lock that a dead process on another host left")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the resolved configuration and stop")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !fl.Changed("data") {
			return noArguments(cmd, args)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.config.masked.data = append(f.config.masked.data, args...) // what a shell makes of --data *.csv
		return runTrain(cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
	}
	return cmd
}

func runTrain(out, progress io.Writer, f trainFlags) error {
	if f.resume && f.force {
		return usagef("--resume goes on with a run and --force replaces it: give one of them")
	}
	c, notes, err := f.resolve(progress)
	if err != nil {
		return err
	}
	if f.dryRun {
		text, err := c.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", defaultName(c))
	}
	if err := runlog.ValidateName(filepath.Base(dir)); err != nil {
		return usagef("--out %s: %w", dir, err)
	}
	ctx, stopped := untilSignal(progress)
	watch := newProgress(progress, c, f.quiet)
	for _, n := range notes {
		watch.Noticed(n)
	}
	result, err := train.Run(ctx, c, dir, train.Options{
		Resume: f.resume, Force: f.force, BreakLock: f.breakLock, Command: os.Args, Observer: watch, StallAfter: stallAfter,
		Stalled: func(err *train.StalledError) {
			watch.Close()
			fmt.Fprintln(progress, "torchpe: "+err.Error())
			os.Exit(exitFailed)
		},
	})
	watch.Close()
	if errors.Is(err, runlog.ErrComplete) {
		return printFinished(out, dir, f.json)
	}
	var interrupted *train.Interrupted
	if errors.As(err, &interrupted) {
		return interruptedError{code: stopped(), msg: err.Error()}
	}
	if err != nil {
		return err
	}
	return printResult(out, dir, result, f.json)
}

// resolve returns the configuration that the flags ask for: of the run in --out where that is resumed.
func (f trainFlags) resolve(say io.Writer) (train.Config, []string, error) {
	if f.resume && f.out != "" {
		path := filepath.Join(f.out, "config.json")
		if _, err := os.Stat(path); err == nil {
			c, notes, err := f.config.resumed(path)
			if err != nil {
				err = usageError{err}
			}
			return c, notes, err
		}
	}
	c, notes, err := f.config.resolve()
	if err != nil {
		return c, nil, usageError{err}
	}
	return c, notes, f.config.chooseMembers(&c, say)
}

// defaultName is the name of a run's directory below runs/.
func defaultName(c train.Config) string {
	pe := c.PE
	if s := c.Members[0].Sigma; s != nil {
		pe = fmt.Sprintf("%s-%g", pe, *s)
	}
	name := fmt.Sprintf("%s_%s_%s_seed%d", c.Task, pe, c.Fidelity, c.Members[0].Seed)
	if n := len(c.Members); n > 1 {
		name += fmt.Sprintf("_members%d", n)
	}
	return name
}

// untilSignal returns a context that ends with the first SIGINT, SIGTERM, SIGHUP or SIGUSR1, and a function that gives the
// exit code for it. The second signal ends the process at once.
func untilSignal(w io.Writer) (context.Context, func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	go func() {
		c := signalCode(<-signals)
		code <- c
		fmt.Fprintln(w, "torchpe: finishing the step and saving; once more stops at once")
		cancel()
		os.Exit(signalCode(<-signals))
	}()
	return ctx, func() int { return <-code }
}

func signalCode(s os.Signal) int {
	switch s {
	case syscall.SIGTERM, syscall.SIGHUP:
		return exitTerminated
	case syscall.SIGUSR1:
		return exitRequeue
	}
	return exitInterrupted
}

// printFinished prints the result of a run that was complete already.
func printFinished(out io.Writer, dir string, asJSON bool) error {
	r, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	result, err := r.Result()
	if err != nil {
		return err
	}
	return printResult(out, dir, result, asJSON)
}

// printResult prints the final numbers; it fails where every member diverged.
func printResult(out io.Writer, dir string, r runlog.Result, asJSON bool) error {
	var err error
	if asJSON {
		err = printJSON(out, r)
	} else {
		err = printMembers(out, r)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s: %.1f s, %.1f steps/s, %.0f MB\n", dir, r.WallSeconds, r.StepsPerSecond, r.PeakRSSMB)
		}
	}
	if err != nil {
		return err
	}
	var diverged []string
	for _, m := range r.Members {
		if m.Status == runlog.StatusDiverged {
			diverged = append(diverged, fmt.Sprintf("seed %d at step %d", m.Seed, m.DivergedAtStep))
		}
	}
	if len(diverged) == len(r.Members) {
		return fmt.Errorf("%s: every member diverged (%s): lower --lr or set --clip-norm", dir, strings.Join(diverged, ", "))
	}
	return nil
}

// printMembers prints a table with a row a member.
func printMembers(out io.Writer, r runlog.Result) error {
	if r.Baselines != nil {
		return printMasked(out, r)
	}
	head := []string{"PE", "sigma", "seed", "epochs", "train", "IID test", "validation", "1-vector", "2-vector", "3-vector", "status"}
	sizes := sizesOf(r)
	for _, tokens := range sizes {
		head = slices.Insert(head, len(head)-1, "at "+tokens+" tokens")
	}
	var rows [][]string
	for _, m := range r.Members {
		row := []string{m.PE, sigmaText(m.Sigma), fmt.Sprint(m.Seed), fmt.Sprint(m.Epochs)}
		by := m.ValidationByCondition
		for _, a := range []float64{m.TrainAccuracy, m.IIDAccuracy, m.ValidationAccuracy, orNaN(by, "Binary"), orNaN(by, "Ternary"), orNaN(by, "Quaternary")} {
			row = append(row, share(a))
		}
		for _, tokens := range sizes {
			row = append(row, share(orNaN(m.AccuracyByTokens, tokens)))
		}
		rows = append(rows, append(row, m.Status))
	}
	return printTable(out, head, rows)
}

// sizesOf lists the numbers of tokens that some member was evaluated at, smallest first.
func sizesOf(r runlog.Result) []string {
	all := map[string]bool{}
	for _, m := range r.Members {
		for tokens := range m.AccuracyByTokens {
			all[tokens] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

func sigmaText(sigma *float64) string { return numberText("%g", sigma) }

// numberText is a dash where there is no number.
func numberText(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// printMasked prints the errors and network scores of masked prediction, a row a member and a row a baseline.
func printMasked(out io.Writer, r runlog.Result) error {
	levels := slices.Sorted(maps.Keys(r.Baselines["zero"]))
	head := []string{"PE", "sigma", "seed", "steps", "train MSE"}
	for _, level := range levels {
		head = append(head, "test MSE, "+level+" masked")
	}
	var rows [][]string
	errors := func(row []string, by map[string]float64) []string {
		for _, level := range levels {
			text := "–"
			if v, ok := by[level]; ok {
				text = fmt.Sprintf("%.4f", v)
			}
			row = append(row, text)
		}
		return row
	}
	for _, m := range r.Members {
		row := errors([]string{m.PE, sigmaText(m.Sigma), fmt.Sprint(m.Seed), fmt.Sprint(m.Steps), numberText("%.4f", m.TrainMSE)}, m.TestMSEByMask)
		rows = append(rows, append(row, numberText("%.3f", m.Modularity), numberText("%.3f", m.Clustering), m.Status))
	}
	for _, name := range []string{"gaussian", "mean", "zero"} {
		row := errors([]string{"baseline: " + name, "", "", "", ""}, r.Baselines[name])
		rows = append(rows, append(row, "", "", ""))
	}
	return printTable(out, append(head, "modularity", "clustering", "status"), rows)
}
