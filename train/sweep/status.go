package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// State is the state of a task.
type State string

// The states of a task.
const (
	StateDone    State = "done"
	StateFailed  State = "failed"
	StateRunning State = "running"
	StateLost    State = "lost"    // its worker died without a record; the next launch continues it
	StatePending State = "pending" // not started, stopped properly, or to be trained again
	StateUnknown State = "unknown" // its files cannot be read
)

// TaskStatus is the state of one task, read from its folder.
type TaskStatus struct {
	Index     int        `json:"index"`
	State     State      `json:"state"`
	Runs      []string   `json:"runs"`
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"` // of the last worker; nil if there was none
	Failure   *Failure   `json:"failure,omitempty"`
	Done      *Done      `json:"done,omitempty"`
	Log       string     `json:"log,omitempty"`
	Note      string     `json:"note,omitempty"` // describes damage to its files

	err          error // if unknown
	endedAttempt int   // the last attempt that has ended, if its marker does not count; 0 for none
}

// Ended reports whether the task is done or has failed.
func (t TaskStatus) Ended() bool { return t.State == StateDone || t.State == StateFailed }

// Elsewhere reports whether a lost task's worker was on another host, whose processes cannot be
// checked from here: only retry --lost takes over the task.
func (t TaskStatus) Elsewhere() bool { return t.State == StateLost && !sameHost(t.Heartbeat.Host) }

// Status is the state of the sweep, read from its folders.
type Status struct {
	Dir      string        `json:"dir"`
	Hash     string        `json:"hash"`
	Tasks    []TaskStatus  `json:"tasks"`
	Counts   map[State]int `json:"counts"` // of tasks
	Runs     int           `json:"runs"`
	DoneRuns int           `json:"done_runs"`
	Diverged int           `json:"diverged_runs"`
	// ETA is the estimated time of the rest, in seconds; 0 if unknown or if nothing runs.
	ETA float64 `json:"eta_seconds"`
}

// staleAfter limits the silence of a worker on another host, whose clock may differ.
const staleAfter = 3 * time.Minute

// Status reads the state of all tasks from their folders. queued, which may be nil, reports whether a
// scheduler still has a task; such a task is not lost.
func (s *Sweep) Status(queued func(index int) bool) (Status, error) {
	st := Status{Dir: s.Dir, Hash: s.Plan.Hash(), Counts: map[State]int{}, Runs: s.Plan.Runs()}
	begun, err := s.begun()
	if err != nil {
		return st, err
	}
	st.Tasks = make([]TaskStatus, len(s.Plan.Tasks))
	for i, task := range s.Plan.Tasks {
		t := TaskStatus{Index: i, State: StatePending, Runs: task.Runs}
		if begun[i] {
			t = s.Task(i)
		}
		if t.State == StateLost && queued != nil && queued(i) {
			t.State = StatePending
		}
		st.Counts[t.State]++
		if t.Done != nil {
			st.DoneRuns += len(t.Runs)
			st.Diverged += t.Done.Diverged()
		}
		st.Tasks[i] = t
	}
	st.ETA = s.eta(st.Tasks)
	return st, nil
}

// begun returns the tasks that have a directory.
func (s *Sweep) begun() (map[int]bool, error) {
	names, err := s.List(tasksDir)
	out := make(map[int]bool, len(names))
	for _, name := range names {
		if i, err := strconv.Atoi(name); err == nil {
			out[i] = true
		}
	}
	return out, err
}

