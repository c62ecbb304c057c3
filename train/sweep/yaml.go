package sweep

import (
	"bytes"
	_ "embed" // the presets
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"torchpe/data/array"
	"torchpe/internal/wording"
	"torchpe/train/config"
)

// Flag is a flag that a sweep file may set.
type Flag struct {
	Sweep config.Sweep
	Check func(value string) error // checks a value by itself; nil accepts any
}

// maxFile is the largest size of a sweep file in bytes.
const maxFile = 1 << 20

// ReadFile reads a sweep from a YAML file; flags are those that it may set. "-" is standard input.
func ReadFile(path string, flags map[string]Flag) (s Spec, err error) {
	text, err := array.ReadText(path, maxFile)
	if err != nil {
		return s, err
	}
	if s, err = parseYAML([]byte(text), flags); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// parseYAML reads a sweep. It is strict: unknown and repeated keys, a second document, null, values
// of the wrong kind, and numbers with leading zeros are errors, with line and column.
func parseYAML(text []byte, flags map[string]Flag) (s Spec, err error) {
	document, err := onlyDocument(text)
	if err != nil {
		return Spec{}, err
	}
	defer catch(&err)
	r := &yamlReader{flags: flags}
	return r.spec(r.pairs(document, "sweep", sweepKeys)), nil
}

// onlyDocument returns the only document of a text. It refuses an empty text and a second document.
func onlyDocument(text []byte) (*yaml.Node, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes: not a sweep file", maxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("empty: give at least grid or parts")
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, at(&second, "a second document; a file has one")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	resolveAliases(&document)
	return document.Content[0], nil
}

// resolveAliases replaces aliases by the nodes that they name.
func resolveAliases(n *yaml.Node) {
	for i, child := range n.Content {
		if child.Kind == yaml.AliasNode {
			n.Content[i] = child.Alias
		} else {
			resolveAliases(child)
		}
	}
}

// The keys of a part, and of a sweep.
var (
	partKeys  = []string{"name", "set", "grid", "zip", "seeds", "members"}
	sweepKeys = append(slices.Clone(partKeys), "parts")
)

// yamlReader walks a document's nodes. Its methods panic with a mistake, which catch recovers.
type yamlReader struct {
	flags   map[string]Flag // flags that may be set; nil for any
	scalars int             // number of scalars read; aliases could repeat them endlessly
}

// mistake is an error in a document, with its line and column.
type mistake struct{ error }

func at(n *yaml.Node, format string, args ...any) error {
	return mistake{fmt.Errorf("line %d, column %d: %w", n.Line, n.Column, fmt.Errorf(format, args...))}
}

func refuse(n *yaml.Node, format string, args ...any) { panic(at(n, format, args...)) }

// catch recovers a mistake and stores it as the error of the function that defers it.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case mistake:
		*err = r.error
	default:
		panic(r)
	}
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	value *yaml.Node
}

// pairs returns the pairs of a mapping. Its keys must be among the known ones, unless known is nil.
func (r *yamlReader) pairs(n *yaml.Node, what string, known []string) (pairs []pair) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		refuse(n, "%s: want keys and values, such as %s: ...", what, known[0])
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			refuse(key, "%s: a key must be a name", what)
		case known != nil && !slices.Contains(known, key.Value):
			hint := wording.Hint(key.Value, known)
			if len(known) < 12 {
				hint = fmt.Sprintf("; there are %s%s", strings.Join(known, ", "), hint)
			}
			refuse(key, "%s: %q is unknown%s", what, key.Value, hint)
		case valueOf(pairs, key.Value) != nil:
			refuse(key, "%s: %q is given twice", what, key.Value)
		}
		pairs = append(pairs, pair{key.Value, n.Content[i+1]})
	}
	return pairs
}

// valueOf returns the value of a key, or nil.
func valueOf(pairs []pair, key string) *yaml.Node {
	for _, p := range pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// list returns the items of a non-empty list.
func (r *yamlReader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		refuse(n, "%s: want a non-empty list", what)
	}
	return n.Content
}

// spec reads a sweep. Its parts inherit the top-level values.
func (r *yamlReader) spec(values []pair) (s Spec) {
	top := r.part(values, Part{})
	s.Name, top.Name = top.Name, ""
	if parts := valueOf(values, "parts"); parts != nil {
		for _, item := range r.list(parts, "parts") {
			s.Parts = append(s.Parts, r.part(r.pairs(item, "part", partKeys), top))
		}
		return s
	}
	if len(top.Axes) == 0 {
		refuse(values[0].value, "nothing to train: give grid, set or parts")
	}
	s.Parts = []Part{top}
	return s
}

