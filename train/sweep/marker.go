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

// outcome holds the content of a task's markers.
type outcome struct {
	done    *Done
	failure *Failure
	err     error // why a marker cannot be read: nothing is known

	invalidReason  string // why an existing marker does not count; "" where it does
	invalidAttempt int    // the attempt of an invalid marker, which has ended
}

// outcome reads the markers of a task. A marker is invalid where it is damaged, belongs to another
// plan's task, or its runs are gone.
func (s *Sweep) outcome(index int) (o outcome) {
	var done Done
	if s.readMarker(index, doneFile, &done, &o) {
		if o.invalidReason, o.err = s.whyInvalid(index, done); o.err != nil {
			return o
		}
		if o.invalidReason == "" {
			o.done = &done
			return o
		}
		o.invalidAttempt = done.Attempt
	}
	var failure Failure
	if s.readMarker(index, failedFile, &failure, &o) {
		if failure.Task == s.Plan.taskHash(index) {
			o.failure = &failure
			return o
		}
		o.invalidReason = fmt.Sprintf("%s is of another plan's task", s.path(index, failedFile))
		o.invalidAttempt = failure.Attempt
	}
	return o
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
		if shares, err := config.SharesData(own, c); err != nil || !shares || s.outcome(i).done == nil {
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

// readMarker reads one marker, and reports whether there is one that can be read.
func (s *Sweep) readMarker(index int, name string, into any, o *outcome) bool {
	text, err := s.root.ReadFile(taskFile(index, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		o.err = fmt.Errorf("%s: %w", s.path(index, name), runlog.Cause(err))
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		o.invalidReason = fmt.Sprintf("%s is damaged: %v", s.path(index, name), err)
		o.invalidAttempt = math.MaxInt
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
