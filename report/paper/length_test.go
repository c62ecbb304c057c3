package paper

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
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
		expect.Contains(t, note, want[i])
	}
	if got, want := cohort.LengthText(s.LST), "4 epochs (learn-1.0: 9 epochs)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
