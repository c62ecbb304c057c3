package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// stallAfter limits how long a GPU may be silent: a record of a large model takes seconds.
const stallAfter = 10 * time.Minute

// trainFlags holds the flags of "torchpe train" that say how to run, not what.
type trainFlags struct {
	config       configFlags
	to           destination
	dryRun       bool
	options      train.Options
	allowChanged []string
}

func newTrainCommand() *cobra.Command {
	f := trainFlags{to: destination{force: true}} // the run directory checks --force
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train one configuration, or several seeds of it at once",
		Long: `Train one configuration and write a run directory.

Defaults come from --preset (lst is the paper's Latin-square experiment; quick shows its effect in a
minute) and from --fidelity: "code" follows the published code, "text" our reading of what the paper's
text leaves open. Each difference also has its own flag. The resolved configuration is stored in
OUT/config.json; --config takes such a file.

--seeds sets the seeds, which are trained as one ensemble; --members K trains K seeds, counting up from
the first. --sigma, --lr and --weight-decay take one value, or one per member.

Ctrl-C finishes the step and saves; --resume continues to the same result, bit for bit.`,
		Example: `  torchpe train --pe learn --sigma 0.2 --preset quick
  torchpe train --pe learn-1.0 --members 3 --preset quick --out runs/three
  torchpe train --pe learn --sigma 0.2 --preset quick --lst puzzles --until train=0.99 --epochs 400
  torchpe train --pe relative --fidelity text --seeds 2235 --out runs/relative
  torchpe train --pe learn --sigma 0.2 --seeds paper --device cuda:0 --out runs/table1-learn-0.2
  torchpe train --resume --out runs/table1-learn-0.2
  torchpe train --task fmri --surrogate subjects=12,frames=1195
  torchpe train --task fmri --data rest/ --modules CortexSubcortex_LabelKey.txt
  torchpe train --task masked --modules sectors.csv --data prices.csv
  torchpe train --task masked --data eeg.csv --positions layout.csv --pe swin`,
		Args: func(cmd *cobra.Command, args []string) error {
			takesFiles := cmd.Flags().Changed("data") || cmd.Flags().Changed(config.LSTTrain)
			if i := slices.IndexFunc(args, isSwitch); i >= 0 || !takesFiles {
				return noArguments(cmd, args[max(0, i):])
			}
			return nil
		},
	}
	fl := cmd.Flags()
	f.config.add(fl)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "lst", "seeds", "members", "out", "resume")...)
	f.to.add(cmd, "run directory (default runs/<task>_<pe>_<fidelity>_seed<N>, with a number "+
		"if a run of other settings has this name)")
	fl.BoolVar(&f.options.Resume, "resume", false, "continue the run in --out; start it if there is none")
	fl.StringSliceVar(&f.allowChanged, "allow-changed", nil, "with --resume: setting of config.json, such as epochs "+
		"or members.lr, that may change now; the run records it; repeatable")
	fl.BoolVar(&f.options.Force, "force", false, "replace the run in --out")
	fl.BoolVar(&f.options.BreakLock, "break-lock", false, "take over the lock that a dead process on another host left")
	quietFlag(fl)
	fl.BoolVar(&f.dryRun, "dry-run", false, "read the given files, print the resolved configuration, and stop")
	cmd.MarkFlagsMutuallyExclusive("resume", "force")
	headFlags(fl, "run")
	leaf(cmd, f.run)
	fl.VisitAll(onlyOnce)
	return cmd
}

