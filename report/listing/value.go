package listing

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"torchpe/report/table"
)

// Value is the number or text of a model in a column. The zero Value is missing.
type Value struct {
	kind   kind
	text   string
	number float64 // of integers too, and the mean of means
	sd     float64 // of means
	whole  int64
}

type kind uint8

const (
	missing kind = iota
	integer
	number
	mean
	text
)

// textOf returns a value of text.
func textOf(s string) Value { return Value{kind: text, text: s} }

// integerOf returns a whole number.
func integerOf(n int64) Value { return Value{kind: integer, number: float64(n), whole: n} }

// numberOf returns a number; what is NaN is missing.
func numberOf(v float64) Value {
	if math.IsNaN(v) {
		return Value{}
	}
	return Value{kind: number, number: v}
}

// parseValue makes a value of a setting's text: a number where it is one.
func parseValue(s string) Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integerOf(n)
	}
	if v, ok := numeric(s); ok {
		return numberOf(v)
	}
	if s == "" || s == "null" {
		return Value{}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(s), &list) != nil {
		return textOf(s)
	}
	parts := make([]string, len(list)) // as people write them
	for i, item := range list {
		if json.Unmarshal(item, &parts[i]) != nil {
			parts[i] = string(item)
		}
	}
	return textOf(strings.Join(parts, ", "))
}

// numeric reads a decimal number. Words that strconv takes for one (inf, nan) and hexadecimal are
// texts.
func numeric(s string) (float64, bool) {
	if strings.Trim(s, "0123456789.+-eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// String returns the value with every digit; empty where it is missing.
func (v Value) String() string {
	switch v.kind {
	case integer:
		return strconv.FormatInt(v.whole, 10)
	case number, mean:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return v.text
}

// isNumber says whether the value is a number, or text that reads as one.
func (v Value) isNumber() (float64, bool) {
	switch v.kind {
	case integer, number, mean:
		return v.number, true
	case text:
		return numeric(v.text)
	}
	return 0, false
}

// compare orders values that are there: numbers as numbers, before texts.
func (v Value) compare(w Value) int {
	a, isA := v.isNumber()
	b, isB := w.isNumber()
	switch {
	case v.kind == integer && w.kind == integer:
		return cmp.Compare(v.whole, w.whole)
	case isA && isB:
		return cmp.Compare(a, b)
	case isA:
		return -1
	case isB:
		return 1
	}
	return strings.Compare(v.text, w.text)
}

// cell returns the value in a column of the kind that all its values have in common.
func (v Value) cell(column kind) table.Cell {
	switch {
	case v.kind == missing:
		return table.Cell{}
	case column == text:
		return table.Text(v.String())
	case v.kind == mean:
		return table.MeanSD(v.number, v.sd)
	case column == number, column == mean:
		return table.Number(v.number)
	}
	return table.Count(int(v.whole))
}

// decimals counts the digits after the point that a value needs, at most six.
func (v Value) decimals() int {
	const most = 6
	if v.kind != number {
		return 0
	}
	_, digits, _ := strings.Cut(strconv.FormatFloat(v.number, 'f', -1, 64), ".")
	return min(len(digits), most)
}
