package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// allMachineNames returns the machineNames of all columns.
func (t Table) allMachineNames() [][]string {
	names := make([][]string, len(t.Columns))
	for j := range names {
		names[j] = t.machineNames(j)
	}
	return names
}

// machineNames returns the names of column j in CSV and JSON: two if it holds means with SDs.
func (t Table) machineNames(j int) []string {
	name := t.Columns[j].Name
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r[j].kind == meanSD }) {
		return []string{name, name + "_sd"}
	}
	return []string{name}
}

// noFormula puts an apostrophe before a text that spreadsheets would run as a formula (OWASP, CSV
// Injection). It leaves numbers unchanged.
func noFormula(s string) string {
	if len(s) < 2 || strings.IndexByte("=+-@\t\r", s[0]) < 0 {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// CSV writes t as CSV (RFC 4180, with line feeds) in UTF-8. The header has the names of the columns; title
// and note are left out. Numbers have full precision, missing values are empty, and infinity is +Inf or
// -Inf. A text that spreadsheets would run as a formula begins with an apostrophe.
func (t Table) CSV(w io.Writer) error {
	return t.write(w, "CSV", t.forMachines(), t.csv)
}

func (t Table) csv(b *bytes.Buffer) error {
	out := csv.NewWriter(b)
	names := t.allMachineNames()
	out.Write(slices.Concat(names...))
	for _, row := range t.Rows {
		var cells []string
		for j, c := range row {
			cells = append(cells, c.csv())
			if len(names[j]) == 2 {
				cells = append(cells, c.csvSD())
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

func (c Cell) csv() string {
	switch c.kind {
	case text:
		return noFormula(c.text)
	case count:
		return strconv.Itoa(c.count)
	case missing:
		return ""
	}
	return exact(c.value)
}

func (c Cell) csvSD() string {
	if c.kind != meanSD {
		return ""
	}
	return exact(c.sd)
}

// JSON writes t as an object with title, note, columns (name, heading, unit) and rows. A row is an object
// keyed by the names of the columns. Numbers have full precision, missing values are null, and
// infinity, which JSON numbers lack, is "+Inf" or "-Inf".
func (t Table) JSON(w io.Writer) error {
	return t.write(w, "JSON", t.forMachines(), t.json)
}

func (t Table) json(b *bytes.Buffer) error {
	type column struct {
		Name    string `json:"name"`
		Heading string `json:"heading"`
		Unit    string `json:"unit,omitempty"`
	}
	b.WriteString("{\n  \"title\": ")
	b.Write(jsonString(t.Title))
	b.WriteString(",\n  \"note\": ")
	b.Write(jsonString(t.Note))
	b.WriteString(",\n  \"columns\": [")
	for j, c := range t.Columns {
		line, err := json.Marshal(column{c.Name, c.Heading, c.Unit})
		if err != nil {
			return err
		}
		if j > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    ")
		b.Write(line)
	}
	b.WriteString("\n  ],\n  \"rows\": [")
	names := t.allMachineNames()
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    {")
		for j, c := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			jsonCell(b, names[j], c)
		}
		b.WriteString("}")
	}
	b.WriteString("\n  ]\n}\n")
	return nil
}

// jsonCell writes a cell under the names of its column: the value, and the SD if there are two names.
func jsonCell(b *bytes.Buffer, names []string, c Cell) {
	value := jsonNumber(c.value)
	switch c.kind {
	case text:
		value = jsonString(c.text)
	case count:
		value = strconv.AppendInt(nil, int64(c.count), 10)
	case missing:
		value = []byte("null")
	}
	b.Write(jsonString(names[0]))
	b.WriteString(": ")
	b.Write(value)
	if len(names) == 1 {
		return
	}
	sd := c.sd
	if c.kind != meanSD {
		sd = math.NaN()
	}
	b.WriteString(", ")
	b.Write(jsonString(names[1]))
	b.WriteString(": ")
	b.Write(jsonNumber(sd))
}

func jsonNumber(v float64) []byte {
	switch {
	case math.IsNaN(v):
		return []byte("null")
	case math.IsInf(v, 0):
		return jsonString(exact(v))
	}
	return []byte(exact(v))
}

func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // json.Marshal cannot fail for a string
	}
	return b
}
