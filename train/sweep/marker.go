package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// outcome returns the state of a task that its markers show: done, failed, unknown, or pending for all
// else. A marker does not count where it is damaged, belongs to another plan's task, or its runs are gone:
// Note says so.
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
		t.Note = fmt.Sprintf("%s is of another plan's task", s.path(index, failedFile))
		t.endedAttempt = failure.Attempt
	}
	return t
}

// unknown returns the status of a task whose files cannot be read.
func (t TaskStatus) unknown(err error) TaskStatus {
	t.State, t.Note, t.err = StateUnknown, err.Error(), err
	return t
}

// DataOfRuns returns the SHA-256 of a task's data, as the first finished run that shares them has it, and
// the directory of that run; empty texts where no run has it.
func (s *Sweep) DataOfRuns(index int) (sum, dir string) {
	own, err := s.Plan.TaskConfig(index)
	if err != nil {
		return "", "" // the task itself will say so
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

// readMarker reads one marker of a task, and reports whether there is one that can be read.
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

// whyInvalid returns why a marker does not make a task done: it belongs to another task, or a run is
// gone; "" where it does. The error says why that cannot be known.
func (s *Sweep) whyInvalid(index int, d Done) (string, error) {
	t := s.Plan.Tasks[index]
	if d.Task != s.Plan.taskHash(index) {
		return fmt.Sprintf("%s is of another plan's task", s.path(index, doneFile)), nil
	}
	for _, name := range t.Runs {
		result := filepath.Join(runsDir, name, resultFile)
		switch _, err := s.root.Lstat(result); {
		case errors.Is(err, fs.ErrNotExist):
			return "run directory gone: " + s.RunDir(name), nil
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
