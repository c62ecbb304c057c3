package text

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// table writes rows of numbers under a line, as pandas' to_csv does with formats such as %.5f.
func table(line string, rows, columns int, cell func(r *rand.Rand, row, column int) string) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(line)
	for i := range rows {
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(cell(r, i, j))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func normal(r *rand.Rand, _, _ int) string { return fmt.Sprintf("%.5f", r.NormFloat64()) }
func counts(r *rand.Rand, _, _ int) string { return fmt.Sprint(r.IntN(50)) }
func halves(r *rand.Rand, _, _ int) string { return fmt.Sprint(float64(r.IntN(40)) / 2) }
func bold(r *rand.Rand, _, j int) string   { return fmt.Sprint(9000 + 500*j + r.IntN(100)) }
func ranked(_ *rand.Rand, i, j int) string { return fmt.Sprint(4*i + j) }
func shortest(r *rand.Rand, i, j int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", r.NormFloat64()*3), ".0")
}

// A first line of numbers names the columns where it stands out, is asked about where it may, and
// else is the first row.
func TestNumberedHeaders(t *testing.T) {
	sequence := func(from, n, step int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint(from+i*step))
		}
		return strings.Join(names, ",") + "\n"
	}
	for _, c := range []struct {
		text string
		want string // names, row or ask
	}{
		{table(sequence(2001, 6, 1), 400, 6, normal), "names"}, // years, AAL's codes
		{table("10,11,12\n", 400, 3, normal), "names"},
		{table("400,403,417\n", 3, 3, normal), "names"},
		{table("0,1,2\n", 400, 3, normal), "names"}, // pandas' own
		{table("0,1\n", 400, 2, normal), "names"},
		{table("1,2\n", 400, 2, normal), "ask"}, // or a first row
		{table("0,2,4\n", 400, 3, normal), "ask"},
		{table("5,4,6\n", 400, 3, normal), "ask"},                // outside, but not far
		{table("13,2,8\n", 40, 3, halves), "row"},                // others are whole, too
		{"3,1,2,0\n0,0,0,0\n" + table("", 40, 4, normal), "ask"}, // a row of zeros says nothing
		{table("3,1\n", 400, 2, normal), "ask"},
		{table("5,9\n", 1, 2, normal), "ask"},
		{table("2001,2005,2003\n", 40, 3, counts), "names"},
		{table("2001,2005,2003\n", 4, 3, counts), "ask"},
		{table(sequence(0, 5, 1), 40, 5, counts), "ask"}, // pandas' own above counts
		{table(sequence(3, 4, 2), 40, 4, counts), "ask"},
		{table("7,12,15,31,44,48\n", 40, 6, counts), "ask"}, // sensors in order
		{table("12000,12500,13000\n", 40, 3, bold), "ask"},  // or a first volume before saturation
		// Rows of numbers.
		{table("", 40, 6, normal), "row"},
		{table("", 40, 6, counts), "row"},
		{table("", 40, 2, counts), "row"},
		{table("", 40, 3, halves), "row"},
		{table("", 40, 2, shortest), "row"},
		{table("", 10, 4, ranked), "row"},
		{table("", 3, 4, ranked), "row"},
		{table("", 40, 5, bold), "row"},
		{table("1.0,2.0,3.0\n", 40, 3, normal), "row"},
		{table("7,3,7\n", 40, 3, normal), "row"}, // a name twice
		{table("-1,0,2\n", 40, 3, normal), "row"},
		{"0,1,2,3\n1,0,1,2\n2,1,0,1\n3,2,1,0\n", "row"}, // distances
		{"0,3.5\n3.5,0\n", "row"}, {"1,2\n3,4\n", "row"}, {"1,2\n3,4\n5,6\n", "row"}, {"3,4\n", "row"},
		{"1,2,3\n4,5,6\n", "row"}, {"0\n0.5\n1.25\n", "row"}, {"1,2\n1,3\n2,3\n3,4\n", "row"},
		{"5,7,9\n1,2,8\n5,7,9\n4,4,1\n", "row"},
	} {
		got, err := Parse(strings.NewReader(c.text), "x.csv", Options{})
		first, _, _ := strings.Cut(c.text, "\n")
		lines := strings.Count(c.text, "\n")
		what := "row"
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "x.csv:1:1: ") &&
			strings.Contains(err.Error(), "--header yes or --header no"):
			what = "ask"
		case err != nil:
			what = err.Error()
		case got.Columns != nil:
			what = "names"
		}
		expect.Equal(t, fmt.Sprintf("%q over %d lines", first, lines-1), what, c.want)
		// Said, it is what was said.
		yes, err := Parse(strings.NewReader(c.text), "x.csv", Options{Header: Yes})
		if lines > 1 && (err != nil || strings.Join(yes.Columns, ",") != first || yes.Shape[0] != lines-1) {
			t.Errorf("%q with a header: %q, %v, %v", first, yes.Columns, yes.Shape, err)
		}
		no, err := Parse(strings.NewReader(c.text), "x.csv", Options{Header: No})
		if err != nil || no.Columns != nil || no.Shape[0] != lines {
			t.Errorf("%q without a header: %q, %v, %v", first, no.Columns, no.Shape, err)
		}
	}
}

// What pandas' to_csv writes of numbered columns beside an index is read as it was written.
func TestPandasIndex(t *testing.T) {
	for text, want := range map[string][2][]string{
		",2001,2003\n0,0.5,1.5\n1,2.5,3.5\n":         {{"2001", "2003"}, {"0", "1"}},
		",0,2\n0,5,1\n1,2,3\n2,1,1\n":                {{"0", "2"}, {"0", "1", "2"}},
		",3,1\n2020-01-01,2,3\n2020-01-02,5,4\n":     {{"3", "1"}, {"2020-01-01", "2020-01-02"}},
		"date,3,1\n2020-01-01,2,3\n2020-01-02,5,4\n": {{"3", "1"}, {"2020-01-01", "2020-01-02"}},
		"Date,0\n2020-01-01 00:00:00,2\n2020-01-02 00:00:00,5\n": {{"0"},
			{"2020-01-01 00:00:00", "2020-01-02 00:00:00"}},
		",1990,1991\n1900,4,3\n1905,4,2\n1910,1,1\n": {{"1990", "1991"}, {"1900", "1905", "1910"}},
		",0\n0,0.25\n1,0.5\n":                        {{"0"}, {"0", "1"}},
		"name,0\nr0,5\nr1,7\n":                       {{"0"}, {"r0", "r1"}},
		"gene_id,592,117\na,10,1\nb,1,8\n":           {{"592", "117"}, {"a", "b"}},
	} {
		got, err := Parse(strings.NewReader(text), "x.csv", Options{})
		if err != nil || !slices.Equal(got.Columns, want[0]) || !slices.Equal(got.Rows, want[1]) {
			t.Errorf("%q: %q, %q, %v", text, got.Columns, got.Rows, err)
		}
	}
	// Rows with names and counts stay rows; a first count may be missing.
	for text, columns := range map[string]int{"a,5,3\nb,2,7\nc,9,1\n": 2, ",5,3\n4,1,2\n2,8,8\n": 3} {
		got, err := Parse(strings.NewReader(text), "x.csv", Options{})
		if err != nil || got.Columns != nil || !slices.Equal(got.Shape, []int{3, columns}) {
			t.Errorf("%q: %q, %v, %v", text, got.Columns, got.Shape, err)
		}
	}
}
