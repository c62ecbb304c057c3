package paper

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
	"torchpe/report/item"
	"torchpe/train/runlog"
)

// Accuracy by kind of puzzle is by the lines that puzzles need; of runs that did not record it it
// is by label, and the caption says so where the puzzles were generated.
func TestConditions(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}})
	s := expect.Must(Read(dir, ""))
	m := &s.LST[0]
	for _, c := range []struct {
		lines   map[string]float64
		files   []string
		want    float64
		earlier bool
	}{
		{map[string]float64{"1": .9, "2": .75, "3": .6}, nil, .6, false},
		{nil, []string{"published.csv"}, .7, false},
		{nil, nil, .7, true},
	} {
		m.Result.Measures = runlog.Numbers{"validation/1-vector": .9, "validation/2-vector": .8,
			"validation/3-vector": .7}
		runlog.SetFamily(m.Result.Measures, "validation_lines", c.lines)
		m.Run.Config.LSTTrain = c.files
		expect.Equal(t, fmt.Sprintf("%v: 3-vector", c.lines), item.Value(*m, "validation/3-vector"), c.want)
		d := draftOf(t, s, "conditions")
		if strings.Contains(d.Caption, "by the puzzles' labels") != c.earlier || len(d.Tables) != 1 {
			t.Errorf("%v, files %v: %s", c.lines, c.files, d.Caption)
		}
	}
}
