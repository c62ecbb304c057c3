package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Estimate holds the runs, time and disk that a plan needs. Tasks that are done count in Runs,
// Tasks and Done alone.
type Estimate struct {
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	New     int     `json:"new_runs"`
	Done    int     `json:"done_runs"`
	Workers int     `json:"workers"`
	Device  string  `json:"device,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // of what is not done, all workers together; 0 without calibration
	DiskMB  float64 `json:"disk_mb"`
	FreeMB  float64 `json:"free_disk_mb,omitempty"` // 0 where the file system does not say
	Shapes  []Shape `json:"shapes"`
}

// Shape holds the runs whose steps take about the same time.
type Shape struct {
	Example string  `json:"example"` // name of a run
	Runs    int     `json:"runs"`
	Tasks   int     `json:"tasks"`
	Largest int     `json:"largest_ensemble"`
	StepMS  float64 `json:"step_ms_a_member,omitempty"`
	Hours   float64 `json:"hours,omitempty"` // of one worker

	tasks []int // indexes
	timed int   // index of the task with the largest ensemble
}

// StepTime holds the measured time of a training step.
type StepTime struct {
	Device        string
	MemberMS      float64 // divided by the members
	StepsPerEpoch int
}

// PlanIn returns the plan and the status of the sweep in dir; empty ones where there is no sweep.
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

// Estimate returns what is left of the plan by a status of an earlier state of it, without times.
func (p *Plan) Estimate(st Status) (*Estimate, error) {
	e := &Estimate{Runs: p.Runs(), Tasks: len(p.Tasks), New: p.Runs() - st.Runs, Done: st.DoneRuns}
	var err error
	if e.DiskMB, err = p.DiskMB(st); err != nil {
		return nil, err
	}
	e.Shapes, err = p.shapes(st)
	return e, err
}

// open says whether a task is not done; it may have been planned after the status was read.
func (st Status) open(task int) bool { return task >= len(st.Tasks) || st.Tasks[task].Done == nil }

// DiskMB estimates the disk space of the finished runs of all tasks that are not done.
func (p *Plan) DiskMB(st Status) (sum float64, err error) {
	sizes := make([]memberSize, len(p.Configurations))
	for i, c := range p.Configurations {
		if sizes[i], err = sizeOf(c); err != nil {
			return 0, err
		}
	}
	for i, t := range p.Tasks {
		if st.open(i) {
			sum += sizes[t.Configuration].DiskMB * float64(len(t.Runs))
		}
	}
	return sum, nil
}

// FreeMB returns the space that is free in a directory, which need not exist; 0 where the file
// system does not say.
func FreeMB(dir string) float64 {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := runlog.FreeSpace(dir)
	if err != nil || free == math.MaxInt64 {
		return 0
	}
	return float64(free) / (1 << 20)
}

// shapes groups the tasks that are not done by the settings that change the time of a step.
func (p *Plan) shapes(st Status) (shapes []Shape, err error) {
	untimed := config.Keys(func(s config.Setting) bool { return s.SameStepTime })
	keys := make([]string, len(p.Configurations))
	for i, text := range p.Configurations {
		var c map[string]json.RawMessage
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, err
		}
		for _, key := range untimed {
			if err := deleteKey(c, key); err != nil {
				return nil, err
			}
		}
		timed, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		keys[i] = string(timed)
	}
	at := map[string]int{}
	for i, t := range p.Tasks {
		if !st.open(i) {
			continue
		}
		key := keys[t.Configuration]
		n, known := at[key]
		if !known {
			n = len(shapes)
			at[key] = n
			shapes = append(shapes, Shape{Example: t.Runs[0], timed: i})
		}
		s := &shapes[n]
		if len(t.Runs) > s.Largest {
			s.Largest, s.timed = len(t.Runs), i
		}
		s.Runs, s.Tasks, s.tasks = s.Runs+len(t.Runs), s.Tasks+1, append(s.tasks, i)
	}
	return shapes, nil
}

// deleteKey removes a key such as masked.mask_level from a configuration.
func deleteKey(c map[string]json.RawMessage, key string) error {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		delete(c, key)
		return nil
	}
	if c[outer] == nil {
		return nil
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(c[outer], &in); err != nil {
		return err
	}
	if err := deleteKey(in, inner); err != nil {
		return err
	}
	text, err := json.Marshal(in)
	c[outer] = text
	return err
}

// Calibrate times a step of each shape of a plan and fills in the hours, of all workers together.
func (e *Estimate) Calibrate(p *Plan, timeStep func(c config.Config, example string) (StepTime, error)) error {
	hours, tasks := 0.0, 0
	for i := range e.Shapes {
		s := &e.Shapes[i]
		if err := s.calibrate(p, func(c config.Config) (StepTime, error) {
			t, err := timeStep(c, s.Example)
			e.Device = t.Device
			return t, err
		}); err != nil {
			return err
		}
		hours, tasks = hours+s.Hours, tasks+s.Tasks
	}
	e.Hours = hours / float64(max(1, min(e.Workers, tasks)))
	return nil
}

// calibrate times a step of the shape, and adds the hours of its tasks.
func (s *Shape) calibrate(p *Plan, timeStep func(config.Config) (StepTime, error)) error {
	c, err := p.TaskConfig(s.timed)
	if err != nil {
		return err
	}
	t, err := timeStep(c)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Example, err)
	}
	s.StepMS = t.MemberMS
	steps := map[string]float64{} // of training, by its length in epochs and steps
	for _, i := range s.tasks {
		c, err := p.TaskConfig(i)
		if err != nil {
			return err
		}
		length := fmt.Sprint(c.Epochs, c.Steps, c.LimitSteps)
		if steps[length] == 0 {
			steps[length] = float64(c.TotalSteps(t.StepsPerEpoch))
		}
		s.Hours += steps[length] * s.StepMS * float64(len(p.Tasks[i].Runs)) / 3.6e6
	}
	return nil
}