// part reads a part, starting from inherited values.
func (r *yamlReader) part(values []pair, p Part) Part {
	given := map[string]pair{} // flags of this mapping, with place and value
	inherited := p.Zip
	p.Zip = nil
	over := func(axes []Axis) { p = Spec{Parts: []Part{p}}.Set(axes).Parts[0] }
	if v := valueOf(values, "name"); v != nil {
		p.Name = r.scalar(v, "name")
	}
	if v := valueOf(values, "set"); v != nil {
		one := func(n *yaml.Node, flag string) []string { return []string{r.setting(n, flag)} }
		over(r.axes(v, "set", one, given))
	}
	if v := valueOf(values, "grid"); v != nil {
		over(r.axes(v, "grid", r.axis, given))
	}
	if v := valueOf(values, "zip"); v != nil {
		for i, group := range r.list(v, "zip") {
			axes := r.axes(group, fmt.Sprintf("entry %d of zip", i+1), r.axis, given)
			over(axes)
			var names []string
			for _, a := range axes {
				names = append(names, a.Flag)
			}
			p.Zip = append(p.Zip, names)
		}
	}
	if axes := r.seedAxes(values); len(axes) > 0 {
		key := axes[0].Flag
		v := valueOf(values, key)
		if seed := given["seed"]; seed.value != nil {
			refuse(v, "seed in %s and %s both give seeds: give one of them "+
				"(seeds: [9] with members: 2 trains 9 and 10)", seed.key, key)
		}
		given["seed"] = pair{key, v}
		over(axes)
	}
	p.Zip = append(keptZip(inherited, given), p.Zip...)
	if _, err := p.dimensions(); err != nil {
		place := values[0].value
		if of, ok := errors.AsType[axisError](err); ok && given[of.flag].value != nil {
			place = given[of.flag].value
		}
		refuse(place, "%w", err)
	}
	return p
}

// keptZip returns the inherited entries of zip of which a part gives no flag. It refuses a part
// that gives only some flags of an entry, because they would have nothing to advance with.
func keptZip(inherited [][]string, given map[string]pair) (kept [][]string) {
	for _, entry := range inherited {
		var own, others []string
		for _, flag := range entry {
			if given[flag].value != nil {
				own = append(own, flag)
			} else {
				others = append(others, flag)
			}
		}
		if len(own) == 0 {
			kept = append(kept, entry)
		} else if len(others) > 0 {
			refuse(given[own[0]].value, "%s: %s advances with %s in the zip at the top: "+
				"give all of them in this part, or none", given[own[0]].key, own[0], strings.Join(others, ", "))
		}
	}
	return kept
}

// seedAxes reads seeds and members, if given.
func (r *yamlReader) seedAxes(values []pair) (axes []Axis) {
	if v := valueOf(values, "seeds"); v != nil {
		axes = append(axes, Axis{"seeds", []string{r.seeds(v)}})
	}
	if v := valueOf(values, "members"); v != nil {
		text := r.scalar(v, "members")
		if n, err := strconv.Atoi(text); err != nil || n < 1 {
			refuse(v, "members: want a number of seeds, 1 or more")
		}
		axes = append(axes, Axis{"members", []string{text}})
	}
	return axes
}

// axes reads a mapping of flags at a place and adds them to those given. Each flag may be given in
// one place only.
func (r *yamlReader) axes(n *yaml.Node, place string, read func(*yaml.Node, string) []string,
	given map[string]pair) (out []Axis) {
	for _, p := range r.pairs(n, place, slices.Sorted(maps.Keys(r.flags))) {
		if other := given[p.key]; other.value != nil {
			refuse(p.value, "%s and %s both give %s: give it in one of them, with all its values",
				other.key, place, p.key)
		}
		given[p.key] = pair{place, p.value}
		out = append(out, Axis{p.key, read(p.value, p.key)})
	}
	return out
}

// axis reads the values of an axis: a list, a range, or one value.
func (r *yamlReader) axis(n *yaml.Node, flag string) (out []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for _, v := range r.numberRange(n, flag) {
			out = append(out, r.checked(n, flag, v))
		}
		return out
	case yaml.SequenceNode:
		for _, item := range r.list(n, flag) {
			out = append(out, r.setting(item, flag))
		}
		return out
	}
	return []string{r.setting(n, flag)}
}

// setting reads one value of a flag, which may be a list if the flag takes one.
func (r *yamlReader) setting(n *yaml.Node, flag string) string {
	if n.Kind != yaml.SequenceNode {
		return r.checked(n, flag, r.scalar(n, flag))
	}
	separator := map[config.Sweep]string{config.List: ",", config.Repeated: "\n"}[r.flags[flag].Sweep]
	if separator == "" {
		refuse(n, "%s: takes one value; a list of values belongs under grid", flag)
	}
	var values []string
	for _, item := range n.Content {
		values = append(values, r.checked(item, flag, r.scalar(item, flag)))
	}
	return strings.Join(values, separator)
}

