package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/train"
	"torchpe/train/sweep"
)

// estimate is what a plan takes.
type estimate struct {
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	New     int     `json:"new_runs"`
	Workers int     `json:"workers"`
	Device  string  `json:"device,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // of what is not done, all workers together; 0 without calibration
	DiskMB  float64 `json:"disk_mb"`
	Shapes  []shape `json:"shapes"`
}

// shape are the runs whose steps take the same time, nearly.
type shape struct {
	Example string  `json:"example"` // name of a run
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	Largest int     `json:"largest_ensemble"`
	StepMS  float64 `json:"step_ms_a_member,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // of one worker

	key     string
	task    int // an example
	perTask []int
}

// untimed are the keys of a configuration that change the time of a step little: one of a shape stands for all.
var untimed = []string{"pe", "pe_options", "members", "fidelity", "optimizer", "schedule", "read_out", "epochs", "steps", "limit_steps", "log_every",
	"noise", "noise_repeats", "checkpoint_every", "threads", "warmup_steps", "clip_norm", "data_seed"}

// dryRun prints what change would add to the sweep in dir.
func dryRun(out, progress io.Writer, dir string, f sweepFlags, m sweep.Machine, change func(*sweep.Plan) error) error {
	plan := &sweep.Plan{}
	if s, err := sweep.Open(dir); err == nil {
		plan = s.Plan
		s.Close()
	} else if !errors.Is(err, sweep.ErrNoSweep) {
		return err
	}
	planned := plan.Runs()
	if err := change(plan); err != nil {
		return err
	}
	e := estimate{Runs: plan.Runs(), Tasks: len(plan.Tasks), New: plan.Runs() - planned, Workers: m.Workers}
	var err error
	if e.Shapes, e.DiskMB, err = shapesOf(plan); err != nil {
		return err
	}
	if !f.noCalibrate {
		for i := range e.Shapes {
			if err := e.calibrate(plan, i, progress); err != nil {
				return err
			}
		}
		e.Hours /= float64(max(1, min(m.Workers, e.Tasks)))
	}
	if f.json {
		return printJSON(out, e)
	}
	return e.print(out, plan)
}

// shapesOf sorts the tasks of a plan by the time of their steps, and sums up their disk.
func shapesOf(plan *sweep.Plan) (shapes []shape, diskMB float64, err error) {
	at := map[string]int{}
	keys := make([]string, len(plan.Configurations))
	sizes := make([]sweep.Size, len(plan.Configurations))
	for i, text := range plan.Configurations {
		var c map[string]json.RawMessage
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, 0, err
		}
		for _, key := range untimed {
			delete(c, key)
		}
		rest, err := json.Marshal(c)
		if err != nil {
			return nil, 0, err
		}
		keys[i] = string(rest)
		if sizes[i], err = sweep.SizeOf(text); err != nil {
			return nil, 0, err
		}
	}
	for i, t := range plan.Tasks {
		key := keys[t.Configuration]
		n, there := at[key]
		if !there {
			n = len(shapes)
			at[key] = n
			shapes = append(shapes, shape{Example: t.Runs[0], key: key, task: i})
		}
		s := &shapes[n]
		if len(t.Runs) > s.Largest {
			s.Largest, s.task = len(t.Runs), i
		}
		s.Runs, s.Tasks, s.perTask = s.Runs+len(t.Runs), s.Tasks+1, append(s.perTask, i)
		diskMB += sizes[t.Configuration].DiskMB * float64(len(t.Runs))
	}
	return shapes, diskMB, nil
}

// Steps of a calibration.
const (
	calibrationWarmup  = 1
	calibrationSteps   = 3
	calibrationMembers = 2 // on a CPU, where the time grows with the members
)

// calibrate times a step of one shape, and adds the hours of its tasks.
func (e *estimate) calibrate(plan *sweep.Plan, i int, progress io.Writer) error {
	s := &e.Shapes[i]
	c, err := planned(plan, s.task)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "torchpe: timing a step of %s\n", s.Example)
	if c.Threads == 0 {
		c.Threads = 1
	}
	if e.Device == "cpu" || e.Device == "" {
		c.Members = c.Members[:min(calibrationMembers, len(c.Members))]
	}
	b, err := train.BenchStep(c, calibrationWarmup, calibrationSteps, false)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Example, err)
	}
	e.Device = b.Device
	s.StepMS = b.Median / float64(b.Members)
	steps := map[string]float64{} // of training, by its length in epochs and steps
	for _, t := range s.perTask {
		c, err := planned(plan, t)
		if err != nil {
			return err
		}
		length := fmt.Sprint(c.Epochs, c.Steps, c.LimitSteps)
		if steps[length] == 0 {
			steps[length] = float64(c.TotalSteps(b.StepsPerEpoch))
		}
		s.Hours += steps[length] * s.StepMS * float64(len(plan.Tasks[t].Runs)) / 3.6e6
	}
	e.Hours += s.Hours
	return nil
}

func planned(plan *sweep.Plan, task int) (train.Config, error) {
	text, err := plan.Config(task)
	if err != nil {
		return train.Config{}, err
	}
	return train.ParseConfig(text)
}

// print says it to a person.
func (e estimate) print(out io.Writer, plan *sweep.Plan) error {
	slices.SortStableFunc(e.Shapes, func(a, b shape) int { return b.Runs - a.Runs })
	var rows [][]string
	for _, s := range e.Shapes {
		row := []string{s.Example, fmt.Sprint(s.Runs), fmt.Sprint(s.Tasks), fmt.Sprint(s.Largest), "–", "–"}
		if s.StepMS > 0 {
			row[4], row[5] = fmt.Sprintf("%.2f", s.StepMS), fmt.Sprintf("%.2f", s.Hours)
		}
		rows = append(rows, row)
	}
	if err := printTable(out, []string{"runs like", "runs", "tasks", "largest ensemble", "ms a step and member", "hours of a worker"}, rows); err != nil {
		return err
	}
	const most = 12
	for i, t := range plan.Tasks[:min(most, len(plan.Tasks))] {
		fmt.Fprintf(out, "task %d: %s\n", i, strings.Join(t.Runs[:min(3, len(t.Runs))], ", ")+moreText(len(t.Runs)-3))
	}
	if n := len(plan.Tasks); n > most {
		fmt.Fprintf(out, "and %d more tasks\n", n-most)
	}
	fmt.Fprintf(out, "%d runs (%d new) in %d tasks, %.1f GB of disk", e.Runs, e.New, e.Tasks, e.DiskMB/1024)
	if e.Hours > 0 {
		fmt.Fprintf(out, "; about %.1f hours with %d workers on %s, without the measurements at log intervals", e.Hours, e.Workers, e.Device)
	}
	_, err := fmt.Fprintln(out)
	return err
}

func moreText(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
