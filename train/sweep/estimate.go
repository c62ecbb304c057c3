package sweep

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Estimate holds the runs, time and disk space that a plan needs. Done tasks count only in Runs,
// Tasks and Done.
type Estimate struct {
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	New     int     `json:"new_runs"`
	Done    int     `json:"done_runs"`
	Workers int     `json:"workers"`
	Device  string  `json:"device,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // left, with all workers; 0 without calibration
	DiskMB  float64 `json:"disk_mb"`
	FreeMB  float64 `json:"free_disk_mb"` // -1 if the file system does not report it
	Shapes  []Shape `json:"shapes"`

	Steps       []int   `json:"steps_a_model,omitempty"` // the numbers among tasks that are left, ascending
	RecordHours float64 `json:"record_hours,omitempty"`  // the part of Hours for measurements
}

// Shape counts runs whose steps take about the same time.
type Shape struct {
	Example string  `json:"example"` // name of a run
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	Largest int     `json:"largest_ensemble"`
	StepMS  float64 `json:"step_ms_a_member,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // for one worker

	tasks []int // indexes
	timed int   // index of the task with the largest ensemble
}

// StepTime holds the measured time of a training step.
type StepTime struct {
	Device        string
	MemberMS      float64 // divided by the members
	StepsPerEpoch int
	RecordMS      float64 // measurements at one log interval, divided by the members
}

// PlanIn returns the plan and the status of the sweep in dir, empty ones if there is no sweep.
func PlanIn(dir string) (*Plan, Status, error) {
	s, err := Open(dir)
	if errors.Is(err, ErrNoSweep) {
		return &Plan{}, Status{}, nil
	}
	if err != nil {
		return nil, Status{}, err
	}
	defer s.Close()
	st, err := s.Status(nil)
	return s.Plan, st, err
}

// Estimate returns what is left of the plan, without times. The status may be older than the plan.
// Tasks whose settings imply about the same time per step share a shape.
func (p *Plan) Estimate(st Status) (*Estimate, error) {
	e := &Estimate{Runs: p.Runs(), Tasks: len(p.Tasks), New: p.Runs() - st.Runs, Done: st.DoneRuns}
	untimed := config.Keys(func(s config.Setting) bool { return s.SameStepTime })
	keys, diskMB := make([]string, len(p.Configurations)), make([]float64, len(p.Configurations))
	for i, text := range p.Configurations {
		c, err := readConfig(text)
		if err != nil {
			return nil, err
		}
		base, err := runlog.ParseObject(text)
		if err != nil {
			return nil, err
		}
		settings := base.Without(untimed...).Flat()
		for _, key := range untimed { // such as masked.mask_level
			delete(settings, key)
		}
		keys[i] = fmt.Sprint(settings) // maps are printed in the order of their keys
		diskMB[i] = sizeOf(c).DiskMB
	}
	at := map[string]int{}
	for i, t := range p.Tasks {
		if i < len(st.Tasks) && st.Tasks[i].Done != nil { // the plan may have grown after the status was read
			continue
		}
		key := keys[t.Configuration]
		n, known := at[key]
		if !known {
			n = len(e.Shapes)
			at[key] = n
			e.Shapes = append(e.Shapes, Shape{Example: t.Runs[0], timed: i})
		}
		s := &e.Shapes[n]
		if len(t.Runs) > s.Largest {
			s.Largest, s.timed = len(t.Runs), i
		}
		s.Runs, s.Tasks, s.tasks = s.Runs+len(t.Runs), s.Tasks+1, append(s.tasks, i)
		e.DiskMB += diskMB[t.Configuration] * float64(len(t.Runs))
	}
	return e, nil
}

// FreeMB returns the free space at a directory, which need not exist, or -1 if the file system does
// not report it.
func FreeMB(dir string) float64 {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return -1
	}
	free, err := runlog.FreeSpace(dir)
	for err != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		free, err = runlog.FreeSpace(dir)
	}
	if err != nil || free == math.MaxInt64 {
		return -1
	}
	return float64(free) / (1 << 20)
}

// Calibrate measures the time of a step for each shape of a plan and fills in the hours, with all workers.
func (e *Estimate) Calibrate(p *Plan, timeStep func(c config.Config, example string) (StepTime, error)) error {
	hours, records, tasks := 0.0, 0.0, 0
	for i := range e.Shapes {
		s := &e.Shapes[i]
		c, err := p.TaskConfig(s.timed)
		if err != nil {
			return err
		}
		t, err := timeStep(c, s.Example)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Example, err)
		}
		e.Device, s.StepMS = t.Device, t.MemberMS
		for _, i := range s.tasks {
			if c, err = p.TaskConfig(i); err != nil {
				return err
			}
			steps, every := c.TotalSteps(t.StepsPerEpoch), max(1, c.LogEvery)
			if c.Facts().InEpochs {
				every *= t.StepsPerEpoch
			}
			members := float64(len(p.Tasks[i].Runs))
			recording := math.Ceil(float64(steps)/float64(every)) * t.RecordMS * members / 3.6e6
			s.Hours += float64(steps)*s.StepMS*members/3.6e6 + recording
			records += recording
			e.Steps = append(e.Steps, steps)
		}
		hours, tasks = hours+s.Hours, tasks+s.Tasks
	}
	slices.Sort(e.Steps)
	e.Steps = slices.Compact(e.Steps)
	atOnce := float64(max(1, min(e.Workers, tasks)))
	e.Hours, e.RecordHours = hours/atOnce, records/atOnce
	return nil
}
