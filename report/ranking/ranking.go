// Package ranking makes the report that ranks many encodings: for each task a table of training, IID and
// held-out numbers, ranks with their uncertainty, which encodings differ from the first, a figure of held-out
// against IID accuracy, and families of encodings. It reads only run directories.
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

// The fewest encodings (learned ones with different σ count separately) and the fewest schemes of a ranked
// task.
const (
	fewestEncodings = 10
	fewestSchemes   = 5
)

// Report holds the tasks on which many encodings were trained.
type Report struct {
	*cohort.Found
	tasks []task
}

// task holds models that differ only in their encoding, its settings and the learning rate.
type task struct {
	name, title       string            // in names of files; in headings
	trainedAs         map[string]string // the settings that they share, and the data
	iid, heldOut      string            // measures of unseen examples like those of training, and of others, to rank by
	ranked            []standing
	unfitted, unknown []cohort.Group    // groups with a model that has not fitted; groups without a rank
	families          map[string]string // by scheme
}

// standing is a group with its standing.
type standing struct {
	Standing
	group cohort.Group
}

// Read finds the tasks in dir and below it on which many encodings were trained.
func Read(dir string) (*Report, error) {
	found, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	if err != nil {
		return nil, err
	}
	r := &Report{Found: found}
	if r.Models, err = r.Distinct(r.Models); err != nil {
		return nil, err
	}
	by := map[string][]cohort.Model{}
	trainedAs := map[string]map[string]string{}
	var order []string
	for _, m := range r.Models {
		settings, err := m.TrainedAs()
		if err != nil {
			return nil, err
		}
		delete(settings, "members.lr")
		key := cohort.Key(settings)
		if by[key] == nil {
			order, trainedAs[key] = append(order, key), settings
		}
		by[key] = append(by[key], m)
	}
	r.Models = nil
	var few []string // keys of models whose encodings are too few for a ranking
	for _, key := range order {
		if !hasMany(by[key]) {
			few = append(few, key)
			continue
		}
		t, err := rank(by[key])
		if err != nil {
			return nil, err
		}
		if err := r.NoteUnlike(t.groups()); err != nil {
			return nil, err
		}
		r.NoteRecords(t.groups())
		t.trainedAs = trainedAs[key]
		r.tasks, r.Models = append(r.tasks, t), append(r.Models, by[key]...)
	}
	for _, key := range few {
		if r.tasks == nil {
			break
		}
		var differ []string
		for _, setting := range cohort.Differing([]map[string]string{trainedAs[key], r.tasks[0].trainedAs}) {
			differ = append(differ, cohort.Difference(setting, trainedAs[key][setting]))
		}
		r.Note("%s not ranked, such as %s: fewer than %d encodings with %s", wording.Count(len(by[key]), "model"),
			by[key][0].Label(), fewestEncodings, wording.List(3, differ))
	}
	r.Runs = cohort.CountRuns(r.Models)
	r.makeNamesUnique()
	return r, nil
}

// HasMany reports whether runs have as many encodings as a ranking needs, in one task or several.
func HasMany(all []*cohort.Run) bool {
	models, _ := cohort.Models(all)
	return hasMany(models)
}

func hasMany(models []cohort.Model) bool {
	encodings, schemes := map[string]bool{}, map[string]bool{}
	for _, m := range models {
		encodings[m.Label()], schemes[m.Run.Config.PE] = true, true
	}
	return len(encodings) >= fewestEncodings && len(schemes) >= fewestSchemes
}

// makeNamesUnique adds to the names of tasks the settings in which they differ from others of the same name.
func (r *Report) makeNamesUnique() {
	same := map[string][]map[string]string{}
	for _, t := range r.tasks {
		same[t.name] = append(same[t.name], t.trainedAs)
	}
	for i, t := range r.tasks {
		for _, key := range cohort.Differing(same[t.name]) {
			differs := ", " + cohort.Difference(key, t.trainedAs[key])
			r.tasks[i].name, r.tasks[i].title = r.tasks[i].name+differs, r.tasks[i].title+differs
		}
	}
}

