package analysis

import (
	"strings"
	"testing"
)

// A quoted decimal comma would be taken as a name, and its column lost; it is refused with its place, wherever it is read.
func TestDecimalCommas(t *testing.T) {
	anything := func([]int) error { return nil }
	column := func(reference string) error { _, err := ReadColumn(reference); return err }
	array := func(reference string) error { _, err := ReadArray(reference, anything); return err }
	for _, c := range []struct {
		name, body, column string
		read               func(string) error
		want               string
	}{
		{"first.csv", "\"1,5\",2\n\"2,5\",3\n", "", array, `first.csv: line 1, column 2: "1,5"`},
		{"below.csv", "name,a\n# of 1,5\nx,1\ny,2\n\"-1,5e3\",2\n", "", array, `below.csv: line 5, column 2: "-1,5e3"`},
		{"tabs.tsv", "1,5\t2\n2,5\t3\n", "", array, `tabs.tsv: line 1, column 1: "1,5"`},
		{"head.csv", "a,\"1.234,5\"\n1,2\n", "", array, `head.csv: line 1, column 4: "1.234,5"`},
		{"cell.csv", "a,b\n1,2\n3,\"2,5\"\n", ":b", column, `cell.csv: line 3, column 4: "2,5"`},
		{"swallowed.csv", "\"1,5\",2\n3,4\n", ":1", column, `swallowed.csv: line 1, column 2: "1,5"`},
	} {
		err := c.read(write(t, c.name, c.body) + c.column)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "write numbers with a point") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, name := range []string{"1,5", "+0,25", ",5", "1.234,5", "12 345,6", "1'000,5", "2,5E-3"} {
		if !decimalComma.MatchString(name) {
			t.Errorf("%q is no number with a decimal comma", name)
		}
	}
	for _, name := range []string{"1.5", "a,5", "1,2,3", "(0,1)", "r0,c1", "1,", "12,ab", ""} {
		if decimalComma.MatchString(name) {
			t.Errorf("%q is a number with a decimal comma", name)
		}
	}
}

// Quoted numbers are taken as names, which is said; names and counted rows, as pandas writes them, need no word.
func TestNumbersAsNames(t *testing.T) {
	for body, noted := range map[string]bool{
		"\"1.5\",2,3\n\"2.5\",3,4\n": true, ",a,b\n0,2,3\n1,3,4\n": false, ",a,b\n1,2,3\n2,3,4\n": false, "x,2,3\ny,3,4\n": false, "1.5,2,3\n2.5,3,4\n": false,
	} {
		_, notes, err := Tables(Selection{Files: []string{write(t, "t.csv", body)}, Member: All, Block: All})
		if err != nil || (len(notes) == 1 && strings.Contains(notes[0], "(1.5...) is taken as names")) != noted || !noted && len(notes) > 0 {
			t.Errorf("%q: %q, %v", body, notes, err)
		}
	}
}
