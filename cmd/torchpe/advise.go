package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/report/advice"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// adviseFlags holds the flags of "torchpe advise": those of a sweep, and the time budget.
type adviseFlags struct {
	sweepFlags
	budget time.Duration
}

func newAdviseCommand() *cobra.Command {
	f := adviseFlags{sweepFlags: sweepFlags{to: destination{path: "advice", force: true}}}
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Find which encoding suits your data, and whether any is better than none",
		Long: `Train some encodings with three seeds each, as a sweep, and say which of these is true:

  one encoding is better than the rest, and by how much
  some cannot be told apart
  none is better than none (nope)
  training was too short to say, and about how much more is needed

OUT/advice/index.html has the answer with a table of held-out errors, including baselines without a
model, and the curves. OUT is an ordinary sweep, for torchpe sweep, runs list and report.

A line "data: N frames of M tokens" says how the data were read: a token is one series (a region, a
sensor, a stock), a frame one time point. If they are swapped, give --axes.

The candidates are nope, random, rope, learn with σ of 0.2, 0.5 and 1, and, if the places of the
tokens are known, one that uses them. --pe names others; every other flag of torchpe train has one
value. --budget chooses --steps (--epochs for puzzles) so that training takes about that long here.

The same command continues a stopped one.`,
		Example: `  torchpe advise --task masked --data prices.csv --budget 1h --out advice
  torchpe advise --preset quick --epochs 100 --pe learn-0.1,learn-0.2,learn-1,rope --out advice
  torchpe advise --task fmri --data rest/ --steps 5000 --dry-run`,
	}
	fl := cmd.Flags()
	f.to.add(cmd, "directory of the sweep; the answer is in OUT/advice")
	fl.DurationVar(&f.budget, "budget", 0,
		"time for training, such as 1h: chooses --steps or --epochs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would be trained and how long it takes here, and stop")
	f.launch.add(fl)
	headFlags(fl, "sweep")
	f.axes = addAxes(fl)
	for _, a := range f.axes {
		a.one = a.train.Name != "pe"
	}
	fl.Lookup("pe").DefValue, fl.Lookup("members").DefValue = "", strconv.Itoa(candidateSeeds)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "budget", "out", "dry-run", "workers")...)
	cmd.MarkFlagsMutuallyExclusive("budget", "steps")
	cmd.MarkFlagsMutuallyExclusive("budget", "epochs")
	return leaf(cmd, f.run)
}

func (f *adviseFlags) run(c *call) (r result, err error) {
	if err := f.launch.check(); err != nil {
		return r, err
	}
	if c.given("budget") && f.budget <= 0 {
		return r, usagef("--budget %v: want a time above 0, such as 1h", f.budget)
	}
	configs, err := f.configs(c)
	if err != nil {
		return r, usageError{err}
	}
	start := time.Now()
	if r, err = f.train(c, f.to.path, "advise", configs); err != nil || f.dryRun {
		return r, err
	}
	over := overBudget(f.budget, time.Since(start))
	if _, st, err := sweep.PlanIn(f.to.path); err != nil || st.DoneRuns < st.Runs {
		return r, err
	}
	study, err := advice.Read(f.to.file("runs"))
	if err != nil {
		return r, err
	}
	a, err := study.Write(f.to.file("advice"))
	return result{value: a, table: &a.Table, notes: slices.Concat(a.Notes, over),
		print: printf("%s\n\n%s\n%s\n", a.Legend, a.Text, a.Page)}, err
}

// overBudget returns a note if training took much longer than its budget; a budget of 0 means none.
func overBudget(budget, took time.Duration) []string {
	if budget == 0 || took < budget*3/2 {
		return nil
	}
	return []string{fmt.Sprintf("budget %s, took %s",
		wording.Seconds(budget.Seconds()), wording.Seconds(took.Seconds()))}
}

// configs returns the configurations to train. It returns an error if the sweep in OUT has other runs.
func (f *adviseFlags) configs(c *call) ([][]byte, error) {
	axes, err := givenAxes(f.axes)
	if err != nil {
		return nil, err
	}
	points, err := candidates(axes)
	if err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(axes, func(a sweep.Axis) bool { return a.Flag == "pe" })
	plan, sum, err := f.begun()
	if err != nil {
		return nil, err
	}
	if points, err = suited(points, named, sum, c.note); err != nil {
		return nil, err
	}
	if f.budget != 0 {
		length, err := f.length(c, plan, points)
		if err != nil {
			return nil, err
		}
		for i := range points {
			points[i].Settings = append(points[i].Settings, length)
		}
	}
	texts, notes, err := sweep.Resolve(points, resolveArguments)
	if err != nil {
		return nil, err
	}
	c.noteAll(notes)
	if err := checkCandidates(texts); err != nil {
		return nil, err
	}
	return texts, f.hasOnly(plan, texts)
}

