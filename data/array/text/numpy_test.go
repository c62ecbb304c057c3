package text

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// want is an entry of testdata/expected.json, which testdata/make.py writes with numpy and the csv
// module.
type want struct {
	Shape         []int
	Values        []any // numbers, or "nan", "inf", "-inf"
	Columns, Rows []string
}

func (w want) numbers() (out []float64) {
	for _, v := range w.Values {
		switch v := v.(type) {
		case float64:
			out = append(out, v)
		case string:
			out = append(out, map[string]float64{"nan": math.NaN(), "inf": math.Inf(1),
				"-inf": math.Inf(-1)}[v])
		}
	}
	return out
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestFilesAgainstNumpy(t *testing.T) {
	raw, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]want
	if err := json.Unmarshal(raw, &expected); err != nil || len(expected) < 20 {
		t.Fatalf("%d files, %v", len(expected), err)
	}
	for name, w := range expected {
		path := filepath.Join("testdata", name)
		got, err := Read(path)
		// names and a number: to be told, not guessed
		if slices.Contains(w.Columns, "1") && slices.Contains(w.Columns, "V1") {
			if err == nil {
				t.Errorf("%s: its header was guessed", name)
			}
			o := Options{Header: Yes}
			if strings.HasPrefix(name, "semicolon") { // the names have commas
				o.Delimiter = Semicolon
			}
			raw, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			got, err = Parse(bytes.NewReader(raw), name, o)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Shape, w.Shape) || !slices.EqualFunc(got.Data, w.numbers(), same) {
			t.Errorf("%s: %v %v, numpy has %v %v", name, got.Shape, got.Data, w.Shape, w.Values)
		}
		if !slices.Equal(got.Columns, w.Columns) || !slices.Equal(got.Rows, w.Rows) {
			t.Errorf("%s: names %q and %q, want %q and %q", name, got.Columns, got.Rows,
				w.Columns, w.Rows)
		}
		// Written and read again it is the same.
		for _, d := range []Delimiter{Comma, Tab, Semicolon} {
			var b bytes.Buffer
			if err := Write(&b, got, d); err != nil {
				t.Errorf("%s with %q: %v", name, rune(d), err)
				continue
			}
			yes := func(has bool) Choice {
				if has {
					return Yes
				}
				return No
			}
			again, err := Parse(&b, "again", Options{Delimiter: d, Header: yes(got.Columns != nil),
				RowNames: yes(got.Rows != nil)})
			if err != nil || !slices.EqualFunc(again.Data, got.Data, same) ||
				!slices.Equal(again.Columns, got.Columns) || !slices.Equal(again.Rows, got.Rows) {
				t.Errorf("%s with %q, written and read: %+v, %v", name, rune(d), again, err)
			}
		}
	}
}

// What is wrong is named with file, line, column and text.
func TestFaultsAreNamed(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.csv", "1,2\n3\n", "a.csv:2"}, {"a.csv", "1,2\n3,4,5\n", "a.csv:2"},
		{"a.csv", "1,2\n3,x7\n", `a.csv:2:3: cell 2 is "x7"`},
		{"a.csv", "1,2\n3,1e999\n", "a.csv:2:3"}, {"a.txt", "", "nothing but"},
		{"a.txt", "# only\n\n", "nothing but"}, {"a.csv", "x,y\n", "no rows"},
		{"a.csv", "1,2\n3,\"4\n", "a.csv:2:3"}, {"a.txt", "1 2\x00\n", "NUL"},
		{"a.csv", "\xff\xfe1", "UTF-16"}, {"a.1D", "1 2000000@3\n", "a.1D:1"},
		{"a.csv", "0,5;-1,25;3,2\n0,25;1,5;4,2\n", "a.csv:1:3: the first line has cells such as " +
			"\"5;-1\" between its commas: with semicolons between cells, write " +
			"decimals with a point"},
		{"a.csv", "u,x,1\n2,3,4\n5,6,7\n", "put quotes around all names"},
		{"a.csv", "1,2\n1," + strings.Repeat("y", 100), strings.Repeat("y", 40) + `"...`},
	} {
		if _, err := Parse(strings.NewReader(c.text), c.file, Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}
