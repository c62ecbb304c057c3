package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/train/sweep"
)

// The names in a sweep's directory.
const (
	folder     = "slurm"
	logsFolder = "logs"
	scriptFile = "job.sh"
	flagsFile  = "flags.json"
	sinceFile  = "counted-since"
)

// Job is one submission of tasks. It is recorded before sbatch is called: after a crash in between
// the job is found by its name.
type Job struct {
	ID          int       `json:"id"`   // of the array; 0 while sbatch has not said
	Name        string    `json:"name"` // no other job has or had it
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

// arrayName returns the beginning of the names of all jobs of a sweep. It has the hash of the first
// generation of the plan, which no other sweep has.
func arrayName(s *sweep.Sweep) string { return "torchpe-" + s.Plan.Generations[0].SHA256[:12] }

// suffix matches the part of a job's name after the array's name.
var suffix = regexp.MustCompile(`^\.[0-9a-f]{8}\.[0-9]+$`)

// recordedJobs returns all jobs of a sweep that were ever submitted, in no order.
func recordedJobs(s *sweep.Sweep) (jobs []Job, err error) {
	err = inFolder(s.Dir, false, func(root atomicfile.Root) error {
		dir, err := root.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		files, err := dir.Readdirnames(-1)
		if err != nil {
			return err
		}
		for _, file := range files {
			name, isRecord := strings.CutSuffix(file, ".json")
			rest, ours := strings.CutPrefix(name, arrayName(s))
			if !isRecord || !ours || !suffix.MatchString(rest) {
				continue
			}
			var j Job
			text, err := root.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(text, &j)
			}
			if err == nil && j.Name != name {
				err = fmt.Errorf("is the record of another job, %q", j.Name)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(s.Dir, folder, file), err)
			}
			jobs = append(jobs, j)
		}
		return nil
	})
	return jobs, err
}

// inFolder calls f with the folder DIR/slurm, which links cannot leave. A missing folder is made if create
// is set; else f is not called.
func inFolder(dir string, create bool, f func(atomicfile.Root) error) error {
	parent, err := atomicfile.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	if create {
		if err := parent.MkdirAll(folder, 0o777); err != nil {
			return err
		}
	}
	root, err := parent.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f(atomicfile.Root{Root: root}), root.Close())
}

// writeFile replaces a file of DIR/slurm, and returns when it is on the disk.
func writeFile(dir, name string, text []byte) error {
	return inFolder(dir, true, func(root atomicfile.Root) error {
		return atomicfile.WriteIn(root, name, text, true)
	})
}

// readFile reads a file of DIR/slurm; nil where there is none.
func readFile(dir, name string) (text []byte, err error) {
	err = inFolder(dir, false, func(root atomicfile.Root) error {
		text, err = root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return text, err
}

// writeJSON replaces a file of DIR/slurm by a value.
func writeJSON(dir, name string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return writeFile(dir, name, append(text, '\n'))
}

// Flags are the flags of a submission by name, each with its values. They are stored with the sweep,
// and change nothing of what is computed.
type Flags map[string][]string

// ReadFlags returns the flags with which the sweep in dir was last submitted and their file; none
// where it never was.
func ReadFlags(dir string) (flags Flags, path string, err error) {
	path = filepath.Join(dir, folder, flagsFile)
	text, err := readFile(dir, flagsFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && text == nil {
		return nil, path, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &flags)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: remove it to give all flags anew", path, err)
	}
	return flags, path, err
}

// submissions counts how often Slurm took a task after a time.
func submissions(jobs []Job, task int, after time.Time) (n int) {
	for _, j := range jobs {
		if j.ID != 0 && j.Submitted.After(after) && slices.Contains(j.Tasks, task) {
			n++
		}
	}
	return n
}

// CountAnew lets each task of a sweep be submitted [Options].MaxSubmissions times again. Where
// nothing was ever submitted it does nothing.
func CountAnew(s *sweep.Sweep) error {
	jobs, err := recordedJobs(s)
	if err != nil || len(jobs) == 0 {
		return err
	}
	return writeFile(s.Dir, sinceFile, []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"))
}

// countedSince returns when CountAnew was last called.
func countedSince(dir string) (time.Time, error) {
	text, err := readFile(dir, sinceFile)
	if err != nil || text == nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	if err != nil {
		err = fmt.Errorf("%s: %w: remove it", filepath.Join(dir, folder, sinceFile), err)
	}
	return at, err
}
