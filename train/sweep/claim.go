package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// Heartbeat is the progress that a task's worker writes every few seconds.
type Heartbeat struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Job     string    `json:"job,omitempty"` // of a scheduler, such as 1234_5
	Attempt int       `json:"attempt"`       // from 1
	Step    int       `json:"step"`
	Total   int       `json:"total"`   // 0 = unknown yet
	First   int       `json:"first"`   // step at which this attempt began
	Seconds float64   `json:"seconds"` // since this attempt began
	Time    time.Time `json:"time"`    // informative, and to judge whether another host's worker is alive
	Stopped string    `json:"stopped"` // why the worker saved and stopped early; else empty
}

// Reason classes of a Failure.
const (
	ReasonOOM      = "oom"      // out of memory
	ReasonDevice   = "device"   // the GPU or its driver failed
	ReasonKilled   = "killed"   // by a signal
	ReasonData     = "bad data" // unreadable, or other data than the checkpoint's
	ReasonDisk     = "disk full"
	ReasonDiverged = "diverged" // every member's loss was not finite
	ReasonError    = "error"
)

// Failure says how an incomplete task ended: the content of failed.json.
type Failure struct {
	Task     string    `json:"task"` // hash of the task
	Reason   string    `json:"reason"`
	ExitCode int       `json:"exit_code"` // 128 + n if signal n ended the worker
	Message  string    `json:"message"`
	LastLog  []string  `json:"last_log"`
	Attempt  int       `json:"attempt"`
	Host     string    `json:"host"`
	Time     time.Time `json:"time"`
}

// Done is the content of a task's file done.
type Done struct {
	Task    string                `json:"task"`    // hash of the task
	Seconds float64               `json:"seconds"` // of training, over all attempts
	Steps   int                   `json:"steps"`
	Attempt int                   `json:"attempt"`
	Host    string                `json:"host"`
	Time    time.Time             `json:"time"`
	Results []runlog.MemberResult `json:"results"` // one per member
}

// Diverged counts the members whose loss was not finite.
func (d Done) Diverged() (n int) {
	for _, r := range d.Results {
		if r.Status == runlog.StatusDiverged {
			n++
		}
	}
	return n
}

// now is the wall clock, which may jump and differ between hosts; hostname identifies hosts. Tests set them.
var (
	now      = time.Now
	hostname = os.Hostname
)

// Errors of ClaimTask, to check with errors.Is.
var (
	ErrDone   = errors.New("is done")
	ErrFailed = errors.New("has failed")
	ErrBusy   = errors.New("is being worked on")
)

// Claim is a task that this process works on. It holds the lock until Release. Only Beat is safe
// for concurrent use.
type Claim struct {
	*Sweep
	Index int
	lock  *flock.Flock
	beat  Heartbeat
	start time.Time

	endedAttempt int // as in TaskStatus
}

// ClaimTask claims a task. It fails with ErrDone, ErrFailed or ErrBusy. A task is also busy while a
// worker on another host may be alive, unless both workers are the same requeued job of a
// scheduler, or the old one is silent and either both are jobs or breakLock says that it is dead.
func (s *Sweep) ClaimTask(index int, breakLock bool) (*Claim, error) {
	c, err := s.lockOpenTask(index)
	if err != nil {
		return nil, err
	}
	if err := c.takeOver(breakLock); err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return c, nil
}

// lockOpenTask takes the lock of a task that is neither done nor failed. It removes invalid
// markers.
func (s *Sweep) lockOpenTask(index int) (*Claim, error) {
	if err := s.Check(index); err != nil {
		return nil, err
	}
	if err := s.endError(s.outcome(index)); err != nil { // rarely changes: no lock yet
		return nil, err
	}
	c, err := s.lockTask(index)
	if err != nil {
		return nil, err
	}
	t := s.outcome(index)
	if err := s.endError(t); err != nil {
		return nil, errors.Join(err, c.Release())
	}
	if c.endedAttempt = t.endedAttempt; t.Note != "" {
		err := errors.Join(s.remove(taskFile(index, doneFile)), s.remove(taskFile(index, failedFile)))
		if err != nil {
			return nil, errors.Join(err, c.Release())
		}
	}
	return c, nil
}

// lockTask takes the lock of any task, including done and failed ones.
func (s *Sweep) lockTask(index int) (*Claim, error) {
	if err := s.MakeDir(taskDir(index)); err != nil {
		return nil, err
	}
	if info, err := s.root.Lstat(taskFile(index, lockFile)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("task %d: lock %s is not a regular file (%s)", index,
			s.path(index, lockFile), info.Mode())
	}
	lock, err := runlog.TryLock(s.path(index, lockFile))
	if err != nil {
		return nil, fmt.Errorf("task %d: lock %s: %w", index, s.path(index, lockFile), err)
	}
	if lock == nil {
		return nil, s.busy(index)
	}
	return &Claim{Sweep: s, Index: index, lock: lock, start: time.Now()}, nil
}

