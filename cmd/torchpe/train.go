package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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

// stallAfter limits the time in which a GPU may be silent: a record of a large model takes seconds.
const stallAfter = 10 * time.Minute

// trainFlags holds the flags of "torchpe train" that say how to run, not what.
type trainFlags struct {
	config                                 configFlags
	out                                    string
	resume, force, breakLock, json, dryRun bool
	quiet                                  bool
	allowChanged                           []string
}

func newTrainCommand() *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train one configuration, or several seeds of it at once",
		Long: `Train one configuration and write a run directory.

Defaults come from --preset (lst is the paper's Latin-square experiment; quick shows its effect in a
minute) and from --fidelity: where the paper's text and its published code differ, "code" or "text"
chooses, and each difference is also a flag of its own. What was resolved is stored in
OUT/config.json; --config takes such a file.

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
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "seeds", "out", "resume")...)
	fl.StringVarP(&f.out, "out", "o", "", "run directory (default runs/<task>_<pe>_<fidelity>_seed<N>, with a number "+
		"where a run of other settings has that)")
	fl.BoolVar(&f.resume, "resume", false, "go on with the run in --out; start it where there is none")
	fl.StringSliceVar(&f.allowChanged, "allow-changed", nil, "with --resume: setting of config.json, such as epochs "+
		"or members.lr, that may change from here on; the run records it; repeatable")
	fl.BoolVar(&f.force, "force", false, "replace the run in --out")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the lock that a dead process on another host left")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the resolved configuration and stop")
	headFlags(fl, "run")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !fl.Changed("data") {
			return noArguments(cmd, args)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, file := range args { // what a shell makes of --data *.csv
			if err := fl.Set("data", file); err != nil {
				return err
			}
		}
		return f.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

func (f *trainFlags) run(out, progress io.Writer) error {
	if err := f.check(); err != nil {
		return err
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
		dir = defaultDir(c)
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
		Resume: f.resume, AllowChanged: f.allowChanged, Force: f.force, BreakLock: f.breakLock,
		Command: os.Args, Observer: watch,
		StallAfter: stallAfter,
		Stalled: func(err *train.StalledError) {
			watch.Close()
			fmt.Fprintln(progress, "torchpe: "+err.Error())
			os.Exit(exitFailed)
		},
	})
	watch.Close()
	if errors.Is(err, runlog.ErrComplete) {
		fmt.Fprintf(progress, "torchpe: %s is finished already: nothing was trained\n", dir)
		return printFinished(out, dir, f.json)
	}
	var interrupted *train.Interrupted
	if errors.As(err, &interrupted) {
		return interruptedError{code: stopped(), msg: err.Error()}
	}
	var data *train.DataError
	if errors.As(err, &data) || errors.Is(err, runlog.ErrExists) {
		return fileErrorAsUsage(err)
	}
	if err != nil {
		return configErrorAsUsage(err)
	}
	return printResult(out, dir, result, f.json)
}

// check reports flags that do not go together.
func (f *trainFlags) check() error {
	switch {
	case f.resume && f.force:
		return usagef("--resume goes on with a run and --force replaces it: give one of them")
	case f.allowChanged != nil && !f.resume:
		return usagef("--allow-changed is for --resume: a new run has no earlier settings")
	}
	all := config.KeysWith(config.Results, config.Measures)
	for _, key := range f.allowChanged {
		if !slices.Contains(all, key) {
			return usagef("--allow-changed %s: no setting of config.json has this name%s", key, wording.Hint(key, all))
		}
	}
	return nil
}

// resolve returns the configuration that the flags ask for: of the run in --out where that is
// resumed.
func (f *trainFlags) resolve(say io.Writer) (train.Config, []string, error) {
	if f.resume && f.out != "" {
		path := filepath.Join(f.out, "config.json")
		if _, err := os.Stat(path); err == nil {
			c, notes, err := f.config.resumed(path, f.allowChanged)
			if err != nil {
				err = usageError{err}
			}
			return c, notes, err
		}
		if len(f.config.given()) == 0 && f.config.file == "" {
			return train.Config{}, nil, usagef(
				"--resume --out %s: there is no run; to start one, say what to train, "+
					"for example --preset quick", f.out)
		}
	}
	c, notes, err := f.config.resolve()
	if err != nil {
		return c, nil, usageError{err}
	}
	return c, notes, f.config.chooseMembers(&c, say)
}

// defaultDir returns the directory of a run below runs/: that of its name, or the first with a number
// behind it that holds no run of other settings.
func defaultDir(c train.Config) string {
	base := filepath.Join("runs", defaultName(c))
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

// defaultName returns the name of a run's directory below runs/.
func defaultName(c train.Config) string {
	first := c.Members[0]
	task := c.Task
	if c.Sequence != nil {
		task = cmp.Or(c.Sequence.Name, "text")
	}
	name := fmt.Sprintf("%s_%s_%s_seed%d", task, labelOf(c.PE, first), c.Fidelity, first.Seed)
	if n := len(c.Members); n > 1 {
		name += fmt.Sprintf("_members%d", n)
	}
	return name
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
	if !asJSON {
		printMembers(out, r)
		fmt.Fprintf(out, "%s: %.1f s, %.1f steps/s, %.0f MB\n", dir, r.WallSeconds, r.StepsPerSecond, r.PeakRSSMB)
	} else if err := printJSON(out, r); err != nil {
		return err
	}
	var diverged []string
	for _, m := range r.Members {
		if m.Status == runlog.StatusDiverged {
			diverged = append(diverged, fmt.Sprintf("seed %d at step %d", m.Seed, m.DivergedAtStep))
		}
	}
	if len(diverged) == len(r.Members) {
		return fmt.Errorf("%s: every member diverged (%s): lower --lr or set --clip-norm", dir,
			strings.Join(diverged, ", "))
	}
	return nil
}

// printMembers prints a table with a row a member.
func printMembers(out io.Writer, r runlog.Result) {
	if r.Baselines["zero"] != nil {
		printMasked(out, r)
		return
	}
	if slices.ContainsFunc(r.Members, func(m runlog.MemberResult) bool { return m.AccuracyByLength != nil }) {
		printSequences(out, r)
		return
	}
	head := []string{"PE", "sigma", "seed", "epochs", "train", "IID test", "validation", "1-vector",
		"2-vector", "3-vector", "status"}
	sizes := keysOf(r, func(m runlog.MemberResult) map[string]float64 { return m.AccuracyByTokens })
	for _, tokens := range sizes {
		head = slices.Insert(head, len(head)-1, "at "+tokens+" tokens")
	}
	head = append(head, "fitted")
	var rows [][]string
	for _, m := range r.Members {
		row := []string{m.PE, sigmaText(m.Sigma), fmt.Sprint(m.Seed), epochsText(m)}
		by := m.ValidationByCondition
		for _, a := range []float64{m.TrainAccuracy, m.IIDAccuracy, m.ValidationAccuracy,
			orNaN(by, "Binary"), orNaN(by, "Ternary"), orNaN(by, "Quaternary")} {
			row = append(row, share(a))
		}
		for _, tokens := range sizes {
			row = append(row, share(orNaN(m.AccuracyByTokens, tokens)))
		}
		rows = append(rows, append(row, m.Status, fitText(m.Fit, false)))
	}
	printTable(out, head, rows, "fitted", "1-vector", "2-vector", "3-vector", "epochs")
}

func printSequences(out io.Writer, r runlog.Result) {
	head := []string{"PE", "sigma", "seed", "steps", "train", "IID test", "longer"}
	what, write := "length ", share
	of := func(m runlog.MemberResult) map[string]float64 { return m.AccuracyByLength }
	if slices.ContainsFunc(r.Members, func(m runlog.MemberResult) bool { return m.PerplexityByLength != nil }) {
		what, write = "perplexity at ", func(v float64) string { return fmt.Sprintf("%.3f", v) }
		of = func(m runlog.MemberResult) map[string]float64 { return m.PerplexityByLength }
	}
	columns := keysOf(r, of)
	for _, length := range columns {
		head = append(head, what+length)
	}
	var rows [][]string
	for _, m := range r.Members {
		row := []string{m.PE, sigmaText(m.Sigma), fmt.Sprint(m.Seed), fmt.Sprint(m.Steps), share(m.TrainAccuracy),
			share(m.IIDAccuracy), share(m.ValidationAccuracy)}
		for _, length := range columns {
			row = append(row, write(orNaN(of(m), length)))
		}
		rows = append(rows, append(row, m.Status, fitText(m.Fit, true)))
	}
	printTable(out, append(head, "status", "fitted"), rows, "sigma", "status")
}

// epochsText writes how long a member trained: "12", or "24 steps" of the first epoch.
func epochsText(m runlog.MemberResult) string {
	if m.Epochs == 0 && m.Steps > 0 {
		return wording.Count(m.Steps, "step")
	}
	return fmt.Sprint(m.Epochs)
}

// fitText writes whether a member has fitted: "epoch 87", "step 5568" or "no".
func fitText(f *runlog.Fit, inSteps bool) string {
	switch {
	case f == nil:
		return "–"
	case f.Reached && inSteps:
		return fmt.Sprintf("step %d", f.Step)
	case f.Reached:
		return fmt.Sprintf("epoch %d", f.Epoch)
	}
	return "no"
}

// keysOf lists the keys, whole numbers as text, of a measurement of any member, smallest first.
func keysOf(r runlog.Result, of func(runlog.MemberResult) map[string]float64) []string {
	all := map[string]float64{}
	for _, m := range r.Members {
		maps.Copy(all, of(m))
	}
	return slices.SortedFunc(maps.Keys(all),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

func sigmaText(sigma *float64) string { return numberText("%g", sigma) }

// numberText writes a number, or a dash for nil.
func numberText(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// printMasked prints the errors and network scores of masked prediction, a row a member and a row a
// baseline.
func printMasked(out io.Writer, r runlog.Result) {
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
		row := errors([]string{m.PE, sigmaText(m.Sigma), fmt.Sprint(m.Seed), fmt.Sprint(m.Steps),
			numberText("%.4f", m.TrainMSE)}, m.TestMSEByMask)
		rows = append(rows, append(row, numberText("%.3f", m.Modularity), numberText("%.3f", m.Clustering), m.Status))
	}
	for _, name := range []string{"gaussian", "mean", "zero"} {
		row := errors([]string{"baseline: " + name, "", "", "", ""}, r.Baselines[name])
		rows = append(rows, append(row, "", "", ""))
	}
	printTable(out, append(head, "modularity", "clustering", "status"), rows,
		"train MSE", "test MSE, 0.15 masked", "test MSE, 0.90 masked", "test MSE, 0.75 masked", "clustering", "steps")
}
