package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/report/runs"
	"torchpe/report/table"
)

// Diff is what two runs have not in common: their settings that differ, and their numbers.
type Diff struct {
	Settings table.Table // a row a setting
	Numbers  table.Table // a row a number; means over models where there are several
}

// memberSettings are what may differ between the members of a run.
var memberSettings = []string{"seed", "sigma", "lr", "weight_decay"}

// Compare sets the run in a beside that in b.
func Compare(a, b string) (Diff, error) {
	var both [2]*List
	for i, dir := range []string{a, b} {
		l, err := Read(dir)
		if err != nil {
			return Diff{}, err
		}
		if len(l.Rows) == 0 && len(l.Skipped) > 0 {
			return Diff{}, fmt.Errorf("%s: %s", dir, l.Skipped[0].Reason)
		}
		if whole, _ := l.Runs(l); len(whole) != 1 {
			return Diff{}, fmt.Errorf("%s: there are %d runs in it: name one", dir, len(whole))
		}
		both[i] = l
	}
	columns := func(t table.Table) table.Table {
		t.Columns = append(t.Columns, table.Column{Heading: a, Name: "a", Decimals: 4}, table.Column{Heading: b, Name: "b", Decimals: 4})
		return t
	}
	d := Diff{
		Settings: columns(table.Table{Title: "Settings that differ", Columns: []table.Column{{Heading: "setting", Name: "setting"}}}),
		Numbers:  columns(table.Table{Title: "Numbers", Columns: []table.Column{{Heading: "number", Name: "number"}, {Heading: "models", Name: "models"}}}),
	}
	d.Numbers.Columns = append(d.Numbers.Columns, table.Column{Heading: "difference", Name: "difference", Decimals: 4})
	d.settings(both)
	d.numbers(both)
	return d, nil
}

func (d *Diff) settings(both [2]*List) {
	one, other := both[0].Rows[0].settings, both[1].Rows[0].settings
	add := func(key, a, b string) {
		d.Settings.Rows = append(d.Settings.Rows, table.Row{table.Text(key), orMissing(a), orMissing(b)})
	}
	for _, key := range runs.Differing([]map[string]string{one, other}) {
		add(key, one[key], other[key])
	}
	for _, name := range memberSettings {
		if a, b := both[0].all(name), both[1].all(name); a != b {
			add(name, a, b)
		}
	}
}

func orMissing(s string) table.Cell {
	if s == "" {
		return table.Cell{}
	}
	return table.Text(s)
}

// all are the values of a column, each once.
func (l *List) all(name string) string {
	var out []string
	for _, r := range l.Rows {
		if v := r.values[name].String(); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}

// group are models whose numbers are averaged.
type group struct {
	label string
	rows  [2][]Row
}

// groups pairs the models of two runs by label where both have the same labels, and all with all otherwise.
func groups(both [2]*List) []group {
	var out []group
	for i, l := range both {
		for _, r := range l.Rows {
			label := r.values["label"].text
			k := slices.IndexFunc(out, func(g group) bool { return g.label == label })
			if k < 0 {
				k = len(out)
				out = append(out, group{label: label})
			}
			out[k].rows[i] = append(out[k].rows[i], r)
		}
	}
	if slices.ContainsFunc(out, func(g group) bool { return len(g.rows[0]) == 0 || len(g.rows[1]) == 0 }) {
		return []group{{"all", [2][]Row{both[0].Rows, both[1].Rows}}}
	}
	return out
}

func (d *Diff) numbers(both [2]*List) {
	shown := map[string]Column{}
	var order []string
	for _, l := range both {
		for _, c := range l.usual() {
			if _, ok := shown[c.Name]; !ok && ofResults(c.Name) && !slices.Contains(memberSettings, c.Name) {
				shown[c.Name] = c
				order = append(order, c.Name)
			}
		}
	}
	for _, g := range groups(both) {
		for _, name := range order {
			var cells [2]table.Cell
			var means [2]float64
			found := false
			for i, rows := range g.rows {
				var values []float64
				for _, r := range rows {
					if v := r.values[name]; v.kind == integer || v.kind == number {
						values = append(values, v.number)
					}
				}
				found = found || len(values) > 0
				cells[i], means[i] = summary(values)
			}
			if found {
				heading := shown[name].Heading
				if unit := shown[name].Unit; unit != "" {
					heading += " (" + unit + ")"
				}
				d.Numbers.Rows = append(d.Numbers.Rows, table.Row{
					table.Text(heading), table.Text(g.label), cells[0], cells[1], table.Number(means[1] - means[0]),
				})
			}
		}
	}
}

// summary is one number, or the mean and the SD of several.
func summary(values []float64) (table.Cell, float64) {
	if len(values) == 0 {
		return table.Cell{}, math.NaN()
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	n := float64(len(values))
	mean := sum / n
	if len(values) == 1 {
		return table.Number(mean), mean
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return table.MeanSD(mean, math.Sqrt(squares/(n-1))), mean
}

// JSON returns both tables as one object, each as table.Table writes it.
func (d Diff) JSON() ([]byte, error) {
	var settings, numbers, out bytes.Buffer
	if err := d.Settings.JSON(&settings); err != nil {
		return nil, err
	}
	if err := d.Numbers.JSON(&numbers); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]json.RawMessage{"settings": settings.Bytes(), "numbers": numbers.Bytes()})
	if err != nil {
		return nil, err
	}
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
