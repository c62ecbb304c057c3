package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/advice"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// demoFlags holds the flags of "torchpe demo", a sweep of the preset demo.
type demoFlags struct {
	sweepFlags
	lst, fidelity string
	epochs        int
}

func newDemoCommand() *cobra.Command {
	f := demoFlags{sweepFlags: sweepFlags{to: destination{path: "demo", force: true}, pack: 1}, fidelity: "code",
		epochs: demoEpochs()}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in minutes that learned encodings generalize when they start small",
		Long: `Train four small models side by side, two seeds with a learned positional encoding that starts at
σ = 2 and two that start at 0.2, each until it solves .95 of its training puzzles or the epochs are
over. Then print training, IID and validation accuracy, say whether the models that start small solve
more puzzles unlike those of training, and draw the accuracies against epoch as OUT/accuracy.pdf and
.png.

OUT is an ordinary sweep of the preset demo: torchpe sweep status OUT shows its progress. The same
command continues a stopped demo.`,
		Example: `  torchpe demo
  torchpe demo --lst puzzles --out demo-published`,
	}
	fl := cmd.Flags()
	f.to.add(cmd, "directory to write to")
	fl.StringVar(&f.lst, "lst", "", "folder with the published puzzles, or those of torchpe data lst "+
		"generate (default: generated here)")
	fl.Var(bounded{&f.epochs, 1, math.MaxInt}, "epochs", "maximum passes over the training set")
	fl.Var(choice{&f.fidelity, readings}, "fidelity", "reading of the paper: code or text")
	f.launch.addLocal(fl)
	f.launch.failFast, f.launch.says = true, true
	return leaf(cmd, f.run)
}

func demoPreset() sweep.Spec {
	preset, err := sweep.FindPreset("demo")
	if err != nil {
		panic(err) // presets are constants of this program
	}
	return preset.Spec
}

// demoEpochs returns the default number of epochs of a demo.
func demoEpochs() int {
	axes := demoPreset().Parts[0].Axes
	at := slices.IndexFunc(axes, func(a sweep.Axis) bool { return a.Flag == "epochs" })
	n, _ := strconv.Atoi(axes[at].Values[0]) // never fails: the preset has a number
	return n
}

func (f *demoFlags) run(c *call) (r result, err error) {
	configs, err := f.configs()
	if err != nil {
		return r, usageError{err}
	}
	start := time.Now()
	if r, err = f.train(c, f.to.path, "demo", configs); err != nil || r.err != nil {
		return r, err
	}
	study, err := advice.ReadDemo(f.to.file("runs"))
	if err != nil {
		return r, err
	}
	if err := study.Draw(f.to.file("accuracy")); err != nil {
		return r, err
	}
	puzzles := "generated puzzles"
	if f.lst != "" {
		puzzles = "puzzles of " + f.lst
	}
	all := study.Result()
	return result{value: all, print: func(w io.Writer) {
		printMembers(w, config.FindTask("lst"), all)
		fmt.Fprintf(w, "Accuracy (chance 0.25) of models trained until %s, for at most %s; %s.\n%s\n",
			all.Members[0].Fit.Criterion, wording.Count(f.epochs, "epoch"), puzzles, study.Answer(demoEpochs()))
		fmt.Fprintf(w, "Figure: %s and .png (%.0f s in total)\n", f.to.file("accuracy.pdf"),
			time.Since(start).Seconds())
	}}, nil
}

// configs returns the configurations to train. It returns an error if the sweep in OUT has other runs.
func (f *demoFlags) configs() ([][]byte, error) {
	axes := []sweep.Axis{{Flag: "fidelity", Values: []string{f.fidelity}},
		{Flag: "epochs", Values: []string{strconv.Itoa(f.epochs)}}}
	if f.lst != "" {
		axes = append(axes, sweep.Axis{Flag: "lst", Values: []string{f.lst}})
	}
	points, err := demoPreset().Set(axes).Points()
	if err != nil {
		return nil, err
	}
	configs, _, err := sweep.Resolve(points, resolveArguments)
	if err != nil {
		return nil, err
	}
	plan, _, err := sweep.PlanIn(f.to.path)
	if err != nil {
		return nil, err
	}
	return configs, f.hasOnly(plan, configs)
}
