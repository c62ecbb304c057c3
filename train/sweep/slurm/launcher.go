package slurm

import (
	"context"
	_ "embed" // the job script
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/sweep"
)

// Launcher is a sweep.Launcher that submits tasks to Slurm.
type Launcher struct {
	Program string // the path of torchpe
	Options Options
	Flags   Flags // stored for the next submission unless nil
	// TakeLost declares silent workers dead that were not jobs.
	TakeLost bool
	// Submitted, which may be nil, is called with the state of the tasks, even if Launch fails.
	Submitted func(Report)
}

var _ sweep.Launcher = Launcher{}

// Report lists the tasks that have not ended after a call of Launch, each in one list. Tasks whose
// state was unknown when Launch started are in no list.
type Report struct {
	Jobs    []Job // submitted now
	Waiting []int // in the queue, running, or with other workers
	Held    []int // in the queue until released with scontrol release
	Lost    []int // whose silent worker was not a job; it may be alive on a host that a job cannot check
	Left    []int // not submitted because of the error
}

//go:embed job.sh
var jobScript []byte

// Launch submits the tasks that are neither done, failed, nor in the queue. It may be called at any
// time and repeatedly.
func (l Launcher) Launch(ctx context.Context, s *sweep.Sweep) error {
	var open []int
	for i := range s.Plan.Tasks {
		if t := s.Task(i); !t.Ended() && t.State != sweep.StateUnknown {
			open = append(open, i)
		}
	}
	if open == nil {
		return nil
	}
	return s.Exclusive(func() error {
		r, err := l.submitOpen(ctx, s, open)
		if l.Flags != nil && len(r.Jobs) > 0 { // sbatch accepts them
			err = errors.Join(err, writeJSON(s, flagsFile, l.Flags))
		}
		if l.Submitted != nil {
			l.Submitted(r)
		}
		return err
	})
}

// submitOpen submits the tasks that have neither ended nor have a job.
func (l Launcher) submitOpen(ctx context.Context, s *sweep.Sweep, tasks []int) (r Report, err error) {
	jobs, err := recordedJobs(s)
	if err != nil {
		return r, err
	}
	// Read the queue before the folders, so that a task that ends in between does not count as lost.
	queue, err := queueOf(ctx, jobs)
	if err != nil {
		return r, err
	}
	for _, i := range tasks {
		t := s.Task(i)
		place, queued := queue[i]
		switch {
		case t.Ended():
		case queued && place.Held():
			r.Held = append(r.Held, i)
		case queued, t.State == sweep.StateRunning, t.State == sweep.StateUnknown:
			r.Waiting = append(r.Waiting, i)
		case t.State == sweep.StateLost && t.Heartbeat.Job == "" && !l.TakeLost:
			r.Lost = append(r.Lost, i)
		default:
			r.Left = append(r.Left, i)
		}
	}
	err = l.submit(ctx, s, &r)
	return r, err
}

// submit passes the remaining tasks to sbatch, in as many arrays as the cluster's limit requires.
func (l Launcher) submit(ctx context.Context, s *sweep.Sweep, r *Report) error {
	if len(r.Left) == 0 {
		return nil
	}
	most, err := largestArray(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(s.Dir, logsFolder), 0o777),
		write(s, scriptFile, jobScript)); err != nil {
		return err
	}
	token, perJob := rand.Uint32(), max(l.Options.TasksPerJob, 1)
	for tasks := range slices.Chunk(slices.Clone(r.Left), most*perJob) {
		job := Job{
			Name:  fmt.Sprintf("%s.%08x.%d", arrayName(s), token, len(r.Jobs)),
			Tasks: tasks, TasksPerJob: perJob, Submitted: time.Now().UTC().Truncate(time.Microsecond),
		}
		if err := l.submitJob(ctx, s, &job); err != nil {
			return err
		}
		r.Jobs, r.Left = append(r.Jobs, job), r.Left[len(tasks):]
	}
	return nil
}

// submitJob writes the files of a job and submits it. If sbatch fails, Slurm may have accepted the
// job nevertheless: the next launch finds it by its name.
func (l Launcher) submitJob(ctx context.Context, s *sweep.Sweep, job *Job) error {
	var list strings.Builder
	lines := 0
	for tasks := range slices.Chunk(job.Tasks, job.TasksPerJob) {
		fmt.Fprintln(&list, strings.Trim(fmt.Sprint(tasks), "[]"))
		lines++
	}
	if err := errors.Join(write(s, job.Name+".tasks", []byte(list.String())),
		writeJSON(s, job.Name+".json", job)); err != nil {
		return err
	}
	restarts := 0
	if l.Options.Requeue {
		restarts = maxRestarts
	}
	args := append(l.Options.arguments(job.Name, s.Dir, lines),
		filepath.Join(s.Dir, folder, scriptFile), filepath.Join(s.Dir, folder, job.Name+".tasks"),
		strconv.Itoa(restarts), l.Program, "sweep", "run-task")
	if n := l.Options.CPUs; n > 0 {
		args = append(args, "--threads", strconv.Itoa(n))
	}
	if l.Options.GPUs > 0 {
		args = append(args, "--device", "cuda") // without its GPU a job fails instead of using the CPU
	}
	if l.TakeLost {
		args = append(args, "--break-lock")
	}
	out, err := call(ctx, "sbatch", append(args, s.Dir)...)
	if err == nil {
		job.ID, err = parseID(out)
	}
	if err == nil {
		err = writeJSON(s, job.Name+".json", job)
	}
	return err
}

// jobID matches the output of sbatch --parsable: the id and, on some sites, the cluster.
var jobID = regexp.MustCompile(`(?m)^\s*([1-9][0-9]{0,9})(;[^;\s]+)?\s*$`)

// parseID finds the job id in the output of sbatch. Sites may print other lines around it.
func parseID(out string) (int, error) {
	found := jobID.FindAllStringSubmatch(out, -1)
	if len(found) != 1 {
		return 0, fmt.Errorf("sbatch succeeded but printed no job id: %q", out)
	}
	return strconv.Atoi(found[0][1])
}

// String says, line by line, what happened to the tasks that were to be submitted.
func (r Report) String() string {
	var b strings.Builder
	say := func(n int, before, after string) {
		if n > 0 {
			fmt.Fprintf(&b, "%s%s %s\n", before, wording.Count(n, "task"), after)
		}
	}
	n, ids := 0, []string(nil)
	for _, j := range r.Jobs {
		n, ids = n+len(j.Tasks), append(ids, fmt.Sprint(j.ID))
	}
	say(n, "submitted ", "to Slurm, job "+strings.Join(ids, ", "))
	say(len(r.Waiting), "", "already in the queue or running")
	say(len(r.Held), "", "held in the queue: release them with scontrol release")
	say(len(r.Lost), "", "left alone: the worker was not a job and is silent; torchpe sweep retry --lost "+
		"--launcher slurm submits them")
	say(len(r.Left), "", "not submitted")
	return b.String()
}