// endError returns ErrDone, ErrFailed, or the reason why the state is unknown.
func (s *Sweep) endError(t TaskStatus) error {
	switch t.State {
	case StateUnknown:
		return fmt.Errorf("task %d: %w", t.Index, t.err)
	case StateDone:
		return fmt.Errorf("task %d %w", t.Index, ErrDone)
	case StateFailed:
		return fmt.Errorf("task %d %w; torchpe sweep retry --failed %s tries again", t.Index, ErrFailed,
			wording.Quote(s.Dir))
	}
	return nil
}

func (s *Sweep) busy(index int) error {
	if b, ok, _ := s.heartbeat(index); ok {
		return fmt.Errorf("task %d %w by pid %d on %s", index, ErrBusy, b.PID, b.Host)
	}
	return fmt.Errorf("task %d %w", index, ErrBusy)
}

// heartbeat returns the last sign of life of a task: its heartbeat, or the file of a later attempt
// whose worker has not written a heartbeat. ok is false if there is none or it is damaged; err says
// why it cannot be read.
func (s *Sweep) heartbeat(index int) (b Heartbeat, ok bool, err error) {
	b, ok, err = s.readSign(index, beatFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for err == nil {
		var later Heartbeat
		later, _, err = s.readSign(index, attemptFile(b.Attempt+1))
		if err == nil {
			later.Attempt = b.Attempt + 1 // even if the file is damaged
			b, ok = later, true
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return b, ok, err
}

// readSign reads a heartbeat from a file; ok reports whether it is complete.
func (s *Sweep) readSign(index int, name string) (b Heartbeat, ok bool, err error) {
	text, err := s.root.ReadFile(taskFile(index, name))
	if err != nil {
		return b, false, s.fileError("read", taskFile(index, name), err)
	}
	return b, json.Unmarshal(text, &b) == nil, nil
}

// schedulerJob returns the id of this process's task in a scheduler's job array, such as 1234_5, or
// "". Other jobs may have several processes and do not count.
func schedulerJob() string {
	job, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID")
	if job != "" && task != "" {
		return job + "_" + task
	}
	return ""
}

// takeOver starts an attempt at a task whose lock this process holds. The kernel has released the lock of a
// worker that died on this host. For a worker on another host the heartbeat decides, because file systems
// may not share locks. If two start the same attempt, the attempt's file decides.
func (c *Claim) takeOver(breakLock bool) error {
	host, err := hostname()
	if err != nil {
		return err
	}
	job := schedulerJob()
	old, found, err := c.heartbeat(c.Index)
	if err != nil {
		return err
	}
	if old.Attempt <= c.endedAttempt {
		old.Stopped = wasEnded
	}
	foreign := found && old.Stopped == "" && old.Host != host && (job == "" || old.Job != job)
	// If both are jobs, the scheduler has given up the old one and submitted the task again.
	isDead := breakLock || job != "" && old.Job != ""
	if foreign && !(isDead && now().Sub(old.Time).Abs() > staleAfter) {
		return fmt.Errorf("task %d %w by pid %d on %s, or was until it died there (last sign at %s): "+
			"if it is dead, torchpe sweep retry --lost %s takes over the task",
			c.Index, ErrBusy, old.PID, old.Host, old.Time.Format(time.RFC3339), wording.Quote(c.Dir))
	}
	c.beat = Heartbeat{
		PID: os.Getpid(), Host: host, Job: job, Attempt: old.Attempt + 1, Step: old.Step, Total: old.Total,
	}
	c.beat.First, c.beat.Time = old.Step, now().UTC()
	text, err := json.Marshal(c.beat)
	if err != nil {
		return err
	}
	name := taskFile(c.Index, attemptFile(c.beat.Attempt))
	switch err := atomicfile.CreateIn(c.root, name, append(text, '\n')); {
	case errors.Is(err, fs.ErrExist):
		return c.busy(c.Index)
	case err != nil:
		return c.fileError("write", name, err)
	}
	return nil
}

// wasEnded is Heartbeat.Stopped of an attempt whose outcome was removed.
const wasEnded = "ended"

// Beat writes a heartbeat: step of total, in an attempt that started at step first.
func (c *Claim) Beat(first, step, total int) error {
	b := c.beat
	b.First, b.Step, b.Total = first, step, total
	return c.writeBeat(b)
}

func (c *Claim) writeBeat(b Heartbeat) error {
	b.Seconds, b.Time = time.Since(c.start).Seconds(), now().UTC()
	return c.writeJSON(beatFile, b, false)
}

// writeJSON replaces a file of the task atomically.
func (c *Claim) writeJSON(name string, v any, durable bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(taskFile(c.Index, name), append(text, '\n'), durable)
}

// Attempt returns the number of workers that have claimed the task, including this one.
func (c *Claim) Attempt() int { return c.beat.Attempt }

// Stop records that the worker saves and stops before the task is done, and releases the task.
func (c *Claim) Stop(why string) error {
	b, _, _ := c.heartbeat(c.Index)
	b.Stopped = why
	return errors.Join(c.writeBeat(b), c.Release())
}

// Release releases the task. Without Complete, Fail or Stop it counts as lost.
func (c *Claim) Release() error { return c.lock.Unlock() }

// Fail records the failure of the task and releases it.
func (c *Claim) Fail(f Failure) error {
	f.Task, f.Attempt, f.Host, f.Time = c.Plan.taskHash(c.Index), c.beat.Attempt, c.beat.Host,
		now().UTC()
	if f.LastLog == nil {
		f.LastLog = c.tail(c.Index)
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = c.Write(taskFile(c.Index, failedFile), append(text, '\n'), true)
	}
	return errors.Join(err, c.Release())
}

// RecordKilled records that a signal killed the worker of a task that was started by this process's
// scheduler job. status is the worker's exit status, 128 plus the signal. Tasks that have an
// outcome, are running, or were stopped properly are left alone.
func (s *Sweep) RecordKilled(index, status int) error {
	f := killed(syscall.Signal(status - 128))
	if f.ExitCode == 128+int(syscall.SIGKILL) {
		f.Message += ", probably because its job ran out of memory: give more --memory, or a smaller --pack with " +
			"another --out"
	}
	return s.recordFailure(index, f, func(c *Claim, b Heartbeat, found bool) bool {
		return found && b.Stopped == "" && sameHost(b.Host) && b.Job == schedulerJob() && b.Attempt > c.endedAttempt
	})
}

// recordFailure records the end of a worker that could not record it. It leaves a task alone that
// has an outcome, is running, or whose last heartbeat is not the worker's own.
func (s *Sweep) recordFailure(index int, f Failure, own func(c *Claim, b Heartbeat, found bool) bool) error {
	c, err := s.lockOpenTask(index)
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrDone) || errors.Is(err, ErrFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	b, found, _ := c.heartbeat(index)
	if !own(c, b, found) {
		return c.Release()
	}
	c.beat = b
	return c.Fail(f)
}

// killed returns the failure of a task whose worker was killed by a signal.
func killed(by syscall.Signal) Failure {
	message := fmt.Sprintf("the worker was killed by signal %d (%s)", int(by), by)
	return Failure{Reason: ReasonKilled, ExitCode: 128 + int(by), Message: message}
}

// commit writes the marker of a done task.
func (c *Claim) commit(d Done) error {
	d.Task, d.Attempt, d.Host, d.Time = c.Plan.taskHash(c.Index), c.beat.Attempt, c.beat.Host,
		now().UTC()
	return c.writeJSON(doneFile, d, true)
}

// ClearFailures makes all failed tasks pending again; with fresh, they start from their first step.
// It leaves tasks alone that another process works on.
func (s *Sweep) ClearFailures(fresh bool) error {
	st, err := s.Status(nil)
	if err != nil {
		return err
	}
	for _, t := range st.Tasks {
		if t.State != StateFailed {
			continue
		}
		if err := s.clearFailure(t.Index, fresh); err != nil && !errors.Is(err, ErrBusy) {
			return err
		}
	}
	return nil
}

// clearFailure removes the record of a failure, and with fresh the training so far. It leaves a
// task alone that has not failed, and fails with ErrBusy for a running one.
func (s *Sweep) clearFailure(index int, fresh bool) (err error) {
	c, err := s.lockTask(index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Release()) }()
	if t := c.outcome(index); t.State != StateFailed { // another process was faster, or the state is unknown
		return t.err
	}
	if fresh {
		if err := c.remove(taskFile(index, ensembleDir)); err != nil {
			return err
		}
	}
	// Without this the task would count as lost.
	if b, found, _ := c.heartbeat(index); found {
		b.Stopped = wasEnded
		if err := c.writeJSON(beatFile, b, false); err != nil {
			return err
		}
	}
	return c.remove(taskFile(index, failedFile))
}
