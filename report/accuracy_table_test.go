package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"torchpe/report/internal/golden"
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

func TestAccuracyTable(t *testing.T) {
	var text, table bytes.Buffer
	if err := AccuracyTable(&text, publishedRows()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "accuracy.txt", text.Bytes())
	if err := AccuracyCSV(&table, publishedRows()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "accuracy.csv", table.Bytes())
}

// Every line is as wide as the others and the decimal points of a column stand under each other.
func TestAccuracyTableAligned(t *testing.T) {
	var text bytes.Buffer
	if err := AccuracyTable(&text, publishedRows()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
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

func TestAccuracyCSVReadsBack(t *testing.T) {
	rows := publishedRows()
	rows[0].PE = "a, \"b\"\nc"
	var b bytes.Buffer
	if err := AccuracyCSV(&b, rows); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 6 || got[1][0] != rows[0].PE || got[1][2] != "0.9998" || got[5][2] != "" || got[5][6] != "0.3333333333333333" {
		t.Errorf("read back %q", got)
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
		for _, write := range []func(io.Writer, []AccuracyRow) error{AccuracyTable, AccuracyCSV} {
			var b bytes.Buffer
			err := write(&b, c.rows)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one with %q", name, err, c.want)
			}
			if b.Len() != 0 {
				t.Errorf("%s: wrote %q before the error", name, b.String())
			}
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAccuracyTableFullDisk(t *testing.T) {
	if err := AccuracyTable(fullDisk{}, publishedRows()); !errors.Is(err, errFull) {
		t.Errorf("AccuracyTable: %v, want %v", err, errFull)
	}
	if err := AccuracyCSV(fullDisk{}, publishedRows()); !errors.Is(err, errFull) {
		t.Errorf("AccuracyCSV: %v, want %v", err, errFull)
	}
}
