package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// adviseFlags holds the flags of "torchpe advise": those of a sweep, and the time that it may take.
type adviseFlags struct {
	sweepFlags
	budget time.Duration
}

// adviseSeeds is the number of seeds of each candidate where none are asked for, and the least;
// adviseRecords is the least number of records by which curves are judged.
const (
	adviseSeeds   = 3
	adviseRecords = 9
)

// The encodings that are compared where none are named: usual for any tokens; of placed, where places of
// tokens are known, the first that suits them; ordered for sequences. In whole grids of eight σ on four
// tasks 0.2, 0.5 or 1 did best (results/advise-cpu).
var (
	usual   = []string{"nope", "random", "learn-0.2", "learn-0.5", "learn-1", "rope"}
	placed  = []string{"2d-fixed", "laplacian", "fourier-features"}
	ordered = []string{"1d-fixed"}
)

func newAdviseCommand() *cobra.Command {
	f := adviseFlags{sweepFlags: sweepFlags{pack: memberCount{n: 1, auto: true}}}
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Find which encoding suits your data, and whether any is better than none",
		Long: `Train some encodings with three seeds each, as a sweep, and say which of these is true:

  one encoding is better than the rest, and by how much
  some cannot be told apart
  none is better than none (nope)
  training was too short to say, and about how much more is needed

OUT/advice/index.html has the answer with a table of held-out errors, those without a model among
them, and the curves. OUT is an ordinary sweep, for torchpe sweep, runs list and report.

A line "data: N frames of M tokens" says how the data were read: a token is one series (a region, a
sensor, a stock), a frame one time point. Where they are the wrong way round, give --axes.

The candidates are nope, random, rope, learn with σ of 0.2, 0.5 and 1, and one that knows where the
tokens lie, where that is known. --pe names others; every other flag of torchpe train has one value.
--budget chooses --steps (--epochs of puzzles) so that training takes about so long here.

The same command goes on where it was stopped.`,
		Example: `  torchpe advise --task masked --data prices.csv --budget 1h --out advice
  torchpe advise --preset quick --epochs 100 --pe learn-0.1,learn-0.2,learn-1,rope --out advice
  torchpe advise --task fmri --data rest/ --steps 5000 --dry-run`,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.out, "out", "o", "advice", "directory of the sweep, and of the answer in OUT/advice")
	fl.DurationVar(&f.budget, "budget", 0,
		"choose --steps or --epochs so that training takes about so long, such as 1h")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what is trained and the time that it takes here, and stop")
	f.launch.add(fl)
	headFlags(fl, "sweep")
	f.axes = addAxes(fl)
	fl.Lookup("pe").DefValue, fl.Lookup("members").DefValue = "", strconv.Itoa(adviseSeeds)
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "budget", "out", "dry-run", "workers")...)
	cmd.MarkFlagsMutuallyExclusive("budget", "steps")
	cmd.MarkFlagsMutuallyExclusive("budget", "epochs")
	return leaf(cmd, f.run)
}

func (f *adviseFlags) run(c *call) (r result, err error) {
	if err := f.launch.check(); err != nil {
		return r, err
	}
	configs, err := f.configs(c)
	if err != nil {
		return r, usageError{err}
	}
	start := time.Now()
	if r, err = f.train(c, f.out, "advise", configs); err != nil || f.dryRun {
		return r, err
	}
	over := overBudget(f.budget, time.Since(start))
	if _, st, err := sweep.PlanIn(f.out); err != nil || st.DoneRuns < st.Runs {
		return r, err
	}
	study, err := advice.Read(filepath.Join(f.out, "runs"))
	if err != nil {
		return r, err
	}
	a, err := study.Write(filepath.Join(f.out, "advice"))
	return result{value: a, table: &a.Table, notes: slices.Concat(a.Notes, over),
		print: printf("%s\n\n%s\n%s\n", a.Legend, a.Text, a.Page)}, err
}

// overBudget returns a note where training took much longer than its budget; 0 is none.
func overBudget(budget, took time.Duration) []string {
	if budget == 0 || took < budget*3/2 {
		return nil
	}
	return []string{fmt.Sprintf("budget %s, took %s", wording.Seconds(budget.Seconds()), wording.Seconds(took.Seconds()))}
}

