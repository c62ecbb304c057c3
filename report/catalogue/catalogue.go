// Package catalogue describes the schemes in the registry of package pe. It returns facts about each at a
// given size, draws them, computes the values of tables, biases and rotations in float64, and finds the
// convention that another implementation's arrays follow. Its tests write docs/encodings.md.
//
// Everything comes from pe.Scheme and from running the scheme's hooks. A scheme that cannot be built at a
// size, for example because its heads are too narrow, has the reason in Entry.Refused.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// Setting holds the size and options at which schemes are described.
type Setting struct {
	pe.Size
	Fidelity string     // which defaults options have: those of the code or of the text
	Given    pe.Options // options with other values
}

// DefaultSetting returns the model of the paper on Latin squares, with the paper's one head.
func DefaultSetting() Setting {
	return Setting{Size: pe.Size{Tokens: 16, DModel: 160, Heads: 1, Layers: 4}, Fidelity: "code"}
}

// headWidth returns the dimensions of a head.
func (s Setting) headWidth() int { return s.DModel / s.Heads }

// Validate returns an error for a setting at which no scheme can be built.
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
		return fmt.Errorf("--fidelity %q is unknown: want code or text", s.Fidelity)
	}
	return nil
}

// describe returns the facts of a scheme with options.
func (s Setting) describe(scheme pe.Scheme, options pe.Options) (pe.Facts, error) {
	if err := s.graphFits(scheme); err != nil {
		return pe.Facts{}, err
	}
	return scheme.Describe(s.Size, options)
}

// graphFits returns an error if the scheme builds a graph of the tokens that is too large for the memory.
func (s Setting) graphFits(scheme pe.Scheme) error {
	for _, name := range scheme.PartNames() {
		if part, err := pe.Find(name); err == nil && part.Needs == pe.NeedsGraph {
			return pairsFit(s.Tokens, 1)
		}
	}
	return nil
}

// pairsFit returns an error if matrices over all pairs of tokens are too large for the memory. About eight
// copies exist while they are computed and written; the budget is half of the memory.
func pairsFit(tokens, matrices int) error {
	what := fmt.Sprintf("all pairs of %s", wording.Count(tokens, "token"))
	need := 4 * 8 * float64(matrices) * float64(tokens) * float64(tokens)
	return array.NewBudget().Fits(int64(min(need, 1<<62)), what)
}

// Entry describes a scheme. Its JSON keys are part of the command line's interface.
type Entry struct {
	Name              string      `json:"name"`
	Year              int         `json:"year"`
	Family            string      `json:"family"`
	Summary           string      `json:"summary"`
	Title             string      `json:"title"`
	Reference         string      `json:"reference"`
	Formula           string      `json:"formula"`
	Differ            string      `json:"differ"`             // how implementations differ; "" if they agree
	ActsOn            string      `json:"acts_on"`            // as in pe.Site.String
	ParametersFormula string      `json:"parameters_formula"` // of the trained ones
	Parameters        *int        `json:"parameters"`         // at this size; null if Refused
	Refused           string      `json:"refused,omitempty"`  // why the scheme cannot be built
	Needs             string      `json:"needs"`              // the kind of positions
	Causal            bool        `json:"causal"`             // a token sees only those before it
	Extrapolates      bool        `json:"extrapolates"`
	Trained           bool        `json:"trained"` // it has trained parameters
	Sigma             bool        `json:"sigma"`   // sigma is the SD of its initial values
	MinHeadWidth      int         `json:"min_head_width"`
	Criteria          pe.Criteria `json:"criteria"`
	Options           []Option    `json:"options"`
}

// Option is a setting of a scheme.
type Option struct {
	Name  string `json:"name"`
	Code  string `json:"default_code"`
	Text  string `json:"default_text"`
	Value string `json:"value"` // in the setting
	Help  string `json:"help"`
}

// hasOption reports whether a scheme has an option.
func hasOption(scheme pe.Scheme, name string) bool {
	return slices.ContainsFunc(scheme.Options, func(o pe.Option) bool { return o.Name == name })
}

// options returns the values of all options of a scheme. It returns an error for a given option that the scheme
// lacks.
func (s Setting) options(scheme pe.Scheme) (pe.Options, error) {
	for name := range s.Given {
		if !hasOption(scheme, name) {
			var names []string
			for _, o := range scheme.Options {
				names = append(names, "--"+o.Name)
			}
			if names == nil {
				return nil, fmt.Errorf("--%s: %s has no options", name, scheme.Name)
			}
			return nil, fmt.Errorf("--%s is not an option of %s, which has %s",
				name, scheme.Name, strings.Join(names, ", "))
		}
	}
	return scheme.Resolve(s.Fidelity, s.Given)
}

// Describe returns the entry of a scheme.
func Describe(scheme pe.Scheme, s Setting) (Entry, error) {
	options, err := s.options(scheme)
	if err != nil {
		return Entry{}, err
	}
	about := scheme.About()
	e := Entry{
		Name: scheme.Name, Year: about.Year, Summary: about.Summary, Title: about.Title,
		Reference: about.Reference, Formula: about.Formula, Differ: about.Differ,
		ParametersFormula: about.Parameters, Needs: scheme.Needs.String(), Sigma: scheme.Learned,
		MinHeadWidth: scheme.MinHeadWidth, Criteria: about.Criteria, Options: []Option{},
	}
	for _, o := range scheme.Options {
		e.Options = append(e.Options, Option{o.Name, o.Code, o.Text, options[o.Name], o.Help})
	}
	facts, err := s.describe(scheme, options)
	if err == nil {
		e.Parameters = &facts.Parameters
	} else {
		e.Refused = err.Error()
		// The other facts do not depend on the size.
		if facts, err = scheme.Describe(sizeForAll, options); err != nil {
			return Entry{}, err
		}
	}
	e.ActsOn, e.Family = facts.Sites.String(), family(facts)
	e.Causal, e.Extrapolates = facts.Attention.Causal, facts.Extrapolates
	e.Trained = facts.Parameters > 0
	return e, nil
}

// sizeForAll is a size at which all schemes can be built.
var sizeForAll = pe.Size{Tokens: 16, DModel: 192, Heads: 2, Layers: 2}

// families lists the families in display order.
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

// family returns the family of a scheme, determined by where it acts and whether it is trained.
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

// FamilyOf returns the family of an encoding with default options.
func FamilyOf(name string) (string, error) {
	scheme, err := pe.Find(name)
	if err != nil {
		return "", err
	}
	e, err := Describe(scheme, Setting{Fidelity: "code", Size: sizeForAll})
	return e.Family, err
}

// DescribeAll describes schemes, each with the given options that it has, and returns the setting of each. It
// returns an error for an option that no scheme has.
func DescribeAll(schemes []pe.Scheme, s Setting) (all []Entry, each []Setting, err error) {
	var names []string
	used := map[string]bool{}
	for _, scheme := range schemes {
		names = append(names, scheme.Name)
		own := s
		own.Given = pe.Options{}
		for _, o := range scheme.Options {
			if v, ok := s.Given[o.Name]; ok {
				own.Given[o.Name], used[o.Name] = v, true
			}
		}
		e, err := Describe(scheme, own)
		if err != nil {
			return nil, nil, err
		}
		all, each = append(all, e), append(each, own)
	}
	for name := range s.Given {
		if !used[name] {
			return nil, nil, fmt.Errorf("--%s is not an option of %s", name, strings.Join(names, ", "))
		}
	}
	return all, each, nil
}
