package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// sweepFlags holds the flags of "torchpe sweep" besides those of "torchpe train".
type sweepFlags struct {
	axes        []*axisFlag // the flags of train, each with one or more values
	zip         []string
	to          destination
	pack        int // maximum members of a task; 0 = auto
	dryRun      bool
	noCalibrate bool
	skipInvalid bool
	launch      launchFlags
	stepTimes   map[string]sweep.StepTime // measured, by an example of the shape
}

func newSweepCommand() *cobra.Command {
	f := sweepFlags{to: destination{force: true}}
	cmd := &cobra.Command{
		Use:   "sweep [PRESET|FILE]",
		Short: "Train a grid of configurations; resumable",
		Long: `Train a grid of configurations, packed into ensembles and run by worker processes.

The grid is a preset (one behind each figure and table of the paper), a YAML file, or only flags: every
flag of torchpe train takes several values here, separated by commas, or a range from:to:step, and all
are crossed. Flags replace the values of a preset or a file. --seeds sets the seeds of each
configuration; --members K makes it K seeds, counting up from the first.

Every configuration and seed becomes one finished run directory in OUT/runs, as if it had been trained
alone. The same command continues a stopped sweep, and trains only what is new if values were added.
Ctrl-C saves and stops.

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
			return completions(names, begun), cobra.ShellCompDirectiveDefault // also files
		},
	}
	fl := cmd.Flags()
	f.to.add(cmd, "directory of the sweep (default sweeps/<preset or name of the file>)")
	fl.BoolVar(&f.dryRun, "dry-run", false,
		"print the plan with time and disk, or the points that cannot be trained, and stop")
	fl.BoolVar(&f.noCalibrate, "no-calibrate", false, "estimate no time in --dry-run")
	fl.Var(orAuto{bounded{&f.pack, 1, maxMembers}}, "pack",
		"configurations trained together as one ensemble: auto, or a maximum")
	fl.StringArrayVar(&f.zip, "zip", nil,
		"flags, separated by commas, whose values advance together; may be given several times")
	fl.BoolVar(&f.skipInvalid, "skip-invalid", false,
		"leave out points that cannot be trained, and name them (--dry-run lists them)")
	f.launch.add(fl)
	headFlags(fl, "sweep")
	f.axes = addAxes(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "seeds", "members", "out", "dry-run", "workers",
		"launcher")...)
	cmd.AddCommand(newSweepStatusCommand(), newSweepResumeCommand(), newSweepRetryCommand(),
		newSweepCancelCommand(), newSweepTaskCommand())
	return leaf(cmd, f.run)
}

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
	dir := f.to.path
	switch {
	case dir == "" && spec.Name != "":
		dir = filepath.Join("sweeps", spec.Name)
	case dir == "" && !f.dryRun:
		return r, usagef("--out is missing: name the directory of the sweep")
	}
	c.noteAll(notes)
	if f.noCalibrate && !f.dryRun {
		c.note("--no-calibrate has no effect without --dry-run")
	}
	return f.train(c, dir, spec.Name, configs)
}

// train plans the runs of configurations in dir, and trains the unfinished ones. With --dry-run it only
// describes them.
func (f *sweepFlags) train(c *call, dir, name string, configs [][]byte) (r result, err error) {
	if err := f.launch.recall(dir, c.notes); err != nil {
		return r, err
	}
	machine, err := f.launch.machine(configs)
	if err != nil {
		return r, err
	}
	packing := sweep.Packing{Members: f.pack, Machine: machine}
	var added sweep.Added
	change := func(p *sweep.Plan) (err error) {
		added, err = p.Add(configs, packing, os.Args)
		isLarger := func(t sweep.Task) bool { return len(t.Runs) > f.pack }
		if f.pack > 0 && slices.ContainsFunc(p.Tasks, isLarger) {
			c.note("--pack has no effect on runs planned before: give another --out")
		}
		return err
	}
	if f.dryRun {
		return f.estimate(c, dir, machine, change)
	}
	if f.launch.launcher == "slurm" {
		if err := slurm.Installed(); err != nil { // before a plan is written
			return r, err
		}
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

// hasOnly returns an error if the plan in --out has runs of configurations other than these.
func (f *sweepFlags) hasOnly(plan *sweep.Plan, configs [][]byte) error {
	added, err := plan.Add(configs, sweep.Packing{Members: 1}, nil)
	if err == nil && plan.Runs() > added.New+added.Known {
		err = fmt.Errorf("%s has runs of other settings, encodings or seeds: give another --out", f.to.path)
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
		return spec, nil, nil, err
	}
	configs, notes, err = f.valid(points)
	for _, a := range f.axes {
		if !a.isWhole() && len(a.given) == 1 && zeroComma.MatchString(a.given[0]) {
			notes = append(notes, fmt.Sprintf("--%s %s is two values; is this a decimal comma? Then write a point",
				a.train.Name, a.given[0]))
		}
	}
	return spec, configs, notes, err
}

// zeroComma matches two values that look like one number with a decimal comma.
var zeroComma = regexp.MustCompile(`^0,\d+$`)

// valid returns the configurations of points. It returns an error that lists those that cannot be trained, or,
// with --skip-invalid, leaves them out with notes.
func (f *sweepFlags) valid(points []sweep.Point) (configs [][]byte, notes []string, err error) {
	configs, notes, err = sweep.Resolve(points, resolveArguments)
	invalid := &sweep.Invalid{}
	errors.As(err, &invalid)
	if f.skipInvalid || f.dryRun && !f.noCalibrate {
		note := func(text string) {
			if !slices.Contains(notes, text) {
				notes = append(notes, text)
			}
		}
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
	configs = slices.DeleteFunc(configs, func(text []byte) bool { return text == nil })
	switch err := invalid.Err(); {
	case len(configs) == 0:
		return nil, nil, err
	case err != nil && !f.skipInvalid:
		return nil, nil, fmt.Errorf("%w\n--skip-invalid leaves out such points", err)
	}
	for _, line := range invalid.Lines() {
		notes = append(notes, "left out: "+line)
	}
	return configs, notes, nil
}

// estimate describes what change would add to the sweep in dir, and the remaining work.
func (f *sweepFlags) estimate(c *call, dir string, m sweep.Machine,
	change func(*sweep.Plan) error) (r result, err error) {
	plan, st, err := sweep.PlanIn(dir)
	if err != nil {
		return r, err
	}
	if err := change(plan); err != nil {
		return r, err
	}
	e, err := f.timed(c, plan, st, m)
	if err != nil {
		return r, err
	}
	e.FreeMB = sweep.FreeMB(dir)
	return result{value: e, print: func(w io.Writer) { f.launch.printEstimate(w, plan, e, dir) }}, nil
}

// timed estimates the remaining work of a plan, and measures the time of a step here unless told not to.
func (f *sweepFlags) timed(c *call, plan *sweep.Plan, st sweep.Status, m sweep.Machine) (*sweep.Estimate, error) {
	e, err := plan.Estimate(st)
	if err != nil {
		return nil, err
	}
	if e.Workers = m.Workers; f.noCalibrate {
		return e, nil
	}
	return e, e.Calibrate(plan, func(config config.Config, example string) (t sweep.StepTime, err error) {
		t, timed := f.stepTimes[example]
		if !timed {
			c.note("timing a step of " + example)
			if t, err = train.TimeStep(config); f.stepTimes == nil {
				f.stepTimes = map[string]sweep.StepTime{}
			}
			f.stepTimes[example] = t
		}
		return t, err
	})
}

// printEstimate prints a table of the runs, the first tasks, and the time and disk space needed.
func (f *launchFlags) printEstimate(out io.Writer, plan *sweep.Plan, e *sweep.Estimate, dir string) {
	slices.SortStableFunc(e.Shapes, func(a, b sweep.Shape) int { return b.Runs - a.Runs })
	var rows [][]string
	for _, s := range e.Shapes {
		row := []string{s.Example, fmt.Sprint(s.Runs), fmt.Sprint(s.Tasks), fmt.Sprint(s.Largest), "–", "–"}
		if s.StepMS > 0 {
			row[4], row[5] = number.Fixed(s.StepMS, 2), wording.Seconds(3600*s.Hours)
		}
		rows = append(rows, row)
	}
	if rows == nil {
		rows = [][]string{{"all runs are done", "–", "–", "–", "–", "–"}}
	}
	head := []string{"runs like", "runs", "tasks", "largest ensemble", "ms per step and member", "time of a worker"}
	printTable(out, head, rows)
	const most = 12
	for i, t := range plan.Tasks[:min(most, len(plan.Tasks))] {
		fmt.Fprintf(out, "task %d: %s\n", i, wording.List(3, t.Runs))
	}
	if n := len(plan.Tasks); n > most {
		fmt.Fprintf(out, "and %s\n", wording.Count(n-most, "more task"))
	}
	text := fmt.Sprintf("%s (%d new, %d done) in %s; the rest needs %s of "+
		"disk space", wording.Count(e.Runs, "run"), e.New, e.Done, wording.Count(e.Tasks, "task"),
		wording.Megabytes(e.DiskMB))
	if e.FreeMB >= 0 {
		text += fmt.Sprintf(" (%s free)", wording.Megabytes(e.FreeMB))
	}
	if e.Hours > 0 {
		text += fmt.Sprintf(" and about %s %s, timed on %s: %s steps per model with their records. The start and "+
			"the last measures of each run come on top", wording.Seconds(3600*e.Hours),
			f.workersText(e.Workers), e.Device, wording.Range(e.Steps))
	}
	if short := sweep.ShortOfDisk(cmp.Or(dir, "this folder"), e.DiskMB, e.FreeMB); short != "" {
		text += "\n" + short
	}
	fmt.Fprintln(out, text)
}

// workersText says what the hours of an estimate assume.
func (f *launchFlags) workersText(workers int) string {
	if f.launcher != "slurm" {
		return "with " + wording.Count(workers, "worker")
	}
	text := fmt.Sprintf("with %s at a time, if a node is as fast as this machine",
		wording.Count(workers, "job"))
	if f.slurm.options.Throttle == 0 {
		text += " (--throttle says how many jobs; none was given)"
	}
	return text
}