// Task reads the state of one task.
func (s *Sweep) Task(index int) TaskStatus {
	// Check the lock before the markers: a worker writes a marker before it releases the lock.
	held := s.held(index)
	t := s.outcome(index)
	if t.State == StateDone {
		return t
	}
	t.Log = s.Log(index)
	if t.State == StateFailed {
		return t
	}
	b, ok, _ := s.heartbeat(index)
	if ok {
		t.Heartbeat = &b
	}
	if t.State == StateUnknown {
		return t
	}
	if t.Note != "" {
		t.Note += "; the next run of the sweep trains the task again"
	}
	switch {
	case held:
		t.State, t.Note = StateRunning, ""
	case !ok || b.Stopped != "" || b.Attempt <= t.endedAttempt:
		t.State = StatePending
	case !sameHost(b.Host) && now().Sub(b.Time).Abs() < staleAfter:
		t.State = StateRunning // its file system may not share locks with ours
	default:
		t.State = StateLost
	}
	return t
}

func sameHost(host string) bool {
	own, err := hostname()
	return err == nil && host == own
}

// held reports whether a process holds the lock of a task.
func (s *Sweep) held(index int) bool {
	info, err := s.root.Lstat(taskFile(index, lockFile))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	locked, _ := runlog.IsLocked(s.path(index, lockFile))
	return locked
}

// eta estimates the seconds until all running and pending tasks are done. A running task's rest
// follows from its own rate; a pending task's time is the mean over done tasks of its
// configuration, or of all done tasks, or before any is done follows from the rates of running
// tasks. The sum is divided by the number of workers that run now.
func (s *Sweep) eta(tasks []TaskStatus) float64 {
	const all = -1
	seconds, members := map[int]float64{}, map[int]float64{} // of complete tasks, by configuration
	noneDone := !slices.ContainsFunc(tasks, func(t TaskStatus) bool { return t.Done != nil })
	for _, t := range tasks {
		took, known := 0.0, t.Done != nil
		if known {
			took = t.Done.Seconds
		} else if step, ok := t.Heartbeat.step(); ok && noneDone && t.State == StateRunning {
			took, known = step*float64(t.Heartbeat.Total), true
		}
		if known {
			for _, c := range []int{s.Plan.Tasks[t.Index].Configuration, all} {
				seconds[c], members[c] = seconds[c]+took, members[c]+float64(len(t.Runs))
			}
		}
	}
	workers, left := 0, 0.0
	for _, t := range tasks {
		c, whole := s.Plan.Tasks[t.Index].Configuration, 0.0
		if members[c] == 0 {
			c = all
		}
		if members[c] > 0 {
			whole = seconds[c] / members[c] * float64(len(t.Runs))
		}
		switch t.State {
		case StateRunning:
			workers++
			rest, known := t.Heartbeat.Left()
			if !known {
				rest = whole
			}
			left += rest
		case StatePending, StateLost:
			left += whole
		}
	}
	if workers == 0 || len(members) == 0 {
		return 0
	}
	return left / float64(workers)
}

// Left returns the seconds until the task is done, at the rate of the current attempt.
func (b *Heartbeat) Left() (seconds float64, ok bool) {
	if seconds, ok = b.step(); !ok {
		return 0, false
	}
	return max(0, float64(b.Total-b.Step)*seconds), true
}

func (b *Heartbeat) step() (seconds float64, ok bool) {
	if b == nil || b.Step <= b.First || b.Seconds <= 0 || b.Total <= 0 {
		return 0, false
	}
	return b.Seconds / float64(b.Step-b.First), true
}

