// Package ranking makes the report that ranks many encodings: for each task a table of training, IID and held-out
// numbers, ranks with their uncertainty, which encodings cannot be told from the first, a figure of held-out
// against IID accuracy, and families of encodings. It reads run directories only.
package ranking

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/catalogue"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
	"torchpe/train/runlog"
)

// fewest is the number of encodings that a task is ranked from.
const fewest = 10

// Report holds the tasks that were trained with many encodings.
type Report struct {
	*cohort.Found
	tasks []task
}

// task holds the models of one size on one set of data.
type task struct {
	name              string
	heldOut           string // the measure that ranks them
	ranked            []standing
	unfitted, unknown []cohort.Group // groups with a model that has not fitted; groups without a rank
}

// standing is a group in its place.
type standing struct {
	Standing
	group cohort.Group
}

// Read finds the tasks in dir and below it on which at least ten encodings were trained.
func Read(dir string) (*Report, error) {
	found, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	if err != nil {
		return nil, err
	}
	r := &Report{Found: found}
	if r.Models, err = r.Distinct(r.Models); err != nil {
		return nil, err
	}
	bases, err := cohort.Bases(r.Models)
	if err != nil {
		return nil, err
	}
	var shown []cohort.Model
	for _, b := range bases {
		if !hasMany(b.Models, func(m cohort.Model) string { return m.Run.Config.PE }) {
			continue
		}
		models, notes, err := cohort.OfCommonLength(b.Models)
		if err != nil {
			return nil, err
		}
		r.Notes = append(r.Notes, notes...)
		t, err := rank(models)
		if err != nil {
			return nil, err
		}
		shown = append(shown, models...)
		r.tasks = append(r.tasks, t)
	}
	r.Models, r.Runs = shown, cohort.CountRuns(shown)
	return r, nil
}

// HasMany reports whether runs have as many encodings as a ranking needs, of one task or several.
func HasMany(all []*cohort.Run) bool {
	return hasMany(all, func(r *cohort.Run) string { return r.Config.PE })
}

func hasMany[T any](all []T, pe func(T) string) bool {
	encodings := map[string]bool{}
	for _, x := range all {
		encodings[pe(x)] = true
	}
	return len(encodings) >= fewest
}

// IsEmpty reports whether no task has as many encodings as a ranking needs.
func (r *Report) IsEmpty() bool { return len(r.tasks) == 0 }

// heldOutOf returns the measure of the examples that training has not seen, and does not resemble where the task
// has such.
func heldOutOf(m cohort.Model) string {
	c := m.Run.Config
	switch {
	case c.Masked != nil:
		return "test_mse/" + c.Masked.MainTest()
	case c.Sequence != nil && c.Sequence.Text != nil:
		return fmt.Sprintf("perplexity/%d", c.Sequence.TrainLength)
	}
	return "validation"
}

// rank ranks the groups of models of which at least two have the measure, and all have fitted.
func rank(models []cohort.Model) (t task, err error) {
	t.name, t.heldOut = models[0].Run.Config.TaskLabel(), heldOutOf(models[0])
	groups, err := cohort.Groups(models)
	if err != nil {
		return t, err
	}
	byLabel := map[string]cohort.Group{}
	var entries []Entry
	for _, g := range groups {
		values := g.Values(func(m cohort.Model) float64 { return item.Value(m, t.heldOut) })
		switch {
		case slices.ContainsFunc(g.Models, cohort.Model.IsUnfitted):
			t.unfitted = append(t.unfitted, g)
		case len(values) < 2 || slices.ContainsFunc(values, math.IsNaN):
			t.unknown = append(t.unknown, g)
		default:
			e := Entry{Label: g.Label}
			if e.Family, err = catalogue.FamilyOf(g.Models[0].Run.Config.PE); err != nil {
				return t, err
			}
			for _, v := range values {
				e.Scores = append(e.Scores, []float64{v})
			}
			byLabel[g.Label] = g
			entries = append(entries, e)
		}
	}
	for _, s := range Rank(entries, t.falls()) {
		t.ranked = append(t.ranked, standing{s, byLabel[s.Label]})
	}
	return t, nil
}

// standings returns the places of the ranked groups.
func (t task) standings() (all []Standing) {
	for _, s := range t.ranked {
		all = append(all, s.Standing)
	}
	return all
}

// falls reports whether less is better.
func (t task) falls() bool {
	m, _ := runlog.FindMeasure(t.heldOut)
	return m.Scale.Falls
}

// groups returns all groups of a task, the ranked ones first.
func (t task) groups() (all []cohort.Group) {
	for _, s := range t.ranked {
		all = append(all, s.group)
	}
	return slices.Concat(all, t.unfitted, t.unknown)
}

// Write makes the report in dir: the files of figures and tables, and index.html.
func (r *Report) Write(dir string) (document.Written, error) {
	if r.IsEmpty() {
		return document.Written{}, fmt.Errorf("nothing to rank: no task has %d encodings: %s", fewest,
			strings.Join(r.Notes, "; "))
	}
	d, err := document.Open(dir, "Encodings ranked")
	if err != nil {
		return document.Written{}, err
	}
	d.Subtitle = fmt.Sprintf("%s of %s, by torchpe.", wording.Count(len(r.Models), "model"),
		wording.Count(r.Runs, "run"))
	if err := r.add(d); err != nil {
		return document.Written{}, err
	}
	return d.Finish(r.Notes)
}
