// Package own makes the report of masked prediction on a user's own data: the course of training
// beside baselines, errors by encoding and by test subject, maps and similarities of the learned
// positions, attention, the runs, and what was left out. It reads run directories only.
package own

import (
	"cmp"
	"fmt"
	"slices"

	"torchpe/internal/wording"
	"torchpe/report/runs"
)

// Study holds the runs of a report, which are on one set of data.
type Study struct {
	Runs   int
	Notes  []string // what was left out, and why
	groups []group
}

// group are the models of one configuration, which differ in their seeds.
type group struct {
	label  string
	models []runs.Model
}

// IsOwn reports whether a run is of masked prediction on files of the user.
func IsOwn(r *runs.Run) bool { return r.Config.Masked != nil && r.Config.Masked.Files != nil }

// Read finds the finished runs on own data in dir and below it. Of several sets of data or model
// sizes it takes that with the most models.
func Read(dir string) (*Study, error) {
	found, skipped, err := runs.Find(dir)
	if err != nil {
		return nil, err
	}
	s := &Study{}
	for _, r := range skipped {
		s.note("%s: %s", r.Dir, r.Reason)
	}
	found = slices.DeleteFunc(found, func(r *runs.Run) bool { return !IsOwn(r) })
	if found, err = s.mostCommon(found); err != nil {
		return nil, err
	}
	models, diverged := runs.Models(found)
	if diverged > 0 {
		s.note("%s diverged", wording.Count(diverged, "model"))
	}
	s.Runs = len(found)
	models, notes, err := runs.Distinct(models)
	if err != nil {
		return nil, err
	}
	s.Notes = append(s.Notes, notes...)
	s.groups, err = groupsOf(models)
	return s, err
}

func (s *Study) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// mostCommon returns the runs of the base, data and model size, that has the most models.
func (s *Study) mostCommon(found []*runs.Run) ([]*runs.Run, error) {
	of := map[string][]*runs.Run{}
	var order []string
	for _, r := range found {
		base, err := r.Base()
		if err != nil {
			return nil, err
		}
		if of[base] == nil {
			order = append(order, base)
		}
		of[base] = append(of[base], r)
	}
	count := func(base string) (n int) {
		for _, r := range of[base] {
			n += len(r.Config.Members)
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(count(b), count(a)) })
	for _, base := range order[min(1, len(order)):] {
		s.note("%s of other data or another size, such as %s: see torchpe report on that folder alone",
			wording.Count(count(base), "model"), of[base][0].Name)
	}
	if order == nil {
		return nil, nil
	}
	return of[order[0]], nil
}

// groupsOf joins models that differ in their seed alone.
func groupsOf(models []runs.Model) (out []group, err error) {
	all, err := runs.Groups(models)
	for _, g := range all {
		out = append(out, group{label: g.Label, models: g.Models})
	}
	return out, err
}