func (r *yamlReader) checked(n *yaml.Node, flag, value string) string {
	if check := r.flags[flag].Check; check != nil {
		if err := check(value); err != nil {
			refuse(n, "%s: %w", flag, err)
		}
	}
	return value
}

// numberRange reads {from: 0.1, to: 2, step: 0.1}.
func (r *yamlReader) numberRange(n *yaml.Node, flag string) []string {
	var ends []string
	keys := []string{"from", "to", "step"}
	pairs := r.pairs(n, flag, keys)
	for _, key := range keys {
		v := valueOf(pairs, key)
		if v == nil {
			refuse(n, "%s: a range has from, to and step", flag)
		}
		ends = append(ends, r.scalar(v, key))
	}
	out, err := config.Range(ends[0], ends[1], ends[2])
	if err != nil {
		refuse(n, "%s: %w", flag, err)
	}
	return out
}

// seeds reads a list, a range, or the word paper. In 0.1.0 a single number was a count.
func (r *yamlReader) seeds(n *yaml.Node) string {
	var list []string
	switch n.Kind {
	case yaml.MappingNode:
		list = r.numberRange(n, "seeds")
	case yaml.SequenceNode:
		for _, item := range r.list(n, "seeds") {
			list = append(list, r.scalar(item, "seeds"))
		}
	default:
		text := r.scalar(n, "seeds")
		if _, err := strconv.Atoi(text); err == nil {
			refuse(n, "seeds: %s alone was a count: write members: %s for that many seeds, or "+
				"seeds: [%s] for this one", text, text, text)
		}
		list = []string{text}
	}
	seeds, err := ParseSeeds(strings.Join(list, ","))
	if err != nil {
		refuse(n, "seeds: %w", err)
	}
	return seeds
}

// ambiguous matches numbers that YAML and Go read differently: 010 is 8 or 10.
var ambiguous = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

func (r *yamlReader) scalar(n *yaml.Node, what string) string {
	r.scalars++
	switch {
	case r.scalars > maxPoints:
		refuse(n, "%s: more than %d values", what, maxPoints)
	case n.Kind != yaml.ScalarNode:
		refuse(n, "%s: want one value", what)
	case n.Tag == "!!null":
		refuse(n, "%s: has no value", what)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		refuse(n, "%s: the tag %s is not read", what, n.Tag)
	case n.Tag == "!!int" && ambiguous.MatchString(n.Value):
		refuse(n, "%s: %s may be read as octal: remove the leading zero", what, n.Value)
	case strings.ContainsAny(n.Value, "\n\x00"):
		refuse(n, "%s: a value of several lines", what)
	}
	return n.Value
}

// Preset is a sweep in presets.yaml.
type Preset struct {
	Name  string
	About string
	Runs  int // number of distinct runs that Spec expands to
	Spec  Spec
}

//go:embed presets.yaml
var presetsFile []byte

// presets reads presets.yaml.
var presets = sync.OnceValue(func() (all []Preset) {
	document, err := onlyDocument(presetsFile)
	if err != nil {
		panic(err) // a constant of this program
	}
	r := &yamlReader{}
	for _, item := range document.Content {
		values := r.pairs(item, "preset", append([]string{"about", "runs", "of"}, sweepKeys...))
		var p Preset
		if v := valueOf(values, "about"); v != nil {
			p.About = r.scalar(v, "about")
			if p.Runs, err = strconv.Atoi(r.scalar(valueOf(values, "runs"), "runs")); err != nil {
				panic(err)
			}
		}
		if of := valueOf(values, "of"); of == nil {
			p.Spec = r.spec(values)
		} else {
			p.Spec.Name = r.scalar(valueOf(values, "name"), "name")
			for _, n := range of.Content {
				at := slices.IndexFunc(all, func(p Preset) bool { return p.Name == n.Value })
				p.Spec.Parts = append(p.Spec.Parts, all[at].Spec.Parts...)
			}
		}
		p.Name = p.Spec.Name
		all = append(all, p)
	}
	return all
})

// Presets lists the presets, first those of the paper, then the small ones.
func Presets() []Preset {
	return slices.DeleteFunc(slices.Clone(presets()), func(p Preset) bool { return p.About == "" })
}

// FindPreset returns the preset called name.
func FindPreset(name string) (Preset, error) {
	if name == "corners" { // the name of a preset of an earlier version
		name = "ablation"
	}
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("%q is neither a file nor a preset; the presets are %s%s", name,
		strings.Join(names, ", "), wording.Hint(name, names))
}
