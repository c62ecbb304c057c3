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
	Total   int       `json:"total"`   // 0 = not known yet
	First   int       `json:"first"`   // step at which this attempt began
	Seconds float64   `json:"seconds"` // since it began
	Time    time.Time `json:"time"`    // for people, and to judge another host's worker
	Stopped string    `json:"stopped"` // why the worker stopped early in good order; else empty
}

// Reason classes of a Failure.
const (
	ReasonOOM      = "oom"      // out of memory
	ReasonDevice   = "device"   // the GPU or its driver failed
	ReasonKilled   = "killed"   // by a signal
	ReasonData     = "bad data" // unreadable, or not what the checkpoint was trained on
	ReasonDisk     = "disk full"
	ReasonDiverged = "diverged" // every member's loss was not finite
	ReasonError    = "error"
)

// Failure says how a task ended that did not complete: the content of failed.json.
type Failure struct {
	Task     string    `json:"task"` // hash of the task
	Reason   string    `json:"reason"`
	ExitCode int       `json:"exit_code"` // 128 + n where signal n ended the worker
	Message  string    `json:"message"`
	LastLog  []string  `json:"last_log"`
	Attempt  int       `json:"attempt"`
	Host     string    `json:"host"`
	Time     time.Time `json:"time"`
}

// Done is the content of the file done of a task.
type Done struct {
	Task    string                `json:"task"`    // hash of the task
	Seconds float64               `json:"seconds"` // of training, all attempts
	Steps   int                   `json:"steps"`
	Attempt int                   `json:"attempt"`
	Host    string                `json:"host"`
	Time    time.Time             `json:"time"`
	Results []runlog.MemberResult `json:"results"` // one a member
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

// now is the wall clock, which may jump and differ between hosts, and hostname tells the hosts apart;
// tests set them.
var (
	now      = time.Now
	hostname = os.Hostname
)

// Errors of ClaimTask, for errors.Is.
var (
	ErrDone   = errors.New("is done")
	ErrFailed = errors.New("has failed")
	ErrBusy   = errors.New("is being worked on")
)

// Claim is a task that this process works on: it holds the lock, until Release. Only Beat is safe for
// concurrent use.
type Claim struct {
	*Sweep
	Index int
	lock  *flock.Flock
	beat  Heartbeat
	start time.Time

	endedAttempt int // as in TaskStatus
}

// ClaimTask takes a task. It fails with ErrDone, ErrFailed or ErrBusy. A task is also busy while
// another host's worker may be alive, unless both workers are the same requeued job of a scheduler, or
// the old one is silent and either both are jobs or breakLock says that it is dead.
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

// lockTask takes the lock of a task, done and failed ones too.
func (s *Sweep) lockTask(index int) (*Claim, error) {
	if err := s.MakeDir(taskDir(index)); err != nil {
		return nil, err
	}
	if info, err := s.root.Lstat(taskFile(index, lockFile)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("task %d: lock %s is no regular file (%s)", index,
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

// endError returns ErrDone, ErrFailed, or why that cannot be known.
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
// whose worker has not written a heartbeat. ok is false where there is none or it is damaged; the error
// says why it cannot be read.
func (s *Sweep) heartbeat(index int) (b Heartbeat, ok bool, err error) {
	b, ok, err = s.readSign(index, beatFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for err == nil {
		var later Heartbeat
		later, _, err = s.readSign(index, attemptFile(b.Attempt+1))
		if err == nil {
			later.Attempt = b.Attempt + 1 // of a damaged file, too
			b, ok = later, true
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return b, ok, err
}

// readSign reads a heartbeat from a file, and reports whether it is whole.
func (s *Sweep) readSign(index int, name string) (b Heartbeat, ok bool, err error) {
	text, err := s.root.ReadFile(taskFile(index, name))
	if err != nil {
		return b, false, s.fileError("read", taskFile(index, name), err)
	}
	return b, json.Unmarshal(text, &b) == nil, nil
}

// schedulerJob returns this process's task of a scheduler's job array, such as 1234_5; empty
// elsewhere. Jobs that are no arrays may have several processes and do not count.
func schedulerJob() string {
	job, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID")
	if job != "" && task != "" {
		return job + "_" + task
	}
	return ""
}

// takeOver begins an attempt at a task whose lock this process holds. The kernel has released the
// lock of a worker that died on this host. Of a worker on another host the heartbeat decides, because
// file systems may not share locks; of two that begin the same attempt, its file.
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
	// Of two jobs, the scheduler has given up the old one, and submitted the task again.
	isDead := breakLock || job != "" && old.Job != ""
	if foreign && !(isDead && now().Sub(old.Time).Abs() > staleAfter) {
		return fmt.Errorf("task %d %w by pid %d on %s, or was until it died there (last sign at %s): "+
			"if it is dead, torchpe sweep retry --lost %s takes the task",
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

// Beat writes a heartbeat: a step of total, in an attempt that began at step first.
func (c *Claim) Beat(first, step, total int) error {
	b := c.beat
	b.First, b.Step, b.Total = first, step, total
	return c.writeBeat(b)
}

func (c *Claim) writeBeat(b Heartbeat) error {
	b.Seconds, b.Time = time.Since(c.start).Seconds(), now().UTC()
	return c.writeJSON(beatFile, b, false)
}

// writeJSON replaces a file of the task in one step.
func (c *Claim) writeJSON(name string, v any, durable bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(taskFile(c.Index, name), append(text, '\n'), durable)
}

// Attempt counts the workers that have claimed the task, this one included.
func (c *Claim) Attempt() int { return c.beat.Attempt }

// Stop records that the worker ends in good order before the task is done, and releases the task.
func (c *Claim) Stop(why string) error {
	b, _, _ := c.heartbeat(c.Index)
	b.Stopped = why
	return errors.Join(c.writeBeat(b), c.Release())
}

// Release releases the task. Without Complete, Fail or Stop it counts as lost.
func (c *Claim) Release() error { return c.lock.Unlock() }

// Fail records how the task ended, and releases it.
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

// RecordKilled records that a signal killed the worker of a task, in this process's job of a scheduler.
// status is the worker's exit status: 128 and the signal. It leaves a task alone that has an outcome, is
// worked on, or was stopped in good order.
func (s *Sweep) RecordKilled(index, status int) error {
	f := killed(syscall.Signal(status - 128))
	if f.ExitCode == 128+int(syscall.SIGKILL) {
		f.Message += ", likely as the memory of its job ran out: more --memory, or a smaller --pack with " +
			"another --out"
	}
	return s.recordFailure(index, f, func(c *Claim, b Heartbeat, found bool) bool {
		return found && b.Stopped == "" && sameHost(b.Host) && b.Job == schedulerJob() && b.Attempt > c.endedAttempt
	})
}

// recordFailure records the end of a worker that could not record it. It leaves a task alone that has an
// outcome, is worked on, or whose last sign of life is not the worker's own.
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

// commit writes the marker that makes the task done.
func (c *Claim) commit(d Done) error {
	d.Task, d.Attempt, d.Host, d.Time = c.Plan.taskHash(c.Index), c.beat.Attempt, c.beat.Host,
		now().UTC()
	return c.writeJSON(doneFile, d, true)
}

// ClearFailures lets all failed tasks be tried again; with fresh, from their first step. It leaves tasks
// alone that another process works on.
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

// clearFailure removes the record of a failure, and with fresh the steps of the task. It leaves
// alone a task that has not failed, and fails with ErrBusy for one in work.
func (s *Sweep) clearFailure(index int, fresh bool) (err error) {
	c, err := s.lockTask(index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Release()) }()
	if t := c.outcome(index); t.State != StateFailed { // another process was faster, or nothing is known
		return t.err
	}
	if fresh {
		if err := c.remove(taskFile(index, ensembleDir)); err != nil {
			return err
		}
	}
	// Without this the task would look lost.
	if b, found, _ := c.heartbeat(index); found {
		b.Stopped = wasEnded
		if err := c.writeJSON(beatFile, b, false); err != nil {
			return err
		}
	}
	return c.remove(taskFile(index, failedFile))
}
