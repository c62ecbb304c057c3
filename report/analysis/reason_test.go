package analysis

import (
	"math"
	"strings"
	"testing"

	"torchpe/internal/metrics"
)

// Scores that have no value come with the reason, and no others do.
func TestReasonsOfNoScore(t *testing.T) {
	two := "1\n1\n2\n2\n"
	for _, c := range []struct {
		name, table, modules string
		distance             metrics.Distance
		q, c                 bool // known
		want                 string
	}{
		{"a row of zeros", "1.0,2\n0,0\n3,1\n2,2.5\n", two, metrics.Cosine, false, false,
			"table 0: no scores: row 1 is all zeros"},
		{"two rows of zeros", "1.0,2\n0,0\n3,1\n0,0\n", two, metrics.Cosine, false, false,
			"row 1 and 1 more are all zeros"},
		{"a row of zeros, Euclidean", "1.0,2\n0,0\n3,1\n2,2.5\n", two, metrics.Euclidean, true, true, ""},
		{"a row of .1", "1.0,2,4\n.1,.1,.1\n3,1,2\n2,2.5,1\n", two, metrics.OneMinusCorr2, false,
			false, "row 1 is one number throughout"},
		{"a constant table", "1,2\n1,2\n1,2\n1,2\n", two, metrics.Euclidean, false, false,
			"all rows are the same: every distance is 0"},
		{"a constant table of .1 and .3, cosine", ".1,.3\n.1,.3\n.1,.3\n.1,.3\n", two,
			metrics.Cosine, false, false, "all rows are the same by cosine"},
		{"parallel rows", ".1,.3\n.2,.6\n.7,2.1\n.3,.9\n", two, metrics.Cosine, false, false,
			"all rows are the same by cosine"},
		{"a module whose tokens are farthest apart", "0,0\n9,9\n4,4\n5,5\n", two, metrics.Euclidean,
			true, false, "the mean weight within module 1 is 0"},
		{"modules of one token", "0,0\n1,9\n4,4\n5,5\n", "1\n2\n3\n4\n", metrics.Euclidean, true,
			false, "no module has two tokens"},
		{"numbers whose squares overflow", "1e200,0\n0,1e200\n4,4\n5,5\n", two, metrics.Euclidean,
			false, false, "+Inf"},
	} {
		models, _, err := Tables(Selection{Files: []string{write(t, "t.csv", c.table)}, Member: All, Block: All})
		if err != nil {
			t.Fatal(err)
		}
		got, notes, err := Networks(models, write(t, "m.txt", c.modules),
			NetworkOptions{Distance: c.distance, Permutations: 9})
		if err != nil || got[0].Modularity.known() != c.q || got[0].Clustering.known() != c.c ||
			got[0].Blocks[0].P.known() != c.q {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if said := strings.Join(notes, "; "); !strings.Contains(said, c.want) || (c.want == "") != (said == "") {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
}

// Weights below 0 are scored as they are, and said to be there. By hand, with modules {0,1} and
// {2,3}: within -1 and 2, between 1/2 each, so C is the mean of (-1-1/2)/-1 = 3/2 and (2-1/2)/2 =
// 3/4.
func TestNegativeWeights(t *testing.T) {
	file := write(t, "w.csv", "-9,-1,.5,.5\n-1,0,.5,.5\n.5,.5,0,2\n.5,.5,2,0\n")
	got, notes, err := Weights(file, write(t, "m.txt", "1\n1\n2\n2\n"), NetworkOptions{})
	if err != nil || math.Abs(float64(got.Clustering)-1.125) > 1e-15 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "2 weights below 0, to -1:") ||
		!strings.Contains(notes[1], "the diagonal, -9 to 0, is taken as 0") {
		t.Errorf("%q", notes)
	}
	if _, notes, err = Weights(write(t, "w.csv", "0,1,1,-1\n1,0,-1,1\n1,-1,0,1\n-1,1,1,0\n"),
		write(t, "m.txt", "1\n1\n2\n2\n"), NetworkOptions{}); err != nil || len(notes) != 1 {
		t.Errorf("%q, %v", notes, err)
	}
	if _, notes, err = Weights(write(t, "w.csv", "0,1,-1,0\n1,0,0,-1\n-1,0,0,1\n0,-1,1,0\n"),
		write(t, "m.txt", "1\n1\n2\n2\n"), NetworkOptions{}); err != nil ||
		!strings.Contains(strings.Join(notes, ";"), "the weights add up to 0") {
		t.Errorf("%q, %v", notes, err)
	}
}

// A row of equal numbers has no direction by corr2, though its mean is not exactly .1.
func TestReasonOfNoDistance(t *testing.T) {
	models, _, err := Tables(Selection{
		Files: []string{write(t, "t.csv", "1.0,2,4\n.1,.1,.1\n3,1,2\n")}, Member: All, Block: All})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Between(models[0], metrics.OneMinusCorr2)
	if err != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0],
		"row 1 is one number throughout") || d.Distances[0][1].known() || !d.Distances[0][2].known() {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestReasonOfNoCosine(t *testing.T) {
	models, _, err := Tables(Selection{Files: []string{write(t, "t.csv", "1.0,2\n0,0\n3,1\n")},
		Member: All, Block: All})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Between(models[0], metrics.Cosine)
	if err != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "row 1 is all zeros") ||
		d.Distances[0][1].known() || !d.Distances[0][2].known() {
		t.Errorf("%+v, %v", d, err)
	}
}

// The Q of numpy's corrcoef, by numpy: k = w.sum(0), (w - outer(k, k)/k.sum()) summed within modules
// over k.sum(), with the diagonal set to 0. As it is, bctpy's, it is .357.
func TestDiagonal(t *testing.T) {
	got, notes, err := Weights(write(t, "w.csv", "1,.5,.25,0\n.5,1,0,.25\n.25,0,1,.5\n0,.25,.5,1\n"),
		write(t, "m.csv", "1;a\n2;a\n3;b\n4;b\n"), NetworkOptions{})
	if err != nil || math.Abs(float64(got.Modularity)-1./6) > 1e-15 || len(notes) != 1 ||
		!strings.Contains(notes[0], "the diagonal, 1 to 1, is taken as 0") {
		t.Errorf("%+v, %q, %v", got, notes, err)
	}
}
