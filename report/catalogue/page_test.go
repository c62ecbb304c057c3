package catalogue

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
)

// docs/encodings.md is what the registry says; go test ./report/catalogue -update writes it.
func TestPageIsFresh(t *testing.T) {
	all := entriesOf(t)
	board := string(expect.Must(os.ReadFile("../../results/leaderboard/README.md")))
	_, board, _ = strings.Cut(board, "<!-- generated: start -->\n")
	advice, _, found := strings.Cut(board, "<!-- end -->")
	if !found {
		t.Fatal("results/leaderboard/README.md gives no advice")
	}
	for i := range all {
		if all[i].Name == "random" { // by default it is frozen: a row for each token, whatever its place
			all[i].Needs = pe.NeedsSame.String()
		}
	}
	page := page(all, advice)
	expect.GoldenFile(t, "../../docs/encodings.md", []byte(page))
	for _, name := range pe.Names() {
		expect.Contains(t, page, "\n### "+name+"\n")
	}
}

// page returns docs/encodings.md, of all entries at the default setting, with what the leaderboard advises.
func page(all []Entry, advice string) string {
	s := DefaultSetting()
	var b strings.Builder
	fmt.Fprintf(&b, `# Positional encodings

<!-- Generated from the registry by "go test ./report/catalogue -update". Do not edit. -->

%d schemes. %s
`+"`torchpe pe show SCHEME`"+` says the same of any stack at any size,
`+"`torchpe pe plot SCHEME`"+` draws it, and `+"`torchpe train --pe SCHEME`"+` trains with it.

N tokens, D model width, H heads, Dh = D/H, L layers; x the input of a block, i the query's place,
j the key's. Numbers of parameters are those that are trained at N = %d, D = %d, H = %d, L = %d with
the defaults of the published code. "When" follows from the criteria of Wennberg and Henter 2021 (TISA)
and from what a scheme needs.
A scheme has no picture if it adds nothing, treats all tokens alike as it starts, or depends on their content only.
%s
`, len(all), Stacks, s.Tokens, s.DModel, s.Heads, s.Layers, sheetNote)
	for _, name := range families {
		var links []string
		for _, e := range all {
			if e.Family == name {
				links = append(links, fmt.Sprintf("[%s](#%s)", e.Name, e.Name))
			}
		}
		if links != nil {
			fmt.Fprintf(&b, "* **%s**: %s\n", name, strings.Join(links, ", "))
		}
	}
	decisions(&b, all, advice)
	for _, name := range families {
		first := true
		for _, e := range all {
			if e.Family != name {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n## %s\n\n![%s](images/%s)\n", name, name, sheetOf(name))
			}
			first = false
			section(&b, e)
		}
	}
	return b.String()
}

// decisions writes the table "Which encoding?": by what is known about positions, whether a model will see
// more tokens than in training, and whether the task is causal; before it what the leaderboard advises.
func decisions(b *strings.Builder, all []Entry, advice string) {
	b.WriteString(`
## Which encoding?

` + advice + `
All numbers: [results/leaderboard](../results/leaderboard/README.md). Fifteen seeds, and what else changes the choice of
σ: [results/evidence](../results/evidence/README.md).

All schemes by what they need to know of the tokens. Those of the rows above yours can be used, too, but know less:

| what is known of the tokens | and | nothing is trained | the encoding is trained |
|---|---|---|---|
`)
	for n := pe.NeedsNothing; n <= pe.NeedsPoints; n++ {
		need := n.String()
		for _, row := range []struct {
			text                 string
			extrapolates, causal bool
		}{
			{"the model meets more tokens than in training", true, false},
			{"the number of tokens stays", false, false},
			{"each token sees only those before it", false, true},
		} {
			var fixed, trained []string
			for _, e := range all {
				if e.Needs != need || e.Causal != row.causal || !row.causal && e.Extrapolates != row.extrapolates {
					continue
				}
				link := fmt.Sprintf("[%s](#%s)", e.Name, e.Name)
				if strings.HasPrefix(e.ParametersFormula, "none") {
					fixed = append(fixed, link)
				} else {
					trained = append(trained, link)
				}
			}
			if fixed != nil || trained != nil {
				known := need
				if n == pe.NeedsNothing {
					known += ": they are a set"
				}
				fmt.Fprintf(b, "| %s | %s | %s | %s |\n", known, row.text, strings.Join(fixed, ", "),
					strings.Join(trained, ", "))
			}
		}
	}
}

// section writes a scheme's section.
func section(b *strings.Builder, e Entry) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n```\n%s\n```\n\n", e.Name, strings.ToUpper(e.Summary[:1])+e.Summary[1:],
		e.Formula)
	fmt.Fprintf(b, "* Paper: *%s*, %s\n", e.Title, e.Reference)
	fmt.Fprintf(b, "* When: %s\n", when(e))
	formula := strings.ReplaceAll(e.ParametersFormula, "\n", " ")
	cost, isFixed := strings.CutPrefix(formula, "none") // at the default options
	cost = "no trained parameters" + cost
	if !isFixed {
		cost = fmt.Sprintf("%s trained parameters (%s)", withCommas(e.Parameters), formula)
	}
	if !e.Criteria.Parallelizable {
		cost += "; slow: TISA's Table 1 or its words call it hard to parallelize"
	}
	fmt.Fprintf(b, "* Cost: %s\n", cost)
	if e.Differ != "" {
		fmt.Fprintf(b, "* Implementations differ: %s\n", markedFlags.ReplaceAllString(e.Differ, "`$0`"))
	}
	if len(e.Options) > 0 {
		b.WriteString("* Options:\n")
	}
	for _, o := range e.Options {
		value := "`" + o.Code + "`"
		if o.Code != o.Text {
			value = fmt.Sprintf("`%s` in the code, `%s` in the text", o.Code, o.Text)
		}
		fmt.Fprintf(b, "  * `--%s`: %s. Default %s\n", o.Name, o.Help, value)
	}
}

// markedFlags matches an option in a sentence, with its value.
var markedFlags = regexp.MustCompile(`--[a-z0-9-]+( (false|[0-9.]+))?`)

// when returns the conditions under which a scheme is useful, by its entry.
func when(e Entry) string {
	var s []string
	if e.Needs != pe.NeedsNothing.String() {
		s = append(s, "there are "+e.Needs)
	}
	if e.Causal {
		s = append(s, "each token may see only those before it")
	}
	if e.Extrapolates {
		s = append(s, "models are to be evaluated at more tokens than they were trained on")
	}
	if e.ActsOn == "nowhere" {
		s = append(s, "positions should not matter, or only through the mask")
	} else if e.Criteria.TranslationInvariant {
		s = append(s, "the offset between tokens matters rather than their place")
	} else {
		s = append(s, "the place itself matters")
	}
	if e.Criteria.DataDriven {
		s = append(s, "the data should decide what positions mean")
	}
	if e.Criteria.Interpretable {
		s = append(s, "what was learned is to be read off")
	}
	text := s[0]
	if len(s) > 1 {
		text = strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
	}
	if !e.Extrapolates {
		text += "; not for more tokens than in training"
	}
	scheme := expect.Must(pe.Find(e.Name))
	if scheme.LooksAhead(expect.Must(scheme.Resolve("code", nil))) {
		text += "; not in decoders"
	}
	return text
}
