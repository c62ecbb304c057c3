package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// sweepFlags holds the flags of "torchpe sweep" besides those of "torchpe train".
type sweepFlags struct {
	axes         []*axisFlag // the flags of train, each of which may have several values
	zip, exclude []string
	out, pack    string
	dryRun       bool
	noCalibrate  bool
	launch       launchFlags
}

func newSweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [PRESET | FILE]",
		Short: "Train a grid of configurations; resumable",
		Long: `Train a grid of configurations, packed into ensembles and run by worker processes.

The grid is a preset (one behind each figure and table of the paper), a YAML file, or flags alone:
every flag of torchpe train takes several values here, separated by commas, or a range from:to:step,
and all are crossed. Over a preset or a file, flags replace what it says. --seeds takes a list or
the word paper, --members a number of seeds from --seed on.

Every configuration and seed becomes one finished run directory in OUT/runs, as if it had been
trained alone. The same command goes on with a sweep that was stopped, and trains only what is new
where values were added. Ctrl-C saves and stops.

Presets:
` + presetLines(),
		Example: `  torchpe sweep quick --out reproduce && torchpe report reproduce
  torchpe sweep paper --dry-run
  torchpe sweep fig2 --sigma 0.1,1,2 --members 3 --epochs 400 --out fig2
  torchpe sweep --preset quick --pe learn --sigma 0.1:2:0.1 --heads 1,2 --seeds paper --out sigma-by-heads
  torchpe sweep my-sweep.yaml --out my-sweep
  torchpe sweep status my-sweep --watch`,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.out, "out", "o", "", "directory of the sweep (default sweeps/<preset or name of the file>)")
	fl.BoolVar(&f.dryRun, "dry-run", false,
		"print the plan, the hours that it takes here (from a short calibration) and the disk, and stop")
	fl.BoolVar(&f.noCalibrate, "no-calibrate", false, "leave the hours out of --dry-run")
	fl.StringVar(&f.pack, "pack", "auto",
		"configurations that train together as one ensemble: auto, or at most a number")
	fl.StringArrayVar(&f.zip, "zip", nil,
		"flags, separated by commas, whose values advance together; may be given several times")
	fl.StringArrayVar(&f.exclude, "exclude", nil,
		"leave out points, such as pe=nope,heads=2|4; may be given several times")
	f.launch.add(fl)
	headFlags(fl, "sweep")
	f.axes = addAxes(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "seeds", "members", "out", "dry-run", "workers",
		"launcher")...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s: %d arguments; want one preset or file, or none", cmd.CommandPath(), len(args))
		}
		return nil
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range sweep.Presets() {
			names = append(names, p.Name+"\t"+p.About)
		}
		return completions(names, begun), cobra.ShellCompDirectiveDefault // and files
	}
	cmd.AddCommand(newSweepStatusCommand(), newSweepResumeCommand(), newSweepRetryCommand(),
		newSweepCancelCommand(), newSweepTaskCommand())
	return cmd
}

func presetLines() string {
	var b strings.Builder
	for _, p := range sweep.Presets() {
		fmt.Fprintf(&b, "  %-8s %5d runs  %s\n", p.Name, p.Runs, p.About)
	}
	return b.String()
}

// launchers are the values of --launcher.
var launchers = []string{"local", "slurm", "none"}

// launchFlags hold the launcher and its options.
type launchFlags struct {
	launcher string
	workers  int
	json     bool
	quiet    bool
	failFast bool
	takeLost bool // of retry --lost
	slurm    slurmFlags
}

func (f *launchFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.json, "json", false, "print the outcome as JSON")
	fl.StringVar(&f.launcher, "launcher", "local",
		"what works on the tasks: local (worker processes here), slurm (job arrays), none (plan only; see "+
			"sweep run-task)")
	fl.IntVar(&f.workers, "workers", 0, "worker processes at a time (default: one a GPU, or one a CPU core)")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	fl.BoolVar(&f.failFast, "fail-fast", false, "after the first task that fails, save and stop the others (local)")
	f.slurm.add(fl)
}

func (f *launchFlags) check() error {
	if f.failFast && f.launcher != "local" {
		return usagef("--fail-fast: only --launcher local stops the other tasks; here it is %s", f.launcher)
	}
	if f.workers < 0 {
		return usagef("--workers: %d is less than 0", f.workers)
	}
	switch f.launcher {
	case "slurm":
		if err := f.slurm.asked().Validate(); err != nil {
			return usageError{err}
		}
		return nil
	case "local", "none":
		return nil
	}
	return usagef("--launcher: %q is not one of %s", f.launcher, strings.Join(launchers, ", "))
}

