package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/runs"
)

// length is the length of a model's training: a number of epochs or steps, or until it fitted, that
// number at most.
type length struct {
	n     int
	unit  string // epoch or step
	until string // the criterion; "" where the number is the length
}

func lengthOf(m runs.Model) length {
	c := m.Run.Config
	l := length{n: m.Result.Epochs, unit: "epoch", until: c.Until}
	if !c.HasPuzzles() {
		l.n, l.unit = m.Result.Steps, "step"
	}
	if c.Until != "" {
		l.n = c.Epochs + c.Steps // one of them is 0
	}
	return l
}

// String returns "20 epochs", or "until train=0.99, 400 epochs at most".
func (l length) String() string {
	if l.until != "" {
		return fmt.Sprintf("until %s, %s at most", l.until, wording.Count(l.n, l.unit))
	}
	return wording.Count(l.n, l.unit)
}

// after returns "for 20 epochs", or "until train=0.99, 400 epochs at most".
func (l length) after() string {
	if l.until != "" {
		return l.String()
	}
	return "for " + l.String()
}

// keepCommonLength keeps, of the models that differ in their seed and length of training alone, those
// trained as long as most of them, the longest of several such lengths; a mean over models trained
// for 20 epochs and for 4,000 says nothing. It notes what it leaves out.
func (s *Study) keepCommonLength(models []Model) []Model {
	seeds := map[string]map[length]int{} // by identity and length, how many
	for _, m := range models {
		k := runs.KeyButLength(m.identity)
		if seeds[k] == nil {
			seeds[k] = map[length]int{}
		}
		seeds[k][lengthOf(m.Model)]++
	}
	var kept []Model
	left := map[string]int{}
	for _, m := range models {
		l := lengthOf(m.Model)
		if most := commonest(seeds[runs.KeyButLength(m.identity)]); l != most {
			left[fmt.Sprintf("%s, trained %s, %%s not shown beside those trained %s", m.Label(),
				l.after(), most.after())]++
			continue
		}
		kept = append(kept, m)
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		verb := "are"
		if left[what] == 1 {
			verb = "is"
		}
		s.note("%s of %s: give their folder alone", wording.Count(left[what], "model"), fmt.Sprintf(what, verb))
	}
	return kept
}

// commonLength returns the length that most models have, the longest of several such.
func commonLength(models []Model) length {
	count := map[length]int{}
	for _, m := range models {
		count[lengthOf(m.Model)]++
	}
	return commonest(count)
}

// commonest returns the length that is counted most often, the longest of several such.
func commonest(count map[length]int) length {
	return slices.MaxFunc(slices.Collect(maps.Keys(count)), func(a, b length) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a.n, b.n), cmp.Compare(a.until, b.until))
	})
}

// epochs says how long models were trained, such as "20 epochs", "20 epochs (learn-0.01,
// learn-0.05: 8 epochs)", or "until train=0.99, 400 epochs at most, which took 16 to 151".
func epochs(models []Model) string {
	if len(models) == 0 {
		return ""
	}
	most := commonLength(models)
	labels, took := map[length][]string{}, map[length][]int{}
	for _, m := range models {
		l := lengthOf(m.Model)
		if !slices.Contains(labels[l], m.Label()) {
			labels[l] = append(labels[l], m.Label())
		}
		if f := m.Result.Fit; l.until != "" && f != nil && f.Reached && l.unit == "epoch" {
			took[l] = append(took[l], f.Epoch)
		}
	}
	describe := func(l length) string {
		if took[l] == nil {
			return l.String()
		}
		return l.String() + ", which took " + countRange(took[l])
	}
	text := describe(most)
	var others []string
	for _, l := range slices.SortedFunc(maps.Keys(labels), func(a,
		b length) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.until, b.until))
	}) {
		if l != most {
			others = append(others, strings.Join(labels[l], ", ")+": "+describe(l))
		}
	}
	if others != nil {
		text += " (" + strings.Join(others, "; ") + ")"
	}
	return text
}
