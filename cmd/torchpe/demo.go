package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"torchpe/data/lst"
	"torchpe/internal/wording"
	"torchpe/report/advice"
	"torchpe/train/config"
)

// The demo trains learned encodings with a large and a small initial σ; the slow ones come first.
const demoLarge, demoSmall = "learn-2.0", "learn-0.2"

// demoUntil ends the training of a model. Some models of a large σ stay below .99 for hundreds of epochs.
const demoUntil = "train=0.95"

// demoSeeds is the number of models of each.
const demoSeeds = 2

// demoFlags holds the flags of "torchpe demo".
type demoFlags struct {
	out, lst, fidelity string
	epochs, workers    int
	force, quiet       bool
}

func newDemoCommand() *cobra.Command {
	f := demoFlags{epochs: advice.DemoEpochs, workers: runtime.NumCPU(), fidelity: "code"}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in minutes that learned encodings generalise when they start small",
		Long: `Train four small models (preset quick, --batch 64), two seeds with a learned positional encoding that
starts at σ = 2 and two that start at 0.2, as worker processes side by side, each until it answers .95
of its training puzzles right or the epochs are over. Then print training, IID and validation accuracy,
say whether the models that start small are right more often on puzzles unlike those of training, and
draw the accuracies against epoch as OUT/accuracy.pdf and .png.

The same command continues a demo that was stopped; --force starts over.`,
		Example: `  torchpe demo
  torchpe demo --lst puzzles --out demo-published`,
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "demo", "directory to write to")
	fl.StringVar(&f.lst, "lst", "", "folder with the published puzzles, or with those of torchpe data lst "+
		"generate; default: generated")
	fl.Var(bounded{&f.epochs, 1, math.MaxInt}, "epochs", "passes over the training set, at most")
	fl.Var(bounded{&f.workers, 1, math.MaxInt}, "workers", "processes at a time")
	fl.Var(choice{&f.fidelity, readings}, "fidelity", "reading of the paper: code or text")
	fl.BoolVar(&f.force, "force", false, "start over if there is a demo")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return leaf(cmd, f.run)
}

func (f *demoFlags) run(c *call) (r result, err error) {
	args, err := f.trainArguments()
	if err != nil {
		return r, err
	}
	start := time.Now()
	ctx, stopped := untilSignal(c.notes)
	if err := f.trainAll(ctx, c.notes, args); err != nil {
		if ctx.Err() != nil {
			err = interruptedError{code: stopped(), msg: "the demo was stopped; the same command continues"}
		}
		return r, err
	}
	var dirs []string
	for _, m := range demoModels() {
		dirs = append(dirs, m.dir(f.out))
	}
	study, err := advice.ReadDemo(dirs)
	if err != nil {
		return r, fmt.Errorf("%s: %w: start over with --force", f.out, err)
	}
	if err := study.Draw(filepath.Join(f.out, "accuracy")); err != nil {
		return r, err
	}
	puzzles := "generated puzzles"
	if f.lst != "" {
		puzzles = "puzzles of " + f.lst
	}
	all := study.Result()
	return result{value: all, print: func(w io.Writer) {
		printMembers(w, config.FindTask("lst"), all)
		fmt.Fprintf(w, "Accuracy, chance 0.25, of models that trained until %s, for %s at most; %s.\n%s\n",
			demoUntil, wording.Count(f.epochs, "epoch"), puzzles, study.Answer())
		fmt.Fprintf(w, "Figure: %s and .png (%.0f s in all)\n", filepath.Join(f.out, "accuracy.pdf"),
			time.Since(start).Seconds())
	}}, nil
}

// trainArguments returns the arguments that all workers share.
func (f *demoFlags) trainArguments() ([]string, error) {
	args := []string{"train", "--json", "--preset", "quick", "--batch", "64", "--device", "cpu", "--threads", "1",
		"--fidelity", f.fidelity, "--epochs", fmt.Sprint(f.epochs), "--until", demoUntil,
		map[bool]string{true: "--force", false: "--resume"}[f.force], fmt.Sprintf("--quiet=%v", f.quiet)}
	if f.lst == "" {
		return args, nil
	}
	if _, _, err := lst.FilesIn(f.lst); err != nil { // before four workers say so
		return nil, usagef("--lst: %w", err)
	}
	return append(args, "--lst", f.lst), nil
}

// demoModel is a model of the demo.
type demoModel struct {
	pe   string
	seed int
}

// demoModels lists the models of the demo.
func demoModels() (all []demoModel) {
	for _, pe := range []string{demoLarge, demoSmall} {
		for seed := range demoSeeds {
			all = append(all, demoModel{pe, 1 + seed})
		}
	}
	return all
}

// dir returns the run directory of the model in the directory of the demo.
func (m demoModel) dir(out string) string {
	return filepath.Join(out, fmt.Sprintf("%s_seed%d", m.pe, m.seed))
}

// trainAll runs one worker process for each model, --workers at a time. The first failure stops the
// others.
func (f *demoFlags) trainAll(ctx context.Context, progress io.Writer, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(f.workers)
	lines := make(chan string)
	printed := make(chan struct{})
	go func() {
		for line := range lines {
			fmt.Fprintln(progress, line)
		}
		close(printed)
	}()
	for _, m := range demoModels() {
		dir := m.dir(f.out)
		own := slices.Concat(args, []string{"--pe", m.pe, "--seed", fmt.Sprint(m.seed), "--out", dir})
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			cmd := exec.CommandContext(ctx, self, own...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which saves
			cmd.WaitDelay = time.Minute
			return runWorker(cmd, filepath.Base(dir), lines)
		})
	}
	err = g.Wait()
	close(lines)
	<-printed
	return err
}

// runWorker runs a worker and passes on its progress. If it fails, its last line is the reason.
func runWorker(cmd *exec.Cmd, name string, lines chan<- string) error {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	last := ""
	for s := bufio.NewScanner(stderr); s.Scan(); {
		last = s.Text()
		lines <- last
	}
	err = cmd.Wait()
	if err == nil {
		return nil
	}
	err = fmt.Errorf("worker %s: %w: %s", name, err, strings.TrimPrefix(last, "torchpe: "))
	if cmd.ProcessState.ExitCode() == exitUsage {
		return usageError{err}
	}
	return err
}