// recall sets flags that were not given to those of the last launch of the sweep in dir, where they
// are stored.
func (f *launchFlags) recall(dir string, progress io.Writer) error {
	if f.launcher != "slurm" {
		return nil
	}
	return f.slurm.recall(dir, progress)
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string) error {
	out, progress := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := f.launch.check(); err != nil {
		return err
	}
	spec, configs, notes, err := f.resolve(strings.Join(args, ""))
	if err != nil {
		return usageError{err}
	}
	dir := f.out
	if dir == "" && !f.dryRun {
		if spec.Name == "" {
			return usagef("torchpe sweep: --out says where to")
		}
		dir = filepath.Join("sweeps", spec.Name)
	}
	if err := f.launch.recall(dir, progress); err != nil {
		return err
	}
	machine, err := f.launch.machine(configs)
	if err != nil {
		return err
	}
	packing, err := parsePack(f.pack, machine)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(progress, "torchpe: "+n)
	}
	var added sweep.Added
	change := func(p *sweep.Plan) (err error) {
		added, err = p.Add(configs, packing, os.Args)
		return err
	}
	if f.dryRun {
		return f.printPlan(cmd, dir, machine, change)
	}
	s, err := sweep.Extend(dir, spec.Name, change)
	if err != nil {
		return err
	}
	defer s.Close()
	if !f.launch.quiet {
		fmt.Fprintf(progress, "%s: %s in %s (%s)\n", dir, wording.Count(s.Plan.Runs(), "run"),
			wording.Count(len(s.Plan.Tasks), "task"), addedText(added))
	}
	return f.launch.launchAll(out, progress, s)
}

// resolve returns the sweep that the arguments ask for, its configurations, and what should be said about
// them.
func (f *sweepFlags) resolve(what string) (spec sweep.Spec, configs [][]byte, notes []string, err error) {
	if spec, err = f.spec(what); err != nil {
		return spec, nil, nil, err
	}
	points, err := spec.Points()
	if err == nil && len(points) == 0 {
		err = errors.New("nothing to train: every configuration is excluded")
	}
	if err != nil {
		return spec, nil, nil, err
	}
	unused, err := spec.UnusedExclusions()
	if err != nil {
		return spec, nil, nil, err
	}
	configs, notes, err = sweep.Resolve(points, resolveArguments)
	for _, m := range unused {
		notes = append(notes, "the exclusion "+m+" agrees with no configuration")
	}
	return spec, configs, notes, err
}

func addedText(a sweep.Added) string {
	parts := []string{fmt.Sprintf("%d new", a.New)}
	if a.Known > 0 {
		parts = append(parts, fmt.Sprintf("%d planned before", a.Known))
	}
	if a.Identical > 0 {
		parts = append(parts, fmt.Sprintf("%d identical to others left out", a.Identical))
	}
	return strings.Join(parts, ", ")
}

// launchAll works through all unfinished tasks and prints the outcome, also where the launcher
// failed.
func (f launchFlags) launchAll(out, progress io.Writer, s *sweep.Sweep) error {
	if err := s.Uncancel(); err != nil {
		return err
	}
	indexes := make([]int, len(s.Plan.Tasks))
	for i := range indexes {
		indexes[i] = i
	}
	ctx, stopped := untilSignal(progress)
	launcher, err := f.launcherFor(s, progress)
	if err != nil {
		return err
	}
	if f.launcher != "none" {
		if err := warnOfDisk(progress, s); err != nil {
			return err
		}
	}
	launchErr := launcher.Launch(ctx, s, indexes)
	if invalid := (*slurm.InvalidError)(nil); errors.As(launchErr, &invalid) {
		return usageError{launchErr}
	}
	st, err := statusOf(s, progress)
	if err != nil {
		return errors.Join(launchErr, err)
	}
	summarise(s, st, progress)
	if f.json {
		err = printJSON(out, st)
	} else {
		printOutcome(out, s, st)
	}
	switch {
	case err != nil || launchErr != nil:
		return errors.Join(launchErr, err)
	case ctx.Err() != nil:
		return interruptedError{code: stopped(),
			msg: fmt.Sprintf("the sweep was stopped; torchpe sweep resume %s goes on", s.Dir)}
	case f.launcher == "none":
		return nil
	case f.launcher == "slurm": // tasks in the queue are no failure
		st.Counts[sweep.StatePending], st.Counts[sweep.StateRunning] = 0, 0
	}
	return unfinished(s, st)
}

// unfinished returns an error that counts the tasks and runs that did not end well, or nil.
func unfinished(s *sweep.Sweep, st sweep.Status) error {
	var parts []string
	add := func(n int, noun, text string) {
		if n > 0 {
			parts = append(parts, wording.Count(n, noun)+" "+text)
		}
	}
	add(st.Counts[sweep.StateFailed], "task", "failed (torchpe sweep retry --failed tries again)")
	add(st.Counts[sweep.StateLost], "task", "lost")
	add(st.Counts[sweep.StateUnknown], "task", "not readable")
	add(st.Counts[sweep.StateRunning], "task", "still running")
	add(st.Counts[sweep.StatePending], "task", "pending")
	add(st.Diverged, "run", "diverged")
	if parts == nil {
		return nil
	}
	if s.Cancelled() {
		parts = append(parts, "the sweep was cancelled")
	}
	return fmt.Errorf("%s: %s", s.Dir, strings.Join(parts, ", "))
}

