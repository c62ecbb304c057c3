package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/train/runlog"
)

// Number is a result. It is null in JSON if it is not finite.
type Number float64

// None stands for a missing result.
var None = Number(math.NaN())

// MarshalJSON writes null for a number that is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (n Number) known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// String returns four significant digits, or a dash.
func (n Number) String() string { return number.Short(float64(n), 4) }

// perHead holds one number per attention head.
type perHead []Number

// String lists the numbers, or gives the range of those that have a value if there are many heads.
func (p perHead) String() string {
	const most = 4
	known := slices.DeleteFunc(slices.Clone(p), func(n Number) bool { return !n.known() })
	if len(known) == 0 {
		return number.Dash
	}
	if len(p) > most {
		return fmt.Sprintf("%s to %s", slices.Min(known), slices.Max(known))
	}
	var parts []string
	for _, n := range p {
		parts = append(parts, n.String())
	}
	return strings.Join(parts, " ")
}

// numbers converts the rows of values [rows,width].
func numbers(values []float64, width int) (rows [][]Number) {
	for row := range slices.Chunk(values, width) {
		var out []Number
		for _, v := range row {
			out = append(out, Number(v))
		}
		rows = append(rows, out)
	}
	return rows
}

// meanOf returns the mean of numbers, or None if one of them is missing.
func meanOf(all []Number) Number {
	sum := 0.0
	for _, n := range all {
		sum += float64(n)
	}
	return Number(sum / float64(len(all)))
}

// Field is a value of an Object under its key.
type Field struct {
	Key   string
	Value any
}

// Object is a JSON object whose fields keep their order.
type Object []Field

// MarshalJSON writes the fields in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out runlog.Object
	for _, f := range o {
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, runlog.Field{Key: f.Key, Value: value})
	}
	return out.Text(), nil
}

// column describes a number that a measure returns for each part of a model.
type column struct {
	key, heading string
	partsOnly    bool // parts have this number, the whole model does not
	hidden       bool // left out of tables
}

// layout describes how the numbers of a measure are written: one row for each part of a model, such as
// the table of a block, and one for the whole model.
type layout struct {
	part    string // what identifies a part: block or layer; the key of their list has an s
	columns []column
	whole   string   // label of the whole model's row; if it is mean, models of one part have no such row
	noun    string   // for a part, in notes
	extra   []string // headings of further columns that identify the model
}

// mean labels the row of the whole model if it holds means over parts.
const mean = "mean"

// blocks returns the layout of numbers of each block's table and of their means.
func blocks(columns ...column) layout {
	return layout{part: "block", columns: columns, whole: mean, noun: "table"}
}

// partColumns returns the columns of a part: what identifies it, then its numbers.
func (l layout) partColumns() []column {
	return slices.Concat([]column{{key: l.part, heading: l.part}}, l.columns)
}

// scores holds the numbers of one model.
type scores struct {
	Subject
	about Object   // fields before the numbers
	parts [][]any  // its block or layer, then a Number or perHead for each column
	whole []Number // for each column; nil = none
	more  Object   // fields after the parts
	extra []string // texts of the layout's extra columns
	notes []string // why numbers have no value
}

// measure calls of for each table of a model and takes means over tables (and heads). of returns a Number
// or perHead for each column, and the reason why one of them has no value.
func (l layout) measure(m *Model, of func(i int, t Table) (values []any, why string)) scores {
	s := scores{Subject: m.Subject}
	for i, t := range m.Tables {
		values, why := of(i, t)
		if why != "" {
			s.notes = append(s.notes, fmt.Sprintf("%s: %s %d: %s", m.label(), l.noun, t.Block, why))
		}
		s.parts = append(s.parts, append([]any{t.Block}, values...))
	}
	for c := range l.columns {
		var all []Number
		for _, p := range s.parts {
			switch v := p[1+c].(type) {
			case Number:
				all = append(all, v)
			case perHead:
				all = append(all, v...)
			}
		}
		s.whole = append(s.whole, meanOf(all))
	}
	return s
}

// report writes the numbers of models as JSON, after the fields of head, and as a table.
func (l layout) report(head Object, all []scores) *Report {
	r := &Report{Tables: []TextTable{l.table(all)}}
	models := make([]Object, len(all))
	for i, s := range all {
		models[i] = l.object(s)
		r.notes = append(r.notes, s.notes...)
	}
	r.JSON = slices.Concat(head, Object{{"models", models}})
	return r
}

func (l layout) object(s scores) Object {
	o := append(s.object(), s.about...)
	for c, v := range s.whole {
		if !l.columns[c].partsOnly {
			o = append(o, Field{l.columns[c].key, v})
		}
	}
	parts := make([]Object, len(s.parts))
	for i, p := range s.parts {
		for c, column := range l.partColumns() {
			parts[i] = append(parts[i], Field{column.key, p[c]})
		}
	}
	return append(append(o, Field{l.part + "s", parts}), s.more...)
}

func (l layout) table(all []scores) TextTable {
	var t TextTable
	lead := append([]string{"source", "pe", "member", "seed"}, l.extra...)
	shown := l.partColumns()
	t.Head = slices.Clone(lead)
	for _, c := range shown {
		if !c.hidden {
			t.Head = append(t.Head, c.heading)
		}
	}
	add := func(s scores, cells []any) {
		row := append(s.cells(), s.extra...)
		for c, cell := range cells {
			if !shown[c].hidden {
				row = append(row, fmt.Sprint(cell))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for _, s := range all {
		for _, p := range s.parts {
			add(s, p)
		}
		if s.whole == nil || l.whole == mean && len(s.parts) == 1 {
			continue
		}
		cells := []any{l.whole}
		for c, v := range s.whole {
			if l.columns[c].partsOnly {
				cells = append(cells, number.Dash)
			} else {
				cells = append(cells, v)
			}
		}
		add(s, cells)
	}
	for c := len(lead) - 1; c > 0; c-- { // columns that are empty for all models
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[c] != number.Dash }) {
			t.Head = slices.Delete(t.Head, c, c+1)
			for i := range t.Rows {
				t.Rows[i] = slices.Delete(t.Rows[i], c, c+1)
			}
		}
	}
	return t
}

// numberTable returns a table of numbers. Each row starts with its cells of lead.
func numberTable(head []string, lead [][]string, rows [][]Number, foot string) TextTable {
	t := TextTable{Head: head, Foot: foot}
	for i, row := range rows {
		cells := slices.Clone(lead[i])
		for _, v := range row {
			cells = append(cells, v.String())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
