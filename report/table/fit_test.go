package table

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"torchpe/internal/expect"
)

// runsTable has what a list of runs has, in n rows.
func runsTable(n int) Table {
	t := Table{
		Columns: []Column{
			{Heading: "run", Name: "run"}, {Heading: "task", Name: "task", DropPriority: 2},
			{Heading: "PE", Name: "pe"}, {Heading: "σ", Name: "sigma", Decimals: 1},
			{Heading: "status", Name: "status"}, {Heading: "steps", Name: "steps", DropPriority: 3},
			{Heading: "validation, 3-vector", Name: "validation", Decimals: 3},
			{Heading: "test MSE, 0.50 masked", Name: "mse", Decimals: 4, DropPriority: 1},
			{Heading: "time", Name: "seconds", Unit: "s", Decimals: 1, DropPriority: 4},
		},
		Note: "Accuracy on held-out puzzles, the error on held-out time points with half of the tokens masked.",
		More: "--csv",
	}
	for i := range n {
		t.Rows = append(t.Rows, Row{Text(fmt.Sprintf("table1/of-the-paper/learn-0.2_seed%d", i)), Text("lst"),
			Text("learn"), Number(0.2), Text("done"), Count(1000 * i), Number(0.9), Number(0.1 * float64(i)),
			Number(12.5)})
	}
	return t
}

// No line is wider than the terminal at any width, and each value is in a column that stays, in the
// note of what is the same, or in the note of what was left out. The width is counted in runes: the
// table has none of two columns.
func TestTerminalFits(t *testing.T) {
	for _, rows := range []int{0, 1, 3, 20} {
		for width := 20; width < 200; width++ {
			var b bytes.Buffer
			expect.NoError(t, runsTable(rows).terminal(&b, width))
			text := b.String()
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("%d rows at %d columns: a line of %d:\n%s", rows, width, n, text)
				}
			}
			words := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "─", "").Replace(text)), " ")
			for _, heading := range []string{"run", "task", "PE", "σ", "status", "steps", "time"} {
				if !strings.Contains(words, heading) && !strings.Contains(words, "more") {
					t.Fatalf("%d rows at %d columns: nothing says %q:\n%s", rows, width, heading, text)
				}
			}
		}
	}
}

// A pipe and COLUMNS=0 get all of a table; what goes first is said in ranks; a table of few rows is
// turned and loses nothing.
func TestTerminalByWidth(t *testing.T) {
	written := func(columns string, rows int) string {
		t.Setenv("COLUMNS", columns)
		return expect.Written(runsTable(rows).Terminal)
	}
	if whole := written("", 5); whole != written("0", 5) || whole != written("500", 5) || whole != written("many", 5) ||
		strings.Contains(whole, "Left out") {
		t.Errorf("not the whole table:\n%s", whole)
	}
	expect.Contains(t, written("30", 5), "The same in all rows: task\nlst, PE learn, σ 0.2,",
		"table1/o….2_seed4 │ 0.4000 │", "Left out at 30 columns: steps.")
	if turned := written("60", 1); !strings.Contains(turned, "│ test MSE, 0.50 masked │ ") ||
		strings.Contains(turned, "Left") {
		t.Errorf("one row at 60 columns is not turned:\n%s", turned)
	}
}

// A table that has room once a constant column is gone is not turned.
func TestTerminalOfExactWidth(t *testing.T) {
	s := Table{Columns: []Column{{Heading: "x", Name: "x"}, {Heading: "y", Name: "y"}, {Heading: "z", Name: "z"},
		{Heading: "same", Name: "same"}}, Rows: []Row{{Count(1), Count(2), Count(3), Count(7)},
		{Count(4), Count(5), Count(6), Count(7)}}}.terminalTable()
	const width = 13 // │ x │ y │ z │
	if got := s.fit(width, ""); got.width() != width || len(got.columns) != 3 || got.columns[1].heading != "y" {
		t.Errorf("%+v", got)
	}
	expect.Equal(t, "columns at width 3", len(s.fit(3, "").columns), 1) // no column fits
}

// Of a text of several words the end is cut, of a name the middle, whether at once or step by step.
func TestCut(t *testing.T) {
	for text, want := range map[string]string{"abcdef": "ab…ef", "abcde": "abcde", "ab…ghi": "ab…hi",
		"a /bcdef": "a /b…"} {
		expect.Equal(t, text, shortenTo(text, 5), want)
	}
}
