package cohort

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/train/config"
)

// Length is the length of a model's training: a number of epochs or steps, or until it fitted with that number
// as the maximum.
type Length struct {
	n     int
	unit  string // epoch or step
	until string // Config.until; "" if the number is the length
	of    string // if training was cut short, the planned length that its learning rate follows: "40 epochs"
}

// Length returns how long the model was trained.
func (m Model) Length() Length {
	c := m.Run.Config
	l := Length{n: m.Result.Epochs, unit: "epoch", until: c.until()}
	if !c.HasPuzzles() || c.LimitSteps > 0 {
		l.n, l.unit = m.Result.Steps, "step"
	}
	planned := c.Epochs + c.Steps // one of the two is 0
	if c.Until != "" {
		l.n = cmp.Or(c.LimitSteps, planned)
	}
	if c.LimitSteps > 0 && cmp.Or(c.Schedule, config.Constant) != config.Constant {
		l.of = wording.Count(planned, map[bool]string{true: "epoch", false: "step"}[c.HasPuzzles()])
	}
	return l
}

// String returns "20 epochs", or "until train=0.99, 400 epochs at most".
func (l Length) String() string {
	text := wording.Count(l.n, l.unit)
	if l.of != "" {
		text += " of " + l.of
	}
	if l.until != "" {
		return fmt.Sprintf("until %s, %s at most", l.until, text)
	}
	return text
}

// after returns "for 20 epochs", or "until train=0.99, 400 epochs at most".
func (l Length) after() string {
	if l.until != "" {
		return l.String()
	}
	return "for " + l.String()
}

// compare orders lengths. Steps come before epochs: puzzle models with steps were cut short.
func (l Length) compare(m Length) int {
	return cmp.Or(cmp.Compare(m.unit, l.unit), cmp.Compare(l.n, m.n), cmp.Compare(l.until, m.until),
		cmp.Compare(m.of, l.of))
}

// CommonLength returns the length that most models have, or the longest of several.
func CommonLength(models []Model) Length {
	count := map[Length]int{}
	for _, m := range models {
		count[m.Length()]++
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(count)), func(a, b Length) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), a.compare(b))
	})
}

// GroupsOfAnyLength joins models that differ only in their seed and length of training.
func GroupsOfAnyLength(models []Model) ([]Group, error) { return Groups(models, LengthKeys...) }

// OfCommonLength selects, among models that differ only in their seed and length of training, those of the
// commonest length: a mean over models trained for 20 and for 4,000 epochs has no meaning. Of two with one
// seed, such as one cut short and one planned that short, it keeps the first. Notes say what it leaves out.
func OfCommonLength(models []Model) (kept []Model, notes []string, err error) {
	groups, err := GroupsOfAnyLength(models)
	if err != nil {
		return nil, nil, err
	}
	most := map[ModelKey]Length{}
	for _, g := range groups {
		l := CommonLength(g.Models)
		for _, m := range g.Models {
			most[m.Key()] = l
		}
	}
	left := map[string]int{}
	for _, m := range models {
		own, common := m.Length(), most[m.Key()]
		if own == common {
			kept = append(kept, m)
			continue
		}
		left[fmt.Sprintf("%s, trained %s, %%s not shown beside those trained %s", m.Label(), own.after(),
			common.after())]++
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		verb := "are"
		if left[what] == 1 {
			verb = "is"
		}
		notes = append(notes, fmt.Sprintf("%s of %s: give only their folder", wording.Count(left[what], "model"),
			fmt.Sprintf(what, verb)))
	}
	kept, copies, err := Distinct(kept, LengthKeys...)
	return kept, append(notes, copies...), err
}

// DifferInLength reports whether groups have lengths of training with which their encodings cannot be compared.
// Lengths of puzzle models may differ, because fitted models are compared.
func DifferInLength(groups []Group) bool {
	lengths := map[Length]bool{}
	for _, m := range ModelsOf(groups) {
		if !m.Run.Config.HasPuzzles() {
			lengths[m.Length()] = true
		}
	}
	return len(lengths) > 1
}

// LengthText describes how long models were trained, such as "20 epochs", "20 epochs (learn-0.01, learn-0.05: 8
// epochs)", or "16 to 151 epochs (until train=0.99)"; "" for no models.
func LengthText(models []Model) string {
	if len(models) == 0 {
		return ""
	}
	labels, took := map[Length][]string{}, map[Length][]int{}
	for _, m := range models {
		l := m.Length()
		if !slices.Contains(labels[l], m.Label()) {
			labels[l] = append(labels[l], m.Label())
		}
		switch {
		case l.until == "" || l.unit != "epoch":
		case m.HasStopped():
			took[l] = append(took[l], m.Result.Fit.Epoch)
		default:
			took[l] = append(took[l], l.n)
		}
	}
	describe := func(l Length) string {
		if took[l] == nil {
			return l.String()
		}
		epochs := strings.TrimPrefix(wording.Count(slices.Max(took[l]), l.unit), fmt.Sprint(slices.Max(took[l])))
		return fmt.Sprintf("%s%s (until %s)", wording.Range(took[l]), epochs, l.until)
	}
	most := CommonLength(models)
	var others []string
	for _, l := range slices.SortedFunc(maps.Keys(labels), Length.compare) {
		if l != most {
			others = append(others, strings.Join(labels[l], ", ")+": "+describe(l))
		}
	}
	if others == nil {
		return describe(most)
	}
	return fmt.Sprintf("%s (%s)", describe(most), strings.Join(others, "; "))
}
