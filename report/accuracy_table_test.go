package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"torchpe/report/internal/golden"
	"torchpe/report/table"
)

// publishedRows are numbers of the paper and of its published result files (per-condition accuracies; IID test), 15 seeds.
func publishedRows() []AccuracyRow {
	nan := math.NaN()
	return []AccuracyRow{
		{"2d-fixed", 15, 0.9998, 0.985, 0.977, 0.991, 0.978, 0.961},
		{"learn σ=0.2", 15, 1, 0.986, 0.956, 0.983, 0.935, 0.948},
		{"learn σ=1.0", 15, 1, 0.981, 0.894, 0.939, 0.863, 0.880},
		{"learn σ=2.0", 15, 1, 0.847, 0.377, 0.409, 0.431, 0.291},
		{"one-seed", 1, nan, nan, 0.25, 0, 1.0 / 3, nan},
	}
}

func render(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func published(t *testing.T) table.Table {
	t.Helper()
	table, err := AccuracyTable(publishedRows())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestAccuracyTable(t *testing.T) {
	golden.Check(t, "accuracy.txt", render(t, published(t).Terminal))
	golden.Check(t, "accuracy.csv", render(t, published(t).CSV))
}

// Every line is as wide as the others and the decimal points of a column stand under each other.
func TestAccuracyTableAligned(t *testing.T) {
	lines := strings.Split(strings.TrimRight(string(render(t, published(t).Terminal)), "\n"), "\n")
	points := func(line string) (at []int) {
		for i, r := range []rune(line) {
			if r == '.' && i > 20 { // the σ of a name has a point too
				at = append(at, i)
			}
		}
		return at
	}
	want := points(lines[3])
	for _, line := range lines[3:7] {
		if got := points(line); len(got) != 6 || got[0] != want[0] || got[5] != want[5] {
			t.Errorf("decimal points at %v, want %v: %s", got, want, line)
		}
	}
	for _, line := range lines {
		if got, want := utf8.RuneCountInString(line), utf8.RuneCountInString(lines[0]); got != want {
			t.Errorf("%d characters wide, want %d: %s", got, want, line)
		}
	}
}

func TestAccuracyTableErrors(t *testing.T) {
	for name, c := range map[string]struct {
		rows []AccuracyRow
		want string
	}{
		"none":       {nil, "no rows"},
		"no name":    {[]AccuracyRow{{Members: 1}}, "no name"},
		"no members": {[]AccuracyRow{{PE: "rope"}}, `"rope" has 0 members`},
		"percent":    {[]AccuracyRow{{PE: "rope", Members: 1, Validation: 98.2}}, `"rope": validation accuracy 98.2`},
		"infinite":   {[]AccuracyRow{{PE: "rope", Members: 1, Train: math.Inf(1)}}, "train accuracy +Inf"},
	} {
		_, err := AccuracyTable(c.rows)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
