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
func maskWords(all spoken) string {
	var sure, unsure []string
	for _, l := range languages {
		if len(all[l.name]) < nearlyAll {
			continue
		}
		families, _ := ranking.Families(all.ranks(l.name), maskOf)
		if families[0].Name != "yes" {
			panic("encodings with a causal mask rank lower on " + l.name + ": change the sentence")
		}
		p := onceP(all, l.name)
		if text := fmt.Sprintf("%s (%s)", plainName(l.name), number.PText(p)); p < .05 {
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

// maskMedians writes the median ranks of encodings with and without a causal mask, or "" for a language that few
// encodings were trained on.
func maskMedians(all spoken, language string) string {
	if len(all[language]) < nearlyAll {
		return ""
	}
	families, p := ranking.Families(all.ranks(language), maskOf)
	of := map[string]ranking.Family{}
	for _, f := range families {
		of[f.Name] = f
	}
	return fmt.Sprintf("Median ranks without drawn positions: %s for the %d with a causal mask, %s for the %d "+
		"others (%s; %s if similar encodings count once).", number.Fixed(of["yes"].Median, 1), of["yes"].N,
		number.Fixed(of["no"].Median, 1), of["no"].N, number.PText(p), number.PText(onceP(all, language)))
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
func onceP(all spoken, language string) float64 {
	ranks := all.ranks(language)
	for i, s := range ranks {
		ranks[i].Scheme = cmp.Or(alike[s.Scheme], s.Scheme)
	}
	_, p := ranking.Families(ranks, maskOf)
	return p
}

// maskOf says whether an encoding has a causal mask on formal languages, where alibi and transformer-xl have none.
func maskOf(scheme string) string {
	if scheme != "alibi" && scheme != "transformer-xl" && isCausal(standing(scheme, 0)) {
		return "yes"
	}
	return "no"
}

// maskPair holds the mean accuracies of an encoding on longer inputs without and with a causal mask.
type maskPair struct {
	scheme        string
	without, with onLanguage
}

// difference is what the mask adds.
func (p maskPair) difference() float64 { return p.with.longer - p.without.longer }

// fit reports whether both have fitted with all their seeds.
func (p maskPair) fit() bool {
	return p.with.fitted == p.with.n && p.without.fitted == p.without.n
}

// maskPairs returns the encodings of mask.csv on a language, each beside the same encoding of the other tables. A mask
// is added by a stack with c-nope, which is nope with a mask if it stands alone.
func maskPairs(all spoken, language string) (pairs []maskPair) {
	for _, r := range records("../leaderboard/mask.csv") {
		if r["sequence_language"] != language {
			continue
		}
		own := onLanguage{scheme: r["pe"], n: 1, fitted: oneIf(r["fitted"] != "no"), iid: r.number("iid"),
			longer: r.number("validation")}
		scheme, isStack := strings.CutPrefix(r["pe"], "c-nope+")
		if scheme == "c-nope" {
			scheme = "nope"
		}
		p := maskPair{scheme: scheme, without: all[language][scheme], with: own}
		if !isStack && maskOf(scheme) == "yes" {
			p.without, p.with = own, all[language][scheme]
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
func maskEffectOf(all spoken, language string) (e effect) {
	var without, with []float64
	groups := map[string][]float64{}
	for _, p := range maskPairs(all, language) {
		if p.fit() {
			without, with = append(without, p.without.longer), append(with, p.with.longer)
			e.better += oneIf(p.difference() > 0)
			group := cmp.Or(alike[p.scheme], p.scheme)
			groups[group] = append(groups[group], p.difference())
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
func maskEffect(all spoken) string {
	var text strings.Builder
	cells := map[string][]string{}
	heads, columns := "| encoding |", 0
	for _, l := range languages {
		pairs := maskPairs(all, l.name)
		if pairs == nil {
			continue
		}
		heads += fmt.Sprintf(" %s, without | with |", plainName(l.name))
		for _, p := range pairs {
			for len(cells[p.scheme]) < columns {
				cells[p.scheme] = append(cells[p.scheme], "–")
			}
			cells[p.scheme] = append(cells[p.scheme], p.without.cell(), p.with.cell())
		}
		columns += 2
		if e := maskEffectOf(all, l.name); e.n > 0 {
			fmt.Fprintf(&text, "* **%s**: %d of %d encodings have fitted both without and with a mask; %d of them are "+
				"better with it. Means %s without and %s with: difference %s (95 %%: %s; paired t-test, %s; %s if "+
				"similar encodings count once).\n", title(l.name), e.n, len(pairs), e.better, point(e.without),
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
func maskSummary(all spoken) string {
	var parts []string
	for _, l := range languages {
		if e := maskEffectOf(all, l.name); e.n > 1 {
			parts = append(parts, fmt.Sprintf("%s on %s (95 %%: %s; %d encodings)", point(e.mean),
				plainName(l.name), span(e.interval), e.n))
		}
	}
	if parts == nil {
		return "None was trained with and without its mask."
	}
	return "The mask itself does it: added to encodings without one (`c-nope+rope`, `--c-nope-temperature 1`), or " +
		"taken from those with one, it raises the mean accuracy by " +
		wording.List(len(parts), parts) + "."
}
