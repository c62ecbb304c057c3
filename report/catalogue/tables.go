package catalogue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/report/table"
)

// Stacks explains how schemes are combined.
const Stacks = "Several act at once if their names are joined by +, as in rope+learn: " +
	"each at its places, in that order."

// cells returns the values of an entry that tables show and conditions compare, by their JSON keys.
func (e Entry) cells() map[string]table.Cell {
	c, parameters := e.Criteria, table.Cell{}
	if e.Parameters != nil {
		parameters = table.Count(*e.Parameters)
	}
	cells := map[string]table.Cell{
		"name": table.Text(e.Name), "year": table.Count(e.Year), "family": table.Text(e.Family),
		"acts_on": table.Text(e.ActsOn), "needs": table.Text(e.Needs), "reference": table.Text(e.Reference),
		"parameters": parameters,
	}
	for key, is := range map[string]bool{
		"causal": e.Causal, "extrapolates": e.Extrapolates, "trained": e.Trained, "sigma": e.Sigma,
		"inductive": c.Inductive, "data_driven": c.DataDriven, "parameter_efficient": c.ParameterEfficient,
		"translation_invariant": c.TranslationInvariant, "parallelizable": c.Parallelizable,
		"interpretable": c.Interpretable, "printed": c.Printed,
	} {
		cells[key] = table.Text(yesNo(is))
	}
	return cells
}

// Keys lists the keys of the conditions of Where.
func Keys() []string { return slices.Sorted(maps.Keys(Entry{}.cells())) }

// Where keeps the entries that meet every filter; [table.ParseConditions] reads them. It returns an error for a
// comparison with a text that no entry has.
func Where(all []Entry, filters []string) ([]Entry, error) {
	kept := slices.Clone(all)
	for _, filter := range filters {
		conditions, err := table.ParseConditions(filter)
		if err != nil {
			return nil, err
		}
		for _, c := range conditions {
			if !slices.Contains(Keys(), c.Key) {
				return nil, fmt.Errorf("%q: unknown key %q%s; keys are %s", c, c.Key, wording.Hint(c.Key, Keys()),
					strings.Join(Keys(), ", "))
			}
			has := func(e Entry) bool { return e.cells()[c.Key].Compare(c.Value) == 0 }
			if (c.Op == "=" || c.Op == "!=") && c.Value.IsText() && !slices.ContainsFunc(all, has) {
				return nil, fmt.Errorf("%q: no scheme has this value; %s has %s=%s, and %s~*%s* finds parts of texts",
					c, all[0].Name, c.Key, all[0].cells()[c.Key], c.Key, c.Value)
			}
			kept = slices.DeleteFunc(kept, func(e Entry) bool { return !c.Holds(e.cells()[c.Key]) })
		}
	}
	return kept, nil
}

// List returns the catalogue as a table with one row per scheme. If brief is true, it leaves out TISA's
// criteria and all references except the first.
func List(all []Entry, s Setting, brief bool) table.Table {
	t := table.Table{
		Columns: []table.Column{
			{Heading: "scheme", Name: "name"}, {Heading: "year", Name: "year"},
			{Heading: "acts on", Name: "acts_on"},
			{Heading: "parameters", Name: "parameters"}, {Heading: "causal", Name: "causal"},
			{Heading: "more tokens", Name: "extrapolates"},
		},
		More: "--csv or --json",
		Note: fmt.Sprintf("Parameters: trained ones for N = %d tokens, D = %d, H = %d heads, L = "+
			"%d layers, in the reading of the %s; – if a scheme cannot have that size (torchpe "+
			"pe show says why). Causal: tokens see only those before them. More tokens: can be "+
			"evaluated at more tokens than it was trained on.", s.Tokens, s.DModel, s.Heads, s.Layers, s.Fidelity),
	}
	if !brief {
		for _, name := range []string{"inductive", "data_driven", "parameter_efficient", "translation_invariant",
			"parallelizable", "interpretable", "printed", "family", "needs", "sigma", "trained"} {
			t.Columns = append(t.Columns, table.Column{Heading: name, Name: name})
		}
	}
	t.Columns = append(t.Columns, table.Column{Heading: "reference", Name: "reference", DropPriority: 1})
	for _, e := range all {
		if brief {
			e.Reference, _, _ = strings.Cut(e.Reference, "; ")
		}
		var row table.Row
		for _, c := range t.Columns {
			row = append(row, e.cells()[c.Name])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// withCommas formats a number with commas, as papers print it, and nil as a dash.
func withCommas(n *int) string {
	if n == nil {
		return number.Dash
	}
	digits := fmt.Sprint(*n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// facts returns what Show prints about an entry.
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
	parameters := withCommas(e.Parameters)
	if e.Refused != "" {
		parameters = "refused: " + e.Refused
	}
	return [][2]string{
		{"year", fmt.Sprint(e.Year)}, {"reference", e.Reference}, {"family", e.Family},
		{"acts on", e.ActsOn}, {"formula", e.Formula},
		{"parameters", e.ParametersFormula}, {"their number", parameters}, {"needs", e.Needs},
		{"head width", width},
		{"causal", yesNo(e.Causal)}, {"evaluated at more tokens", yesNo(e.Extrapolates)},
		{"initialised by sigma", yesNo(e.Sigma)},
		{"inductive", yesNo(c.Inductive)}, {"data-driven", yesNo(c.DataDriven)},
		{"parameter efficient", yesNo(c.ParameterEfficient)},
		{"translation invariant", yesNo(c.TranslationInvariant)},
		{"parallelizable", yesNo(c.Parallelizable)},
		{"interpretable", yesNo(c.Interpretable)}, {"criteria from", source},
	}
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
