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

	"torchpe/train/runlog"
)

// Heartbeat is what a task's worker says of itself every few seconds.
type Heartbeat struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Job     string    `json:"job,omitempty"` // of a scheduler, such as 1234_5
	Attempt int       `json:"attempt"`       // from 1
	Step    int       `json:"step"`
	Total   int       `json:"total"`   // 0 = not known yet
	First   int       `json:"first"`   // step at which this attempt began
	Seconds float64   `json:"seconds"` // since it began
	Time    time.Time `json:"time"`    // for people, and of another host's worker
	Stopped string    `json:"stopped"` // why the worker ended in good order before the task did; empty while it works
}

// Reason classes of a Failure.
const (
	ReasonOOM      = "oom"      // out of memory
	ReasonDevice   = "device"   // the GPU or its driver failed
	ReasonKilled   = "killed"   // by a signal
	ReasonData     = "bad data" // it cannot be read, or is not what the checkpoint was trained on
	ReasonDisk     = "disk full"
	ReasonDiverged = "diverged" // every member's loss was not finite
	ReasonError    = "error"
)

// Failure is how a task ended that did not complete: the content of failed.json.
type Failure struct {
	Task     string    `json:"task,omitempty"` // hash of the task; older ones have none
	Reason   string    `json:"reason"`
	ExitCode int       `json:"exit_code"` // 128 + n where signal n ended the worker
	Message  string    `json:"message"`
	LastLog  []string  `json:"last_log"`
	Attempt  int       `json:"attempt"`
	Host     string    `json:"host"`
	Time     time.Time `json:"time"`
}

