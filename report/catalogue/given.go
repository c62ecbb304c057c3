package catalogue

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// Given holds arrays of another implementation of a scheme.
type Given struct {
	X, Q, K, V array.Array   // the inputs; not given if Data is nil
	Params     []array.Array // trained parameters with our names
	Outputs    []Output

	assumed bool // the arrays leave the head width open
}

// Output is an array to compare with the scheme's.
type Output struct {
	Name string // as in its file
	Kind string // one of Kinds, or cos or sin
	array.Array
}

// output returns the output of a kind, or nil.
func (g Given) output(kind string) *Output {
	if i := slices.IndexFunc(g.Outputs, func(o Output) bool { return o.Kind == kind }); i >= 0 {
		return &g.Outputs[i]
	}
	return nil
}

// Kinds of outputs beside those of Values: the cosines and sines of a rotation.
const (
	kindCos = "cos"
	kindSin = "sin"
)

// outputKinds maps the names of outputs in a file to their kinds.
var outputKinds = map[string]string{
	"table": kindTable, "bias": kindBias, "x_out": kindInput, "q_out": kindQuery, "k_out": kindKey,
	"v_out": kindValue, "logits": kindLogits, "weights": kindWeights, "cos": kindCos, "sin": kindSin,
}

// GivenNames lists the names that arrays may have, except those of parameters. Inputs come first.
func GivenNames() []string {
	names := []string{"x", "q", "k", "v"}
	for name := range outputKinds {
		names = append(names, name)
	}
	slices.Sort(names[4:])
	return names
}

