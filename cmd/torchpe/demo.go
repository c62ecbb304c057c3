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

	"torchpe/report/figure"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// demoPEs lists the encodings of the demo: learned ones with a large, middle and small initial sigma;
// the slowest comes first.
var demoPEs = []string{"learn-1.5", "learn-1.0", "learn-0.2"}

// demoFlags holds the flags of "torchpe demo".
type demoFlags struct {
	out, lst, fidelity string
	epochs, workers    int
	force, quiet       bool
}

func newDemoCommand() *cobra.Command {
	f := demoFlags{epochs: 200, workers: runtime.NumCPU(), fidelity: "code"}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in minutes that learned encodings generalise when they start small",
		Long: `Train three small models (preset quick) that differ only in the initial σ of their learned positional
encoding, as worker processes side by side, each until it has fitted its training puzzles or the epochs
are over. Then print training, IID and validation accuracy and draw them against epoch as OUT/accuracy.pdf and
.png.

The same command continues a demo that was stopped; --force starts anew.`,
		Example: `  torchpe demo
  torchpe demo --lst puzzles --out demo-published`,
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "demo", "directory to write to")
	fl.StringVar(&f.lst, "lst", "", "directory with the published puzzles (generated_puzzle_data_*.csv, "+
		"puzzle_data_original.csv); default: generated")
	fl.Var(bounded{&f.epochs, 1, math.MaxInt}, "epochs", "passes over the training set, at most")
	fl.Var(bounded{&f.workers, 1, math.MaxInt}, "workers", "processes at a time")
	fl.Var(choice{&f.fidelity, readings}, "fidelity", "reading of the paper: code or text")
	fl.BoolVar(&f.force, "force", false, "start anew if there is a demo")
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
	all, curves, err := readDemo(f.out)
	if err != nil {
		return r, err
	}
	if err := drawDemo(f.out, curves); err != nil {
		return r, err
	}
	puzzles := "generated puzzles"
	if f.lst != "" {
		puzzles = "puzzles of " + f.lst
	}
	return result{value: all, print: func(w io.Writer) {
		printMembers(w, config.FindTask("lst"), all)
		fmt.Fprintf(w, "Accuracy, chance 0.25, of models that trained until %s, for %d "+
			"epochs at most; %s.\n", runlog.DefaultCriterion, f.epochs, puzzles)
		isUnfitted := func(m runlog.MemberResult) bool { return m.Fit == nil || !m.Fit.Reached }
		if slices.ContainsFunc(all.Members, isUnfitted) {
			fmt.Fprintln(w, "A model that has not fitted its training puzzles (*) says nothing about generalisation.")
		}
		fmt.Fprintf(w, "Figure: %s and .png (%.0f s in all)\n", filepath.Join(f.out, "accuracy.pdf"),
			time.Since(start).Seconds())
	}}, nil
}

// trainArguments returns the arguments that all workers share.
func (f *demoFlags) trainArguments() ([]string, error) {
	args := []string{"train", "--json", "--preset", "quick", "--device", "cpu", "--threads", "1",
		"--fidelity", f.fidelity, "--epochs", fmt.Sprint(f.epochs), "--until", runlog.DefaultCriterion,
		map[bool]string{true: "--force", false: "--resume"}[f.force], fmt.Sprintf("--quiet=%v", f.quiet)}
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

// trainAll runs one worker process for each encoding, --workers at a time. The first failure stops the
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
	for _, pe := range demoPEs {
		own := slices.Concat(args, []string{"--pe", pe, "--out", filepath.Join(f.out, pe)}) // no worker shares memory
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			cmd := exec.CommandContext(ctx, self, own...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which saves
			cmd.WaitDelay = time.Minute
			return runWorker(cmd, pe, lines)
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
			key  string
		}{{&curves.train, "train"}, {&curves.iid, "iid"}, {&curves.validation, "validation"}} {
			line := figure.LineSeries{Label: label, ColorOf: name, Values: make([][]float64, 1)}
			for _, r := range records {
				line.X, line.Values[0] = append(line.X, float64(r.Epoch)), append(line.Values[0], r.Measures.Get(c.key))
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
