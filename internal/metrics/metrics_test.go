package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"torchpe/internal/expect"
)

// scored is one case of testdata/scores.json, which testdata/make.py writes with numpy and scipy.
type scored struct {
	N, D                   int
	Modules                []int
	Table                  []float64
	Distances              map[string][]float64
	Modularity, Clustering map[string]float64
}

func TestScoresAgainstScipy(t *testing.T) {
	text := expect.Must(os.ReadFile("testdata/scores.json"))
	var cases []scored
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 3 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for i, c := range cases {
		for _, name := range DistanceNames() {
			kind := expect.Must(ParseDistance(name))
			x := Table{c.N, c.D, c.Table}
			got := x.Distances(kind)
			for j, want := range c.Distances[name] {
				expect.Near(t, fmt.Sprintf("case %d: %s distance %d", i, name, j), got[j], want, 1e-12)
			}
			score := expect.Must(x.Score(kind, c.Modules))
			expect.Near(t, fmt.Sprintf("case %d: modularity by %s", i, name), score.Modularity, c.Modularity[name],
				1e-12)
			expect.Near(t, fmt.Sprintf("case %d: clustering by %s", i, name), score.Clustering, c.Clustering[name],
				1e-12)
		}
	}
}

// Two pairs with weight 1 inside and 0 between: Q = 1 - 2 (1/2)^2 = 1/2 and C = 1.
func TestTwoPairs(t *testing.T) {
	w := []float64{9, 1, 0, 0, 1, 9, 0, 0, 0, 0, 9, 1, 0, 0, 1, 9} // the diagonal must not count
	got := expect.Must(ScoreNetwork(w, []int{4, 4, 2, 2}))
	expect.Near(t, "modularity", got.Modularity, 0.5, 1e-15)
	expect.Near(t, "clustering", got.Clustering, 1, 1e-15)
	// A module of one node has no weight inside and does not count, wherever it stands.
	w = []float64{9, 0, 0, 0, 9, 1, 0, 1, 9}
	for _, modules := range [][]int{{1, 5, 5}, {7, 5, 5}} {
		expect.Equal(t, "clustering", expect.Must(ScoreNetwork(w, modules)).Clustering, 1)
	}
}

// Scores depend neither on the order of the nodes nor on the names of the modules nor, being
// scaled, on a factor of the PE.
func TestScoreInvariances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 9, 4
	modules := []int{0, 0, 0, 1, 1, 1, 2, 2, 2}
	table := make([]float64, n*d)
	for i := range table {
		table[i] = rng.NormFloat64()
	}
	for _, kind := range []Distance{Euclidean, SignAligned, OneMinusCorr2, Cosine} {
		want := expect.Must(Table{n, d, table}.Score(kind, modules))
		order := rng.Perm(n)
		moved, renamed := make([]float64, 0, n*d), make([]int, n)
		for i, from := range order {
			for _, v := range table[from*d : (from+1)*d] {
				moved = append(moved, 3*v)
			}
			renamed[i] = []int{7, -1, 4}[modules[from]]
		}
		got, err := Table{n, d, moved}.Score(kind, renamed)
		if err != nil || math.Abs(got.Modularity-want.Modularity) > 1e-12 ||
			math.Abs(got.Clustering-want.Clustering) > 1e-12 {
			t.Errorf("%s: %+v, %v after relabelling; %+v before", kind, got, err, want)
		}
	}
}

func TestScoreRefuses(t *testing.T) {
	for name, err := range map[string]error{
		"want n x n":        expect.ErrorOf(ScoreNetwork(make([]float64, 5), []int{0, 1})),
		"want at least two": expect.ErrorOf(ScoreNetwork(make([]float64, 4), []int{3, 3})),
		"9 weights":         expect.ErrorOf(Table{3, 3, make([]float64, 9)}.Score(Cosine, []int{0, 1})),
		"euclidean, sign":   expect.ErrorOf(ParseDistance("l2")),
	} {
		expect.Error(t, err, name)
	}
}
