// Package own makes the report of masked prediction on a user's own data: errors over training beside
// baselines, errors by encoding and by test subject, maps and similarities of the learned positions, attention,
// the runs, and what was left out. It reads only run directories.
package own

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"torchpe/internal/metrics"
	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
	"torchpe/report/page"
)

// Report holds the models of a report, all trained on one set of data.
type Report struct {
	*cohort.Found
	groups  []cohort.Group
	learned []learned
	page    *document.Document // being written
	order   []int              // of tokens without modules and places, by clusters of the first table; else nil
}

// IsOwn reports whether a run is masked prediction on the user's files.
func IsOwn(r *cohort.Run) bool { return r.Config.Masked != nil && r.Config.Masked.Files != nil }

// Read finds the finished runs on own data in dir and below it. Of several sets of data or model sizes it takes
// the one with the most models, or the first of several.
func Read(dir string) (*Report, error) {
	found, err := cohort.Read(dir, IsOwn)
	if err != nil {
		return nil, err
	}
	r := &Report{Found: found}
	bases, err := cohort.Bases(r.Models)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(bases, func(a, b cohort.Base) int { return len(b.Models) - len(a.Models) })
	for i, b := range bases {
		if i == 0 {
			r.Models = b.Models
			continue
		}
		r.Note("%s not shown, such as %s: %s; run torchpe report on that folder only",
			wording.Count(len(b.Models), "model"), b.Models[0].Run.Name, b.Unlike(bases[0]))
	}
	if r.Models, err = r.Distinct(r.Models); err != nil {
		return nil, err
	}
	if r.groups, err = cohort.Groups(r.Models); err != nil {
		return nil, err
	}
	r.NoteRecords(r.groups)
	return r, r.NoteUnlike(r.groups, cohort.LengthKeys...) // errors are shown with their number of steps
}

// The sections of a report.
const (
	errorsSection    = "Errors"
	positionsSection = "Learned positions"
)

// The data of items, in drafts of a report.
type (
	spec  = item.Spec[*Report, *draft]
	row   = item.Row[*draft]
	panel = item.Panel[*draft]
)

// draft is an item in the making.
type draft struct {
	item.Draft
	*Report
}

// draft makes an item without drawing it.
func (r *Report) draft(it spec) (*draft, error) {
	d := &draft{Report: r}
	return d, it.Fill(r, d, words)
}

// Heights of rows in inches.
const (
	plotHeight = 2.3
	mapHeight  = 2.6 // of maps and matrices
)

func plots(panels ...panel) row { return row{Height: plotHeight, Panels: panels} }

func pairs(draw panel) row { return row{Height: mapHeight, Most: 2, Panels: []panel{draw}} }

// specs lists the items of a report in their order.
func specs() []spec {
	all := []spec{
		{ID: "table_errors", Section: "What these runs say", Title: "Errors and network scores by encoding",
			Tables:  []func(*draft){errorTable},
			Caption: "Mean ± SD over n seeds; the share is of tokens masked in the test."},
		{ID: "errors", Section: errorsSection, Title: "Errors over training and at its end",
			Rows: []row{plots(errorCourses), plots(lastErrors)},
			Caption: "Mean squared error over masked tokens, in units of the data as they are trained on. " +
				"Lines are means over seeds, bands reach from the smallest to the largest; dots are seeds. " +
				"Dashed: errors without a model under the same masks: the conditional Gaussian (the best linear " +
				"prediction, if training frames are many times the tokens) and a regression on " +
				"the mean of the visible tokens. Trained with {trained} masked.{stopped}"},
		{ID: "subjects", Section: errorsSection, Title: "Error by test subject", Rows: []row{plots(subjects)},
			Caption: "Each dot is one of {number} subjects that training did not see, the mean over seeds." +
				"{intervals} Dashed: errors without a model under the same masks."},
		{ID: "explorer", Make: explore},
		{ID: "maps", Section: positionsSection, Title: "Maps of the learned positions", Rows: []row{pairs(tokenMaps)},
			Caption: "The first two principal axes of the learned positions (first block with a table, first seed), " +
				"with the share of variance explained by each; dots are tokens, coloured by module if modules are " +
				"known.{tokens}"},
		{ID: "similarity", Section: positionsSection, Title: "Similarity of the learned positions",
			Rows: []row{pairs(similarity)},
			Caption: "Cosine similarity of the positions of two tokens (first block with a table, first seed), " +
				"tokens ordered by module if modules are known{clusters}. The colours span the values of all " +
				"matrices off their diagonals, which are 1.{tokens}"},
		{ID: "scores", Section: positionsSection, Title: "Modules in the learned positions", Rows: []row{plots(scores)},
			Caption: "Modularity Q and clustering C of the learned positions for the known modules, the mean over " +
				"blocks; dots are seeds. Q of a fixed encoding shows how far the order or the given places of " +
				"the tokens match the modules.{chance}"},
		{ID: "attention", Section: "Attention", Title: "Attention between tokens", Make: attention,
			Caption: "Attention from the token of a row to that of a column, {probed} of the tokens masked: mean " +
				"over heads and test samples, first seed, tokens ordered by module if modules are known{clusters}." +
				"{tokens}"},
		{ID: "models", Section: "Runs", Title: "Models", Tables: []func(*draft){modelTable}},
	}
	for i := range all {
		all[i].Of = func(r *Report) []cohort.Group { return r.groups }
	}
	return all
}