// ReadGiven reads named arrays from a .npz, .safetensors or other file, or from all files of a
// directory, where NAME.npy holds the array NAME. If what is given, only outputs of that name are kept. A
// single array without a name is named what, or else table or bias, whichever the scheme has.
func ReadGiven(path, what string, header text.Choice, scheme pe.Scheme) (g Given, err error) {
	kind, ok := outputKinds[what]
	if what != "" && !ok {
		return g, fmt.Errorf("%q is not an array that is compared%s; want one of %s", what,
			wording.Hint(what, GivenNames()[4:]), strings.Join(GivenNames()[4:], ", "))
	}
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.*")); err != nil || files == nil {
			return g, fmt.Errorf("%s holds no files of arrays", path)
		}
	}
	for _, file := range files {
		all, err := arrayfile.ReadAll(file, header)
		if err != nil {
			return g, err
		}
		for _, a := range all {
			if a.Name == "" && len(files) == 1 {
				if a.Name = what; what == "" {
					a.Name = usualKind(scheme)
				}
			}
			if a.Name == "" {
				a.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			}
			if err := g.add(a); err != nil {
				return g, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if what != "" {
		g.Outputs = slices.DeleteFunc(g.Outputs, func(o Output) bool { return o.Kind != kind })
	}
	if g.Outputs == nil {
		return g, fmt.Errorf("%s holds nothing to compare: name arrays %s; `torchpe pe check --helper` "+
			"prints Python code that writes them", path, strings.Join(GivenNames()[4:], ", "))
	}
	slices.SortFunc(g.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	return g, nil
}

// usualKind returns the kind of an unnamed array: table if the scheme has one, else bias.
func usualKind(scheme pe.Scheme) string {
	options, err := scheme.Resolve("code", nil)
	if err == nil {
		if facts, err := scheme.Describe(sizeForAll, options); err == nil && facts.Sites&pe.AtEmbed == 0 {
			return kindBias
		}
	}
	return kindTable
}

// add stores an array by its name.
func (g *Given) add(a array.Array) error {
	if to, ok := map[string]*array.Array{"x": &g.X, "q": &g.Q, "k": &g.K, "v": &g.V}[a.Name]; ok {
		*to = a
		return nil
	}
	if kind, ok := outputKinds[a.Name]; ok {
		g.Outputs = append(g.Outputs, Output{Name: a.Name, Kind: kind, Array: a})
		return nil
	}
	if strings.HasPrefix(a.Name, "pe.") {
		g.Params = append(g.Params, a)
		return nil
	}
	return fmt.Errorf("an array is called %q%s; names are %s, and pe.NAME for a parameter", a.Name,
		wording.Hint(a.Name, GivenNames()), strings.Join(GivenNames(), ", "))
}

// axes maps kinds of arrays to their axes, one letter each.
var axes = map[string]string{
	"x": "ND", "q": "HNC", "k": "HNC", "v": "HNC", kindTable: "ND", kindBias: "HNN",
	kindLogits: "HNN", kindWeights: "HNN", kindCos: "NP", kindSin: "NP",
}

// sizes holds the lengths of axes by their letters.
type sizes map[byte]int

// fit reshapes an array to the axes of its kind, without leading axes of length 1. It stores their lengths
// and returns an error if another array had others.
func (found sizes) fit(what, kind string, a *array.Array) error {
	want := axes[kind]
	if a.Data == nil {
		return nil
	}
	if slices.Contains(a.Shape, 0) {
		return fmt.Errorf("%s has shape %v: it holds no numbers", what, a.Shape)
	}
	for len(a.Shape) > len(want) && a.Shape[0] == 1 {
		a.Shape = a.Shape[1:]
	}
	if want == "HNC" && len(a.Shape) == 2 {
		want = "ND"
	}
	if want == "HNN" && len(a.Shape) == 2 {
		a.Shape = append([]int{1}, a.Shape...)
	}
	if len(a.Shape) != len(want) || want == "HNN" && a.Shape[1] != a.Shape[2] {
		return fmt.Errorf("%s has shape %v: want [%s]", what, a.Shape, strings.Join(strings.Split(want, ""), ","))
	}
	for i, size := range a.Shape {
		if was, ok := found[want[i]]; ok && was != size && want[i] != 'P' {
			return fmt.Errorf("%s has %c = %d, and another array %d", what, want[i], size, was)
		}
		if want[i] != 'P' {
			found[want[i]] = size
		}
	}
	return nil
}

// Fit reshapes the arrays to the axes of their kinds, without leading axes of length 1, and returns the
// setting with their sizes. Sizes in fixed (N, D or H) must not change.
func (g *Given) Fit(s Setting, fixed map[byte]bool) (Setting, error) {
	was, found := s, sizes{}
	for i, a := range []*array.Array{&g.X, &g.Q, &g.K, &g.V} {
		if err := found.fit(GivenNames()[i], GivenNames()[i], a); err != nil {
			return s, err
		}
		if at := slices.IndexFunc(a.Data, math.IsNaN); at >= 0 {
			return s, fmt.Errorf("%s%v is NaN: give an input whose numbers are finite", GivenNames()[i],
				array.Index(at, a.Shape, false))
		}
	}
	for i := range g.Outputs {
		o := &g.Outputs[i]
		if err := found.fit(o.Name, o.Kind, &o.Array); err != nil {
			return s, err
		}
		if axes[o.Kind] == "NP" {
			if found['P'] = o.Shape[1]; !hasRepeatedColumns(o.Array) {
				found['P'] *= 2
			}
		}
	}
	s, g.assumed = withSizes(s, found)
	for _, size := range []struct {
		letter   byte
		is, want int
	}{{'N', s.Tokens, was.Tokens}, {'H', s.Heads, was.Heads}, {'D', s.DModel, was.DModel}} {
		if !fixed[size.letter] || size.is == size.want {
			continue
		}
		if size.letter != 'D' || !g.assumed {
			return s, fmt.Errorf("the arrays have %c = %d, and the flags say %d", size.letter, size.is, size.want)
		}
		s.DModel, g.assumed = size.want, false
	}
	return s, s.Validate()
}

// hasRepeatedColumns reports whether each column of an array [N,C] has a copy next to it, or at a distance of
// half of C, of C/2 or of C/3, as in the cosines of one, two or three coordinates.
func hasRepeatedColumns(a array.Array) bool {
	c := a.Shape[1]
	if c%2 != 0 {
		return false
	}
	for _, block := range []int{2, c, c / 2, c / 3} {
		same := block > 0 && block%2 == 0 && c%block == 0
		for i := 0; same && i < len(a.Data); i++ {
			column := i % c
			within := column % block
			same = a.Data[i] == a.Data[i-within+(within+block/2)%block]
		}
		if same {
			return true
		}
	}
	return false
}

// withSizes returns the setting with the sizes found: N tokens, model width D, and H heads of width C, or P
// according to cosines. It reports whether D had to be assumed.
func withSizes(s Setting, found sizes) (of Setting, assumed bool) {
	for letter, to := range map[byte]*int{'N': &s.Tokens, 'H': &s.Heads, 'D': &s.DModel} {
		if n, ok := found[letter]; ok {
			*to = n
		}
	}
	width := max(found['C'], found['P'])
	switch {
	case found['D'] > 0:
		return s, false
	case width > 0:
		s.DModel = s.Heads * width
		return s, false
	case s.DModel%s.Heads != 0:
		s.DModel = 16 * s.Heads
	}
	return s, true
}
