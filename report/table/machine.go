package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
)

// machineNames returns the names of each column in CSV and JSON: two if it holds means with SDs, or intervals.
func (t Table) machineNames() [][]string {
	names := make([][]string, len(t.Columns))
	for j, c := range t.Columns {
		has := func(k kind) bool { return slices.ContainsFunc(t.Rows, func(r Row) bool { return r[j].kind == k }) }
		switch {
		case has(interval):
			names[j] = []string{c.name() + "_low", c.name() + "_high"}
		case has(meanSD):
			names[j] = []string{c.name(), c.name() + "_sd"}
		default:
			names[j] = []string{c.name()}
		}
	}
	return names
}

// values returns what stands under the n names of the cell's column: texts as string, counts as int,
// numbers as float64, and nil for a missing value.
func (c Cell) values(n int) []any {
	known := func(v float64) any {
		if math.IsNaN(v) {
			return nil
		}
		return v
	}
	out := make([]any, n)
	switch c.kind {
	case missing:
	case text:
		if out[0] = c.text; c.isWords {
			out[0] = plain(c.text)
		}
	case count:
		out[0] = c.count
	case meanSD, interval:
		out[0], out[1] = known(c.value), known(c.sd)
	default:
		out[0] = known(c.value)
	}
	return out
}

// csv writes t as CSV (RFC 4180, with line feeds) in UTF-8. The header has the names of the columns; title
// and note are left out.
func (t Table) csv(b *bytes.Buffer) error {
	out := csv.NewWriter(b)
	names := t.machineNames()
	out.Write(slices.Concat(names...))
	for _, row := range t.Rows {
		var cells []string
		for j, c := range row {
			for _, v := range c.values(len(names[j])) {
				cells = append(cells, csvText(v))
			}
		}
		if len(cells) == 1 && cells[0] == "" { // readers would skip an empty line
			out.Flush()
			b.WriteString("\"\"\n")
			continue
		}
		out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// csvText returns a value as CSV has it: with full precision, empty if missing, +Inf or -Inf. It puts an
// apostrophe before a text that spreadsheets would run as a formula (OWASP, CSV Injection), which a
// number is not.
func csvText(value any) string {
	switch v := value.(type) {
	case int:
		return strconv.Itoa(v)
	case float64:
		return number.Exact(v)
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil || len(v) < 2 ||
			!strings.ContainsRune("=+-@\t\r", rune(v[0])) {
			return v
		}
		return "'" + v
	}
	return ""
}

// json writes t as an object with title, note, columns (name, heading, unit) and rows. A row is an object
// keyed by the names of the columns, in a line of its own.
func (t Table) json(b *bytes.Buffer) error {
	type column struct {
		Name    string `json:"name"`
		Heading string `json:"heading"`
		Unit    string `json:"unit,omitempty"`
	}
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, jsonText(column{c.name(), c.Heading, c.Unit}))
	}
	lines := func(all []string) string {
		if len(all) == 0 {
			return "[\n  ]"
		}
		return "[\n    " + strings.Join(all, ",\n    ") + "\n  ]"
	}
	b.WriteString("{\n  \"title\": " + jsonText(t.Title) + ",\n  \"note\": " + jsonText(t.Note) +
		",\n  \"columns\": " + lines(columns) + ",\n  \"rows\": " + lines(t.objects()) + "\n}\n")
	return nil
}

// objectList writes the rows as a JSON list of objects, each in a line of its own.
func (t Table) objectList(b *bytes.Buffer) error {
	b.WriteString("[")
	for i, object := range t.objects() {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  " + object)
	}
	b.WriteString("\n]\n")
	return nil
}

// objects returns each row as a JSON object keyed by the names of the columns.
func (t Table) objects() (all []string) {
	names := t.machineNames()
	for _, row := range t.Rows {
		var cells []string
		for j, c := range row {
			for k, v := range c.values(len(names[j])) {
				cells = append(cells, jsonText(names[j][k])+": "+jsonText(v))
			}
		}
		all = append(all, "{"+strings.Join(cells, ", ")+"}")
	}
	return all
}

// jsonText returns a value as JSON has it: with full precision, null if missing. Infinity, which JSON
// numbers lack, is "+Inf" or "-Inf".
func jsonText(value any) string {
	if v, ok := value.(float64); ok {
		if !math.IsInf(v, 0) {
			return number.Exact(v)
		}
		value = number.Exact(v)
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // json.Marshal cannot fail for texts, integers and structs of texts
	}
	return string(text)
}