// words maps names in braces in captions to their texts.
var words = item.Words[*draft]{
	"trained": func(d *draft) string { return item.Each(cohort.ModelsOf(d.Groups), trainedLevel) },
	"probed": func(d *draft) string {
		return item.Each(cohort.ModelsOf(d.Groups), func(m cohort.Model) string {
			return number.Percent(m.AttentionLevel())
		})
	},
	"stopped": func(d *draft) string { return item.StoppedNote(d.Models) },
	"clusters": func(d *draft) string { // how tokens without modules are ordered, if at all
		if d.order == nil {
			return ""
		}
		return ", else by clusters of the first encoding's positions (average linkage)"
	},
}

// Write makes the report in dir: the files of figures and tables, and index.html.
func (r *Report) Write(dir string) (document.Written, error) {
	if len(r.groups) == 0 {
		return document.Written{}, fmt.Errorf("nothing to report: %s", strings.Join(r.Notes, "; "))
	}
	d, err := document.Open(dir, "Masked prediction: what the positions learned") // first, because it may fail
	if err != nil {
		return document.Written{}, err
	}
	d.Subtitle = fmt.Sprintf("%s of %s, by torchpe.", wording.Count(len(r.Models), "model"),
		wording.Count(r.CountRuns(), "run"))
	if err := r.readLearned(); err != nil {
		return document.Written{}, err
	}
	r.page = d
	if _, err := item.Add(d, specs(), r.draft); err != nil {
		return document.Written{}, err
	}
	about := d.Section("Data")
	about.Items = append(about.Items, page.List{Entries: r.data()})
	return d.Finish(r.Notes)
}

// first returns the run that represents all, such as for baselines: the first of the largest group.
func (r *Report) first() *cohort.Run {
	most := slices.MaxFunc(r.groups, func(a, b cohort.Group) int { return len(a.Models) - len(b.Models) })
	return most.Models[0].Run
}

// levels returns the shares of tokens masked in tests, in order, and the one closest to that of training.
func (r *Report) levels() (all []string, main string) {
	return slices.Sorted(maps.Keys(r.first().Result.Baselines["zero"])), r.first().Config.Masked.MainTest()
}

// percent writes "0.50" as "50 %", with a no-break space.
func percent(level string) string {
	v, _ := strconv.ParseFloat(level, 64)
	return number.Percent(v)
}

// data describes the data in sentences.
func (r *Report) data() []string {
	d := r.first().Result.Data
	if d == nil {
		return []string{"The runs do not record their data."}
	}
	out := []string{
		fmt.Sprintf("%d samples of %s; %s of %s.", d.Frames, wording.Count(d.Tokens, "token"),
			wording.Count(d.Runs, "file"), wording.Count(d.Subjects, "subject")),
		fmt.Sprintf("Held out: %s; %d of %d held-out samples measured.", d.Split, d.MeasuredFrames, d.TestFrames)}
	if d.TestSubjects != nil {
		out = append(out, "Held-out subjects: "+wording.List(12, d.TestSubjects)+".")
	}
	if d.Modules > 0 {
		out = append(out, fmt.Sprintf("%s, %s.", wording.Count(d.Modules, "module"), d.ModulesFrom))
	}
	out = append(out, d.Notes...)
	for i, text := range out {
		out[i] = paths.ReplaceAllString(text, "$1")
	}
	return out
}

// paths match paths of files; their last part is the file's name.
var paths = regexp.MustCompile(`(?:[^\s/"]*/)+([^\s/"]+\.\w+)`)

// learned holds the table that the first model of a group learned in its first block.
type learned struct {
	label  string
	model  cohort.Model
	probes *cohort.Probes
	table  metrics.Table
	tokens item.Tokens
}

// readLearned reads the tables of the groups that have one, and adds notes on the others.
func (r *Report) readLearned() error {
	var without []string
	for _, g := range r.groups {
		l := learned{label: g.Label, model: g.Models[0]}
		var err error
		l.probes, l.table, err = item.Learned(l.model)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.Note("%s: the run kept no probes: no map", g.Label)
			continue
		case errors.Is(err, cohort.ErrNoTable):
			without = append(without, g.Label)
			continue
		case err != nil:
			return err
		}
		if l.tokens, err = item.TokensOf(l.probes, l.table.Tokens); err != nil {
			return err
		}
		if r.order == nil && l.tokens.Labels == nil && l.probes.TokenPoints(l.table.Tokens) == nil {
			r.order = item.ClusterOrder(l.table.Cosines(), l.table.Tokens)
		}
		if r.order != nil {
			l.tokens.Order = r.order
		}
		r.learned = append(r.learned, l)
	}
	if without != nil {
		r.Note("No table of positions, so no map: %s", wording.List(12, without))
	}
	return nil
}

// describe adds the modules of tokens to the figure's legend, and a text about names and modules.
func (d *draft) describe(t item.Tokens) {
	text := ""
	isLong := func(name string) bool { return utf8.RuneCountInString(name) > 12 }
	if len(t.Modules) > 0 {
		text = " The colours of the modules are below."
	}
	if slices.ContainsFunc(t.Names, isLong) || slices.ContainsFunc(t.Modules, isLong) {
		text += " Long names are shortened in the figure; its CSV files have them in full."
	}
	d.Legend, d.Texts["tokens"] = t.Modules, text
}
