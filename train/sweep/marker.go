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

	"torchpe/train/runlog"
)

// outcome is what a task's markers say.
type outcome struct {
	done    *Done
	failure *Failure
	void    string // why a marker that is there does not count
	spent   int    // the last attempt of which a void marker tells; it is over
	err     error  // a marker is there and the system does not let it be read: nothing is known
}

// outcome reads the markers of a task. One that is damaged, of another plan's task, or whose runs are gone does not count.
func (s *Sweep) outcome(index int) (o outcome) {
	var done Done
	if there := s.marker(index, doneFile, &done, &o); there {
		if o.void = s.notOf(index, done); o.void == "" {
			o.done = &done
			return o
		}
		o.spent = done.Attempt
	}
	var failure Failure
	if there := s.marker(index, failedFile, &failure, &o); there {
		if failure.Task == "" || failure.Task == s.Plan.taskHash(index) {
			o.failure = &failure
			return o
		}
		o.void, o.spent = fmt.Sprintf("%s is of another plan's task", s.path(index, failedFile)), failure.Attempt
	}
	return o
}

// marker reads one marker, and says whether there is one that can be read.
func (s *Sweep) marker(index int, name string, into any, o *outcome) bool {
	text, err := s.root.ReadFile(in(index, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		o.err = fmt.Errorf("%s: %w", s.path(index, name), runlog.Cause(err))
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		o.void, o.spent = fmt.Sprintf("%s is damaged: %v", s.path(index, name), err), math.MaxInt
		return false
	}
	return true
}

// notOf says why a marker does not make a task done: it is another task's, or a run is not there.
func (s *Sweep) notOf(index int, d Done) string {
	t := s.Plan.Tasks[index]
	if d.Task != s.Plan.taskHash(index) && (d.Task != "" || !s.Plan.looksLike(index, d.Results)) {
		return fmt.Sprintf("%s is of another plan's task", s.path(index, doneFile))
	}
	for _, name := range t.Runs {
		if !s.exists(filepath.Join(runsDir, name, resultFile)) {
			return "run directory gone: " + s.RunDir(name)
		}
	}
	return ""
}

// looksLike compares a task with the results in a marker that an older torchpe wrote, which has no hash.
func (p *Plan) looksLike(index int, results []runlog.MemberResult) bool {
	t := p.Tasks[index]
	if len(results) != len(t.Members) {
		return false
	}
	var base struct {
		PE string `json:"pe"`
	}
	if json.Unmarshal(p.Configurations[t.Configuration], &base) != nil {
		return false
	}
	for m, r := range results {
		var member struct {
			Seed  uint64   `json:"seed"`
			Sigma *float64 `json:"sigma"`
		}
		if json.Unmarshal(t.Members[m], &member) != nil || r.PE != base.PE || uint64(r.Seed) != member.Seed || (r.Sigma == nil) != (member.Sigma == nil) ||
			r.Sigma != nil && *r.Sigma != *member.Sigma {
			return false
		}
	}
	return true
}

// taskHash tells a task from those of other plans.
func (p *Plan) taskHash(index int) string {
	t := p.Tasks[index]
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", p.Configurations[t.Configuration])
	for m, name := range t.Runs {
		fmt.Fprintf(h, "%s %q\n", t.Members[m], name)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// path is where a file of a task is, for messages.
func (s *Sweep) path(index int, name string) string { return filepath.Join(s.Dir, in(index, name)) }

// failed says which file of the sweep could not be changed, and why.
func (s *Sweep) failed(verb, name string, err error) error {
	return fmt.Errorf("%s %s: %w", verb, filepath.Join(s.Dir, name), runlog.Cause(err))
}
