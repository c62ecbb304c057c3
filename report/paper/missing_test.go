package paper

import (
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
)

// missingOf are the missing things of an item, "what: command" each.
func missingOf(s *Study, id string) (all []string) {
	for _, item := range expect.Must(s.items()) {
		if item.ID == id {
			for _, m := range item.Missing {
				all = append(all, m.What+": "+m.Command)
			}
		}
	}
	return all
}

// What is missing is named one by one, and the command trains it as what is there was trained.
func TestMissing(t *testing.T) {
	dir := synthetic.Dir(t, append(paperRuns([]float64{.1, .2, 2}, []int{3, 7}),
		synthetic.Run{Name: "it's/one", Task: "lst", PE: "learn", Sigma: .5, Seeds: []int{3}, Heads: 8})...)
	s := expect.Must(Read(dir, ""))
	rest := "0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8,1.9"
	main := dir + "/lst-code-1d-fixed-adam-wd0-h1-block-last-m0.5/config.json"
	if got, want := missingOf(s, "fig2"), []string{
		"learned encodings, σ of " + strings.ReplaceAll(rest, ",", ", ") +
			": torchpe sweep --config " + main + " --pe learn --sigma " + rest +
			" --seeds 3,7 --out " + dir + "/fig2",
	}; !slices.Equal(got, want) {
		t.Errorf("figure 2:\n%q, want\n%q", got, want)
	}
	expect.Equal(t, "table A6", missingOf(s, "table_a6"), nil)
	got := missingOf(s, "fig_a15")
	if len(got) != 2 || !strings.Contains(got[0], " with 2 heads, σ of 0.3, ") ||
		!strings.Contains(got[0], "-h2-block-last-m0.5/config.json") ||
		!strings.Contains(got[1], "--heads 4 --seeds 3,7") {
		t.Errorf("figure A15: %q", got)
	}
}

// Where there are no models of a variant the command makes it of the main one; where there are none
// at all it is the paper's preset.
func TestMissingAltogether(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a b/1", Task: "lst", PE: "2d-fixed", Seeds: []int{5}},
		synthetic.Run{Name: "sgd", Task: "lst", PE: "learn", Sigma: .01, Optimizer: "sgd", Seeds: []int{5}})
	s := expect.Must(Read(dir, ""))
	for id, want := range map[string]string{
		"table_a6": "2d-fixed, learn-0.2, relative, random, rope, 1d-fixed, nope, c-nope trained by AdamW " +
			"with weight decay 0.1: torchpe sweep --config '" + dir + "/a b/1/config.json' --pe " +
			"2d-fixed,learn-0.2,relative,random,rope,1d-fixed,nope,c-nope --optimizer adamw --weight-decay " +
			"0.1 --seeds 5 --out " + dir + "/figA8",
		"table_a4": "learned encodings trained by SGD, σ of 0.05, 0.1, 0.2: torchpe sweep " +
			"--config " + dir + "/sgd/config.json --pe learn --sigma 0.05,0.1,0.2 --optimizer sgd --seeds 5 " +
			"--out " + dir + "/figA7",
		"fig4": "1d-fixed, relative, rope, random, learn-0.1, learn-0.2, learn-1.0, learn-2.0: torchpe " +
			"sweep fig4 --out " + dir + "/fig4",
		"fig_a13": "1d-fixed, relative, rope, random, learn-0.1, learn-0.2, learn-1.0, learn-2.0: torchpe " +
			"sweep figA13 --out " + dir + "/figA13",
	} {
		if got := missingOf(s, id); len(got) == 0 || got[0] != want {
			t.Errorf("%s:\n%q, want first\n%q", id, got, want)
		}
	}
}
