package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"torchpe/report/figure"
	"torchpe/train/runlog"
)

// demoPEs lists the encodings that the demo trains: learned ones that start large, middle and small;
// the one that takes longest comes first.
var demoPEs = []string{"learn-1.5", "learn-1.0", "learn-0.2"}

// demoFlags holds the flags of "torchpe demo".
type demoFlags struct {
	out, lst string
	epochs   int
	workers  int
	force    bool
	fidelity string
	json     *bool
	quiet    bool
}

func newDemoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in minutes that learned encodings generalise when they start small",
		Long: `Train three small models (preset quick) that differ only in the σ with which their learned positional
encoding starts, as worker processes side by side, each until it has fitted its training puzzles or the epochs
are over. Then print training, IID and validation accuracy and draw them against epoch as OUT/accuracy.pdf and
.png.

A demo that was stopped goes on where it was; --force starts anew.`,
		Example: `  torchpe demo
  torchpe demo --lst puzzles --out demo-published`,
		Args: noArguments,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "demo", "directory to write to")
	fl.StringVar(&f.lst, "lst", "",
		"directory with the published puzzles (generated_puzzle_data_*.csv, puzzle_data_original.csv); "+
			"default: generated")
	fl.IntVar(&f.epochs, "epochs", 200, "passes over the training set, at most")
	fl.IntVar(&f.workers, "workers", runtime.NumCPU(), "processes at a time")
	fl.StringVar(&f.fidelity, "fidelity", "code", "reading of the paper: code or text")
	fl.BoolVar(&f.force, "force", false, "start anew where there is a demo")
	f.json = jsonFlag(cmd)
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command, _ []string) error {
	out, progress := cmd.OutOrStdout(), cmd.ErrOrStderr()
	args, err := f.trainArguments()
	if err != nil {
		return err
	}
	start := time.Now()
	ctx, stopped := untilSignal(progress)
	if err := f.trainAll(ctx, progress, args); err != nil {
		if ctx.Err() != nil {
			return interruptedError{code: stopped(), msg: "the demo was stopped; the same command goes on"}
		}
		return err
	}
	all, curves, err := readDemo(f.out)
	if err != nil {
		return err
	}
	if err := drawDemo(f.out, curves); err != nil {
		return err
	}
	if *f.json {
		return printJSON(out, all)
	}
	printMembers(out, all)
	fmt.Fprintf(out, "Accuracy, chance 0.25, of models that trained until %s, for %d "+
		"epochs at most; %s.\n", runlog.DefaultCriterion, f.epochs, f.puzzles())
	if slices.ContainsFunc(all.Members,
		func(m runlog.MemberResult) bool { return m.Fit == nil || !m.Fit.Reached }) {
		fmt.Fprintln(out, "One that has not fitted its training puzzles (*) says nothing about generalisation.")
	}
	fmt.Fprintf(out, "Figure: %s and .png (%.0f s in all)\n",
		filepath.Join(f.out, "accuracy.pdf"), time.Since(start).Seconds())
	return nil
}

// puzzles says which puzzles the demo uses.
func (f *demoFlags) puzzles() string {
	if f.lst == "" {
		return "generated puzzles"
	}
	return "puzzles of " + f.lst
}

// trainArguments returns the arguments that all workers share, after checking them.
func (f *demoFlags) trainArguments() ([]string, error) {
	if f.epochs < 1 || f.workers < 1 {
		return nil, usagef("--epochs %d, --workers %d: both must be at least 1", f.epochs, f.workers)
	}
	args := []string{"train", "--preset", "quick", "--device", "cpu", "--threads", "1",
		"--fidelity", f.fidelity, "--epochs", fmt.Sprint(f.epochs),
		"--until", runlog.DefaultCriterion}
	if f.force {
		args = append(args, "--force")
	} else {
		args = append(args, "--resume")
	}
	if f.quiet {
		args = append(args, "--quiet")
	}
	if f.lst == "" {
		return args, nil
	}
	pool, err := filepath.Glob(filepath.Join(f.lst, "generated_puzzle_data_*.csv"))
	if err != nil || len(pool) == 0 {
		return nil, usagef("--lst %s: no generated_puzzle_data_*.csv in it", f.lst)
	}
	validation := filepath.Join(f.lst, "puzzle_data_original.csv")
	if _, err := os.Stat(validation); err != nil {
		return nil, usagef("--lst: %w", err)
	}
	for _, p := range pool {
		args = append(args, "--lst-train", p)
	}
	return append(args, "--lst-validation", validation), nil
}

