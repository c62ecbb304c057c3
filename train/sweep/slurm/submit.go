package slurm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/internal/atomicfile"
)

// folder holds the package's files, below an array's Dir.
const folder = "slurm"

// Job is one submission of a chunk. It is stored beside the job script.
type Job struct {
	ID          int       `json:"id"`   // of the array; 0 while sbatch has not said
	Name        string    `json:"name"` // no other job has or had it
	Chunk       int       `json:"chunk"`
	Tasks       []int     `json:"tasks"`
	TasksPerJob int       `json:"tasks_per_job"`
	Submitted   time.Time `json:"submitted"`
	Logs        string    `json:"logs"`
	// Withdrawn says that sbatch failed. If Slurm has the job nevertheless, the job does nothing.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Excused are tasks for which this submission does not count among [Options].MaxSubmissions.
	Excused []int `json:"excused,omitempty"`
}

// Log returns the log file of the job that runs a task, or "" for a task that is not of this array.
func (j Job) Log(task int) string {
	i := slices.Index(j.Tasks, task)
	if i < 0 {
		return ""
	}
	return filepath.Join(j.Logs, fmt.Sprintf("%s_%d.out", j.Name, i/max(j.TasksPerJob, 1)))
}

// line returns the tasks that array index i runs.
func (j Job) line(i int) []int {
	n := max(j.TasksPerJob, 1)
	from := min(i*n, len(j.Tasks))
	return j.Tasks[from:min(from+n, len(j.Tasks))]
}

// submitError says that a part of an array was not submitted.
type submitError struct {
	Submitted []Job // what was; these run
	Left      []int // tasks that were not
	Err       error
}

// Error says how much was submitted, and why no more.
func (e *submitError) Error() string {
	n := 0
	for _, j := range e.Submitted {
		n += len(j.Tasks)
	}
	if n == 0 {
		return fmt.Sprintf("nothing submitted: %v", e.Err)
	}
	return fmt.Sprintf("%d tasks submitted (%s), %d not: %v", n, ids(e.Submitted), len(e.Left), e.Err)
}

// Unwrap returns the reason.
func (e *submitError) Unwrap() error { return e.Err }

// ids lists job ids for people.
func ids(jobs []Job) string {
	var list []string
	for _, j := range jobs {
		list = append(list, strconv.Itoa(j.ID))
	}
	return "job " + strings.Join(list, ", ")
}

// Submit writes the job scripts of an array and passes them to sbatch, in as many chunks as the
// cluster's limits need. When it fails in between, the error is a *submitError, and the submitted
// jobs are returned with it.
func (c *client) Submit(ctx context.Context, a Array) ([]Job, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	limits, err := c.limits(ctx)
	if err != nil {
		return nil, &submitError{Left: a.Tasks, Err: err}
	}
	if limits.maxTasks < 1 {
		return nil, &submitError{Left: a.Tasks,
			Err: errors.New("this cluster takes no job arrays (MaxArraySize is 0)")}
	}
	token := make([]byte, 4)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	var jobs []Job
	done := 0
	for k, chunk := range a.chunks(hex.EncodeToString(token), limits.maxTasks, limits.requeues) {
		job := Job{
			Name: chunk.Name, Chunk: k, Tasks: chunk.tasks(), TasksPerJob: a.Options.perJob(),
			Logs: a.logs(), Submitted: time.Now().UTC().Truncate(time.Microsecond),
		}
		err := c.submitChunk(ctx, a, chunk, &job)
		if job.ID != 0 {
			jobs = append(jobs, job)
			done += len(job.Tasks)
		}
		if err != nil {
			return jobs, &submitError{Submitted: jobs, Left: a.Tasks[done:], Err: err}
		}
	}
	return jobs, nil
}

