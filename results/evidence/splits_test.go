package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
)

// otherSplits is the number of further splits of the published puzzles that the baselines are computed for.
const otherSplits = 20

// TestSplits makes iid_items.csv and splits.csv from the published puzzles: how similar each IID puzzle is to
// the nearest training puzzle and how often such a puzzle has its answer, and the baselines on validation puzzles
// for this split (data seed 0) and others.
func TestSplits(t *testing.T) {
	dir := os.Getenv("TORCHPE_LST")
	if dir == "" {
		dir = "../../../shared/lst"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the published puzzles are not here (set TORCHPE_LST to their directory): %v", err)
	}
	var pool []string
	for _, kind := range []string{"binary", "ternary", "quaternary"} {
		pool = append(pool, filepath.Join(dir, "generated_puzzle_data_"+kind+"_dist80.csv"))
	}
	splits := "data_seed,counts,look_up\n"
	for seed := range uint64(1 + otherSplits) {
		set := expect.Must(lst.Load(pool, filepath.Join(dir, "puzzle_data_original.csv"), seed))
		held := lst.NewBaselines(set.Train, set.Validation)
		splits += fmt.Sprintf("%d,%.4f,%.4f\n", seed, held.Counts, held.LookUp)
		if seed == 0 {
			iid := "puzzle,similarity,look_up,answer\n"
			for i, p := range set.IID {
				nearest := 0.0
				for _, q := range set.Train {
					nearest = max(nearest, similarity(p.Cells, q.Cells))
				}
				iid += fmt.Sprintf("%d,%.4f,%.4f,%d\n", i, nearest,
					lst.NewBaselines(set.Train, []lst.Puzzle{p}).LookUp, p.Answer-1)
			}
			expect.GoldenFile(t, "iid_items.csv", []byte(iid))
		}
	}
	expect.GoldenFile(t, "splits.csv", []byte(splits))
}

// similarity is the Jaccard index of the filled cells of two puzzles, with what they hold.
func similarity(a, b lst.Grid) float64 {
	same, either := 0, 0
	for i := range a {
		if a[i] != '0' || b[i] != '0' {
			either++
			if a[i] == b[i] {
				same++
			} else if a[i] != '0' && b[i] != '0' {
				either++ // two features
			}
		}
	}
	return float64(same) / float64(either)
}

// nearestTable lists the accuracy on IID puzzles by their similarity to the nearest training puzzle.
func nearestTable(m models) string {
	names := strings.Fields("2d-fixed learn-0.2 learn-1 learn-2")
	of := map[int][]int{} // puzzles by tenths of similarity
	puzzles := records("iid_items.csv")
	for i, p := range puzzles {
		bin := min(max(int(10*p.number("similarity")), 4), 8)
		of[bin] = append(of[bin], i)
	}
	var rows []string
	for _, bin := range slices.Sorted(maps.Keys(of)) {
		lookUp := 0.0
		for _, i := range of[bin] {
			lookUp += puzzles[i].number("look_up") / float64(len(of[bin]))
		}
		words := map[int]string{4: "below .5", 8: ".8 and more"}[bin]
		text := fmt.Sprintf("| %s | %d | %s", cmp.Or(words, fmt.Sprintf(".%d to .%d", bin, bin+1)), len(of[bin]),
			point(lookUp))
		for _, name := range names {
			var accuracies []float64
			for _, seed := range m[name].ordered() {
				answers := m[name][seed]["answers_iid"]
				right := 0.0
				for _, i := range of[bin] {
					if string(answers[i]) == puzzles[i]["answer"] {
						right++
					}
				}
				accuracies = append(accuracies, right/float64(len(of[bin])))
			}
			text += " | " + spread(accuracies)
		}
		rows = append(rows, text+" |")
	}
	return markdown("| similarity | puzzles | look-up | "+strings.Join(names, " | ")+" |", rows)
}

// splitWords says how the baselines depend on the split.
func splitWords() string {
	var counts, lookUp []float64
	all := records("splits.csv")
	for _, r := range all[1:] {
		counts, lookUp = append(counts, r.number("counts")), append(lookUp, r.number("look_up"))
	}
	return wrapped(fmt.Sprintf("**Other splits.** This split of training and IID puzzles favours counts: with %d "+
		"others it solves %s of the validation puzzles, and the look-up %s.\n", len(all)-1, spread(counts),
		spread(lookUp)))
}
