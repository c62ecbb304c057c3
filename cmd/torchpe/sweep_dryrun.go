package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/torchpe"
	"torchpe/train"
	"torchpe/train/sweep"
)

// estimate is what a plan takes. Tasks that are done count in Runs, Tasks and Done alone.
type estimate struct {
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	New     int     `json:"new_runs"`
	Done    int     `json:"done_runs"`
	Workers int     `json:"workers"`
	Device  string  `json:"device,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // of what is not done, all workers together; 0 without calibration
	DiskMB  float64 `json:"disk_mb"`
	FreeMB  float64 `json:"free_disk_mb,omitempty"` // 0 where the file system does not say
	Shapes  []shape `json:"shapes"`

	dir, workers string // where the runs go, and what the workers are, in words
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

// dryRun prints what change would add to the sweep in dir, and what is left to do.
func dryRun(out, progress io.Writer, dir string, f sweepFlags, m sweep.Machine, change func(*sweep.Plan) error) error {
	plan, st, err := planIn(dir)
	if err != nil {
		return err
	}
	if err := change(plan); err != nil {
		return err
	}
	e := estimate{Runs: plan.Runs(), Tasks: len(plan.Tasks), New: plan.Runs() - st.Runs, Done: st.DoneRuns, Workers: m.Workers, FreeMB: freeMB(dir), dir: dir}
	if dir == "" {
		e.dir = "this folder"
	}
	if e.DiskMB, err = plan.DiskMB(openTask(st)); err != nil {
		return err
	}
	if e.Shapes, err = shapesOf(plan, openTask(st)); err != nil {
		return err
	}
	e.workers = fmt.Sprintf("with %d workers", m.Workers)
	if f.launch.launcher == "slurm" {
		e.workers = fmt.Sprintf("if %d jobs run at a time and a node takes as long for a step as this machine", m.Workers)
		if f.launch.slurm.options.Throttle == 0 {
			e.workers += " (--throttle says how many jobs; none was given)"
		}
	}
	if !f.noCalibrate {
		t := timing{gpus: len(torchpe.DescribeSystem().GPUs), step: timeStep, progress: progress}
		tasks := 0
		for i := range e.Shapes {
			if err := e.calibrate(plan, i, t); err != nil {
				return err
			}
			tasks += e.Shapes[i].Tasks
		}
		e.Hours /= float64(max(1, min(m.Workers, tasks)))
	}
	if f.json {
		return printJSON(out, e)
	}
	return e.print(out, plan)
}

// planIn is the plan of the sweep in dir and how far it is; an empty one where there is none.
func planIn(dir string) (*sweep.Plan, sweep.Status, error) {
	s, err := sweep.Open(dir)
	if errors.Is(err, sweep.ErrNoSweep) {
		return &sweep.Plan{}, sweep.Status{}, nil
	}
	if err != nil {
		return nil, sweep.Status{}, err
	}
	defer s.Close()
	st, err := s.Status(nil)
	return s.Plan, st, err
}

// shapesOf sorts the tasks of a plan that are open by the time of their steps.
func shapesOf(plan *sweep.Plan, open func(task int) bool) (shapes []shape, err error) {
	at := map[string]int{}
	keys := make([]string, len(plan.Configurations))
	for i, text := range plan.Configurations {
		var c map[string]json.RawMessage
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, err
		}
		for _, key := range untimed {
			delete(c, key)
		}
		rest, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		keys[i] = string(rest)
	}
	for i, t := range plan.Tasks {
		if !open(i) {
			continue
		}
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
	}
	return shapes, nil
}

// Steps of a calibration.
const (
	calibrationWarmup  = 1
	calibrationSteps   = 3
	calibrationMembers = 2 // on a CPU, where the time grows with the members
)

// timing is how a step is timed.
type timing struct {
	gpus     int // of this machine
	step     func(train.Config) (train.Bench, error)
	progress io.Writer
}

func timeStep(c train.Config) (train.Bench, error) {
	return train.BenchStep(c, calibrationWarmup, calibrationSteps, false)
}

// calibrate times a step of one shape, and adds the hours of its tasks.
func (e *estimate) calibrate(plan *sweep.Plan, i int, by timing) error {
	s := &e.Shapes[i]
	c, err := planned(plan, s.task)
	if err != nil {
		return err
	}
	fmt.Fprintf(by.progress, "torchpe: timing a step of %s\n", s.Example)
	if c.Threads == 0 {
		c.Threads = 1
	}
	if c.Device == "cpu" || by.gpus == 0 {
		c.Members = c.Members[:min(calibrationMembers, len(c.Members))]
	}
	b, err := by.step(c)
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
			row[4], row[5] = fmt.Sprintf("%.2f", s.StepMS), timeText(s.Hours)
		}
		rows = append(rows, row)
	}
	if rows == nil {
		rows = [][]string{{"all runs are done", "–", "–", "–", "–", "–"}}
	}
	if err := printTable(out, []string{"runs like", "runs", "tasks", "largest ensemble", "ms a step and member", "time of a worker"}, rows); err != nil {
		return err
	}
	const most = 12
	for i, t := range plan.Tasks[:min(most, len(plan.Tasks))] {
		fmt.Fprintf(out, "task %d: %s\n", i, strings.Join(t.Runs[:min(3, len(t.Runs))], ", ")+moreText(len(t.Runs)-3))
	}
	if n := len(plan.Tasks); n > most {
		fmt.Fprintf(out, "and %d more tasks\n", n-most)
	}
	text := fmt.Sprintf("%d runs (%d new, %d done) in %d tasks; what is left takes %s of disk", e.Runs, e.New, e.Done, e.Tasks, diskText(e.DiskMB))
	if e.FreeMB > 0 {
		text += fmt.Sprintf(" (%s free)", diskText(e.FreeMB))
	}
	if e.Hours > 0 {
		text += fmt.Sprintf(" and about %s %s, timed on %s, without the measurements at log intervals", timeText(e.Hours), e.workers, e.Device)
	}
	if short := shortOfDisk(e.dir, e.DiskMB, e.FreeMB); short != "" {
		text += "\n" + short
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

func moreText(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
