// Package own makes the report of masked prediction on a user's own data: the course of training
// beside baselines, errors by encoding and by test subject, maps and similarities of the learned
// positions, attention, the runs, and what was left out. It reads run directories only.
package own

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/plural"
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
		s.note("%s diverged", plural.Of(diverged, "model"))
	}
	s.Runs = len(found)
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
		base, err := r.Config.Base()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dir, err)
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
			plural.Of(count(base), "model"), of[base][0].Name)
	}
	if order == nil {
		return nil, nil
	}
	return of[order[0]], nil
}

// groupsOf joins models that differ in their seed alone. Settings in which models of one encoding
// differ stand behind its label.
func groupsOf(models []runs.Model) ([]group, error) {
	settings := make([]map[string]string, len(models))
	byLabel := map[string][]map[string]string{}
	for i, m := range models {
		all, err := m.Run.Config.Settings()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Run.Dir, err)
		}
		settings[i] = maps.Clone(all)
		settings[i]["lr"], settings[i]["weight_decay"] = fmt.Sprint(m.Member.LR), fmt.Sprint(m.Member.WeightDecay)
		byLabel[m.Label()] = append(byLabel[m.Label()], settings[i])
	}
	var out []group
	at := map[string]int{}
	for i, m := range models {
		label := m.Label()
		for _, key := range runs.Differing(byLabel[m.Label()]) {
			label += fmt.Sprintf(", %s %s", key[strings.LastIndex(key, ".")+1:], settings[i][key])
		}
		if _, ok := at[label]; !ok {
			at[label] = len(out)
			out = append(out, group{label: label})
		}
		out[at[label]].models = append(out[at[label]].models, m)
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.models[0].Run.Config.PE, b.models[0].Run.Config.PE),
			cmp.Compare(a.models[0].Sigma(), b.models[0].Sigma()), cmp.Compare(a.label, b.label))
	})
	return out, nil
}
