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
	var p []float64
	for _, l := range thatAreRanked(all) {
		families, _ := ranking.Families(l.inOrder(), maskOf)
		if families[0].Name != "yes" {
			panic("encodings with a causal mask rank lower on " + l.name + ": change the sentence")
		}
		p = append(p, onceP(l))
	}
	p = expect.Must(stats.Holm(p))
	for i, l := range thatAreRanked(all) {
		if text := fmt.Sprintf("%s (%s)", l.plain(), number.PText(p[i])); p[i] < .05 {
			sure = append(sure, text)
		} else {
			unsure = append(unsure, text)
		}
	}
	text := "encodings with a causal mask rank significantly higher on " + wording.List(len(sure), sure)
	if unsure != nil {
		text += ", and not significantly on " + wording.List(len(unsure), unsure)
	}
	return text + "; similar encodings count once, and p is corrected for the number of languages (Holm)"
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

// fittedOf counts the encodings with a causal mask, or without, that have fitted a language with all their seeds.
func fittedOf(l language, mask string) (fitted, all int) {
	for _, of := range l.models {
		if maskOf(of.any()["pe"]) == mask {
			all++
			fitted += oneIf(of.haveFitted())
		}
	}
	return fitted, all
}

// fewerFit names the languages that a smaller share of the encodings with a causal mask than of the others have fitted.
func fewerFit(all []language) string {
	var texts []string
	for _, l := range thatAreRanked(all) {
		with, ofWith := fittedOf(l, "yes")
		without, ofWithout := fittedOf(l, "no")
		if with*ofWithout < without*ofWith {
			texts = append(texts, fmt.Sprintf("%s (%d of %d; of the others %d of %d)", l.plain(), with, ofWith, without,
				ofWithout))
		}
	}
	if texts == nil {
		return ""
	}
	return " Fewer encodings with a mask have fitted " + wording.List(len(texts), texts) + "."
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

// maskCell writes whether an encoding has a causal mask on formal languages.
func maskCell(scheme string) string { return map[string]string{"yes": "yes"}[maskOf(scheme)] }

// maskPair holds the models of an encoding without and with a causal mask.
type maskPair struct {
	scheme        string
	without, with seeds
	isOwn         bool // the encoding has the mask by itself
}

// maskPairs returns the encodings of mask.csv on a language, each beside the same encoding of languages.csv. A mask is
// added by a stack with c-nope, which is nope with a mask if it stands alone.
func maskPairs(l language) (pairs []maskPair) {
	for name, of := range l.read("mask.csv") {
		scheme, isStack := strings.CutPrefix(name, "c-nope+")
		if scheme == "c-nope" {
			scheme = "nope"
		}
		p := maskPair{scheme: scheme, without: l.models[scheme], with: of}
		if p.isOwn = !isStack && maskOf(scheme) == "yes"; p.isOwn {
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
	p             float64
}

// String writes the difference with its interval.
func (e effect) String() string {
	return fmt.Sprintf("%s (95 %%: %s; %d encodings)", point(e.mean), span(e.interval), e.n)
}

// effectOf returns the effect over some pairs, which has n = 0 if fewer than two have fitted.
func effectOf(pairs []maskPair) (e effect) {
	var without, with []float64
	for _, p := range pairs {
		if p.without.haveFitted() && p.with.haveFitted() {
			without, with = append(without, p.without.mean("validation")), append(with, p.with.mean("validation"))
			e.better += oneIf(with[e.n] > without[e.n])
			e.n++
		}
	}
	if e.n < 2 {
		return effect{}
	}
	e.without, e.with = stats.Mean(without), stats.Mean(with)
	e.mean = e.with - e.without
	test := expect.Must(stats.PairedT(with, without))
	e.interval = expect.Must(stats.StudentInterval(e.mean, e.mean/test.Statistic, test.DF, .95))
	e.p = test.P
	return e
}

// effects returns the effects of masks that were added on a language, and of those that encodings have themselves.
func effects(l language) (added, own effect) {
	pairs := maskPairs(l)
	own = effectOf(slices.DeleteFunc(slices.Clone(pairs), func(p maskPair) bool { return !p.isOwn }))
	return effectOf(slices.DeleteFunc(pairs, func(p maskPair) bool { return p.isOwn })), own
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
		fitWithout, fitWith := 0, 0
		for _, p := range pairs {
			for len(cells[p.scheme]) < columns {
				cells[p.scheme] = append(cells[p.scheme], "–")
			}
			cells[p.scheme] = append(cells[p.scheme], p.without.longer(), p.with.longer())
			fitWithout += oneIf(p.without.haveFitted())
			fitWith += oneIf(p.with.haveFitted())
		}
		columns += 2
		e := effectOf(pairs)
		added, own := effects(l)
		fmt.Fprintf(&text, "* **%s**: %d of %d encodings fit without a mask and %d with it; of the %d that do both, "+
			"%d are better with it. Means %s without and %s with: difference %s (95 %%: %s; paired t-test, %s). "+
			"Where the mask is added: %v; where it is the encoding's own: %v.\n", l.title(), fitWithout, len(pairs),
			fitWith, e.n, e.better, point(e.without), point(e.with), point(e.mean), span(e.interval),
			number.PText(e.p), added, own)
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
	var adds, keeps []string
	for _, l := range all {
		if added, own := effects(l); own.n > 1 {
			adds = append(adds, fmt.Sprintf("%v on %s", added, l.plain()))
			keeps = append(keeps, fmt.Sprintf("%v", own))
		}
	}
	return "Much of this is the mask: added to encodings without one (`c-nope+rope`, `--c-nope-temperature 1`), it " +
		"raises the mean accuracy by " + wording.List(len(adds), adds) + ". Without their own mask encodings " +
		"lose " + wording.List(len(keeps), keeps) + " on these languages." + fewerFit(all)
}