// begun returns the plan of the sweep in OUT, and the SHA-256 of the data of its finished runs. If there is no
// sweep, the plan is empty.
func (f *adviseFlags) begun() (plan *sweep.Plan, sum string, err error) {
	s, err := sweep.Open(f.to.path)
	if errors.Is(err, sweep.ErrNoSweep) {
		if _, err := os.Stat(f.to.file("advice.json")); err == nil {
			return nil, "", fmt.Errorf("%s has runs from an earlier version of torchpe advise: give "+
				"another --out (torchpe runs list reads them)", f.to.path)
		}
		return &sweep.Plan{}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	sum, _ = s.DataOfRuns(0)
	return s.Plan, sum, s.Close()
}

// length returns the number of steps or epochs that take the budget, or those of the plan if it has runs.
func (f *adviseFlags) length(c *call, plan *sweep.Plan, points []sweep.Point) (s sweep.Setting, err error) {
	if len(plan.Tasks) > 0 {
		planned, err := plan.TaskConfig(0)
		flag, n := lengthOf(planned)
		return sweep.Setting{Flag: flag, Value: strconv.Itoa(n)}, err
	}
	texts, _, err := sweep.Resolve(points, resolveArguments)
	if err != nil {
		return s, err
	}
	machine, err := f.launch.machine(texts)
	if err != nil {
		return s, err
	}
	plan = &sweep.Plan{}
	if _, err := plan.Add(texts, sweep.Packing{Machine: machine}, nil); err != nil {
		return s, err
	}
	e, err := f.timed(c, plan, sweep.Status{}, machine)
	if err != nil {
		return s, err
	}
	first, err := plan.TaskConfig(0)
	if err == nil {
		err = isLimited(first)
	}
	if err != nil {
		return s, err
	}
	flag, n := lengthOf(first)
	least, fixed := leastRecords, e.RecordHours // the number of records does not grow with the length
	if c.given(config.LogEvery) {
		least, fixed = leastRecords*first.LogEvery, 0
	}
	each := (e.Hours - fixed) / float64(n)
	most := (f.budget.Hours() - fixed) / each
	if !(most >= float64(least)) {
		// A tenth more, because it is measured again.
		shortest := time.Duration(math.Ceil(1.1*3600*(fixed+each*float64(least)))) * time.Second
		return s, fmt.Errorf("--budget %v is too short for %d %s of each model, the fewest that show whether "+
			"errors still fall: give --budget %v or more", f.budget, least, flag, shortest)
	}
	if most > longest {
		c.note(fmt.Sprintf("--budget %v is more than the largest --%s, %d, takes here", f.budget, flag,
			int(longest)))
		most = longest
	}
	unit := math.Pow(10, math.Floor(math.Log10(most))-1) // two digits
	chosen := max(least, int(math.Floor(most/unit)*unit))
	return sweep.Setting{Flag: flag, Value: strconv.Itoa(chosen)}, nil
}

// candidateSeeds is the default and the smallest number of seeds of each candidate. leastRecords is the
// smallest number of records by which curves are judged. longest is the largest value of --steps and --epochs.
const (
	candidateSeeds = 3
	leastRecords   = 9
	longest        = 1e8
)

// The encodings that are compared if --pe names none: usualEncodings for any tokens; the first suitable one of
// placedEncodings if the places of tokens are known; orderedEncodings for sequences. In full grids of eight σ
// on four tasks, 0.2, 0.5 or 1 did best (results/advise-cpu).
var (
	usualEncodings   = []string{noEncoding, "random", "learn-0.2", "learn-0.5", "learn-1", "rope"}
	placedEncodings  = []string{"2d-fixed", "laplacian", "fourier-features"}
	orderedEncodings = []string{"1d-fixed"}
)

// noEncoding names the scheme without positions, with which advise compares all others.
const noEncoding = "nope"

// candidates returns one point of a sweep, with the given flags, for each encoding that they name, or for all
// that may suit.
func candidates(given []sweep.Axis) ([]sweep.Point, error) {
	spec := sweep.Spec{Parts: []sweep.Part{{Axes: []sweep.Axis{
		{Flag: "pe", Values: slices.Concat(usualEncodings, placedEncodings, orderedEncodings)},
		{Flag: "members", Values: []string{strconv.Itoa(candidateSeeds)}},
	}}}}.Set(given)
	axes := spec.Parts[0].Axes
	has := func(flag string) bool {
		return slices.ContainsFunc(given, func(a sweep.Axis) bool { return a.Flag == flag })
	}
	if has("sigma") && !has("pe") {
		return nil, errors.New("--sigma: without --pe, the candidates have their own σ: leave it out, or name " +
			"encodings, such as --pe learn-0.3,rope")
	}
	for _, a := range axes[1:] {
		if len(a.Values) > 1 {
			return nil, fmt.Errorf("--%s: encodings are compared at one value, not at %s; --pe takes "+
				"several, such as learn-0.1,learn-2", a.Flag, strings.Join(a.Values, ", "))
		}
	}
	if encodings := &axes[0]; !slices.Contains(encodings.Values, noEncoding) {
		encodings.Values = append(encodings.Values, noEncoding)
	}
	return spec.Points()
}

// suited returns the candidates whose models can be built and measured on the data. sum is the SHA-256 of the
// data, or empty. suited adds a note for each candidate that it leaves out; one that the user named must be
// suitable.
func suited(all []sweep.Point, named bool, sum string, note func(string)) (good []sweep.Point, err error) {
	texts, _, err := sweep.Resolve(all, resolveArguments)
	if err != nil {
		return nil, err
	}
	switch first, err := config.Parse(texts[0]); { // before data are read
	case err != nil:
		return nil, err
	case len(first.Members) < candidateSeeds:
		return nil, fmt.Errorf("%s cannot tell encodings apart: name %d seeds or more (--seeds 1:%[2]d)",
			wording.Count(len(first.Members), "seed"), candidateSeeds)
	}
	unsuited, err := train.CheckModels(texts, sum, note)
	if err != nil {
		return nil, err
	}
	hasPlaced, misplaced, where := false, []string(nil), ""
	for i, text := range texts {
		one, err := config.Parse(text)
		if err != nil {
			return nil, err
		}
		isPlaced, lacks := slices.Contains(placedEncodings, one.PE), &pe.Misplaced{}
		label, reason := config.Label(one.PE, one.Members[0].Sigma), ""
		if unsuited[i] != nil {
			reason = strings.TrimPrefix(unsuited[i].Error(), one.PE+": ")
		}
		switch {
		case named || one.PE == noEncoding:
			if unsuited[i] != nil {
				return nil, fmt.Errorf("%s: %s", label, reason)
			}
		case isPlaced && (hasPlaced || one.Positions == nil && !one.HasPuzzles()),
			slices.Contains(orderedEncodings, one.PE) && one.Sequence == nil:
			continue
		case one.Positions != nil && errors.As(unsuited[i], &lacks):
			misplaced = append(misplaced, fmt.Sprintf("%s needs %v", label, lacks.Need))
			where = fmt.Sprintf("%s has %v", one.Positions.File, lacks.At)
			continue
		case unsuited[i] != nil:
			note("left out: " + label + ": " + reason)
			continue
		}
		good, hasPlaced = append(good, all[i]), hasPlaced || isPlaced
	}
	if misplaced != nil {
		note(fmt.Sprintf("left out: %s; %s", strings.Join(misplaced, ", "), where))
	}
	return good, nil
}

// lengthOf returns the flag that sets the length of training, and its value.
func lengthOf(c config.Config) (flag string, n int) {
	if c.Facts().InEpochs {
		return "epochs", c.Epochs
	}
	return "steps", c.Steps
}

// isLimited returns an error for a configuration whose training ends before its last records.
func isLimited(c config.Config) error {
	if c.LimitSteps == 0 {
		return nil
	}
	return fmt.Errorf("--limit-steps %d ends training before its last records: give --steps or --epochs", c.LimitSteps)
}

// checkCandidates returns an error for configurations, as in config.json, that cannot be compared.
func checkCandidates(texts [][]byte) error {
	first, err := config.Parse(texts[0])
	if err == nil {
		err = isLimited(first)
	}
	switch flag, length := lengthOf(first); {
	case err != nil:
		return err
	case len(texts) < 2:
		return fmt.Errorf("%s is the only candidate: name others with --pe", first.PE)
	case length/first.LogEvery < leastRecords:
		return fmt.Errorf("--%s %d with --log-every %d: fewer than %d records cannot show whether errors still "+
			"fall; give --%[1]s %[5]d or more", flag, length, first.LogEvery, leastRecords,
			leastRecords*first.LogEvery)
	}
	return nil
}
