// Package catalogue says what the registry of package pe holds, for people and for machines: facts about each scheme at a given
// size, the values of its tables, biases and rotations in float64, pictures of them, and the page docs/encodings.md.
//
// It knows no scheme by name: all it says comes from pe.Scheme and from running the scheme's hooks. What cannot be said at a size (a
// head that is too narrow, say) is a reason in Entry.Refused, not an error. It imports torchpe, pe, the readers of arrays and of
// safetensors, and report's tables and figures.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/nearest"
	"torchpe/models/pe"
)

// Setting is what schemes are described at.
type Setting struct {
	pe.Size
	Fidelity string     // the reading whose defaults hold: code or text
	Given    pe.Options // options that are not at their default
}

// DefaultSetting is the model of the paper on Latin squares, with the paper's one head.
func DefaultSetting() Setting {
	return Setting{Size: pe.Size{Tokens: 16, DModel: 160, Heads: 1, Layers: 4}, Fidelity: "code"}
}

// Validate returns an error where no scheme could be built.
func (s Setting) Validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"tokens", s.Tokens}, {"dim", s.DModel}, {"heads", s.Heads}, {"layers", s.Layers}} {
		if n.value < 1 || n.value > 1<<20 {
			return fmt.Errorf("--%s %d: want a whole number from 1 to %d", n.flag, n.value, 1<<20)
		}
	}
	if s.DModel%s.Heads != 0 {
		return fmt.Errorf("--dim %d does not divide into --heads %d", s.DModel, s.Heads)
	}
	if s.Fidelity != "code" && s.Fidelity != "text" {
		return fmt.Errorf("--fidelity %q is unknown; it is code or text", s.Fidelity)
	}
	return nil
}

// Entry is what the catalogue says of a scheme. Its JSON keys are part of the command line's interface.
type Entry struct {
	Name              string   `json:"name"`
	Year              int      `json:"year"`
	Family            string   `json:"family"`
	Summary           string   `json:"summary"`
	Title             string   `json:"title"`
	Reference         string   `json:"reference"`
	Formula           string   `json:"formula"`
	ActsOn            string   `json:"acts_on"`            // embedding, q and k, values, logits, output; nowhere
	ParametersFormula string   `json:"parameters_formula"` // of those that are trained
	Parameters        *int     `json:"parameters"`         // at the given size; null where the scheme refuses it
	Refused           string   `json:"refused,omitempty"`  // why
	Needs             string   `json:"needs"`              // what it must know of where tokens are
	Causal            bool     `json:"causal"`             // tokens see only those before them
	Extrapolates      bool     `json:"extrapolates"`
	Trained           bool     `json:"trained"` // it has parameters that are trained
	Sigma             bool     `json:"sigma"`   // its initial values have the standard deviation sigma
	MinHeadWidth      int      `json:"min_head_width"`
	Criteria          Criteria `json:"criteria"`
	Options           []Option `json:"options"`
}

// Criteria are those of TISA's Table 1.
type Criteria struct {
	Inductive            bool `json:"inductive"`
	DataDriven           bool `json:"data_driven"`
	ParameterEfficient   bool `json:"parameter_efficient"`
	TranslationInvariant bool `json:"translation_invariant"`
	Parallelizable       bool `json:"parallelizable"`
	Interpretable        bool `json:"interpretable"`
	Printed              bool `json:"printed"` // in that table; else judged by the same words
}

// Option is a setting of a scheme.
type Option struct {
	Name  string `json:"name"`
	Code  string `json:"default_code"`
	Text  string `json:"default_text"`
	Value string `json:"value"` // here
	Help  string `json:"help"`
}

// Find is pe.Find with a hint at the scheme that may be meant.
func Find(name string) (pe.Scheme, error) {
	for _, part := range strings.Split(name, "+") {
		if !slices.Contains(pe.Names(), part) {
			hint := nearest.Hint(part, pe.Names())
			if hint == "" {
				hint = "; there are " + strings.Join(pe.Names(), ", ")
			}
			return pe.Scheme{}, fmt.Errorf("positional encoding %q is unknown%s", part, hint)
		}
	}
	return pe.Find(name)
}

// Options returns the value of each option of the scheme in a setting; one that is given and not the scheme's is an error.
func (s Setting) Options(scheme pe.Scheme) (pe.Options, error) {
	for name := range s.Given {
		if !slices.ContainsFunc(scheme.Options, func(o pe.Option) bool { return o.Name == name }) {
			var names []string
			for _, o := range scheme.Options {
				names = append(names, "--"+o.Name)
			}
			if names == nil {
				return nil, fmt.Errorf("--%s: %s has no options", name, scheme.Name)
			}
			return nil, fmt.Errorf("--%s is no option of %s, which has %s", name, scheme.Name, strings.Join(names, ", "))
		}
	}
	return scheme.Resolve(s.Fidelity, s.Given)
}

// Describe returns what the catalogue says of a scheme.
func Describe(scheme pe.Scheme, s Setting) (Entry, error) {
	options, err := s.Options(scheme)
	if err != nil {
		return Entry{}, err
	}
	c := scheme.Criteria
	e := Entry{
		Name: scheme.Name, Year: scheme.Year, Summary: scheme.Summary, Title: scheme.Title, Reference: scheme.Reference, Formula: scheme.Formula,
		ParametersFormula: scheme.Parameters, Needs: scheme.Needs.String(), Sigma: scheme.Learned, MinHeadWidth: scheme.MinHeadWidth,
		Criteria: Criteria{c.Inductive, c.DataDriven, c.ParameterEfficient, c.TranslationInvariant, c.Parallelizable, c.Interpretable, c.Printed},
		Options:  []Option{},
	}
	for _, o := range scheme.Options {
		e.Options = append(e.Options, Option{o.Name, o.Code, o.Text, options[o.Name], o.Help})
	}
	facts, err := scheme.Describe(s.Size, options)
	if err == nil {
		e.Parameters = &facts.Parameters
	} else {
		e.Refused = err.Error()
		// What does not depend on the size is said at one that suits all.
		if facts, err = scheme.Describe(roomy, options); err != nil {
			return Entry{}, err
		}
	}
	e.ActsOn, e.Causal, e.Extrapolates, e.Trained = facts.Sites.String(), facts.Attention.Causal, facts.Extrapolates, facts.Parameters > 0
	e.Family = family(facts)
	return e, nil
}

// roomy is a size at which all schemes can be built.
var roomy = pe.Size{Tokens: 16, DModel: 192, Heads: 2, Layers: 2}

// Families in the order in which they are shown.
var families = []string{
	"Nothing but attention",
	"Added to the input, computed",
	"Added to the input, trained",
	"On queries and keys, computed",
	"On queries and keys, trained",
	"On the logits, computed",
	"On the logits, trained",
	"At several places",
}

// family says where a scheme acts, and whether it is trained.
func family(f pe.Facts) string {
	k := 0
	switch sites := f.Sites &^ pe.AtOutput; {
	case f.Sites == 0:
		return families[0]
	case sites == pe.AtEmbed:
		k = 1
	case sites == pe.AtQK || sites == pe.AtQK|pe.AtValues:
		k = 3
	case sites == pe.AtLogits || sites == pe.AtLogits|pe.AtValues:
		k = 5
	default:
		return families[len(families)-1]
	}
	if f.Parameters > 0 {
		k++
	}
	return families[k]
}

// Entries describes all schemes, by name.
func Entries(s Setting) ([]Entry, error) {
	var all []Entry
	for _, scheme := range pe.Schemes() {
		own := s
		own.Given = nil
		e, err := Describe(scheme, own)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
