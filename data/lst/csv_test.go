package lst

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

const (
	head = "ID,LST_num,condition,puzzles,solutions\n"
	line = "0,,Binary,1532000000000000,4\n"
)

// readText reads a file in.csv of this text.
func readText(t testing.TB, text string) ([]Puzzle, error) {
	t.Helper()
	path := expect.File(t, "in.csv", text)
	return ReadFile(path)
}

var linePuzzle = Puzzle{"1532000000000000", 4, OneVector}

// The published training files, read and written again, are the same bytes.
func TestWriteMatchesPublishedBytes(t *testing.T) {
	for _, name := range publishedTraining {
		want := expect.Must(os.ReadFile(publishedPath(t, name)))
		ps := readPublished(t, name)
		expect.Equal(t, name, len(ps), 3000)
		var b bytes.Buffer
		expect.NoError(t, writeSet(&b, ps))
		expect.Equal(t, name+" was not written as it was read", !bytes.Equal(b.Bytes(), want), false)
	}
}

func TestReadAccepts(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"plain", head + line},
		{"no newline at the end", head + strings.TrimSpace(line)},
		{"byte order mark", "\ufeff" + head + line},
		{"byte order mark on a column",
			"\ufeffcondition,puzzles,solutions\nBinary,1532000000000000,4\n"},
		{"CRLF", strings.ReplaceAll(head+line, "\n", "\r\n")},
		{"both, quoted", "\ufeff\"ID\",\"condition\",\"puzzles\",\"solutions\"\r\n" +
			"0,\"Binary\",\"1532000000000000\",\"4\"\r\n"},
		{"blank lines", "\n" + head + "\n" + line + "\n  \n"},
		{"other order",
			"solutions,ID,puzzles,condition\n4,7,1532000000000000,Binary\n"},
		{"space around fields", "condition, puzzles, solutions\nBinary, 1532000000000000, 4\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Equal(t, "puzzles", expect.Must(readText(t, c.text)), []Puzzle{linePuzzle})
		})
	}
}

// Claims are returned as they are, however wrong.
func TestReadKeepsClaims(t *testing.T) {
	expect.Equal(t, "puzzles", expect.Must(readText(t, head+"0,,Quaternary,1532000000000000,1\n")),
		[]Puzzle{{linePuzzle.Cells, 1, ThreeVector}})
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "in.csv: no table"},
		{"blank", "\n \n", "in.csv: no table"},
		{"header only", head, "in.csv has a header but no puzzle"},
		{"no header", line, `header "0,,Binary,1532000000000000,4" has no column "condition"`},
		{"column missing", "ID,condition,puzzles\n",
			`in.csv: header "ID,condition,puzzles" has no column "solutions", want ID,`},
		{"column twice", "condition,puzzles,solutions,puzzles\n", `has the column "puzzles" twice`},
		{"too few cells", head + "0,Binary,1532000000000000,4\n",
			`in.csv: row 1: "0,Binary,1532000000000000,4" has 4 cells, want 5`},
		{"too many cells", head + "0,,Binary,1532000000000000,4,\n", `has 6 cells, want 5`},
		{"condition", head + "0,,binary,1532000000000000,4\n",
			`in.csv: row 1: column condition: condition "binary": want Binary, Ternary or`},
		{"puzzle", head + line + "1,,Binary,15320000,4\n",
			`in.csv: row 2: column puzzles: puzzle "15320000": no puzzle has 8 tokens`},
		{"repeated symbol", head + "1,,Binary,1531000000000000,4\n",
			`in.csv: row 1: column puzzles: puzzle 1531000000000000 has symbol 1 twice in row 1`},
		{"number lost its zero", head + "1,,Binary,1.532E+15,4\n",
			`column puzzles: puzzle "1.532E+15" has '.' at digit 2`},
		{"answer 0", head + "0,,Binary,1532000000000000,0\n",
			`in.csv: row 1: column solutions: answer "0", want a digit 1-4`},
		{"answer 5", head + "0,,Binary,1532000000000000,5\n", `answer "5", want`},
		{"answer 4.0", head + "0,,Binary,1532000000000000,4.0\n", `answer "4.0", want`},
		{"no answer", head + "0,,Binary,1532000000000000,\n", `answer "", want`},
		{"24 tokens", head + "0,,Binary,612340000000000000000000,5\n", "24 tokens"},
		{"side 5: answer 6", head + "0,,Binary,6123400000000000000000000,6\n", "answer"},
		{"side 5: digit", head + "0,,Binary,7123400000000000000000000,5\n", "digit 1"},
		{"side 5: repeated symbol", head + "0,,Binary,6113400000000000000000000,5\n", "twice in row 1"},
		{"side 5: two probes", head + "0,,Binary,6123400000000000000000006,5\n", "2 probes"},
		{"two sides", head + "0,,Binary,6123400000000000000000000,5\n" +
			"1,,Binary,712345000000000000000000000000000000,6\n", "side 6 follows"},
		{"huge line", head + strings.Repeat("1", 1<<20), `1 cells, want 5`},
		{"unclosed quote", head + "0,,Binary,\"1532000000000000,4\n",
			`in.csv:2: cell 4, "\"1532000000000000,4", has no second quote in its line`},
		{"NUL bytes", head + "\x00\x00\n", `in.csv:2:1: a NUL byte`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps, err := readText(t, c.text)
			if err == nil || ps != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d puzzles and the error %v, want one with %s", len(ps), err, c.want)
			}
		})
	}
}

