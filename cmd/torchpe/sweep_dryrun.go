package main

import (
	"fmt"
	"io"
	"slices"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// estimate describes what change would add to the sweep in dir, and what is left to do.
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

// timed estimates what is left of a plan, with the time of a step here unless that is not wanted.
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

// printEstimate prints a table of the runs, the first tasks, and the time and disk that are needed.
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
	head := []string{"runs like", "runs", "tasks", "largest ensemble", "ms a step and member", "time of a worker"}
	printTable(out, head, rows)
	const most = 12
	for i, t := range plan.Tasks[:min(most, len(plan.Tasks))] {
		fmt.Fprintf(out, "task %d: %s\n", i, wording.List(3, t.Runs))
	}
	if n := len(plan.Tasks); n > most {
		fmt.Fprintf(out, "and %s\n", wording.Count(n-most, "more task"))
	}
	text := fmt.Sprintf("%s (%d new, %d done) in %s; what is left takes %s of "+
		"disk", wording.Count(e.Runs, "run"), e.New, e.Done, wording.Count(e.Tasks, "task"),
		wording.Megabytes(e.DiskMB))
	if e.FreeMB > 0 {
		text += fmt.Sprintf(" (%s free)", wording.Megabytes(e.FreeMB))
	}
	if e.Hours > 0 {
		text += fmt.Sprintf(" and about %s %s, timed on %s; %s steps a model, measurements at log intervals "+
			"included", wording.Seconds(3600*e.Hours), f.workersText(e.Workers), e.Device, wording.Range(e.Steps))
	}
	if dir == "" {
		dir = "this folder"
	}
	if short := sweep.ShortOfDisk(dir, e.DiskMB, e.FreeMB); short != "" {
		text += "\n" + short
	}
	fmt.Fprintln(out, text)
}

// workersText says what the hours of an estimate assume.
func (f *launchFlags) workersText(workers int) string {
	if f.launcher != "slurm" {
		return "with " + wording.Count(workers, "worker")
	}
	text := fmt.Sprintf("with %s at a time, if a node takes as long for a step as this machine",
		wording.Count(workers, "job"))
	if f.slurm.options.Throttle == 0 {
		text += " (--throttle says how many jobs; none was given)"
	}
	return text
}
