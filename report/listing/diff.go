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
var memberSettings = []string{"seed", "sigma", "lr", "weight_decay", "pe_lr", "pe_weight_decay"}

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
			sides := [2]side{of(g.rows[0], name), of(g.rows[1], name)}
			if len(sides[0].values)+len(sides[1].values) == 0 {
				continue
			}
			heading := shown[name].Heading
			if unit := shown[name].Unit; unit != "" {
				heading += " (" + unit + ")"
			}
			difference := table.Number(sides[1].mean - sides[0].mean)
			if sides[0].whole() && sides[1].whole() {
				difference = table.Count(int(sides[1].mean - sides[0].mean))
			}
			d.Numbers.Rows = append(d.Numbers.Rows, table.Row{table.Text(heading), table.Text(g.label), sides[0].cell(), sides[1].cell(), difference})
		}
	}
}

// side are the values of a number in one of two runs.
type side struct {
	values   []float64
	mean     float64 // NaN where there are none
	integers bool
}

// of returns the values that models have in a column.
func of(rows []Row, name string) side {
	s := side{integers: true}
	sum := 0.0
	for _, r := range rows {
		if v := r.values[name]; v.kind == integer || v.kind == number {
			s.values = append(s.values, v.number)
			s.integers = s.integers && v.kind == integer
			sum += v.number
		}
	}
	s.mean = sum / float64(len(s.values))
	if s.same() {
		s.mean = s.values[0]
	}
	return s
}

// same says whether there are values, all of them the same.
func (s side) same() bool {
	return len(s.values) > 0 && !slices.ContainsFunc(s.values, func(v float64) bool { return v != s.values[0] })
}

// whole says whether the mean is an integer by nature.
func (s side) whole() bool { return s.integers && s.same() }

// cell is the one number that all models have, or the mean and the SD of several.
func (s side) cell() table.Cell {
	switch {
	case len(s.values) == 0:
		return table.Cell{}
	case s.whole():
		return table.Count(int(s.mean))
	case s.same():
		return table.Number(s.mean)
	}
	squares := 0.0
	for _, v := range s.values {
		squares += (v - s.mean) * (v - s.mean)
	}
	return table.MeanSD(s.mean, math.Sqrt(squares/float64(len(s.values)-1)))
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
