package advice

import (
	"strings"
	"testing"

	"torchpe/report/cohort"
	"torchpe/train/runlog"
)

// The sentence of the demo follows from the models: each that started small against each that started large.
func TestDemoAnswer(t *testing.T) {
	group := func(label string, epochs int, reached bool, validation ...float64) (g cohort.Group) {
		g.Label = label
		for i, v := range validation {
			g.Models = append(g.Models, cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{Seed: uint64(i) + 1},
				Result: runlog.MemberResult{Epochs: epochs, Fit: &runlog.Fit{Reached: reached},
					Measures: runlog.Numbers{"validation": v}}})
		}
		return g
	}
	small := group("learn-0.2", 30, true, 0.9, 0.5)
	for _, c := range []struct {
		large cohort.Group
		want  string
	}{
		{group("learn-2.0", 150, true, 0.3, 0.49), "As expected, a learned encoding generalizes when it starts small" +
			". Accuracy on puzzles unlike those of training: learn-0.2 0.900 and 0.500, learn-2.0 0.300 and " +
			"0.490."},
		{group("learn-2.0", 150, true, 0.3, 0.5), "Not as expected: a small start was not always better. "},
		{group("learn-2.0", 200, false, 0.3, 0.3), "No answer yet: 2 of 4 models have not fitted " +
			"their training puzzles. A demo without --epochs (default 300) and with another --out "},
		{group("learn-2.0", 300, false, 0.3, 0.3), "No answer yet: 2 of 4 models have not fitted " +
			"their training puzzles. A demo with --epochs 600 and with another --out "},
	} {
		if got := (Demo{small, c.large}).Answer(300); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
