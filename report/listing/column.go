package listing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// column is a column of a list.
type column struct {
	Name         string // lower-case letters, digits and _
	Heading      string
	Unit         string
	Decimals     int    // for people; fromValues if the values decide
	DropPriority int    // as in table.Column
	measure      string // its key; "" for other columns
	isSetting    bool
}

const fromValues = -1

// The columns of any list: those before the settings that differ, those after them, and the last ones, after
// the errors by mask level. Except for the first ones and two more they are shown if a model has a value. On a
// narrow terminal the run and its accuracies stay longest, then the encoding, the seed, the state and when it
// fitted; files go first.
var (
	leadingColumns = []column{
		{Name: "run", Heading: "run"}, {Name: "task", Heading: "task", DropPriority: 3},
		{Name: "pe", Heading: "PE", DropPriority: 1},
		{Name: "sigma", Heading: "σ", Decimals: fromValues, DropPriority: 1},
		{Name: "seed", Heading: "seed", DropPriority: 1},
		{Name: "n", Heading: "n"}, // of averaged models
	}
	resultColumns = []column{
		{Name: "status", Heading: "status", DropPriority: 1}, {Name: "steps", Heading: "steps", DropPriority: 4},
		measureColumn("validation", 0), measureColumn("iid", 0), measureColumn("train", 0),
		{Name: "fitted", Heading: "fitted at epoch or step", DropPriority: 1},
		{Name: cohort.WeightsKey, Heading: "weights", DropPriority: 2},
	}
	trailingColumns = []column{
		measureColumn("train_mse", 3), measureColumn("modularity", 2), measureColumn("clustering", 4),
		{Name: "seconds", Heading: "time", Unit: "s", Decimals: 1, DropPriority: 5},
	}
	// hiddenColumns are not shown unless requested.
	hiddenColumns = []column{
		{Name: "dir", Heading: "directory"}, {Name: "member", Heading: "member"}, {Name: "label",
			Heading: "label"}, {Name: "process", Heading: "process"},
		{Name: "epochs", Heading: "epochs"}, {Name: "diverged_at", Heading: "diverged at"}, {
			Name: "steps_per_second", Heading: "steps/s", Decimals: 1},
		{Name: cohort.DataKey, Heading: "data SHA-256", DropPriority: 2},
	}
)

// memberColumns holds the columns of memberSettings. They are shown if models differ in them.
var memberColumns = func() (all []column) {
	for _, s := range memberSettings {
		heading := strings.Replace(strings.ReplaceAll(s.MemberKey(), "_", " "), "pe ", "PE's ", 1)
		all = append(all, column{Name: s.MemberKey(), Heading: heading, isSetting: true, Decimals: fromValues,
			DropPriority: 2})
	}
	return all
}()

// memberSettings holds the settings that may differ between members of one run, besides sigma and seed.
var memberSettings = slices.DeleteFunc(config.MemberSettings(), func(s config.Setting) bool {
	return s.CurveName == ""
})

// measureColumn returns the column of a measure.
func measureColumn(key string, dropPriority int) column {
	c := column{Name: item.MeasureName(key), Heading: runlog.Heading(key), Decimals: fromValues,
		DropPriority: dropPriority, measure: key}
	if decimals, ok := runlog.DecimalsOf(key); ok {
		c.Decimals = decimals
	}
	return c
}

// knownColumns are the columns of any list, by name.
var knownColumns = func() map[string]column {
	all := map[string]column{}
	for _, m := range runlog.Measures() {
		if !m.IsFamily() {
			all[item.MeasureName(m.Key)] = measureColumn(m.Key, 0)
		}
	}
	for _, c := range slices.Concat(leadingColumns, resultColumns, trailingColumns, hiddenColumns, memberColumns) {
		all[c.Name] = c
	}
	return all
}()

// columnName returns the name of the column of a setting. A prefix distinguishes it from another column of that
// name, except for task and PE, which are the setting.
func columnName(key string) string {
	name := table.NameOf(key)
	if _, known := knownColumns[name]; known && name != "task" && name != "pe" || name == "" || name[0] < 'a' ||
		name[0] > 'z' {
		return "config_" + name
	}
	return name
}

// allColumns returns the columns that rows may have, by name. Settings that no configuration has are at their
// defaults, as read gives them.
func allColumns(rows []Row) map[string]column {
	all := maps.Clone(knownColumns)
	addSetting := func(key string) {
		name := columnName(key)
		if all[name].Name != "" || name == "task" || name == "pe" {
			return
		}
		heading := lastPart(strings.TrimSuffix(key, ".sha256"))
		if strings.HasPrefix(name, "config_") {
			heading = "config: " + heading
		}
		priority := 2
		if slices.Contains(config.PathKeys(), key) {
			priority = 6
		}
		all[name] = column{Name: name, Heading: heading, Decimals: fromValues, DropPriority: priority, isSetting: true}
	}
	for _, r := range rows {
		for key := range r.measures {
			if name := item.MeasureName(key); all[name].Name == "" {
				all[name] = measureColumn(key, levelPriority(key))
			}
		}
		for key := range r.settings {
			addSetting(key)
		}
	}
	for _, s := range config.Settings() {
		if s.Flag != "" {
			addSetting(s.Key)
		}
	}
	return all
}

