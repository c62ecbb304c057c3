package own

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// errorCourses draws errors over training beside the baselines.
func errorCourses(d *draft) ([]figure.Panel, error) {
	_, level := d.levels()
	test := "test_mse/" + level
	lines, numbers, err := d.Courses(d.Groups, item.Steps, item.Column{Measure: "train_mse"},
		item.Column{Measure: test})
	if err != nil {
		return nil, err
	}
	course := func(title, measure string) figure.Lines {
		return figure.Lines{Title: title, XLabel: "Step", YLabel: "MSE", Band: figure.BandMinMax,
			References: item.References(d.first(), level), Series: lines[measure]}
	}
	training, tested := course("Training", "train_mse"), course("Test, "+percent(level)+" masked", test)
	var drawn []*figure.Lines
	for _, l := range []*figure.Lines{&training, &tested} {
		if l.Series != nil {
			drawn = append(drawn, l)
		}
	}
	figure.ShareY(drawn...)
	d.AddTable("", numbers)
	return []figure.Panel{training, tested}, nil
}

// lastErrors draws the errors at the end of training, beside the baselines.
func lastErrors(d *draft) ([]figure.Panel, error) {
	_, level := d.levels()
	end := d.Boxes("Test error after training, "+percent(level)+" masked", "MSE", "test_mse/"+level, d.Groups)
	end.References = item.References(d.first(), level)
	return []figure.Panel{end}, nil
}

// trainedLevel returns the share of tokens masked in training.
func trainedLevel(m cohort.Model) string {
	return fmt.Sprintf("%.0f %%", 100*m.Run.Config.Masked.Level)
}

// errorColumns returns the measures of the table of errors; test errors by level have baselines.
func (r *Report) errorColumns() (columns []item.Column) {
	columns = []item.Column{{Measure: "train_mse", Heading: "train MSE"}}
	levels, _ := r.levels()
	for _, level := range levels {
		columns = append(columns, item.Column{Measure: "test_mse/" + level, Heading: "test MSE, " + percent(level)})
	}
	if slices.ContainsFunc(r.Models, func(m cohort.Model) bool { return !math.IsNaN(item.Value(m, "modularity")) }) {
		columns = append(columns, item.Column{Measure: "modularity", Heading: "modularity Q"},
			item.Column{Measure: "clustering", Heading: "clustering C"})
	}
	return columns
}

// errorTable lists the errors by encoding, with the baselines below them.
func errorTable(d *draft) {
	t := table.Table{Title: d.Title, Columns: table.Columns("encoding", "n", "steps")}
	columns := d.errorColumns()
	d.AddMeans(&t, d.Groups, columns, func(g cohort.Group) table.Row {
		return table.Row{table.Text(g.Label), table.Count(len(g.Models)), steps(g)}
	})
	item.AddBaselines(&t, columns, d.first(), "baseline")
	_, level := d.levels()
	test := "test_mse/" + level
	ranked := slices.DeleteFunc(d.ByMean(d.Groups, test, true),
		func(g cohort.Group) bool { return len(d.Known(g, test)) == 0 })
	d.Lead = d.ErrorSentences(ranked, test, "test error with "+percent(level)+" masked")
	d.AddTable("", t)
}

// steps returns the number of training steps of a group's models, or their range.
func steps(g cohort.Group) table.Cell {
	var all []int
	for _, m := range g.Models {
		all = append(all, m.Result.Steps)
	}
	if least := slices.Min(all); least == slices.Max(all) {
		return table.Count(least)
	}
	return table.Text(wording.Range(all))
}

