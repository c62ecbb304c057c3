package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/ranking"
)

// maskWords says on which languages encodings with a causal mask rank higher, and where that is not significant.
// Encodings that are alike count once.
func maskWords(all []language) string {
	var sure, unsure []string
	for _, l := range thatAreRanked(all) {
		families, _ := ranking.Families(l.inOrder(), maskOf)
		if families[0].Name != "yes" {
			panic("encodings with a causal mask rank lower on " + l.name + ": change the sentence")
		}
		p := onceP(l)
		if text := fmt.Sprintf("%s (%s)", l.plain(), number.PText(p)); p < .05 {
			sure = append(sure, text)
		} else {
			unsure = append(unsure, text)
		}
	}
	text := "encodings with a causal mask rank significantly higher on " + wording.List(len(sure), sure)
	if unsure != nil {
		text += ", and not significantly on " + wording.List(len(unsure), unsure)
	}
	return text + "; similar encodings count once, and p is not corrected for the number of languages"
}

// maskMedians writes the median ranks of encodings with and without a causal mask.
func maskMedians(l language) string {
	families, p := ranking.Families(l.inOrder(), maskOf)
	of := map[string]ranking.Family{}
	for _, f := range families {
		of[f.Name] = f
	}
	return fmt.Sprintf("Median ranks, drawn positions left out: %s for the %d with a causal mask, %s for the %d "+
		"others (%s; %s if similar encodings count once).", number.Fixed(of["yes"].Median, 1), of["yes"].N,
		number.Fixed(of["no"].Median, 1), of["no"].N, number.PText(p), number.PText(onceP(l)))
}

// alike gives encodings that differ little the name of one of them: rotations by the offset, weights that decay with
// the distance, and rotations by scaled coordinates.
var alike = map[string]string{
	"fope": "rope", "grape-m": "rope", "hope": "rope", "pope": "rope", "rope-llama3": "rope", "rope-longrope": "rope",
	"rope-ntk": "rope", "rope-pi": "rope", "rope-yarn": "rope",
	"dape": "kerple", "forgetting": "kerple", "grape-a": "kerple", "sandwich": "kerple",
	"comrope": "liere", "golden-gate": "liere",
}

// onceP is p of the test of causal masks where encodings that are alike count once, with the mean of their ranks.
func onceP(l language) float64 {
	ranks := l.inOrder()
	for i, s := range ranks {
		ranks[i].Scheme = cmp.Or(alike[s.Scheme], s.Scheme)
	}
	_, p := ranking.Families(ranks, maskOf)
	return p
}

// maskOf says whether an encoding has a causal mask on formal languages, where alibi and transformer-xl have none.
func maskOf(scheme string) string {
	if scheme != "alibi" && scheme != "transformer-xl" && factsOf(row{"pe": scheme}).Attention.Causal {
		return "yes"
	}
	return "no"
}

// maskPair holds the models of an encoding without and with a causal mask.
type maskPair struct {
	scheme        string
	without, with seeds
}

// fit reports whether both have fitted with all their seeds.
func (p maskPair) fit() bool {
	return len(p.with) == len(p.with.thatFitted()) && len(p.without) == len(p.without.thatFitted())
}

// maskPairs returns the encodings of mask.csv on a language, each beside the same encoding of languages.csv. A mask is
// added by a stack with c-nope, which is nope with a mask if it stands alone.
func maskPairs(l language) (pairs []maskPair) {
	own := map[string]seeds{}
	for _, r := range records("../leaderboard/mask.csv") {
		if r["sequence_language"] != l.name {
			continue
		}
		if own[r["pe"]] == nil {
			own[r["pe"]] = seeds{}
		}
		own[r["pe"]][r["seed"]] = r
	}
	for name, of := range own {
		scheme, isStack := strings.CutPrefix(name, "c-nope+")
		if scheme == "c-nope" {
			scheme = "nope"
		}
		p := maskPair{scheme, l.models[scheme], of}
		if !isStack && maskOf(scheme) == "yes" {
			p.without, p.with = p.with, p.without
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b maskPair) int { return strings.Compare(a.scheme, b.scheme) })
	return pairs
}

// effect is what a causal mask adds to the accuracy of the encodings that have fitted both without and with it.
type effect struct {
	n, better     int
	without, with float64
	mean          float64 // with less without
	interval      stats.Interval
	p, once       float64 // once: if similar encodings count once
}

// maskEffectOf returns the effect on a language, which has n = 0 if fewer than two pairs have fitted.
func maskEffectOf(l language) (e effect) {
	var without, with []float64
	groups := map[string][]float64{}
	for _, p := range maskPairs(l) {
		if p.fit() {
			before, after := p.without.mean("validation"), p.with.mean("validation")
			without, with = append(without, before), append(with, after)
			e.better += oneIf(after > before)
			group := cmp.Or(alike[p.scheme], p.scheme)
			groups[group] = append(groups[group], after-before)
		}
	}
	if len(groups) < 2 {
		return effect{}
	}
	var once, none []float64
	for _, of := range groups {
		once, none = append(once, stats.Mean(of)), append(none, 0)
	}
	e.n, e.without, e.with = len(with), stats.Mean(without), stats.Mean(with)
	e.mean = e.with - e.without
	test := expect.Must(stats.PairedT(with, without))
	e.interval = expect.Must(stats.StudentInterval(e.mean, e.mean/test.Statistic, test.DF, .95))
	e.p, e.once = test.P, expect.Must(stats.PairedT(once, none)).P
	return e
}

// maskEffect says what a causal mask adds to an encoding.
func maskEffect(all []language) string {
	var text strings.Builder
	cells := map[string][]string{}
	heads, columns := "| encoding |", 0
	for _, l := range all {
		pairs := maskPairs(l)
		if pairs == nil {
			continue
		}
		heads += fmt.Sprintf(" %s, without | with |", l.plain())
		for _, p := range pairs {
			for len(cells[p.scheme]) < columns {
				cells[p.scheme] = append(cells[p.scheme], "–")
			}
			cells[p.scheme] = append(cells[p.scheme], p.without.longer(), p.with.longer())
		}
		columns += 2
		if e := maskEffectOf(l); e.n > 0 {
			fmt.Fprintf(&text, "* **%s**: %d of %d encodings have fitted both without and with a mask; %d of them are "+
				"better with it. Means %s without and %s with: difference %s (95 %%: %s; paired t-test, %s; %s if "+
				"similar encodings count once).\n", l.title(), e.n, len(pairs), e.better, point(e.without),
				point(e.with), point(e.mean), span(e.interval), number.PText(e.p), number.PText(e.once))
		}
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		rows = append(rows, "| "+name+" | "+strings.Join(cells[name], " | ")+" |")
	}
	return wrapped(text.String()) + "\n<details><summary>Encodings without and with a causal mask</summary>\n\n" +
		markdown(heads, rows) + "\n</details>\n"
}

// maskSummary says what the mask alone adds to an encoding.
func maskSummary(all []language) string {
	var parts []string
	for _, l := range all {
		if e := maskEffectOf(l); e.n > 1 {
			parts = append(parts, fmt.Sprintf("%s on %s (95 %%: %s; %d encodings)", point(e.mean),
				l.plain(), span(e.interval), e.n))
		}
	}
	if parts == nil {
		return "None was trained with and without its mask."
	}
	return "The mask itself does it: added to encodings without one (`c-nope+rope`, `--c-nope-temperature 1`), or " +
		"taken from those with one, it raises the mean accuracy by " +
		wording.List(len(parts), parts) + "."
}
