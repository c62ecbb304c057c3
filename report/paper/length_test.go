package paper

import (
	"slices"
	"strings"
	"testing"

	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/runlog"
)

// Models trained for other lengths are in no mean: of each encoding those of the length that most
// seeds have are shown, and the others named.
func TestLengthsAreNotMixed(t *testing.T) {
	s := study(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, Records: 4},
		synthetic.Run{Name: "b", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{3}, Records: 9},
		synthetic.Run{Name: "c", Task: "lst", PE: "learn", Sigma: 1, Seeds: []int{1}, Records: 4},
		// as many: the longer
		synthetic.Run{Name: "d", Task: "lst", PE: "learn", Sigma: 1, Seeds: []int{1}, Records: 9},
		synthetic.Run{Name: "e", Task: "nmar", PE: "rope", Seeds: []int{1}, Records: 2},
		synthetic.Run{Name: "f", Task: "nmar", PE: "rope", Seeds: []int{1, 2}, Records: 3},
	)
	var lst []string
	for _, m := range s.LST {
		lst = append(lst, m.Run.Name)
	}
	if got := strings.Join(lst, ""); got != "aad" || len(s.NMAR) != 2 || s.NMAR[0].Run.Name != "f" {
		t.Errorf("puzzles from %s, network from %+v", got, s.NMAR)
	}
	want := []string{"1 model of learn-0.2, trained for 9 epochs, is not shown beside those trained for 4 " +
		"epochs", "1 model of learn-1.0, trained for 4 epochs", "rope, trained for 200 steps"}
	if len(s.Notes) != len(want) {
		t.Fatalf("notes %q", s.Notes)
	}
	for i, note := range s.Notes {
		if !strings.Contains(note, want[i]) {
			t.Errorf("note %q, want %q in it", note, want[i])
		}
	}
	if got, want := cohort.LengthText(s.LST), "4 epochs (learn-1.0: 9 epochs)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// untilRun is a run whose members stop at a criterion, after the epochs given, or never for 0.
func untilRun(name string, sigma float64, most int, until string, took ...int) synthetic.Run {
	r := synthetic.Run{Name: name, Task: "lst", PE: "learn", Sigma: sigma, Records: most,
		Until: until}
	for i := range took {
		r.Seeds = append(r.Seeds, i+1)
	}
	r.Edit = func(m *synthetic.Member) {
		m.Result.Epochs = most
		m.Result.Fit = &runlog.Fit{Criterion: until}
		if n := took[m.Index]; n > 0 {
			m.Result.Fit.Reached, m.Result.Fit.Epoch, m.Result.Epochs = true, n, n
			m.Records = m.Records[:n]
		}
	}
	return r
}

// Models that stop at a criterion are of one length, whatever they took, and of another than those
// with another criterion, another bound on their epochs, or none.
func TestUntil(t *testing.T) {
	s := study(t,
		untilRun("a", .1, 9, "train=0.99", 3, 0, 5),
		untilRun("b", .2, 9, "train=0.9", 2), untilRun("c", .2, 9, "train=0.99", 4, 4),
		untilRun("d", 1, 7, "train=0.99", 6),
		untilRun("e", 1, 9, "train=0.99", 6), // as many: the longer
		synthetic.Run{Name: "f", Task: "lst", PE: "learn", Sigma: 2, Seeds: []int{1, 2, 3, 4},
			Records: 6},
		synthetic.Run{Name: "g", Task: "nmar", PE: "rope", Seeds: []int{1}, Records: 3,
			Until: "train_mse=0.5"},
	)
	var shown []string
	for _, m := range s.LST {
		shown = append(shown, m.Run.Name)
	}
	if got := strings.Join(shown, ""); got != "aaacceffff" {
		t.Errorf("shown are %s", got)
	}
	const beside = " epochs at most, is not shown beside those trained until train=0.99, " +
		"9 epochs at most: give their folder alone"
	if want := []string{
		"1 model of learn-0.2, trained until train=0.9, 9" + beside,
		"1 model of learn-1.0, trained until train=0.99, 7" + beside,
	}; !slices.Equal(s.Notes, want) {
		t.Errorf("notes %q", s.Notes)
	}
}