// modelTable lists the models with short names of their runs.
func modelTable(d *draft) {
	t := table.Table{Title: d.Title, Columns: table.Columns("encoding", "run", "seed", "steps", "status")}
	for _, g := range d.Groups {
		for _, m := range g.Models {
			name := m.Run.Name
			if parts := strings.Split(name, "/"); len(parts) > 2 {
				name = "…/" + strings.Join(parts[len(parts)-2:], "/")
			}
			t.Rows = append(t.Rows, table.Row{table.Text(g.Label), table.Text(name), item.Seed(m),
				table.Count(m.Result.Steps), table.Text(m.Result.Status)})
		}
	}
	d.AddTable("", t)
}

// subjectErrors returns the test subjects of a group and its error on each by name, as the mean over the seeds
// that held it out; none if they are not known. It counts the models without probes.
func subjectErrors(g cohort.Group, level string) (subjects []string, mse map[string]float64, without int, err error) {
	of := map[string][]float64{}
	for _, m := range g.Models {
		p, err := m.Run.Probes()
		if errors.Is(err, fs.ErrNotExist) {
			without++
			continue
		}
		if err != nil {
			return nil, nil, 0, err
		}
		names, own, err := p.SubjectErrors(level, m.Index)
		if err != nil {
			return nil, nil, 0, err
		}
		for i, name := range names {
			if of[name] == nil {
				subjects = append(subjects, name)
			}
			of[name] = append(of[name], own[i])
		}
	}
	mse = map[string]float64{}
	for name, all := range of {
		mse[name] = stats.Mean(cohort.Finite(all))
	}
	return subjects, mse, without, nil
}

// subjects draws the error on each test subject, if subjects are known.
func subjects(d *draft) ([]figure.Panel, error) {
	_, level := d.levels()
	measure := "test_mse/" + level
	var subjects []string
	of := make([]map[string]float64, len(d.Groups))
	for i, g := range d.Groups {
		own, mse, without, err := subjectErrors(g, level)
		if err != nil {
			return nil, err
		}
		if own != nil && without > 0 {
			d.Note("errors by subject of %s are over %d of its %d models: the others have no probes.safetensors",
				g.Label, len(g.Models)-without, len(g.Models))
		}
		of[i] = mse
		for _, name := range own {
			if !slices.Contains(subjects, name) {
				subjects = append(subjects, name)
			}
		}
	}
	if subjects == nil {
		if data := d.first().Result.Data; data != nil && data.Subjects > 1 {
			d.Note("No errors by subject: fewer than two test subjects are known, or runs are of an earlier version")
		}
		return nil, nil
	}
	t := table.Table{Title: d.Title, Columns: table.Columns("subject")}
	for _, name := range subjects {
		t.Rows = append(t.Rows, table.Row{table.Text(name)})
	}
	panel := figure.Boxes{Title: "Test error of each held-out subject, " + percent(level) + " masked", YLabel: "MSE",
		Dots: "subjects", References: item.References(d.first(), level)}
	var intervals []string
	for k, g := range d.Groups {
		if len(of[k]) == 0 {
			continue
		}
		t.Columns = append(t.Columns, table.Column{Heading: g.Label, Name: "mse_" + table.NameOf(g.Label)})
		drawn := figure.Group{Label: g.Label}
		for i, subject := range subjects {
			cell := table.Cell{}
			if v, ok := of[k][subject]; ok {
				cell, drawn.Values = table.Number(v), append(drawn.Values, v)
			}
			t.Rows[i] = append(t.Rows[i], cell)
		}
		if v, ok := item.Interval(drawn.Values); ok {
			drawn.Interval = &v
			intervals = append(intervals, fmt.Sprintf("%s %s (%s)", g.Label,
				item.Text(measure, stats.Mean(drawn.Values)), item.IntervalText(measure, v)))
		}
		panel.Groups = append(panel.Groups, drawn)
	}
	d.Texts["number"] = fmt.Sprint(len(subjects))
	if intervals != nil {
		d.Texts["intervals"] = " Mean over subjects and its 95 % interval (Student's t): " +
			strings.Join(intervals, "; ") + "."
	}
	d.AddTable("", t)
	return []figure.Panel{panel}, nil
}
