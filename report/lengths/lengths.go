// Package lengths makes the report of the tasks sequence and text: accuracy against the length of the input,
// one panel per formal language and one line per encoding, and tables of scores; for texts, perplexity by
// length and loss by position. It reads only run directories.
package lengths

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
	"torchpe/train/config"
)

// Report holds the models of a report.
type Report struct {
	*cohort.Found
	languages []task
	best      []task // formal languages, with learning rates in one group
	texts     []task
}

// task is a formal language, or a text, with the models that were trained on it.
type task struct {
	name   string
	groups []cohort.Group
}

// trainLength returns the length of inputs in training.
func (t task) trainLength() string {
	return item.Each(cohort.ModelsOf(t.groups),
		func(m cohort.Model) string { return fmt.Sprint(m.Run.Config.Sequence.TrainLength) })
}

// IsSequence reports whether a run is of task sequence or text.
func IsSequence(r *cohort.Run) bool { return r.Config.Sequence != nil }

// Read finds the finished runs of tasks sequence and text in dir and below it.
func Read(dir string) (*Report, error) {
	found, err := cohort.Read(dir, IsSequence)
	if err != nil {
		return nil, err
	}
	r := &Report{Found: found}
	var languages, texts []cohort.Model
	for _, m := range r.Models {
		if m.Run.Config.Sequence.Text != nil {
			texts = append(texts, m)
		} else {
			languages = append(languages, m)
		}
	}
	// The data of a language follow from the other settings.
	if languages, err = r.Distinct(languages, cohort.DataKey); err != nil {
		return nil, err
	}
	if texts, err = r.Distinct(texts); err != nil {
		return nil, err
	}
	r.Models = slices.Concat(languages, texts)
	if r.languages, err = tasksOf(languages); err != nil {
		return nil, err
	}
	if r.best, err = tasksOf(languages, "members.lr"); err != nil {
		return nil, err
	}
	if r.texts, err = tasksOf(texts); err != nil {
		return nil, err
	}
	for _, t := range slices.Concat(r.languages, r.texts) {
		if err := r.NoteUnlike(t.groups, cohort.DataKey); err != nil {
			return nil, err
		}
		r.NoteRecords(t.groups)
	}
	return r, nil
}

// tasksOf sorts models by language or text; a group has one label in all of them. Texts of the same name with
// different characters are two tasks.
func tasksOf(models []cohort.Model, ignored ...string) (tasks []task, err error) {
	ignored = append(ignored, "sequence.language", "sequence.form", "sequence.text", cohort.DataKey)
	groups, err := cohort.Groups(models, ignored...)
	if err != nil {
		return nil, err
	}
	labels := map[cohort.ModelKey]string{}
	for _, g := range groups {
		for _, m := range g.Models {
			labels[m.Key()] = g.Label
		}
	}
	data := map[string][]string{} // by name
	for _, m := range models {
		name := nameOf(m.Run.Config.Sequence)
		if !slices.Contains(data[name], m.Run.DataSHA256) {
			data[name] = append(data[name], m.Run.DataSHA256)
		}
	}
	by := map[string][]cohort.Model{}
	for _, m := range models {
		name := nameOf(m.Run.Config.Sequence)
		if m.Run.Config.Sequence.Text != nil && len(data[name]) > 1 {
			name += ", " + cohort.Difference(cohort.DataKey, m.Run.DataSHA256)
		}
		by[name] = append(by[name], m)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		own, err := cohort.Groups(by[name], ignored...) // which drops measures that its minority took otherwise
		if err != nil {
			return nil, err
		}
		for i, g := range own {
			own[i].Label = labels[g.Models[0].Key()]
		}
		tasks = append(tasks, task{name, own})
	}
	return tasks, nil
}

// nameOf names a language with its form, or a text's files.
func nameOf(c *config.SequenceConfig) string {
	switch {
	case c.Text != nil:
		var names []string
		for _, path := range c.Text {
			names = append(names, filepath.Base(path))
		}
		return strings.Join(names, ", ")
	case c.Form == config.Decoder:
		return c.Name + ", decoder"
	}
	return c.Name
}

// Write makes the report in dir: the files of figures and tables, and index.html.
func (r *Report) Write(dir string) (document.Written, error) {
	if len(r.languages)+len(r.texts) == 0 {
		return document.Written{}, fmt.Errorf("nothing to report: %s", strings.Join(r.Notes, "; "))
	}
	d, err := document.Open(dir, "Longer inputs than in training")
	if err != nil {
		return document.Written{}, err
	}
	var of []string
	if n := len(r.languages); n > 0 {
		of = append(of, wording.Count(n, "formal language"))
	}
	if n := len(r.texts); n > 0 {
		of = append(of, wording.Count(n, "text"))
	}
	d.Subtitle = fmt.Sprintf("%s on %s, by torchpe.", wording.Count(r.CountRuns(), "run"),
		strings.Join(of, " and "))
	if _, err := item.Add(d, specs(), r.draft); err != nil {
		return document.Written{}, err
	}
	return d.Finish(r.Notes)
}
