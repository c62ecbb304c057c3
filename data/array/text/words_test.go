package text

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Words are separated as Python's csv module has them, by the delimiter that csv.Sniffer finds.
func TestWords(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a.csv", "\"a, b\";1\r\n% note\nc;\"2 \"\"x\"\"\"\n", `[["a, b" "1"] ["c" "2 \"x\""]]`},
		{"a.txt", "Area, left\tVIS\nb\tSMN\n", `[["Area, left" "VIS"] ["b" "SMN"]]`},
		{"a.txt", "a  1 \n b\t2\n", `[["a" "1"] ["b" "2"]]`},
		{"a.tsv", "a\tb\n1\t\n2\t3\t\n", `[["a" "b"] ["1" ""] ["2" "3"]]`},
		{"a.tsv", "\tmodule\ns00\tm0\n", `[["" "module"] ["s00" "m0"]]`}, // as pandas writes an index
		{"a.csv", "sep=;\na;b\n", `the first line, "sep=;", is for spreadsheets`},
		{"a.csv", "Dorsal Attention\nVisual\n", `[["Dorsal Attention"] ["Visual"]]`},
		{"a.csv", "\"Dorsal Attention\"\n\"Ventral Attention\"\n", `[["Dorsal Attention"] ["Ventral Attention"]]`},
		{"a.csv", "a 1\nb 2\n", "no ',' and 2 words each"},
		{"a.tsv", "1;1\n2;1\n", "which by the name of the file"},
		{"a.tsv", "a 1\nb 2\n", `no '\t' and 2 words each`},
		{"a.csv", "a;1,5\n", "commas and semicolons"},
		{"a.txt", "a\nb;1\n", `a.txt:2:1: "b;1" has a comma or a semicolon, which by`},
		{"a.csv", "a,\"b\n", "has no second quote"},
		{"a.csv", "# a\n", "nothing but blank lines and comments"},
	} {
		path := expect.File(t, c.name, c.body)
		var rows [][]string
		var failed error
		for row, err := range Words(path) {
			if failed = err; err == nil {
				rows = append(rows, row)
			}
		}
		if got := fmt.Sprintf("%q", rows); got != c.want &&
			(failed == nil || !strings.Contains(failed.Error(), c.want)) {
			t.Errorf("%q: %s, %v, want %s", c.body, got, failed, c.want)
		}
	}
}

// What is written is read again, also names that comments, numbers and separators look like.
func TestWriteWords(t *testing.T) {
	rows := [][]string{{"name", "of", "x1"}, {"#0", "% of \"a\"", "-1.5e-07"}, {"a, b", "NA", "2"}, {"10", "", "3"}}
	got := expect.Written(func(w io.Writer) error { return WriteWords(w, rows) })
	expect.Equal(t, "text", got, "name,of,x1\n\"#0\",\"% of \"\"a\"\"\",-1.5e-07\n\"a, b\",\"NA\",2\n10,\"\",3\n")
	i := 0
	for row, err := range Words(expect.File(t, "a.csv", got)) {
		expect.NoError(t, err)
		expect.Equal(t, "row", fmt.Sprintf("%q", row), fmt.Sprintf("%q", rows[i]))
		i++
	}
	expect.Equal(t, "rows", i, len(rows))
	expect.Error(t, WriteWords(io.Discard, [][]string{{"a", "b\nc"}}), `"b\nc" has a line end`)
}

// Names that look alike are alike: é is one letter, or an e and an accent, as macOS writes names of files.
func TestNamesInOneForm(t *testing.T) {
	for row, err := range Words(expect.File(t, "a.csv", "e\u0301,\"e\u0301\"\n")) {
		expect.Equal(t, "words", fmt.Sprintf("%+q, %v", row, err), `["\u00e9" "\u00e9"], <nil>`)
	}
	got, err := Read(expect.File(t, "a.csv", "id,e\u0301,\u00e9\no\u0308,1,2\n"), Options{})
	expect.Equal(t, "table", fmt.Sprintf("%+q %+q %v", got.Columns, got.Rows, err),
		`["\u00e9" "\u00e9"] ["\u00f6"] <nil>`)
}
