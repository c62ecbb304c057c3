package series

import (
	"fmt"
	"strings"
	"testing"
)

// A column that counts frames is told apart from tokens where their number is known, and otherwise
// noted.
func TestIndexColumn(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    func(row int) any
		index bool
	}{
		{"time", func(row int) any { return 0.72 * float64(row) }, true},
		{"Unnamed: 0", func(row int) any { return row }, true},
		{"Index", func(row int) any { return 100 - 1/float64(row+1) }, true},
		{"k", func(row int) any { return row + 1 }, true},
		{"k", func(row int) any { return 2 * row }, false},
		{"time", func(row int) any { return row % 4 }, false},
	} {
		text := strings.Builder{}
		fmt.Fprintf(&text, "%s,a,b\n", c.name)
		for row := range 5 {
			fmt.Fprintf(&text, "%v,%d,%d\n", c.at(row), row*row%7, row%3)
		}
		path := write(t, "x.csv", text.String())
		s, err := Load([]string{path}, Options{})
		if err != nil || s.Tokens != 3 || (len(s.Notes) == 1 &&
			strings.Contains(s.Notes[0], fmt.Sprintf("%q", c.name))) != c.index {
			t.Errorf("%s: %+v, %v", text.String(), s, err)
		}
		// Two tokens are expected, and three may come; but not two and an index.
		if _, err := Load([]string{path}, Options{Tokens: []int{2}}); (err != nil &&
			strings.Contains(err.Error(), "leave it out")) != c.index {
			t.Errorf("%s: %v", text.String(), err)
		}
		if _, err := Load([]string{path},
			Options{Tokens: []int{2}, TokensFrom: "--tokens"}); err == nil ||
			!strings.Contains(err.Error(), "Leave it out") &&
				!strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: %v", text.String(), err)
		}
		if _, err := Load([]string{path},
			Options{Tokens: []int{3}, TokensFrom: "--tokens"}); err != nil {
			t.Errorf("%s: %v", text.String(), err)
		}
	}
}
