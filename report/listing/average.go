package listing

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/report/runs"
)

// Average returns the list with a row a configuration: the means and SDs over its models, which
// differ in their seeds alone. Models of one configuration are apart where they were found in
// different directories, or have different states. A run and its copy count once.
func (l *List) Average() *List {
	out := &List{Skipped: l.Skipped}
	at, seen, twice := map[string]int{}, map[string]bool{}, 0
	for _, r := range l.Rows {
		key := r.configuration()
		one := key + r.values["seed"].String()
		if seen[one] {
			twice++
			continue
		}
		seen[one] = true
		i, isKnown := at[key]
		if !isKnown {
			i = len(out.Rows)
			at[key] = i
			out.Rows = append(out.Rows, Row{Dir: r.Dir, root: r.root, settings: r.settings,
				identity: r.identity})
		}
		out.Rows[i].models = append(out.Rows[i].models, r)
	}
	for i := range out.Rows {
		out.Rows[i].average()
	}
	if twice > 0 {
		out.note = runs.CopiesNote(twice)
	}
	out.keys = allColumns(out.Rows)
	out.columns = out.usualColumns()
	return out
}

// configuration identifies models that differ in their seeds alone, of one directory and state.
func (r Row) configuration() string {
	return strings.Join([]string{r.root, r.values["status"].text, runs.Key(r.identity)}, "\x00")
}

// average fills in the values of a row from those of its models.
func (r *Row) average() {
	r.values = map[string]Value{}
	for _, m := range r.models {
		for name := range m.values {
			r.values[name] = Value{}
		}
	}
	for name := range r.values {
		var own []Value
		for _, m := range r.models {
			if v := m.values[name]; v.kind != missing {
				own = append(own, v)
			}
		}
		r.values[name] = average(own)
	}
	r.values["n"] = integerOf(int64(len(r.models)))
	if len(r.models) == 1 {
		return
	}
	r.values["seed"] = textOf(r.seeds())
	if r.values["run"].kind == missing {
		r.values["run"] = textOf(strings.TrimSuffix(r.root, "/"))
	}
	if r.models[0].values["fitted"].kind != missing {
		reached := 0
		for _, m := range r.models {
			if m.values["fitted"].text != notFitted {
				reached++
			}
		}
		r.values["fitted"] = textOf(fmt.Sprintf("%d of %d", reached, len(r.models)))
	}
}

// average returns the value that all have, or the mean and SD of numbers; missing for texts that
// differ.
func average(all []Value) Value {
	if len(all) == 0 {
		return Value{}
	}
	if !slices.ContainsFunc(all, func(v Value) bool { return v.compare(all[0]) != 0 }) {
		return all[0]
	}
	numbers := make([]float64, len(all))
	for i, v := range all {
		if v.kind != integer && v.kind != number {
			return Value{}
		}
		numbers[i] = v.number
	}
	return Value{kind: mean, number: stats.Mean(numbers), sd: stats.SD(numbers)}
}

// seeds lists the seeds of a row's models: the first three and … where there are more.
func (r Row) seeds() string {
	const most = 3
	var seeds []string
	for _, m := range r.models {
		if s := m.values["seed"].String(); !slices.Contains(seeds, s) {
			seeds = append(seeds, s)
		}
	}
	if len(seeds) > most {
		seeds = append(seeds[:most], "…")
	}
	return strings.Join(seeds, ", ")
}
