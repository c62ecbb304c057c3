package catalogue

import (
	"fmt"
	"strings"
)

// Page returns docs/encodings.md.
func Page(s Setting) (string, error) {
	all, err := Entries(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Positional encodings

<!-- Generated from the registry: torchpe pe list --markdown > docs/encodings.md -->

%d schemes. %s
`+"`torchpe pe show SCHEME`"+` says the same of any stack at any size, `+"`torchpe pe plot SCHEME`"+` draws it, and
`+"`torchpe train --pe SCHEME`"+` trains with it.

N tokens, D model width, H heads, Dh = D/H, L layers; x the input of a block, i the query's place, j the key's. Numbers of parameters are those that
are trained at N = %d, D = %d, H = %d, L = %d with the defaults of the published code; "When" follows from TISA's criteria and what a scheme asks for.
`, len(all), Stacks, s.Tokens, s.DModel, s.Heads, s.Layers)
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
	for _, name := range families {
		first := true
		for _, e := range all {
			if e.Family != name {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n## %s\n", name)
			}
			first = false
			section(&b, e)
		}
	}
	return b.String(), nil
}

// section writes what the page says of a scheme.
func section(b *strings.Builder, e Entry) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n\n```\n%s\n```\n\n", e.Name, capital(e.Summary), e.Formula)
	fmt.Fprintf(b, "* Paper: *%s*, %s\n", e.Title, e.Reference)
	fmt.Fprintf(b, "* When: %s\n", when(e))
	cost := "no trained parameters"
	if e.ParametersFormula != "none" {
		cost = fmt.Sprintf("%s trained parameters (%s)", count(e.Parameters), strings.ReplaceAll(e.ParametersFormula, "\n", " "))
	}
	if !e.Criteria.Parallelizable {
		cost += "; slow: TISA's Table 1 or its words call it hard to parallelize"
	}
	fmt.Fprintf(b, "* Cost: %s\n", cost)
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

// when says what a scheme is for, from what the registry knows of it.
func when(e Entry) string {
	var s []string
	s = append(s, "there are "+e.Needs)
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
	return text
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