// Done is the content of a task's marker.
type Done struct {
	Task    string                `json:"task,omitempty"` // hash of the task; older ones have none
	Seconds float64               `json:"seconds"`        // of training, all attempts
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

// Errors of Claim that a caller may want to tell apart.
var (
	ErrDone   = errors.New("is done")
	ErrFailed = errors.New("has failed; torchpe sweep retry --failed tries again")
	ErrBusy   = errors.New("is being worked on")
)

// Claim is a task that this process works on, until Release. It is not safe for concurrent use, but for Beat.
type Claim struct {
	*Sweep
	Index int
	lock  *flock.Flock
	spent int // the last attempt of which a marker told that does not count
	beat  Heartbeat
	start time.Time
}

// claimTries and claimPause bridge the moment in which somebody looks whether a lock is held.
const (
	claimTries = 10
	claimPause = 15 * time.Millisecond
)

// Claim takes a task. It fails with ErrDone, ErrFailed or ErrBusy; it is also busy while another host's worker may be alive, unless
// breakLock says that it is not, both are the same job of a scheduler, which requeued it, or both are jobs and the old one is silent.
func (s *Sweep) Claim(index int, breakLock bool) (*Claim, error) {
	c, err := s.lockTask(index)
	if err != nil {
		return nil, err
	}
	if err := c.takeOver(breakLock); err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return c, nil
}

// lockTask takes the lock of a task that is neither done nor failed. Markers that do not count are removed.
func (s *Sweep) lockTask(index int) (*Claim, error) {
	if err := s.Check(index); err != nil {
		return nil, err
	}
	if err := s.settled(index, s.outcome(index)); err != nil { // without the lock: what is settled mostly stays so
		return nil, err
	}
	c, err := s.hold(index)
	if err != nil {
		return nil, err
	}
	o := s.outcome(index)
	if err := s.settled(index, o); err != nil {
		return nil, errors.Join(err, c.Release())
	}
	if o.void != "" {
		c.spent = o.spent
		for _, name := range []string{doneFile, failedFile} {
			if err := s.root.Remove(in(index, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(s.failed("remove", in(index, name), err), c.Release())
			}
		}
	}
	return c, nil
}

// hold takes the lock of a task, whatever became of it.
func (s *Sweep) hold(index int) (*Claim, error) {
	if err := s.makeDir(taskDir(index)); err != nil {
		return nil, err
	}
	if info, err := s.root.Lstat(in(index, lockFile)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("task %d: lock %s is no regular file (%s)", index, s.path(index, lockFile), info.Mode())
	}
	lock := flock.New(s.path(index, lockFile), flock.SetPermissions(0o666))
	ok, err := lock.TryLock()
	for i := 1; err == nil && !ok && i < claimTries; i++ {
		time.Sleep(claimPause)
		ok, err = lock.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("task %d: lock %s: %w", index, lock.Path(), runlog.Cause(err))
	}
	if !ok {
		return nil, s.busy(index)
	}
	return &Claim{Sweep: s, Index: index, lock: lock, start: time.Now()}, nil
}

// settled returns ErrDone, ErrFailed, or why that cannot be known.
func (s *Sweep) settled(index int, o outcome) error {
	switch {
	case o.err != nil:
		return fmt.Errorf("task %d: %w", index, o.err)
	case o.done != nil:
		return fmt.Errorf("task %d %w", index, ErrDone)
	case o.failure != nil:
		return fmt.Errorf("task %d %w", index, ErrFailed)
	}
	return nil
}

func (s *Sweep) busy(index int) error {
	if b, ok := s.heartbeat(index); ok {
		return fmt.Errorf("task %d %w by pid %d on %s", index, ErrBusy, b.PID, b.Host)
	}
	return fmt.Errorf("task %d %w", index, ErrBusy)
}

// heartbeat returns the last one of a task.
func (s *Sweep) heartbeat(index int) (b Heartbeat, ok bool) {
	text, err := s.root.ReadFile(in(index, beatFile))
	return b, err == nil && json.Unmarshal(text, &b) == nil
}

// SchedulerJob names the task of a scheduler's job array that this process is, such as 1234_5; empty elsewhere. Of other jobs there
// may be several processes.
func SchedulerJob() string {
	job, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID")
	if job != "" && task != "" {
		return job + "_" + task
	}
	return ""
}

// takeOver writes the first heartbeat of a task whose lock this process holds. The kernel has dropped the lock of a worker that died
// on this host; for a worker of another host its heartbeat speaks, because file systems may not share locks.
func (c *Claim) takeOver(breakLock bool) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	job := SchedulerJob()
	old, there := c.heartbeat(c.Index)
	if old.Attempt <= c.spent {
		old.Stopped = wasEnded
	}
	foreign := there && old.Stopped == "" && old.Host != host && (job == "" || old.Job != job)
	if foreign && job != "" && old.Job != "" && time.Since(old.Time).Abs() > staleAfter {
		foreign = false // the scheduler has given up the old job, and submitted the task anew
	}
	if foreign && !breakLock {
		return fmt.Errorf("task %d %w by pid %d on %s, or was until it died there (last sign at %s): if it is dead, retry with --lost",
			c.Index, ErrBusy, old.PID, old.Host, old.Time.Format(time.RFC3339))
	}
	c.beat = Heartbeat{PID: os.Getpid(), Host: host, Job: job, Attempt: old.Attempt + 1, Step: old.Step, Total: old.Total}
	return c.Beat(old.Step, old.Step, old.Total)
}

// wasEnded is why a worker stopped whose attempt had an outcome that counts no more.
const wasEnded = "ended"

// Beat says that the worker is alive: at a step of total, in an attempt that began at step first.
func (c *Claim) Beat(first, step, total int) error {
	b := c.beat
	b.First, b.Step, b.Total = first, step, total
	return c.writeBeat(b)
}

func (c *Claim) writeBeat(b Heartbeat) error {
	b.Seconds, b.Time = time.Since(c.start).Seconds(), time.Now().UTC()
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return c.write(in(c.Index, beatFile), append(text, '\n'), false)
}

// Attempt counts the workers that have claimed the task, this one included.
func (c *Claim) Attempt() int { return c.beat.Attempt }

// Stop says that the worker ends in good order before the task is done, and gives it up.
func (c *Claim) Stop(why string) error {
	b, _ := c.heartbeat(c.Index)
	b.Stopped = why
	return errors.Join(c.writeBeat(b), c.Release())
}

// Release gives the task up. Without Complete, Fail or Stop it counts as lost.
func (c *Claim) Release() error { return c.lock.Unlock() }

// Fail records how the task ended, and gives it up.
func (c *Claim) Fail(f Failure) error {
	f.Task, f.Attempt, f.Host, f.Time = c.Plan.taskHash(c.Index), c.beat.Attempt, c.beat.Host, time.Now().UTC()
	if f.LastLog == nil {
		f.LastLog = c.tail(c.Index)
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = c.write(in(c.Index, failedFile), append(text, '\n'), true)
	}
	return errors.Join(err, c.Release())
}

// Died records the failure of a task whose worker, of the job of a scheduler that this process belongs to, was ended by a signal
// before it could say anything; the exit status is 128 and the signal. It leaves alone a task that has an outcome, is worked on, or
// was stopped in good order.
func (s *Sweep) Died(index, status int) error {
	c, err := s.lockTask(index)
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrDone) || errors.Is(err, ErrFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	b, there := c.heartbeat(index)
	if !there || b.Stopped != "" || !sameHost(b.Host) || b.Job != SchedulerJob() || b.Attempt <= c.spent {
		return c.Release()
	}
	c.beat = b
	f := killed(syscall.Signal(status - 128))
	if f.ExitCode == 128+int(syscall.SIGKILL) {
		f.Message += ", likely as the memory of its job ran out: more --memory, or a smaller --pack"
	}
	return c.Fail(f)
}

// killed is the failure of a task whose worker was ended by a signal.
func killed(by syscall.Signal) Failure {
	return Failure{Reason: ReasonKilled, ExitCode: 128 + int(by), Message: fmt.Sprintf("the worker was killed by signal %d (%s)", int(by), by)}
}

// commit writes the marker that makes the task done.
func (c *Claim) commit(d Done) error {
	d.Task, d.Attempt, d.Host, d.Time = c.Plan.taskHash(c.Index), c.beat.Attempt, c.beat.Host, time.Now().UTC()
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.write(in(c.Index, doneFile), append(text, '\n'), true)
}

// Forgive removes the record of a failure, so that the task is tried again; with fresh, from its first step. A task that has not failed,
// or no more, is left alone; one that somebody works on is ErrBusy.
func (s *Sweep) Forgive(index int, fresh bool) error {
	if err := s.Check(index); err != nil {
		return err
	}
	c, err := s.hold(index)
	if err != nil {
		return err
	}
	return errors.Join(c.forgive(fresh), c.Release())
}

func (c *Claim) forgive(fresh bool) error {
	if c.outcome(c.Index).failure == nil { // somebody was faster
		return nil
	}
	if fresh {
		if err := c.root.RemoveAll(in(c.Index, ensembleDir)); err != nil {
			return c.failed("remove", in(c.Index, ensembleDir), err)
		}
	}
	// Without this its worker would look as if it had died without a word.
	if b, there := c.heartbeat(c.Index); there {
		b.Stopped = wasEnded
		text, err := json.Marshal(b)
		if err == nil {
			err = c.write(in(c.Index, beatFile), append(text, '\n'), false)
		}
		if err != nil {
			return err
		}
	}
	if err := c.root.Remove(in(c.Index, failedFile)); err != nil {
		return c.failed("remove", in(c.Index, failedFile), err)
	}
	return nil
}