// submitChunk writes the files of a chunk and submits it. It sets the job's id when Slurm took it.
func (c *client) submitChunk(ctx context.Context, a Array, chunk Chunk, job *Job) error {
	script, err := jobScript(a, chunk)
	if err != nil {
		return err
	}
	disk, err := openFolder(a.Dir, true)
	if err != nil {
		return err
	}
	defer disk.Close()
	if err := os.MkdirAll(a.logs(), 0o777); err != nil {
		return fmt.Errorf("log folder: %w", err)
	}
	if err := disk.create(chunk.Name+".sh", script); err != nil {
		return err
	}
	if err := disk.create(chunk.Name+".tasks", chunk.list()); err != nil {
		return err
	}
	// Recorded before it is submitted: after a crash in between the job is found by its name.
	if err := disk.record(*job); err != nil {
		return err
	}
	args := append([]string{"--parsable"}, a.arguments(chunk)...)
	out, err := c.call(ctx, "sbatch", append(args, a.path(chunk.Name, ".sh"))...)
	if err == nil {
		if job.ID, err = parseID(out); err == nil {
			return disk.record(*job)
		}
	}
	return errors.Join(err, c.withdraw(ctx, disk, job))
}

// withdraw disables a job without sbatch's answer, which a controller under load may still take.
func (c *client) withdraw(ctx context.Context, disk *folderRoot, job *Job) error {
	err := disk.Remove(job.Name + ".tasks")
	job.Withdrawn = true
	err = errors.Join(err, disk.record(*job))
	// Best effort: a controller that does not answer sbatch does not answer scancel either.
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	_, _ = c.call(again, "scancel", "--user="+user(), "--name="+job.Name)
	return err
}

// jobID matches the output of sbatch --parsable: the id and, on some sites, the cluster.
var jobID = regexp.MustCompile(`^([0-9]{1,10})(;[^;\s]+)?$`)

// parseID finds the job id in the output of sbatch. Sites print their own lines around it.
func parseID(out string) (int, error) {
	var found []int
	for line := range strings.Lines(out) {
		if m := jobID.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if id, err := strconv.Atoi(m[1]); err == nil && id > 0 {
				found = append(found, id)
			}
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("sbatch succeeded but printed no job id: %q", oneLine(out))
	}
	return found[0], nil
}

// folderRoot is the folder of an array's files. No name leads out of it.
type folderRoot struct{ atomicfile.Root }

// openFolder opens Dir/slurm, which it makes when asked to.
func openFolder(dir string, create bool) (*folderRoot, error) {
	parent, err := atomicfile.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if create {
		if err := parent.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
	}
	if err := atomicfile.CheckOpening(folder, parent.Stat); err != nil {
		return nil, err
	}
	root, err := parent.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &folderRoot{atomicfile.Root{Root: root}}, nil
}

// create writes a new file to the disk. A file of that name is an error.
func (f *folderRoot) create(name, text string) error {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// record writes a job's record, or replaces it in one step.
func (f *folderRoot) record(j Job) error {
	text, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.WriteIn(f.Root, j.Name+".json", append(text, '\n'), true)
}

// recordedJobs returns all jobs of an array's Dir and Name that were ever submitted, the oldest first.
// A job whose submitter was killed before it learned the id has ID 0.
func recordedJobs(dir, name string) ([]Job, error) {
	disk, err := openFolder(dir, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	at, err := disk.Open(".")
	if err != nil {
		return nil, err
	}
	defer at.Close()
	files, err := at.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for _, file := range files {
		stem, isRecord := strings.CutSuffix(file, ".json")
		if !isRecord || !submission(stem, name) {
			continue
		}
		text, err := disk.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var j Job
		if err := json.Unmarshal(text, &j); err != nil {
			return nil, fmt.Errorf("%s is not the record of a job: %w",
				filepath.Join(dir, folder, file), err)
		}
		if j.Name != stem {
			return nil, fmt.Errorf("%s is the record of another job, %q",
				filepath.Join(dir, folder, file), j.Name)
		}
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		if c := a.Submitted.Compare(b.Submitted); c != 0 {
			return c
		}
		if a.Chunk != b.Chunk {
			return a.Chunk - b.Chunk
		}
		return strings.Compare(a.Name, b.Name)
	})
	return jobs, nil
}

// suffix matches the part of a job's name after the array's name.
var suffix = regexp.MustCompile(`^\.[0-9a-f]{8}\.[0-9]+$`)

// submission says whether a job name belongs to an array's name.
func submission(job, name string) bool {
	rest, ok := strings.CutPrefix(job, name)
	return ok && suffix.MatchString(rest)
}

// user returns whose jobs to ask for.
func user() string { return strconv.Itoa(os.Getuid()) }