func (f *trainFlags) run(c *call) (r result, err error) {
	for _, file := range c.args { // a shell expands --data *.csv to several arguments
		flag := "data"
		if !c.Flags().Changed(flag) {
			flag = config.LSTTrain
		}
		if err := c.Flags().Set(flag, file); err != nil {
			return r, usageError{err}
		}
	}
	if err := f.checkAllowed(); err != nil {
		return r, err
	}
	resolved, notes, err := f.resolve()
	if err != nil {
		return r, err
	}
	if f.dryRun {
		text, err := resolved.JSON()
		// Every encoding suits the puzzles that are made here, which takes seconds.
		if err == nil && (!resolved.HasPuzzles() || config.NamesFiles(&resolved.Config)) {
			var unsuited []error
			unsuited, err = train.CheckModels([][]byte{text}, "", c.note)
			// A note already says what is not measured.
			unsuited = slices.DeleteFunc(unsuited, func(err error) bool {
				return errors.As(err, new(train.UnmeasuredError))
			})
			if wrong := errors.Join(unsuited...); wrong != nil && err == nil {
				err = usageError{wrong}
			}
		}
		return result{notes: notes, print: printf("%s\n", text), value: json.RawMessage(text)}, err
	}
	dir := cmp.Or(f.to.path, defaultDir(resolved))
	if err := runlog.ValidateName(filepath.Base(dir)); err != nil {
		return r, usagef("--out %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); f.options.Resume && f.to.path == "" && err != nil {
		return r, usagef("--resume: there is no run %s%s", dir, stoppedRuns())
	}
	return f.train(c, resolved, dir, notes)
}

func (f *trainFlags) train(c *call, resolved train.Config, dir string, notes []string) (r result, err error) {
	ctx, stopped := untilSignal(c.notes)
	watch := newProgress(c.notes, resolved, c.quiet())
	for _, n := range notes {
		watch.Noticed(n)
	}
	o := f.options
	o.AllowChanged, o.Command, o.Observer, o.StallAfter = f.allowChanged, os.Args, watch, stallAfter
	o.Stalled = func(err *train.StalledError) {
		watch.Close()
		c.note(err.Error())
		os.Exit(exitFailed)
	}
	trained, err := train.Run(ctx, resolved, dir, o)
	watch.Close()
	if errors.Is(err, runlog.ErrComplete) {
		r.notes = []string{dir + " is already finished: nothing was trained"}
		trained, err = storedResult(dir)
	}
	if errors.As(err, new(*train.Interrupted)) {
		return r, interruptedError{code: stopped(), msg: err.Error()}
	}
	if err != nil {
		return r, err
	}
	r.value, r.err = trained, allDiverged(dir, trained)
	r.print = func(w io.Writer) {
		printMembers(w, resolved.Facts(), trained)
		fmt.Fprintf(w, "%s: %.1f s, %.1f steps/s, %.0f MB\n", dir, trained.WallSeconds, trained.StepsPerSecond,
			trained.PeakRSSMB)
	}
	return r, nil
}

func (f *trainFlags) checkAllowed() error {
	if f.allowChanged != nil && !f.options.Resume {
		return usagef("--allow-changed needs --resume: a new run has no earlier settings")
	}
	all := config.KeysWith(config.Results, config.Measures)
	for _, key := range f.allowChanged {
		if !slices.Contains(all, key) {
			if member := "members." + key; slices.Contains(all, member) {
				return usagef("--allow-changed %s: in config.json it is %s", key, member)
			}
			return usagef("--allow-changed %s: config.json has no such setting%s", key, wording.Hint(key, all))
		}
	}
	return nil
}

// resolve returns the configuration from the flags. With --resume it is that of the run in --out.
func (f *trainFlags) resolve() (c train.Config, notes []string, err error) {
	path := f.to.file("config.json")
	resume := f.options.Resume && f.to.path != ""
	if _, statErr := os.Stat(path); resume && statErr == nil {
		c, notes, err = f.config.resumed(path, f.allowChanged)
	} else if resume && (f.allowChanged != nil || len(f.config.given()) == 0 && f.config.file == "") {
		err = fmt.Errorf("--resume --out %s: there is no run; to start one, say what to train, "+
			"for example --preset quick%s", f.to.path, stoppedRuns())
	} else {
		c, notes, err = f.config.resolve()
		if resume {
			notes = append(notes, fmt.Sprintf("--resume: there is no run %s yet: a new one starts", f.to.path))
		}
	}
	if err != nil {
		err = usageError{err}
	}
	return c, notes, err
}

// stoppedRuns names commands that continue unfinished runs below runs/, or "" if there are none.
func stoppedRuns() string {
	found, _ := filepath.Glob(filepath.Join(defaultRuns, "*", "config.json")) // the pattern is valid
	var commands []string
	for _, path := range found {
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, "result.json")); err != nil {
			commands = append(commands, "torchpe train --resume --out "+wording.Quote(dir))
		}
	}
	if commands == nil {
		return ""
	}
	return "; to continue a stopped one: " + wording.List(5, commands)
}

// defaultRuns is the folder of runs without --out.
const defaultRuns = "runs"

// defaultDir returns the directory of a run below runs/: its name, with a number if a run of other settings has
// this name.
func defaultDir(c train.Config) string {
	base := filepath.Join(defaultRuns, defaultName(c))
	dir := base
	for n := 2; ; n++ {
		stored, err := train.ReadConfig(filepath.Join(dir, "config.json"))
		if err != nil {
			return dir
		}
		if other, err := config.Differences(stored.Config, c.Config); err != nil || len(other) == 0 {
			return dir
		}
		dir = fmt.Sprintf("%s_%d", base, n)
	}
}

// defaultName returns the name of a run's directory, with σ if all members have the same.
func defaultName(c train.Config) string {
	first := c.Members[0]
	pe := config.NameInPath(c.PE, first.Sigma)
	for _, m := range c.Members {
		if config.NameInPath(c.PE, m.Sigma) != pe {
			pe = c.PE
		}
	}
	name := fmt.Sprintf("%s_%s_%s_seed%d", c.TaskLabel(), pe, c.Fidelity, first.Seed)
	if n := len(c.Members); n > 1 {
		name += fmt.Sprintf("_members%d", n)
	}
	return name
}

func storedResult(dir string) (result runlog.Result, err error) {
	r, err := runlog.Open(dir)
	if err != nil {
		return result, err
	}
	defer r.Close()
	return r.Result()
}

func allDiverged(dir string, r runlog.Result) error {
	var diverged []string
	for _, m := range r.Members {
		if m.Status != runlog.StatusDiverged {
			return nil
		}
		diverged = append(diverged, fmt.Sprintf("seed %d at step %d", m.Seed, m.DivergedAtStep))
	}
	return fmt.Errorf("%s: every member diverged (%s): lower --lr or set --clip-norm", dir,
		strings.Join(diverged, ", "))
}
