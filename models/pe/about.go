package pe

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed schemes.yaml
var schemesYAML []byte

// About holds the descriptive facts of a scheme from schemes.yaml, which no computation needs.
type About struct {
	Summary    string   // one line
	Also       []string // names in papers and other programs
	Title      string   // of the first paper in Reference
	Year       int
	Reference  string
	Formula    string // plain text
	Differ     string // how implementations differ, and the options for it; "" if they do not
	Parameters string // number of trained parameters, a formula in N, D, H, L, Dh and the options; or "none"
	Criteria   Criteria
}

// Criteria are those of Table 1 of Wennberg and Henter 2021 (TISA, arXiv 2106.01950).
type Criteria struct {
	Inductive            bool `json:"inductive"`
	DataDriven           bool `json:"data_driven"`
	ParameterEfficient   bool `json:"parameter_efficient"`
	TranslationInvariant bool `json:"translation_invariant"`
	Parallelizable       bool `json:"parallelizable"`
	Interpretable        bool `json:"interpretable"`
	Printed              bool `json:"printed"` // in that table; else judged by the same criteria
}

// UnmarshalYAML reads the list of criteria that a scheme meets.
func (c *Criteria) UnmarshalYAML(node *yaml.Node) error {
	var met []string
	if err := node.Decode(&met); err != nil {
		return err
	}
	known := map[string]*bool{
		"inductive": &c.Inductive, "data driven": &c.DataDriven,
		"parameter efficient": &c.ParameterEfficient, "translation invariant": &c.TranslationInvariant,
		"parallelizable": &c.Parallelizable, "interpretable": &c.Interpretable, "printed": &c.Printed,
	}
	for _, name := range met {
		if known[name] == nil {
			return fmt.Errorf("line %d: %q is not a criterion", node.Line, name)
		}
		*known[name] = true
	}
	return nil
}

// abouts reads schemes.yaml on first use: most commands do not need it.
var abouts = sync.OnceValue(func() map[string]About {
	var all map[string]About
	if err := yaml.Unmarshal(schemesYAML, &all); err != nil {
		panic("pe: schemes.yaml: " + err.Error())
	}
	return all
})

// About returns the facts of the scheme, or for a stack those of its parts, joined.
func (s Scheme) About() About {
	if s.parts == nil {
		return abouts()[s.Name]
	}
	all := s.parts[0].About()
	if all.Differ != "" {
		all.Differ = s.parts[0].Name + ": " + all.Differ
	}
	for i, p := range s.parts[1:] {
		about := p.About()
		all.addParameters(about.Parameters)
		isSame := func(before part) bool { return before.Name == p.Name }
		if !slices.ContainsFunc(s.parts[:i+1], isSame) {
			all.join(p.Name, about)
		}
	}
	if len(s.layers) > 1 && all.Parameters != "none" {
		all.Parameters += ", each with the number L of its layers"
	}
	all.Criteria.Printed = false
	return all
}

// join adds the facts of another part of a stack.
func (a *About) join(name string, part About) {
	a.Summary += "; " + part.Summary
	a.Title += "; " + part.Title
	a.Reference += "; " + part.Reference
	a.Formula += "\n" + part.Formula
	if part.Differ != "" {
		if a.Differ != "" {
			a.Differ += "; "
		}
		a.Differ += name + ": " + part.Differ
	}
	a.Year = max(a.Year, part.Year)
	c, d := &a.Criteria, part.Criteria
	c.Inductive = c.Inductive && d.Inductive
	c.DataDriven = c.DataDriven || d.DataDriven
	c.ParameterEfficient = c.ParameterEfficient && d.ParameterEfficient
	c.TranslationInvariant = c.TranslationInvariant && d.TranslationInvariant
	c.Parallelizable = c.Parallelizable && d.Parallelizable
	c.Interpretable = c.Interpretable && d.Interpretable
}

// addParameters adds the number of trained parameters of another part of a stack.
func (a *About) addParameters(of string) {
	switch {
	case a.Parameters == "none":
		a.Parameters = of
	case of != "none":
		a.Parameters += " + " + of
	}
}
