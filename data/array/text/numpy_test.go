package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
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
	raw := expect.Must(os.ReadFile("testdata/expected.json"))
	var expected map[string]want
	if err := json.Unmarshal(raw, &expected); err != nil || len(expected) < 20 {
		t.Fatalf("%d files, %v", len(expected), err)
	}
	for name, w := range expected {
		path := filepath.Join("testdata", name)
		got, err := Read(path, Options{})
		// names and a number: to be told, not guessed
		if slices.Contains(w.Columns, "1") && slices.Contains(w.Columns, "V1") {
			expect.Refused(t, name, err)
			if strings.HasPrefix(name, "semicolon") { // the names have commas
				continue
			}
			got, err = Read(path, Options{Header: Yes})
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
		var b bytes.Buffer
		if err := Write(&b, got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		yes := func(has bool) Choice {
			if has {
				return Yes
			}
			return No
		}
		again, err := Parse(&b, "again.csv", Options{Header: yes(got.Columns != nil),
			RowNames: yes(got.Rows != nil)})
		if err != nil || !slices.EqualFunc(again.Data, got.Data, same) ||
			!slices.Equal(again.Columns, got.Columns) || !slices.Equal(again.Rows, got.Rows) {
			t.Errorf("%s, written and read: %+v, %v", name, again, err)
		}
	}
}

// What is wrong is named with file, line, place in it and text.
func TestFaultsAreNamed(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.csv", "1,2\n3\n", "a.csv:2"}, {"a.csv", "1,2\n3,4,5\n", "a.csv:2"},
		{"a.csv", "1,2\n3,x7\n", `a.csv:2: cell 2 is "x7", not a number: leave out columns of words`},
		{"a.csv", "Price,Close,Close\nTicker,A,B\nDate,,\nd1,1,2\nd2,3,4\n",
			"a.csv:2: no cell of the line is a number: leave one line of names above the numbers"},
		{"a.csv", "a,b\nx,y\n", `a.csv:2: cell 2 is "y", not a number: leave out columns of words`},
		{"a.csv", "1,2\n3,1e999\n", "a.csv:2: cell 2"}, {"a.txt", "", "nothing but"},
		{"a.txt", "# only\n\n", "nothing but"}, {"a.csv", "x,y\n", "no rows"},
		{"a.csv", "1,2\n3,\"4\n", "a.csv:2: cell 2"}, {"a.txt", "1 2\x00\n", "NUL"},
		{"a.csv", "\xff\xfe1", "UTF-16"}, {"a.csv.gz", "\x1f\x8b\x08\x00", "unpack it"},
		{"a.1D", "1 10@3\n", "a.1D:1: cell 2 is \"10@3\""},
		{"a.csv", "0,5;-1,25;3,2\n0,25;1,5;4,2\n", "a.csv:1:3: the first line has cells such as " +
			"\"5;-1\" between its commas: with semicolons or blanks between cells, write " +
			"decimals with a point"},
		{"a.csv", "u,x,1\n2,3,4\n5,6,7\n", "put quotes around all names"},
		{"a.csv", "1,2\n1," + strings.Repeat("y", 100), strings.Repeat("y", 60) + `"...`},
	} {
		expect.Error(t, expect.ErrorOf(Parse(strings.NewReader(c.text), c.file, Options{})), c.want)
	}
}

// What Parse could not read back is not written; what it can comes back as it was.
func TestWriteFaults(t *testing.T) {
	table := func(rows, columns []string, shape ...int) Table {
		size := 1
		for _, n := range shape {
			size *= n
		}
		return Table{Array: array.Array{Shape: shape, Data: []float64{1, 2, 3, 4}[:size]}, Rows: rows, Columns: columns}
	}
	for _, c := range []struct {
		table Table
		want  string // empty: it is written
	}{
		{table(nil, []string{"x"}, 2, 1), ""},
		{table([]string{"a", "b"}, []string{"x", "y"}, 2, 2), ""},
		{table([]string{"a", "b"}, []string{"x", ""}, 2, 2), "a column has an empty name"},
		{table([]string{"a"}, nil, 1, 1), ""},
		{table(nil, nil, 2, 2), ""},
		{table(nil, nil, 4), "shape [4], want"},
		{Table{Array: array.Array{Shape: []int{0, 2}}}, "shape [0 2], want"},
		{Table{Array: array.Array{Shape: []int{2, 2}, Data: []float64{1}}}, "1 numbers in an array of shape"},
		{table(nil, []string{"x"}, 2, 2), "1 names for 2 columns"},
		{table([]string{"a"}, nil, 2, 2), "1 names for 2 rows"},
		{table(nil, []string{"", "y"}, 2, 2), "a column has an empty name"},
		{table(nil, []string{"x\n", "y"}, 2, 2), `the name "x\n" has a line end`},
		{table([]string{"a", "b\x00"}, nil, 2, 2), `the name "b\x00" has a line end or a NUL`},
	} {
		var b bytes.Buffer
		err := Write(&b, c.table)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
				t.Errorf("%v, %d bytes, want %q", err, b.Len(), c.want)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := Parse(&b, "x.csv", Options{})
		if err != nil || !slices.Equal(got.Data, c.table.Data) || !slices.Equal(got.Shape, c.table.Shape) ||
			!slices.Equal(got.Rows, c.table.Rows) || !slices.Equal(got.Columns, c.table.Columns) {
			t.Errorf("%+v, %v, wrote %+v", got, err, c.table)
		}
	}
	full := errors.New("the disk is full")
	if err := Write(failing{full}, table(nil, nil, 2, 2)); !errors.Is(err, full) {
		t.Error(err)
	}
}

// failing is a writer that writes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
