package catalogue

import (
	"fmt"
	"strings"

	"torchpe/report/table"
)

// Stacks explains how schemes are combined.
const Stacks = "Several act at once where their names are joined by +, as in rope+learn: " +
	"each at its places, in that order."

// List returns the catalogue as a table with one row per scheme. If brief, it leaves out TISA's criteria and
// all references but the first.
func List(all []Entry, s Setting, brief bool) table.Table {
	criteria := []string{"inductive", "data_driven", "parameter_efficient", "translation_invariant",
		"parallelizable", "interpretable"}
	if brief {
		criteria = nil
	}
	t := table.Table{
		Columns: []table.Column{
			{Heading: "scheme", Name: "name"}, {Heading: "year", Name: "year"},
			{Heading: "acts on", Name: "acts_on"},
			{Heading: "parameters", Name: "parameters"}, {Heading: "causal", Name: "causal"},
			{Heading: "more tokens", Name: "extrapolates"},
		},
		More: "--csv or --json",
		Note: fmt.Sprintf("Parameters: trained ones for N = %d tokens, D = %d, H = %d heads, L = "+
			"%d layers, in the reading of the %s; – where a scheme refuses that size (torchpe "+
			"pe show says why). Causal: tokens see only those before them. More tokens: can be "+
			"evaluated at more tokens than it was trained on.", s.Tokens, s.DModel, s.Heads, s.Layers, s.Fidelity),
	}
	for _, name := range criteria {
		t.Columns = append(t.Columns, table.Column{Heading: name, Name: name})
	}
	t.Columns = append(t.Columns, table.Column{Heading: "reference", Name: "reference", DropPriority: 1})
	for _, e := range all {
		c, reference := e.Criteria, e.Reference
		if brief {
			reference, _, _ = strings.Cut(reference, "; ")
		}
		row := table.Row{table.Text(e.Name), table.Number(float64(e.Year)), table.Text(e.ActsOn), parameters(e),
			yesNoCell(e.Causal), yesNoCell(e.Extrapolates)}
		for _, meets := range []bool{c.Inductive, c.DataDriven, c.ParameterEfficient, c.TranslationInvariant,
			c.Parallelizable, c.Interpretable}[:len(criteria)] {
			row = append(row, yesNoCell(meets))
		}
		t.Rows = append(t.Rows, append(row, table.Text(reference)))
	}
	return t
}

func parameters(e Entry) table.Cell {
	if e.Parameters == nil {
		return table.Cell{}
	}
	return table.Count(*e.Parameters)
}

func yesNoCell(is bool) table.Cell { return table.Text(yesNo(is)) }

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// withCommas formats a number with commas, as papers print it, and nil as a dash.
func withCommas(n *int) string {
	if n == nil {
		return "–"
	}
	digits := fmt.Sprint(*n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// facts returns what Compare and Show print about an entry.
func facts(e Entry) [][2]string {
	c := e.Criteria
	width := "any"
	if e.MinHeadWidth > 0 {
		width = fmt.Sprintf("at least %d", e.MinHeadWidth)
	}
	source := "judged by TISA's words"
	if c.Printed {
		source = "as TISA's Table 1 prints them"
	}
	number := withCommas(e.Parameters)
	if e.Refused != "" {
		number = "refused: " + e.Refused
	}
	return [][2]string{
		{"year", fmt.Sprint(e.Year)}, {"reference", e.Reference}, {"family", e.Family},
		{"acts on", e.ActsOn}, {"formula", e.Formula},
		{"parameters", e.ParametersFormula}, {"their number", number}, {"needs", e.Needs},
		{"head width", width},
		{"causal", yesNo(e.Causal)}, {"evaluated at more tokens", yesNo(e.Extrapolates)},
		{"starts with sigma", yesNo(e.Sigma)},
		{"inductive", yesNo(c.Inductive)}, {"data-driven", yesNo(c.DataDriven)},
		{"parameter efficient", yesNo(c.ParameterEfficient)},
		{"translation invariant", yesNo(c.TranslationInvariant)},
		{"parallelizable", yesNo(c.Parallelizable)},
		{"interpretable", yesNo(c.Interpretable)}, {"these criteria", source},
	}
}

// Compare returns the facts of entries, except their formulas, with one column per entry.
func Compare(all []Entry) table.Table {
	t := table.Table{Prose: true, Columns: []table.Column{{Heading: "", Name: "fact"}}}
	for i, e := range all {
		t.Columns = append(t.Columns, table.Column{Heading: e.Name, Name: fmt.Sprintf("scheme%d", i+1)})
		k := 0
		for _, fact := range facts(e) {
			if fact[0] == "formula" { // too wide
				continue
			}
			if i == 0 {
				t.Rows = append(t.Rows, table.Row{table.Text(fact[0])})
			}
			t.Rows[k] = append(t.Rows[k], table.Text(fact[1]))
			k++
		}
	}
	return t
}

// Formulas lists the formulas of entries.
func Formulas(all []Entry) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "\n%s\n  %s\n", e.Name, strings.ReplaceAll(e.Formula, "\n", "\n  "))
	}
	return b.String()
}

// Show returns the description of an entry as text.
func Show(e Entry, s Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%q, %s\n\n", e.Name, e.Summary, e.Title, e.Reference)
	for _, line := range strings.Split(e.Formula, "\n") {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if e.Differ != "" {
		fmt.Fprintf(&b, "\nImplementations differ: %s.\n", e.Differ)
	}
	fmt.Fprintf(&b, "\nAt N = %d tokens, D = %d, H = %d heads, L = %d layers, in the reading of "+
		"the %s:\n", s.Tokens, s.DModel, s.Heads, s.Layers, s.Fidelity)
	for _, fact := range facts(e) {
		if fact[0] != "formula" && fact[0] != "reference" {
			fmt.Fprintf(&b, "  %-25s %s\n", fact[0], strings.ReplaceAll(fact[1], "\n",
				"\n"+strings.Repeat(" ", 28)))
		}
	}
	if len(e.Options) > 0 {
		b.WriteString("\nOptions:\n")
	}
	for _, o := range e.Options {
		fmt.Fprintf(&b, "  --%s %s\n      %s", o.Name, o.Value, o.Help)
		if o.Code != o.Text {
			fmt.Fprintf(&b, "\n      default: %s (published code), %s (the paper's text)", o.Code,
				o.Text)
		} else if o.Code != o.Value {
			fmt.Fprintf(&b, "\n      default: %s", o.Code)
		}
		b.WriteString("\n")
	}
	return b.String()
}
