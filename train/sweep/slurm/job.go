package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"torchpe/train/sweep"
)

// The names in a sweep's directory.
const (
	folder     = "slurm"
	logsFolder = "logs"
	scriptFile = "job.sh"
	flagsFile  = "flags.json"
)

// Job is one submission of tasks. It is recorded before sbatch is called, so that the job can be
// found by its name after a crash in between.
type Job struct {
	ID          int       `json:"id"`   // of the array; 0 until sbatch returns it
	Name        string    `json:"name"` // unique, also among past jobs
	Tasks       []int     `json:"tasks"`
	TasksPerJob int       `json:"tasks_per_job"`
	Submitted   time.Time `json:"submitted"`
}

// tasksOf returns the tasks that array index i runs.
func (j Job) tasksOf(i int) []int {
	n := max(j.TasksPerJob, 1)
	from := min(i*n, len(j.Tasks))
	return j.Tasks[from:min(from+n, len(j.Tasks))]
}

// arrayName returns the prefix of the names of all jobs of a sweep. It contains the hash of the
// first generation of the plan, which is unique to the sweep.
func arrayName(s *sweep.Sweep) string { return "torchpe-" + s.Plan.Generations[0].SHA256[:12] }

// suffix matches the part of a job's name after the array's name.
var suffix = regexp.MustCompile(`^\.[0-9a-f]{8}\.[0-9]+$`)

// recordedJobs returns all jobs that were ever submitted for a sweep, in no particular order.
func recordedJobs(s *sweep.Sweep) (jobs []Job, err error) {
	files, err := s.List(folder)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name, isRecord := strings.CutSuffix(file, ".json")
		rest, ours := strings.CutPrefix(name, arrayName(s))
		if !isRecord || !ours || !suffix.MatchString(rest) {
			continue
		}
		var j Job
		text, err := s.Read(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		err = json.Unmarshal(text, &j)
		if err == nil && j.Name != name {
			err = fmt.Errorf("is the record of another job, %q", j.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(s.Dir, folder, file), err)
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// write replaces a file of DIR/slurm, and returns when it is on disk.
func write(s *sweep.Sweep, name string, text []byte) error {
	if err := s.MakeDir(folder); err != nil {
		return err
	}
	return s.Write(filepath.Join(folder, name), text, true)
}

func writeJSON(s *sweep.Sweep, name string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return write(s, name, append(text, '\n'))
}

// Flags are the flags of a submission by name, each with its values. They are stored with the sweep
// and do not change results.
type Flags map[string][]string

// ReadFlags returns the flags of the last submission of the sweep in dir, and the path of their
// file; flags is nil if there was none.
func ReadFlags(dir string) (flags Flags, path string, err error) {
	path = filepath.Join(dir, folder, flagsFile)
	s, err := sweep.Open(dir)
	if errors.Is(err, sweep.ErrNoSweep) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, err
	}
	defer s.Close()
	text, err := s.Read(filepath.Join(folder, flagsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &flags)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: remove it to give all flags again", path, err)
	}
	return flags, path, err
}