// configs returns the configurations to train. It fails where the sweep in OUT has other runs.
func (f *adviseFlags) configs(c *call) ([][]byte, error) {
	points, err := f.points()
	if err != nil {
		return nil, err
	}
	plan, sum, err := f.begun()
	if err != nil {
		return nil, err
	}
	if points, err = suited(c, points, sum); err != nil {
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
	for _, n := range notes {
		c.note(n)
	}
	return texts, f.check(texts, plan)
}

// points returns a point for each encoding.
func (f *adviseFlags) points() ([]sweep.Point, error) {
	axes, err := givenAxes(f.axes)
	if err != nil {
		return nil, err
	}
	pe := sweep.Axis{Flag: "pe", Values: slices.Concat(usual, placed, ordered)}
	part := sweep.Spec{Parts: []sweep.Part{{Axes: []sweep.Axis{pe}, Members: adviseSeeds}}}.Set(axes).Parts[0]
	for _, a := range part.Axes[1:] {
		if len(a.Values) > 1 {
			return nil, withRepeated(fmt.Errorf("--%s: encodings are compared with one value of it, not with %s; --pe "+
				"takes several, such as learn-0.1,learn-2", a.Flag, strings.Join(a.Values, ", ")), f.axes)
		}
	}
	if pe := &part.Axes[0]; !slices.Contains(pe.Values, "nope") {
		pe.Values = append(pe.Values, "nope")
	}
	points, err := part.Points()
	return points, withRepeated(err, f.axes)
}

// begun returns the plan of the sweep in OUT, and the SHA-256 of the data of its finished runs. Where there
// is no sweep the plan is empty.
func (f *adviseFlags) begun() (plan *sweep.Plan, sum string, err error) {
	s, err := sweep.Open(f.out)
	if errors.Is(err, sweep.ErrNoSweep) {
		if _, err := os.Stat(filepath.Join(f.out, "advice.json")); err == nil {
			return nil, "", fmt.Errorf("%s has runs of torchpe advise of an earlier version, which torchpe runs list "+
				"reads: give another --out", f.out)
		}
		return &sweep.Plan{}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	sum, _ = s.DataOfRuns(0)
	return s.Plan, sum, s.Close()
}

// suited returns the points of which models can be made and measured. Where the encodings are guessed, it
// names the others with the reason; one that the user named must be suited.
func suited(c *call, points []sweep.Point, sum string) (good []sweep.Point, err error) {
	texts, _, err := sweep.Resolve(points, resolveArguments)
	if err != nil {
		return nil, err
	}
	unsuited, err := train.CheckModels(texts, sum, c.note)
	if err != nil {
		return nil, err
	}
	hasPlaced, misplaced, where := false, []string(nil), ""
	for i, text := range texts {
		one, err := config.Parse(text)
		if err != nil {
			return nil, err
		}
		isPlaced, lacks := slices.Contains(placed, one.PE), &pe.Misplaced{}
		label, reason := config.Label(one.PE, one.Members[0].Sigma), ""
		if unsuited[i] != nil {
			reason = strings.TrimPrefix(unsuited[i].Error(), one.PE+": ")
		}
		switch {
		case c.given("pe") || one.PE == "nope":
			if unsuited[i] != nil {
				return nil, fmt.Errorf("%s: %s", label, reason)
			}
		case isPlaced && (hasPlaced || one.Positions == nil && !one.HasPuzzles()),
			slices.Contains(ordered, one.PE) && one.Sequence == nil:
			continue
		case one.Positions != nil && errors.As(unsuited[i], &lacks):
			misplaced = append(misplaced, fmt.Sprintf("%s needs %v", label, lacks.Need))
			where = fmt.Sprintf("%s has %v", one.Positions.File, lacks.At)
			continue
		case unsuited[i] != nil:
			c.note("left out: " + label + ": " + reason)
			continue
		}
		good, hasPlaced = append(good, points[i]), hasPlaced || isPlaced
	}
	if misplaced != nil {
		c.note(fmt.Sprintf("left out: %s; %s", strings.Join(misplaced, ", "), where))
	}
	return good, nil
}

// lengthOf returns the flag that says how long to train, and its value.
func lengthOf(c config.Config) (flag string, n int) {
	if c.Facts().InEpochs {
		return "epochs", c.Epochs
	}
	return "steps", c.Steps
}

// length returns the number of steps or epochs that take the budget: that of the plan, if it has runs.
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
	flag, n := lengthOf(first)
	most := float64(n) * f.budget.Hours() / e.Hours
	if !c.given("log-every") { // a number of records that does not grow with the length
		most = float64(n) * (f.budget.Hours() - e.RecordHours) / (e.Hours - e.RecordHours)
	}
	if !(most >= adviseRecords) {
		return s, fmt.Errorf("--budget %v is too short: %d %s take about %s here", f.budget, n, flag,
			wording.Seconds(3600*e.Hours))
	}
	unit := math.Pow(10, math.Floor(math.Log10(most))-1) // two digits
	return sweep.Setting{Flag: flag, Value: strconv.Itoa(int(math.Floor(most/unit) * unit))}, err
}

// check refuses configurations that cannot be compared, and a plan that has other runs.
func (f *adviseFlags) check(texts [][]byte, plan *sweep.Plan) error {
	first, err := config.Parse(texts[0])
	switch flag, length := lengthOf(first); {
	case err != nil:
		return err
	case len(texts) < 2:
		return fmt.Errorf("%s is the only candidate: name others with --pe", first.PE)
	case len(first.Members) < adviseSeeds:
		return fmt.Errorf("%s cannot tell encodings apart: want --members %d or more",
			wording.Count(len(first.Members), "seed"), adviseSeeds)
	case length/first.LogEvery < adviseRecords:
		return fmt.Errorf("--%s %d with --log-every %d: fewer than %d records do not show whether errors still fall",
			flag, length, first.LogEvery, adviseRecords)
	}
	added, err := plan.Add(texts, sweep.Packing{Members: 1}, nil)
	if err == nil && plan.Runs() > added.New+added.Known {
		err = fmt.Errorf("%s has runs of other settings, encodings or seeds: give another --out", f.out)
	}
	return err
}
