package paper

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
)

// Weight decay is told with its optimizer, in captions and for what is missing: by AdamW, as in the
// paper; where only Adam's runs are there, whose decay is L2, they are shown as what they are.
func TestDecayNamesItsOptimizer(t *testing.T) {
	for optimizer, want := range map[string]string{"adamw": "by AdamW with weight decay 0.1",
		"adam": "by Adam with L2 of 0.1 (the paper's: AdamW)"} {
		s := study(t,
			synthetic.Run{Name: "learn", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1},
				Optimizer: optimizer, Decay: .1},
			synthetic.Run{Name: "rope", Task: "lst", PE: "rope", Seeds: []int{1},
				Optimizer: optimizer, Decay: .1})
		items := expect.Must(s.items())
		found := 0
		for _, item := range items {
			if item.ID != "fig_a8" && item.ID != "table_a5" && item.ID != "table_a6" {
				continue
			}
			found++
			expect.Contains(t, item.Caption, want)
			for _, m := range item.Missing {
				if !strings.Contains(m.What, " trained "+want) ||
					!strings.Contains(m.Command, "--optimizer "+optimizer+" --weight-decay 0.1") {
					t.Errorf("%s by %s: missing %q: %s", item.ID, optimizer, m.What, m.Command)
				}
			}
		}
		expect.Equal(t, "items", found, 3)
	}
}