// printOutcome prints the counts, and the tasks and runs that did not end well.
func printOutcome(out io.Writer, s *sweep.Sweep, st sweep.Status) {
	fmt.Fprintln(out, countsLine(st))
	printTroubles(out, st)
	if st.DoneRuns == 0 {
		return
	}
	fmt.Fprintf(out, "Runs: %s. Table: %s. torchpe report %s makes the figures.\n",
		s.RunDir(""), filepath.Join(s.Dir, "summary.csv"), s.Dir)
}

func countsLine(st sweep.Status) string {
	text := fmt.Sprintf("%d of %s done", st.DoneRuns, wording.Count(st.Runs, "run"))
	if st.Diverged > 0 {
		text += fmt.Sprintf(" (%d of them diverged)", st.Diverged)
	}
	text += "; tasks:"
	for _, state := range []sweep.State{sweep.StateDone, sweep.StateRunning, sweep.StateFailed,
		sweep.StateLost, sweep.StatePending, sweep.StateUnknown} {
		if state == sweep.StateUnknown && st.Counts[state] == 0 {
			continue
		}
		text += fmt.Sprintf(" %d %s,", st.Counts[state], state)
	}
	text = strings.TrimSuffix(text, ",")
	if st.ETA > 0 {
		text += fmt.Sprintf("; about %s left", timeText(st.ETA))
	}
	return text
}

func printTroubles(out io.Writer, st sweep.Status) {
	troubles := st.Troubles()
	if len(troubles) == 0 {
		return
	}
	const most = 20
	var rows [][]string
	for _, t := range troubles[:min(most, len(troubles))] {
		rows = append(rows, []string{fmt.Sprint(t.Task), t.Run, t.Reason, firstLine(t.Message), t.Log})
	}
	printTable(out, []string{"task", "run", "reason", "what happened", "log"}, rows)
	if n := len(troubles); n > most {
		fmt.Fprintf(out, "and %d more: torchpe sweep status --json lists all\n", n-most)
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// openSweep opens the sweep of a command's argument.
func openSweep(dir string) (*sweep.Sweep, error) {
	s, err := sweep.Open(dir)
	if errors.Is(err, sweep.ErrNoSweep) {
		return nil, usageError{err}
	}
	return s, err
}

// machine returns the machine that the tasks of configurations run on.
func (f launchFlags) machine(configs [][]byte) (sweep.Machine, error) {
	if f.launcher == "slurm" {
		return f.slurm.options.Machine(), nil
	}
	return hardware().Machine(configs, f.workers)
}

// hardware describes this computer.
func hardware() sweep.Hardware {
	const mb = 1 << 20
	sys := torchpe.DescribeSystem()
	h := sweep.Hardware{CPUs: runtime.NumCPU(), MemoryMB: float64(sys.FreeMemory) / mb}
	for _, g := range sys.GPUs {
		memory := g.TotalMemory
		if g.FreeMemory > 0 {
			memory = g.FreeMemory
		}
		h.GPUsMB = append(h.GPUsMB, float64(memory)/mb)
	}
	return h
}

// launcherFor returns the launcher that the flags ask for.
func (f launchFlags) launcherFor(s *sweep.Sweep, progress io.Writer) (sweep.Launcher, error) {
	if f.launcher == "none" {
		return planOnly{}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if f.launcher == "slurm" {
		return slurm.Launcher{Program: self, Options: f.slurm.asked(), Flags: f.slurm.given(),
			Submitted: printSubmitted(progress)}, nil
	}
	return f.local(s, self, progress)
}

// local returns the launcher of worker processes of the program.
func (f launchFlags) local(s *sweep.Sweep, program string, progress io.Writer) (sweep.Launcher, error) {
	configs := make([][]byte, len(s.Plan.Configurations))
	for i, c := range s.Plan.Configurations {
		configs[i] = c
	}
	m, err := f.machine(configs)
	if err != nil {
		return nil, err
	}
	task := sweep.TaskCommand{Program: program, Dir: s.Dir, BreakLock: f.takeLost,
		Threads: max(1, runtime.NumCPU()/m.Workers)}
	if m.GPU {
		task.GPUs = sweep.VisibleGPUs(len(hardware().GPUsMB))
	}
	watch, err := newSweepProgress(progress, s, f.quiet)
	if err != nil {
		return nil, err
	}
	return sweep.Local{Workers: min(m.Workers, len(s.Plan.Tasks)), Command: task.Command,
		TakeLost: f.takeLost, FailFast: f.failFast, Event: watch.event}, nil
}

// planOnly is a Launcher that starts nothing, for users who run the tasks by other means.
type planOnly struct{}

func (planOnly) Launch(context.Context, *sweep.Sweep, []int) error { return nil }
