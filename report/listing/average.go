package listing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// Average returns the list with one row per configuration: the means and SDs over its models, which differ only
// in their seeds. Models of one configuration have separate rows if they were found in different directories or
// have different states. A run and its copy count once.
func (l *List) Average() *List {
	out := &List{Skipped: l.Skipped}
	at, place := map[string]int{}, map[string]int{} // in out.Rows, and among the models of a row
	var copies cohort.Copies
	for _, r := range l.Rows {
		key := r.configuration()
		one := key + r.values["seed"].String()
		i, isKnown := at[key]
		if k, isCopy := place[one]; isCopy {
			if models := out.Rows[i].models; copies.Add(models[k].measures, r.measures) {
				models[k] = r
				maps.Copy(out.Rows[i].measures, r.measures)
			}
			continue
		}
		if !isKnown {
			i = len(out.Rows)
			at[key] = i
			out.Rows = append(out.Rows, Row{Dir: r.Dir, root: r.root, model: r.model, settings: r.settings,
				identity: r.identity, measures: runlog.Numbers{}})
		}
		place[one] = len(out.Rows[i].models)
		out.Rows[i].models = append(out.Rows[i].models, r)
		maps.Copy(out.Rows[i].measures, r.measures)
	}
	for i := range out.Rows {
		out.Rows[i].average()
	}
	out.keys = allColumns(out.Rows)
	out.columns = out.usualColumns()
	out.note = strings.Join(append(copies.Notes(), out.partial()...), "; ")
	headings := map[string]string{"seed": "seeds", "fitted": "fitted"} // the values say how many, or at which epoch
	for i, c := range out.columns {
		out.columns[i].Heading = cmp.Or(headings[c.Name], c.Heading)
	}
	return out
}

// configuration identifies models that differ only in their seeds, from one directory and with one state.
// Unfinished or diverged models must also have reached the same step.
func (r Row) configuration() string {
	status, steps := r.values["status"].String(), ""
	if status != runlog.StatusDone {
		steps = r.values["steps"].String()
	}
	return strings.Join([]string{r.root, status, steps, cohort.Key(r.identity)}, "\x00")
}

// partial notes means over only some of a row's models, because the others have no such number.
func (l *List) partial() (notes []string) {
	for _, key := range l.measured().Keys() {
		for _, r := range l.Rows {
			n := 0
			for _, m := range r.models {
				if !m.values[item.MeasureName(key)].IsMissing() {
					n++
				}
			}
			if c := l.keys[item.MeasureName(key)]; 0 < n && n < len(r.models) && slices.Contains(l.columns, c) {
				notes = append(notes, fmt.Sprintf("%s of %s, seeds %s: of %d of %d models", c.Heading,
					r.values["label"], r.seeds(), n, len(r.models)))
			}
		}
	}
	return notes
}

// dropUnlike drops the measures of a row's models that took them with other settings than most.
func (r *Row) dropUnlike() {
	for _, key := range r.measures.Keys() {
		name := item.MeasureName(key)
		var measured []cohort.Model
		for _, m := range r.models {
			if !m.values[name].IsMissing() {
				measured = append(measured, m.model)
			}
		}
		for _, other := range cohort.MeasuredOtherwise(measured, key) {
			i := slices.IndexFunc(r.models, func(m Row) bool { return m.model.Key() == other.Key() })
			r.models[i].values = maps.Clone(r.models[i].values)
			delete(r.models[i].values, name)
		}
	}
}

// average sets the values of a row from those of its models.
func (r *Row) average() {
	r.dropUnlike()
	r.values = map[string]table.Cell{}
	for _, m := range r.models {
		for name := range m.values {
			r.values[name] = table.Cell{}
		}
	}
	for name := range r.values {
		var own []table.Cell
		for _, m := range r.models {
			if v := m.values[name]; !v.IsMissing() {
				own = append(own, v)
			}
		}
		r.values[name] = average(own)
	}
	for _, key := range r.measures.Keys() { // equal numbers have an SD too
		var numbers []float64
		for _, m := range r.models {
			if v, ok := m.values[item.MeasureName(key)].Float(); ok {
				numbers = append(numbers, v)
			}
		}
		r.values[item.MeasureName(key)] = table.Mean(numbers)
	}
	r.values["n"] = table.Count(len(r.models))
	if len(r.models) == 1 {
		if _, isTime := r.values["fitted"].Float(); isTime {
			one := r.models[0].model
			at := one.Run.Config.Facts().FitText(one.Result.Fit, one.Result.Measures)
			r.values["fitted"] = table.Text("at " + at)
		}
		return
	}
	r.values["seed"] = table.Text(r.seeds())
	if origin := r.models[0].model.Run.Origin; origin != "" && r.values[cohort.WeightsKey].IsMissing() {
		r.values[cohort.WeightsKey] = table.Text(origin) // of several lengths
	}
	if r.values["run"].IsMissing() {
		r.values["run"] = table.Text(strings.TrimSuffix(r.root, "/"))
	}
	reached, known := 0, 0
	for _, m := range r.models {
		if v := m.values["fitted"]; !v.IsMissing() {
			known++
			if v.String() != notFitted {
				reached++
			}
		}
	}
	if known > 0 {
		r.values["fitted"] = table.Text(fmt.Sprintf("%d of %s", reached, wording.Count(known, "model")))
	}
}

// average returns the value that all share, or the mean and SD of numbers, or a missing value for texts that
// differ.
func average(all []table.Cell) table.Cell {
	if len(all) == 0 {
		return table.Cell{}
	}
	if !slices.ContainsFunc(all, func(v table.Cell) bool { return v.Compare(all[0]) != 0 }) {
		return all[0]
	}
	numbers := make([]float64, len(all))
	for i, v := range all {
		if v.IsText() {
			return table.Cell{}
		}
		numbers[i], _ = v.Float()
	}
	return table.Mean(numbers)
}

// seeds lists the seeds of a row's models: the first three, and … if there are more.
func (r Row) seeds() string {
	const most = 3
	var seeds []string
	for _, m := range r.models {
		if s := m.values["seed"].String(); !slices.Contains(seeds, s) {
			seeds = append(seeds, s)
		}
	}
	n := len(seeds) - 1
	switch {
	case n == 0:
		return seeds[0]
	case n >= most:
		return strings.Join(seeds[:most], ", ") + ", …"
	}
	return strings.Join(seeds[:n], ", ") + " and " + seeds[n]
}
