package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/report/runs"
)

// lengthOf is how long a model was trained: epochs on puzzles, steps in masked prediction.
func lengthOf(m runs.Model) (n int, unit string) {
	if m.Run.Config.Masked != nil {
		return m.Result.Steps, "step"
	}
	return m.Result.Epochs, "epoch"
}

// oneLength keeps, of the models that differ in their seed and length of training alone, those trained as long as most of them, the
// longest of several such lengths; a mean over models trained for 20 epochs and for 4,000 says nothing. It notes what it leaves out.
func (s *Study) oneLength(models []runs.Model) []runs.Model {
	seeds := map[setting]map[int]map[uint64]bool{} // by length
	for _, m := range models {
		k, n := settingOf(m), 0
		n, _ = lengthOf(m)
		if seeds[k] == nil {
			seeds[k] = map[int]map[uint64]bool{}
		}
		if seeds[k][n] == nil {
			seeds[k][n] = map[uint64]bool{}
		}
		seeds[k][n][m.Member.Seed] = true
	}
	shown := map[setting]int{}
	for k, byLength := range seeds {
		shown[k] = slices.MaxFunc(slices.Collect(maps.Keys(byLength)), func(a, b int) int {
			return cmp.Or(cmp.Compare(len(byLength[a]), len(byLength[b])), cmp.Compare(a, b))
		})
	}
	var kept []runs.Model
	left := map[string]int{}
	for _, m := range models {
		n, unit := lengthOf(m)
		if most := shown[settingOf(m)]; n != most {
			left[fmt.Sprintf("%s, trained for %s, %%s not shown beside those trained for %d", m.Label(), plural(n, unit), most)]++
			continue
		}
		kept = append(kept, m)
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		verb := "are"
		if left[what] == 1 {
			verb = "is"
		}
		s.note("%s of %s: give their folder alone", plural(left[what], "model"), fmt.Sprintf(what, verb))
	}
	return kept
}

// commonLength is the length that most models have, the longest of several such.
func commonLength(models []Model) (n int, unit string) {
	count := map[int]int{}
	for _, m := range models {
		n, unit = lengthOf(m.Model)
		count[n]++
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(count)), func(a, b int) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) }), unit
}

// epochs says how long models were trained, such as "20 epochs", or "20 epochs (learn-0.01, learn-0.05: 8)".
func epochs(models []Model) string {
	if len(models) == 0 {
		return ""
	}
	most, unit := commonLength(models)
	labels := map[int][]string{}
	for _, m := range models {
		if n, _ := lengthOf(m.Model); !slices.Contains(labels[n], m.Label()) {
			labels[n] = append(labels[n], m.Label())
		}
	}
	text := plural(most, unit)
	var others []string
	for _, n := range slices.Sorted(maps.Keys(labels)) {
		if n != most {
			others = append(others, fmt.Sprintf("%s: %d", strings.Join(labels[n], ", "), n))
		}
	}
	if others != nil {
		text += " (" + strings.Join(others, "; ") + ")"
	}
	return text
}