// levelPriority returns the DropPriority of a number of a family. Most models are trained with half of the
// tokens masked.
func levelPriority(key string) int {
	switch {
	case key == "test_mse/0.50":
		return 0
	case strings.HasPrefix(key, "test_mse/"):
		return 3
	}
	return 2
}

// lastPart returns the last part of a setting's key.
func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }

// find returns the column with a name, or the only one whose name ends in the given text.
func (l *List) find(given string) (column, error) {
	name := item.MeasureName(given)
	if key, err := runlog.ParseMeasure(given); err == nil {
		name = item.MeasureName(key)
	}
	if c, ok := l.keys[name]; ok {
		return c, nil
	}
	var ends []string
	for key := range l.keys {
		if strings.HasSuffix(key, "_"+name) && l.keys[key].isSetting {
			ends = append(ends, key)
		}
	}
	slices.Sort(ends)
	switch len(ends) {
	case 1:
		return l.keys[ends[0]], nil
	case 0:
		names := slices.Sorted(maps.Keys(l.keys))
		return column{}, fmt.Errorf("%q is not a column%s; want one of %s", given,
			wording.Hint(name, names), strings.Join(names, ", "))
	}
	return column{}, fmt.Errorf("%q may be any of %s: give the whole name", given, strings.Join(ends, ", "))
}

// usualColumns returns the default columns: those of any list, the settings that differ, and the measures.
func (l *List) usualColumns() []column {
	has := func(c column) bool {
		return slices.ContainsFunc(l.Rows, func(r Row) bool { return !r.values[c.Name].IsMissing() })
	}
	out := slices.DeleteFunc(slices.Clone(leadingColumns),
		func(c column) bool { return (c.Name == "sigma" || c.Name == "n") && !has(c) })
	for _, key := range l.differingKeys() {
		if name := columnName(key); name != "task" && name != "pe" {
			out = append(out, l.keys[name])
		}
	}
	for _, c := range memberColumns {
		if slices.ContainsFunc(l.Rows, func(r Row) bool { return r.values[c.Name] != l.Rows[0].values[c.Name] }) {
			out = append(out, l.keys[c.Name])
		}
	}
	if l.dataDiffer() {
		out = append(out, l.keys[cohort.DataKey])
	}
	var levels []column
	for _, key := range l.measured().Keys() {
		m, _ := runlog.FindMeasure(key)
		if m.Key == "test_mse/LEVEL" || m.Key == "tokens/N" {
			levels = append(levels, l.keys[item.MeasureName(key)])
		}
	}
	for i, c := range slices.Concat(resultColumns, levels, trailingColumns) {
		if i < 2 || has(c) {
			out = append(out, c)
		}
	}
	return out
}

// measured returns all measures of the rows, each with the number of one row.
func (l *List) measured() runlog.Numbers {
	all := runlog.Numbers{}
	for _, r := range l.Rows {
		maps.Copy(all, r.measures)
	}
	return all
}

// dataDiffer reports whether models of the same settings were trained on different data.
func (l *List) dataDiffer() bool {
	of := map[string]string{}
	for _, r := range l.Rows {
		key, data := cohort.Key(r.identity, cohort.DataKey), r.identity[cohort.DataKey]
		if had, ok := of[key]; ok && had != data {
			return true
		}
		of[key] = data
	}
	return false
}

// differingKeys returns the keys of settings in which models differ. Models that lack a setting count only if
// they have the same task and encoding as one that has it: what only one task or encoding has is not a
// difference, because its column shows it.
func (l *List) differingKeys() []string {
	type kind struct{ task, pe string }
	var settings []map[string]string
	all, kinds := map[string]string{}, map[kind]map[string]string{} // of the first model
	for i, r := range l.Rows {
		if i > 0 && r.Dir == l.Rows[i-1].Dir {
			continue
		}
		settings = append(settings, r.settings)
		if k := (kind{r.settings["task"], r.settings["pe"]}); kinds[k] == nil {
			kinds[k] = r.settings
		}
		for key, v := range r.settings {
			if all[key] == "" {
				all[key] = v
			}
		}
	}
	keys := slices.DeleteFunc(cohort.Differing(settings), func(key string) bool {
		return !slices.ContainsFunc(settings, func(s map[string]string) bool {
			return s[key] != "" && s[key] != all[key] || s[key] != kinds[kind{s["task"], s["pe"]}][key]
		})
	})
	every := map[string]string{} // by criterion: a model stops at a record
	for _, s := range settings {
		const key = "log_every"
		before, known := every[s["until"]]
		if known && s["until"] != "" && before != s[key] && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		every[s["until"]] = s[key]
	}
	return keys
}
