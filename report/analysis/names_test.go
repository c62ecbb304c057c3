package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
)

// A quoted decimal comma would be taken as a name, and its column lost; it is refused with its
// place, wherever it is read.
func TestDecimalCommas(t *testing.T) {
	anything := func([]int) error { return nil }
	array := func(reference string) error { _, err := arrayfile.Read(reference, text.Auto, anything); return err }
	for _, c := range []struct {
		name, body, want string
	}{
		{"first.csv", "\"1,5\",2\n\"2,5\",3\n", `first.csv:1:1: the first cell is "1,5"`},
		{"below.csv", "name,a\n# a comment\nx,1\ny,2\n\"-1,5e3\",2\n", `below.csv:5:1: the first cell is "-1,5e3"`},
		{"tabs.tsv", "1,5\t2\n2,5\t3\n", `tabs.tsv:1:1: the first cell is "1,5"`},
		{"head.csv", "a,\"1.234,5\"\n1,2\n", `head.csv:1:3: cell 2 is "1.234,5"`},
	} {
		err := array(write(t, c.name, c.body))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "write numbers with a point") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Quoted numbers are taken as names, which is said; names and counted rows, as pandas writes them,
// need no word.
func TestNumbersAsNames(t *testing.T) {
	for body, noted := range map[string]bool{
		"\"1.5\",2,3\n\"2.5\",3,4\n": true, ",a,b\n0,2,3\n1,3,4\n": false,
		",a,b\n1,2,3\n2,3,4\n": false, "x,2,3\ny,3,4\n": false, "1.5,2,3\n2.5,3,4\n": false,
	} {
		_, notes, err := Tables(Selection{Files: []string{write(t, "t.csv", body)}, Member: All, Block: All})
		if err != nil || (len(notes) == 1 && strings.Contains(notes[0],
			"(1.5...) is taken as names")) != noted || !noted && len(notes) > 0 {
			t.Errorf("%q: %q, %v", body, notes, err)
		}
	}
}

// A column of IDs is no dimension: the norm is that of 3, 4 and 12, not of 10, 3, ...
func TestColumnOfIDs(t *testing.T) {
	for _, head := range []string{"id,d1,d2\n", "node_id,d1,d2\n", "Station,a,b\n", "index,a,b\n"} {
		models, _, err := Tables(Selection{Files: []string{write(t, "t.csv", "\ufeff"+head+"10,3,4\n30,0,12\n")},
			Member: All, Block: All})
		if err != nil {
			t.Errorf("%q: %v", head, err)
			continue
		}
		if got := models[0]; !slices.Equal(got.Names, []string{"10", "30"}) ||
			!slices.Equal(got.Tables[0].Values, []float64{3, 4, 0, 12}) {
			t.Errorf("%q: %+v", head, got)
		}
	}
	for body, want := range map[string]string{
		"x1,x2\n1,.5\n2,.5\n3,.1\n": "", "4,.5\n2,.5\n3,.1\n": "may be the tokens' names or numbers",
		"k,a\n1,.5\n2,.5\n3,.1\n":     "may be the tokens' names or numbers",
		"label,a\n1,.5\n1,.5\n3,.1\n": "1 in row 2 stands in a row above",
	} {
		_, _, err := Tables(Selection{Files: []string{write(t, "t.csv", body)}, Member: All, Block: All})
		if fmt.Sprint(err) != "<nil>" && want == "" || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}