func (s *Sweep) tail(index int) []string {
	const most, lines = 8 << 10, 20
	f, err := s.root.Open(taskFile(index, logFile))
	if err != nil {
		return []string{}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return []string{}
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return []string{}
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return all[max(0, len(all)-lines):]
}

// outcome returns the state of a task according to its markers: done, failed, unknown, else
// pending. A marker does not count if it is damaged, belongs to another plan's task, or its runs
// are missing; Note then says so.
func (s *Sweep) outcome(index int) TaskStatus {
	t := TaskStatus{Index: index, State: StatePending, Runs: s.Plan.Tasks[index].Runs}
	var done Done
	if s.readMarker(&t, doneFile, &done) {
		reason, err := s.whyInvalid(index, done)
		switch {
		case err != nil:
			return t.unknown(err)
		case reason == "":
			t.State, t.Done = StateDone, &done
			return t
		}
		t.Note, t.endedAttempt = reason, done.Attempt
	}
	var failure Failure
	if t.State == StatePending && s.readMarker(&t, failedFile, &failure) {
		if failure.Task == s.Plan.taskHash(index) {
			t.State, t.Note, t.Failure = StateFailed, "", &failure
			return t
		}
		t.Note = fmt.Sprintf("%s belongs to another plan's task", s.path(index, failedFile))
		t.endedAttempt = failure.Attempt
	}
	return t
}

// unknown returns the status of a task whose files cannot be read.
func (t TaskStatus) unknown(err error) TaskStatus {
	t.State, t.Note, t.err = StateUnknown, err.Error(), err
	return t
}

// DataOfRuns returns the SHA-256 of a task's data from the first finished run that shares them, and
// the directory of that run, or "" if there is none.
func (s *Sweep) DataOfRuns(index int) (sum, dir string) {
	own, err := s.Plan.TaskConfig(index)
	if err != nil {
		return "", "" // the task itself reports the error
	}
	for i, task := range s.Plan.Tasks {
		c, err := s.Plan.TaskConfig(i)
		if err != nil {
			continue
		}
		if shares, err := config.SharesData(own, c); err != nil || !shares || s.outcome(i).Done == nil {
			continue
		}
		r, err := runlog.Open(s.RunDir(task.Runs[0]))
		if err != nil {
			continue
		}
		metadata, err := r.CheckpointMetadata()
		if errors.Join(err, r.Close()) == nil && metadata[runlog.DataKey] != "" {
			return metadata[runlog.DataKey], s.RunDir(task.Runs[0])
		}
	}
	return "", ""
}

// readMarker reads one marker of a task, and reports whether it exists and is readable.
func (s *Sweep) readMarker(t *TaskStatus, name string, into any) bool {
	text, err := s.root.ReadFile(taskFile(t.Index, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		*t = t.unknown(fmt.Errorf("%s: %w", s.path(t.Index, name), runlog.Cause(err)))
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Note = fmt.Sprintf("%s is damaged: %v", s.path(t.Index, name), err)
		t.endedAttempt = math.MaxInt
		return false
	}
	return true
}

// whyInvalid returns the reason why a marker does not make a task done, because it belongs to
// another task or a run is missing, or "". The error says why this cannot be determined.
func (s *Sweep) whyInvalid(index int, d Done) (string, error) {
	t := s.Plan.Tasks[index]
	if d.Task != s.Plan.taskHash(index) {
		return fmt.Sprintf("%s belongs to another plan's task", s.path(index, doneFile)), nil
	}
	for _, name := range t.Runs {
		result := filepath.Join(runsDir, name, resultFile)
		switch info, err := s.root.Lstat(result); {
		case errors.Is(err, fs.ErrNotExist) && !s.exists(filepath.Join(runsDir, name)):
			return "run directory gone: " + s.RunDir(name), nil
		case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0:
			return "result.json gone or empty: remove " + s.RunDir(name), nil
		case err != nil:
			return "", s.fileError("find", result, err)
		}
	}
	return "", nil
}

// taskHash returns a hash of a task's configuration and runs, which differs between plans.
func (p *Plan) taskHash(index int) string {
	t := p.Tasks[index]
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", p.Configurations[t.Configuration])
	for m, name := range t.Runs {
		fmt.Fprintf(h, "%s %q\n", t.Members[m], name)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// path returns the path of a file of a task, for messages.
func (s *Sweep) path(index int, name string) string {
	return filepath.Join(s.Dir, taskFile(index, name))
}

// fileError says which file of the sweep could not be changed, and why.
func (s *Sweep) fileError(verb, name string, err error) error {
	return fmt.Errorf("%s %s: %w", verb, filepath.Join(s.Dir, name), runlog.Cause(err))
}
