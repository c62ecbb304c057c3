package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// sweepFlags holds the flags of "torchpe sweep" besides those of "torchpe train".
type sweepFlags struct {
	axes        []*axisFlag // the flags of train, each of which may have several values
	zip         []string
	out         string
	pack        packSize
	dryRun      bool
	noCalibrate bool
	skipInvalid bool
	launch      launchFlags
	stepTimes   map[string]sweep.StepTime // that were measured, by the example of their shape
}

func newSweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [PRESET|FILE]",
		Short: "Train a grid of configurations; resumable",
		Long: `Train a grid of configurations, packed into ensembles and run by worker processes.

The grid is a preset (one behind each figure and table of the paper), a YAML file, or flags alone:
every flag of torchpe train takes several values here, separated by commas, or a range from:to:step,
and all are crossed. Flags replace the values of a preset or a file. --seeds says which
seeds each configuration has; --members K makes it K seeds, counting up from the first.

Every configuration and seed becomes one finished run directory in OUT/runs, as if it had been
trained alone. The same command continues a sweep that was stopped, and trains only what is new
if values were added. Ctrl-C saves and stops.

Presets, with their runs:
` + presetLines(),
		Example: `  torchpe sweep quick --out reproduce && torchpe report reproduce
  torchpe sweep paper --dry-run
  torchpe sweep fig2 --sigma 0.1,1,2 --members 3 --epochs 400 --out fig2
  torchpe sweep --preset quick --pe learn --sigma 0.1:2:0.1 --heads 1,2 --seeds paper --out sigma-by-heads
  torchpe sweep my-sweep.yaml --out my-sweep`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, p := range sweep.Presets() {
				names = append(names, p.Name+"\t"+p.About)
			}
			return completions(names, begun), cobra.ShellCompDirectiveDefault // and files
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "directory of the sweep (default sweeps/<preset or name of the file>)")
	fl.BoolVar(&f.dryRun, "dry-run", false,
		"print the plan with time and disk, or the points that cannot be trained, and stop")
	fl.BoolVar(&f.noCalibrate, "no-calibrate", false, "leave the time out of --dry-run")
	fl.Var(&f.pack, "pack", "configurations that train together as one ensemble: auto, or at most a number")
	fl.StringArrayVar(&f.zip, "zip", nil,
		"flags, separated by commas, whose values advance together; may be given several times")
	fl.BoolVar(&f.skipInvalid, "skip-invalid", false,
		"leave out points that cannot be trained, which --dry-run lists, and name them")
	f.launch.add(fl)
	headFlags(fl, "sweep")
	f.axes = addAxes(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "seeds", "members", "out", "dry-run", "workers",
		"launcher")...)
	cmd.AddCommand(newSweepStatusCommand(), newSweepResumeCommand(), newSweepRetryCommand(),
		newSweepCancelCommand(), newSweepTaskCommand())
	return leaf(cmd, f.run)
}

// presetLines lists the presets for help.
func presetLines() string {
	var b strings.Builder
	for _, p := range sweep.Presets() {
		fmt.Fprintf(&b, "  %-13s %4d  %s\n", p.Name, p.Runs, p.About)
	}
	return b.String()
}

func (f *sweepFlags) run(c *call) (r result, err error) {
	if err := f.launch.check(); err != nil {
		return r, err
	}
	spec, configs, notes, err := f.resolve(c.args)
	if err != nil {
		return r, usageError{err}
	}
	dir := f.out
	if dir == "" && !f.dryRun {
		if spec.Name == "" {
			return r, usagef("--out is missing: name the directory of the sweep")
		}
		dir = filepath.Join("sweeps", spec.Name)
	}
	c.noteAll(notes)
	return f.train(c, dir, spec.Name, configs)
}

// train plans the runs of configurations in dir, and trains what is not done; with --dry-run it
// describes that.
func (f *sweepFlags) train(c *call, dir, name string, configs [][]byte) (r result, err error) {
	if err := f.launch.recall(dir, c.notes); err != nil {
		return r, err
	}
	machine, err := f.launch.machine(configs)
	if err != nil {
		return r, err
	}
	packing := sweep.Packing{Members: int(f.pack), Machine: machine}
	var added sweep.Added
	change := func(p *sweep.Plan) (err error) {
		added, err = p.Add(configs, packing, os.Args)
		return err
	}
	if f.dryRun {
		return f.estimate(c, dir, machine, change)
	}
	s, err := sweep.Extend(dir, name, change)
	if err != nil {
		return r, err
	}
	defer s.Close()
	fmt.Fprintf(c.progress(), "%s: %s in %s (%s)\n", dir, wording.Count(s.Plan.Runs(), "run"),
		wording.Count(len(s.Plan.Tasks), "task"), added)
	return f.launch.launch(c, s)
}

// hasOnly returns an error where the plan in --out has runs of other configurations than these.
func (f *sweepFlags) hasOnly(plan *sweep.Plan, configs [][]byte) error {
	added, err := plan.Add(configs, sweep.Packing{Members: 1}, nil)
	if err == nil && plan.Runs() > added.New+added.Known {
		err = fmt.Errorf("%s has runs of other settings, encodings or seeds: give another --out", f.out)
	}
	return err
}

// resolve returns the sweep that the arguments ask for, its configurations, and notes.
func (f *sweepFlags) resolve(args []string) (spec sweep.Spec, configs [][]byte, notes []string, err error) {
	if spec, err = f.spec(args); err != nil {
		return spec, nil, nil, err
	}
	points, err := spec.Points()
	if err != nil {
		return spec, nil, nil, withRepeated(err, f.axes)
	}
	configs, notes, err = f.valid(points)
	return spec, configs, notes, err
}

// valid returns the configurations of points. An error lists those that cannot be trained, unless they are
// to be left out, which notes say.
func (f *sweepFlags) valid(points []sweep.Point) (configs [][]byte, notes []string, err error) {
	configs, notes, err = sweep.Resolve(points, resolveArguments)
	invalid := &sweep.Invalid{}
	errors.As(err, &invalid)
	if f.skipInvalid || f.dryRun && !f.noCalibrate {
		note := func(text string) { notes = append(notes, text) }
		unsuited, err := train.CheckModels(configs, "", note)
		if err != nil {
			return nil, nil, err
		}
		for i, reason := range unsuited {
			if reason != nil {
				invalid.Add(points[i], reason)
				configs[i] = nil
			}
		}
	}
	if err := invalid.Err(); err != nil && !f.skipInvalid {
		return nil, nil, fmt.Errorf("%w\n--skip-invalid leaves out such points", err)
	}
	for _, line := range invalid.Lines() {
		notes = append(notes, "left out: "+line)
	}
	configs = slices.DeleteFunc(configs, func(text []byte) bool { return text == nil })
	if len(configs) == 0 {
		return nil, nil, fmt.Errorf("nothing to train: %w", invalid.Err())
	}
	return configs, notes, nil
}