// failingWriter takes n bytes.
type failingWriter struct{ n int }

var errFull = errors.New("no space left")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		return w.n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	ps := slices.Repeat([]Puzzle{linePuzzle}, 1000) // 29 kB, seven buffers
	for _, n := range []int{0, 5000, 28000} {
		if err := writeSet(&failingWriter{n}, ps); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v, want %v", n, err, errFull)
		}
	}
	for _, c := range []struct {
		p    Puzzle
		want string
	}{
		{Puzzle{linePuzzle.Cells, 0, OneVector}, "puzzle 1: puzzle 1532000000000000 has " +
			"the answer 0, want 1-4"},
		{Puzzle{linePuzzle.Cells, 4, 0}, "puzzle 1: puzzle 1532000000000000 has no condition"},
		{Puzzle{"0000000000000000", 4, OneVector},
			"puzzle 1: puzzle 0000000000000000 has 0 probes"},
	} {
		expect.Error(t, writeSet(io.Discard, []Puzzle{linePuzzle, c.p}), c.want)
	}
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	other := Puzzle{"5123000000000000", 4, OneVector}
	expect.NoError(t, os.WriteFile(a, []byte("old"), 0o600))
	// A failure of the second file leaves the first alone.
	err := WriteFiles(File{a, []Puzzle{linePuzzle}}, File{filepath.Join(dir, "absent", "b.csv"),
		[]Puzzle{other}})
	if text, _ := os.ReadFile(a); err == nil || string(text) != "old" {
		t.Errorf("%v, the first file holds %q", err, text)
	}
	err = WriteFiles(File{a, []Puzzle{linePuzzle}}, File{b, []Puzzle{{}}})
	if text, _ := os.ReadFile(a); err == nil || string(text) != "old" {
		t.Errorf("%v, the first file holds %q", err, text)
	}
	expect.NoError(t, WriteFiles(File{a, []Puzzle{linePuzzle}},
		File{b, []Puzzle{other, linePuzzle}}))
	for path, want := range map[string][]Puzzle{a: {linePuzzle}, b: {other, linePuzzle}} {
		expect.Equal(t, path, expect.Must(ReadFile(path)), want)
	}
	left := expect.Must(os.ReadDir(dir))
	expect.Equal(t, fmt.Sprintf("%v: files", left), len(left), 2)
}
