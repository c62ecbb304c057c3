package hcp

import (
	"math"
	"strings"
	"testing"

	"torchpe/data/partition"
	"torchpe/data/series"
	"torchpe/internal/expect"
)

// Tokens 0 to 2 are one curve, 3 to 5 another that is uncorrelated with it, each with an offset and
// a factor of its own. With two modules of three tokens that are these groups, all 6 edges of 6 lie
// within modules and half of the degrees: Q = 1 - 1/2. Token 6 does not vary and correlates with
// none; alone in its module, it changes nothing.
func TestCheck(t *testing.T) {
	curves := [2][4]float32{{1, 1, -1, -1}, {1, -1, -1, 1}}
	set := &series.Set{Frames: 4, Tokens: 7, Runs: []series.Run{{Subject: "a", Frames: 4}},
		Flat: []series.Flat{{Token: "t", Run: "r", Value: 5}}}
	for f := range 4 {
		for token := range 6 {
			set.X = append(set.X, float32(token)+float32(token+1)*curves[token/3][f])
		}
		set.X = append(set.X, 5)
	}
	d := &series.Dataset{Set: set, Subjects: []string{"a"}, Modules: &partition.Matched{}}
	d.Modules.Modules, d.Modules.Labels = []string{"A", "B", "C"}, []int{0, 0, 0, 1, 1, 1, 2}
	r := expect.Must(Check(d))
	if r.Modularity == nil || math.Abs(*r.Modularity-0.5) > 1e-6 {
		t.Errorf("modularity %v", r.Modularity)
	}
	// The SD of a curve of 1 and -1 is 1, times 1 to 6; that of the constant token is 0.
	if r.SD[0] != 0 || math.Abs(r.SD[1]-6) > 1e-6 || r.Constant != 1 || r.Networks["B"] != 3 {
		t.Errorf("%+v", r)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "token t of r, which is 5 throughout") {
		t.Errorf("%q", r.Notes)
	}
}
