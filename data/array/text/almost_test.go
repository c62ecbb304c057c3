package text

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A first column of what is meant as numbers is no column of names: it would be lost.
func TestAlmostNumbers(t *testing.T) {
	for _, cell := range []string{"7%", "-3.5 %", "0x10", "0b11", "1.5D+03", "1.5d3", "$5", "5€", "<5",
		"≥ 0.1", "0.03*", "(5)", "−5", "1 000", "1'000", "'1", "'2.5'", "1.#IND", `"1,5"`,
		`"1.234,5"`, `"7%"`, `"#N/A"`,
		`"#DIV/0!"`} {
		text := "x,y\n" + cell + ",1\n" + cell + ",2\n"
		table, err := Parse(strings.NewReader(text), "x.csv", Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "x.csv:2:1: ") ||
			!strings.Contains(err.Error(), "looks like a number") {
			t.Errorf("%s: rows %q, %v", cell, table.Rows, err)
		}
		if _, err := Parse(strings.NewReader(text), "x.csv", Options{RowNames: Yes}); err != nil {
			t.Errorf("%s, stated as a name: %v", cell, err)
		}
		// Alone in a line over numbers, such cells are a damaged row and no names of columns.
		if !strings.Contains(cell, `"`) {
			text = cell + "," + cell + "\n1,2\n3,4\n"
			expect.Refused(t, cell, expect.ErrorOf(Parse(strings.NewReader(text), "x.csv", Options{})))
		}
	}
}

// Names that begin with a digit, as parcels' and genes' do, stay names.
func TestNamesWithDigits(t *testing.T) {
	for _, name := range []string{"7m", "10d", "9-46d", "1st", "3a", "100307_run", "0xyz", "5HT",
		"2-Mar", "1_001", "x%", "p<5", "A(5)", "10dx"} {
		table, err := Parse(strings.NewReader("id,x,y\n"+name+",1,2\n"), "x.csv", Options{})
		if err != nil || len(table.Rows) != 1 || table.Rows[0] != name || table.Corner != "id" {
			t.Errorf("%s: %q, %q, %v", name, table.Rows, table.Corner, err)
		}
	}
	// Names of columns may look like numbers where they are in quotes, or others do not.
	table, err := Parse(strings.NewReader("\"5%\",\"95%\",\"99%\"\n1,2,3\n"), "x.csv", Options{})
	if err != nil || len(table.Columns) != 3 {
		t.Errorf("%q, %v", table.Columns, err)
	}
}

// A number with a decimal comma is no name of a column either, in quotes or without.
func TestDecimalCommas(t *testing.T) {
	for _, name := range []string{"1,5", "+0,25", ",5", "1.234,5", "12 345,6", "1'000,5", "2,5E-3"} {
		_, err := Parse(strings.NewReader("a,\""+name+"\"\n1,2\n"), "x.csv", Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "x.csv:1: ") ||
			!strings.Contains(err.Error(), "decimal comma") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a,5", "1,2,3", "(0,1)", "r0,c1", "1,", "12,ab"} {
		table, err := Parse(strings.NewReader("a,\""+name+"\"\n1,2\n"), "x.csv", Options{})
		if err != nil || len(table.Columns) != 2 || table.Columns[1] != name {
			t.Errorf("%q: %q, %v", name, table.Columns, err)
		}
	}
}

func TestWholeCells(t *testing.T) {
	for cell, want := range map[string]bool{"12": true, "+5": false, "-3": false, "1.5": false, "1:2": false} {
		if _, ok := parseWhole([]byte(cell)); ok != want {
			t.Errorf("%s is whole: %v", cell, ok)
		}
	}
}
