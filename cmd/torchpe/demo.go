package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

	"torchpe/report"
	"torchpe/report/figure"
	"torchpe/train/runlog"
)

// demoPEs are the encodings that the demo trains: small, middle and large sigma, the true positions, the row-by-row order,
// and none.
var demoPEs = []string{"learn-0.2", "learn-1.0", "learn-2.0", "2d-fixed", "1d-fixed", "nope"}

// demoFlags are the flags of "torchpe demo".
type demoFlags struct {
	out, lst string
	epochs   int
	workers  int
	force    bool
	fidelity string
}

func newDemoCommand() *cobra.Command {
	f := demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in minutes that learned encodings generalise when they start small",
		Long: `Train six small models (preset quick) that differ in their positional encoding alone, as worker processes side by side,
then print a table and draw validation accuracy against epoch as OUT/accuracy.pdf and .png.

A demo that was stopped goes on where it was; --force starts anew.`,
		Example: `  torchpe demo
  torchpe demo --lst puzzles --out demo-published`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.OutOrStdout(), cmd.ErrOrStderr(), f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "demo", "directory to write to")
	fl.StringVar(&f.lst, "lst", "", "directory with the published puzzles (generated_puzzle_data_*.csv, puzzle_data_original.csv); default: generated")
	fl.IntVar(&f.epochs, "epochs", 20, "passes over the training set")
	fl.IntVar(&f.workers, "workers", runtime.NumCPU(), "processes at a time")
	fl.StringVar(&f.fidelity, "fidelity", "code", "reading of the paper: code or text")
	fl.BoolVar(&f.force, "force", false, "start anew where there is a demo")
	return cmd
}

func runDemo(out, progress io.Writer, f demoFlags) error {
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
	rows, curves, err := readDemo(f.out)
	if err != nil {
		return err
	}
	if err := drawDemo(f.out, curves); err != nil {
		return err
	}
	table, err := report.AccuracyTable(rows)
	if err != nil {
		return err
	}
	if err := table.Terminal(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Accuracy, chance 0.25, after %d epochs; %s.\nFigure: %s and .png (%.0f s in all)\n", f.epochs, f.puzzles(),
		filepath.Join(f.out, "accuracy.pdf"), time.Since(start).Seconds())
	return err
}

// puzzles says which puzzles the demo uses.
func (f demoFlags) puzzles() string {
	if f.lst == "" {
		return "generated puzzles"
	}
	return "puzzles of " + f.lst
}

// trainArguments returns what every worker is told, after checking it.
func (f demoFlags) trainArguments() ([]string, error) {
	if f.epochs < 1 || f.workers < 1 {
		return nil, usagef("--epochs %d, --workers %d: both must be at least 1", f.epochs, f.workers)
	}
	args := []string{"train", "--preset", "quick", "--device", "cpu", "--threads", "1", "--fidelity", f.fidelity, "--epochs", fmt.Sprint(f.epochs)}
	if f.force {
		args = append(args, "--force")
	} else {
		args = append(args, "--resume")
	}
	if f.lst == "" {
		return args, nil
	}
	pool, err := filepath.Glob(filepath.Join(f.lst, "generated_puzzle_data_*.csv"))
	if err != nil || len(pool) == 0 {
		return nil, usagef("--lst %s: no generated_puzzle_data_*.csv in it", f.lst)
	}
	validation := filepath.Join(f.lst, "puzzle_data_original.csv")
	if err := absent(validation); err != nil {
		return nil, usagef("--lst: %w", err)
	}
	for _, p := range pool {
		args = append(args, "--lst-train", p)
	}
	return append(args, "--lst-validation", validation), nil
}

// trainAll runs one worker process an encoding, as many at a time as were asked for. The first failure stops the others.
func (f demoFlags) trainAll(ctx context.Context, progress io.Writer, args []string) error {
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

// workerArguments returns what the worker of an encoding is told: a copy, as the workers start at the same time.
func (f demoFlags) workerArguments(args []string, pe string) []string {
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

// readDemo reads the runs back.
func readDemo(dir string) (rows []report.AccuracyRow, curves []figure.Curve, err error) {
	for _, name := range demoPEs {
		r, err := runlog.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		result, err := r.Result()
		if err != nil {
			return nil, nil, err
		}
		records, err := runlog.ReadMetrics[runlog.Record](r)
		if err != nil {
			return nil, nil, err
		}
		m := result.Members[0]
		label := m.PE
		if m.Sigma != nil {
			label = fmt.Sprintf("%s σ=%.1f", m.PE, *m.Sigma)
		}
		by := m.ValidationByCondition
		rows = append(rows, report.AccuracyRow{
			PE: label, Members: len(result.Members), Train: m.TrainAccuracy, IIDTest: m.IIDAccuracy, Validation: m.ValidationAccuracy,
			Vector1: orNaN(by, "Binary"), Vector2: orNaN(by, "Ternary"), Vector3: orNaN(by, "Quaternary"),
		})
		curve := figure.Curve{Label: label, Values: make([][]float64, 1)}
		for _, rec := range records {
			curve.Epochs = append(curve.Epochs, rec.Epoch)
			curve.Values[0] = append(curve.Values[0], rec.ValidationAccuracy)
		}
		curves = append(curves, curve)
	}
	return rows, curves, nil
}

func drawDemo(dir string, curves []figure.Curve) error {
	o := figure.DefaultAccuracyOptions()
	o.Width, o.Height = 5, math.Round(100*5*0.62)/100
	fig, err := figure.AccuracyCurves(curves, o)
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