// IsEmpty reports whether no task has as many encodings as a ranking needs.
func (r *Report) IsEmpty() bool { return len(r.tasks) == 0 }

// measuresOf returns the measures of unseen examples: of those like training examples, and of those unlike
// them; one measure twice if the task has no others, as texts. Masked prediction is ranked at a large masked share,
// as in the paper.
func measuresOf(m cohort.Model) (iid, heldOut string) {
	c := m.Run.Config
	switch {
	case c.Masked != nil:
		return "test_mse/" + c.Masked.MainTest(), "test_mse/" + hardest(m.Run)
	case c.Sequence != nil && c.Sequence.Text != nil:
		heldOut = fmt.Sprintf("perplexity/%d", c.Sequence.TrainLength)
		return heldOut, heldOut
	}
	return "iid", "validation"
}

// hardest returns the largest masked share of a run's tests at which the visible tokens still tell one token from
// another: the conditional Gaussian's error is at least 2 % below that of the regression on the mean of the visible.
// Beyond it ranks are noise. It returns the share of training if there is none, and the largest for a run without
// such baselines.
func hardest(r *cohort.Run) string {
	gaussian, mean := item.Baselines[0], item.Baselines[1]
	for _, level := range r.Config.Masked.ByMasked() {
		if !(gaussian.MSE(r, level) > .98*mean.MSE(r, level)) {
			return level
		}
	}
	return r.Config.Masked.MainTest()
}

// rank ranks the groups in which at least two models have the measure and all have fitted.
func rank(models []cohort.Model) (t task, err error) {
	c := models[0].Run.Config
	t = task{name: c.TaskLabel(), title: wording.Capital(c.Facts().Title), families: map[string]string{}}
	t.iid, t.heldOut = measuresOf(models[0])
	if t.name != c.Facts().Name {
		t.title += ": " + t.name
	}
	groups, err := cohort.Groups(models)
	if err != nil {
		return t, err
	}
	byLabel := map[string]cohort.Group{}
	var entries []Entry
	for _, g := range groups {
		scheme := g.Models[0].Run.Config.PE
		if t.families[scheme], err = catalogue.FamilyOf(scheme); err != nil {
			return t, err
		}
		values := g.Values(func(m cohort.Model) float64 { return item.Value(m, t.heldOut) })
		switch {
		case slices.ContainsFunc(g.Models, cohort.Model.IsUnfitted):
			t.unfitted = append(t.unfitted, g)
		case len(values) < 2 || slices.ContainsFunc(values, math.IsNaN):
			t.unknown = append(t.unknown, g)
		default:
			byLabel[g.Label] = g
			entries = append(entries, Entry{Label: g.Label, Scheme: scheme, Seeds: values})
		}
	}
	for _, s := range Rank(entries, t.falls()) {
		t.ranked = append(t.ranked, standing{s, byLabel[s.Label]})
	}
	return t, nil
}

// standings returns the standings of the ranked groups.
func (t task) standings() (all []Standing) {
	for _, s := range t.ranked {
		all = append(all, s.Standing)
	}
	return all
}

// falls reports whether smaller is better.
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
		return document.Written{}, fmt.Errorf("nothing to rank: no task has %d encodings: %s", fewestEncodings,
			strings.Join(r.Notes, "; "))
	}
	d, err := document.Open(dir, "Encodings ranked")
	if err != nil {
		return document.Written{}, err
	}
	d.Subtitle = fmt.Sprintf("%s of %s, by torchpe.", wording.Count(len(r.Models), "model"),
		wording.Count(r.CountRuns(), "run"))
	if err := r.add(d); err != nil {
		return document.Written{}, err
	}
	return d.Finish(r.Notes)
}