// trainAll runs one worker process an encoding, as many at a time as were asked for. The first
// failure stops the others.
func (f *demoFlags) trainAll(ctx context.Context, progress io.Writer, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(f.workers)
	lines := &lineWriter{w: progress}
	for _, pe := range demoPEs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			cmd := exec.CommandContext(ctx, self, f.workerArguments(args, pe)...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which saves
			cmd.WaitDelay = time.Minute
			return runWorker(cmd, pe, lines)
		})
	}
	return g.Wait()
}

// workerArguments returns the arguments of the worker of an encoding: a copy, as the workers start at
// the same time.
func (f *demoFlags) workerArguments(args []string, pe string) []string {
	return slices.Concat(args, []string{"--pe", pe, "--out", filepath.Join(f.out, pe), "--json"})
}

// runWorker runs a worker and copies its progress; its last line is the reason where it fails.
func runWorker(cmd *exec.Cmd, name string, lines *lineWriter) error {
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
		lines.println(last)
	}
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
			return usagef("%s: %s", name, strings.TrimPrefix(last, "torchpe: "))
		}
		return fmt.Errorf("worker %s: %w: %s", name, err, strings.TrimPrefix(last, "torchpe: "))
	}
	return nil
}

// lineWriter writes whole lines of several workers.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) println(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, s)
}

// demoCurves holds the lines of the demo's figure: training, IID test and validation accuracy of each
// model.
type demoCurves struct{ train, iid, validation []figure.LineSeries }

// readDemo reads the runs back.
func readDemo(dir string) (all runlog.Result, curves demoCurves, err error) {
	for _, name := range demoPEs {
		r, err := runlog.Open(filepath.Join(dir, name))
		if err != nil {
			return all, curves, err
		}
		defer r.Close()
		result, err := r.Result()
		if err != nil {
			return all, curves, err
		}
		records, err := runlog.ReadMetrics[runlog.Record](r)
		if err != nil {
			return all, curves, err
		}
		all.Members = append(all.Members, result.Members[0])
		label := name
		if f := result.Members[0].Fit; f == nil || !f.Reached {
			label += "*"
		}
		for _, c := range []struct {
			into *[]figure.LineSeries
			of   func(runlog.Record) float64
		}{
			{&curves.train, func(r runlog.Record) float64 { return r.TrainAccuracy }},
			{&curves.iid, func(r runlog.Record) float64 { return r.IIDAccuracy }},
			{&curves.validation, func(r runlog.Record) float64 { return r.ValidationAccuracy }},
		} {
			line := figure.LineSeries{Label: label, ColorOf: name, Values: make([][]float64, 1)}
			for _, r := range records {
				line.X, line.Values[0] = append(line.X, float64(r.Epoch)), append(line.Values[0], c.of(r))
			}
			*c.into = append(*c.into, line)
		}
	}
	return all, curves, nil
}

func drawDemo(dir string, curves demoCurves) error {
	row := figure.Row{Height: 2.2}
	for _, p := range []struct {
		title  string
		series []figure.LineSeries
	}{{"Training puzzles", curves.train}, {"Held-out puzzles of their kind",
		curves.iid}, {"Puzzles unlike them", curves.validation}} {
		row.Cells = append(row.Cells, figure.Cell{Panel: figure.Lines{
			Title: p.title, XLabel: "Epoch", YLabel: "Accuracy", Series: p.series, YMin: 0, YMax: 1, NoMembers: true,
			References: []figure.Reference{{Label: "chance", Y: 0.25}},
		}})
	}
	fig, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{row}})
	if err != nil {
		return err
	}
	for _, ext := range []string{".pdf", ".png"} {
		if err := fig.Save(filepath.Join(dir, "accuracy"+ext), ""); err != nil {
			return err
		}
	}
	return nil
}
