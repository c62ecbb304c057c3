package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// Kind says how a flag takes several values at once.
type Kind int

// The kinds of flags.
const (
	Scalar   Kind = iota // it does not
	List                 // separated by commas
	Repeated             // given several times
)

// Flag is a flag that a sweep file may set.
type Flag struct {
	Kind  Kind
	Check func(value string) error // what is wrong with a value by itself; nil takes any
}

// maxFile is the size of the largest sweep file in bytes.
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

// Default is the value of a flag in a file of defaults. Texts of a flag that is given several times
// are joined by line ends.
type Default struct {
	Flag, Value string
	Line        int
}

// ReadDefaults reads a YAML file of flags with a value each, as set has them in a sweep file.
func ReadDefaults(path string, flags map[string]Flag) (all []Default, err error) {
	text, err := array.ReadText(path, maxFile)
	if err != nil {
		return nil, err
	}
	if all, err = parseDefaults([]byte(text), flags); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func parseDefaults(text []byte, flags map[string]Flag) (all []Default, err error) {
	document, err := onlyDocument(text)
	if err != nil || document == nil {
		return nil, err
	}
	r := yamlReader{flags: flags, defaults: true}
	keys, values, err := r.pairs(document, "defaults", slices.Sorted(maps.Keys(flags)))
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		v, err := r.setting(values[key], key)
		if err != nil {
			return nil, err
		}
		all = append(all, Default{key, v[0], values[key].Line})
	}
	return all, nil
}

// parseYAML reads a sweep. It is strict: unknown and repeated keys, a second document, aliases,
// null, and numbers with leading zeros are errors that name line and column.
func parseYAML(text []byte, flags map[string]Flag) (Spec, error) {
	document, err := onlyDocument(text)
	if err == nil && document == nil {
		err = errors.New("empty: it needs at least grid or parts")
	}
	if err != nil {
		return Spec{}, err
	}
	return yamlReader{flags: flags}.spec(document)
}

// onlyDocument returns the document of a text, nil where that is empty; a second one is an error.
func onlyDocument(text []byte) (*yaml.Node, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes: no file of settings", maxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, at(&second, "a second document; a file has one")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return document.Content[0], nil
}

// yamlReader walks a document's nodes; every error names its line and column.
type yamlReader struct {
	flags    map[string]Flag
	defaults bool // a file of defaults, which has no grid
}

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d: %w", n.Line, n.Column, fmt.Errorf(format, args...))
}

// pairs returns the keys and values of a mapping, whose keys must be among the known ones.
func (r yamlReader) pairs(n *yaml.Node, what string,
	known []string) (keys []string, values map[string]*yaml.Node, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, nil, at(n, "%s: want keys and values, such as %s: ...", what, known[0])
	}
	values = map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, nil, at(key, "%s: a key is a name", what)
		}
		if !slices.Contains(known, key.Value) {
			hint := wording.Hint(key.Value, known)
			if len(known) < 12 {
				hint = fmt.Sprintf("; there are %s%s", strings.Join(known, ", "), hint)
			}
			return nil, nil, at(key, "%s: %q is unknown%s", what, key.Value, hint)
		}
		if values[key.Value] != nil {
			return nil, nil, at(key, "%s: %q is given twice", what, key.Value)
		}
		keys, values[key.Value] = append(keys, key.Value), n.Content[i+1]
	}
	return keys, values, nil
}

// shared lists the keys that a sweep and its parts both have.
var shared = []string{"set", "grid", "zip", "seeds", "exclude"}

func (r yamlReader) spec(n *yaml.Node) (Spec, error) {
	_, values, err := r.pairs(n, "sweep", slices.Concat([]string{"name"}, shared, []string{"parts"}))
	if err != nil {
		return Spec{}, err
	}
	var s Spec
	if v := values["name"]; v != nil {
		if s.Name, err = r.scalar(v, "name"); err != nil {
			return s, err
		}
	}
	parts := values["parts"]
	if parts == nil {
		p, err := r.part(values, Part{})
		if err == nil && len(p.Axes) == 0 {
			err = at(n, "nothing to train: give grid, set or parts")
		}
		s.Parts = []Part{p}
		return s, err
	}
	for _, key := range []string{"grid", "zip"} {
		if v := values[key]; v != nil {
			return s, at(v, "%s stands beside parts: move it into a part", key)
		}
	}
	above, err := r.part(values, Part{})
	if err != nil {
		return s, err
	}
	if parts.Kind != yaml.SequenceNode || len(parts.Content) == 0 {
		return s, at(parts, "parts: want a list of grids")
	}
	for _, item := range parts.Content {
		_, own, err := r.pairs(item, "part", slices.Concat([]string{"name"}, shared))
		if err != nil {
			return s, err
		}
		p, err := r.part(own, above)
		if err != nil {
			return s, err
		}
		if v := own["name"]; v != nil {
			if p.Name, err = r.scalar(v, "name"); err != nil {
				return s, err
			}
		}
		s.Parts = append(s.Parts, p)
	}
	return s, nil
}

// part reads set, grid, zip, seeds and exclude over those of above.
func (r yamlReader) part(values map[string]*yaml.Node, above Part) (Part, error) {
	p := Part{Axes: slices.Clone(above.Axes), Seeds: above.Seeds, Count: above.Count,
		Exclude: slices.Clone(above.Exclude)}
	over := func(axes []Axis) { p = Spec{Parts: []Part{p}}.Set(axes).Parts[0] }
	if v := values["set"]; v != nil {
		axes, err := r.axes(v, "set", r.setting)
		if err != nil {
			return p, err
		}
		over(axes)
	}
	if v := values["grid"]; v != nil {
		axes, err := r.axes(v, "grid", r.values)
		if err != nil {
			return p, err
		}
		over(axes)
	}
	if v := values["zip"]; v != nil {
		if v.Kind != yaml.SequenceNode {
			return p, at(v, "zip: want a list of groups, each flags with lists of one length")
		}
		for _, group := range v.Content {
			axes, err := r.axes(group, "zip", r.zipped)
			if err != nil {
				return p, err
			}
			var names []string
			for _, a := range axes {
				if len(a.Values) != len(axes[0].Values) {
					return p, at(group, "zip: %s has %d values and %s %d: they advance together",
						axes[0].Flag, len(axes[0].Values), a.Flag, len(a.Values))
				}
				names = append(names, a.Flag)
			}
			over(axes)
			p.Zip = append(p.Zip, names)
		}
	}
	if v := values["seeds"]; v != nil {
		if err := r.seeds(v, &p); err != nil {
			return p, err
		}
	}
	return p, r.exclude(values["exclude"], &p)
}

// axes reads a mapping of flags.
func (r yamlReader) axes(n *yaml.Node, what string, read func(*yaml.Node, string) ([]string,
	error)) ([]Axis, error) {
	keys, values, err := r.pairs(n, what, slices.Sorted(maps.Keys(r.flags)))
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, at(n, "%s: no flags", what)
	}
	var out []Axis
	for _, key := range keys {
		v, err := read(values[key], key)
		if err != nil {
			return nil, err
		}
		out = append(out, Axis{key, v})
	}
	return out, nil
}

// setting reads one value of a flag, which may be a list where the flag takes one.
func (r yamlReader) setting(n *yaml.Node, flag string) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return r.value(n, flag)
	}
	separator := map[Kind]string{List: ",", Repeated: "\n"}[r.flags[flag].Kind]
	switch {
	case separator == "" && r.defaults:
		return nil, at(n, "%s: takes one value", flag)
	case separator == "":
		return nil, at(n, "%s: takes one value; a list of values belongs under grid", flag)
	}
	var values []string
	for _, item := range n.Content {
		v, err := r.value(item, flag)
		if err != nil {
			return nil, err
		}
		values = append(values, v...)
	}
	return []string{strings.Join(values, separator)}, nil
}

// value reads one value of a flag that takes it.
func (r yamlReader) value(n *yaml.Node, flag string) ([]string, error) {
	v, err := r.scalar(n, flag)
	if err != nil {
		return nil, err
	}
	return []string{v}, r.check(n, flag, v)
}

// check says what is wrong with the value of a flag.
func (r yamlReader) check(n *yaml.Node, flag, value string) error {
	if check := r.flags[flag].Check; check != nil {
		if err := check(value); err != nil {
			return at(n, "%s: %w", flag, err)
		}
	}
	return nil
}

// values reads the values of an axis: a list, a range, or one value.
func (r yamlReader) values(n *yaml.Node, flag string) ([]string, error) { return r.axis(n, flag, true) }

// zipped reads the values of an axis that advances with others: it may have one twice.
func (r yamlReader) zipped(n *yaml.Node, flag string) ([]string, error) {
	return r.axis(n, flag, false)
}

func (r yamlReader) axis(n *yaml.Node, flag string, distinct bool) ([]string, error) {
	switch n.Kind {
	case yaml.MappingNode:
		return r.numberRange(n, flag)
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			return nil, at(n, "%s: an empty list", flag)
		}
		var out []string
		for _, item := range n.Content {
			v, err := r.setting(item, flag)
			if err != nil {
				return nil, err
			}
			if distinct && slices.ContainsFunc(out, func(o string) bool { return canonical(o) == canonical(v[0]) }) {
				return nil, at(item, "%s: %s is given twice", flag, v[0])
			}
			out = append(out, v[0])
		}
		return out, nil
	}
	return r.value(n, flag)
}

// numberRange reads {from: 0.1, to: 2, step: 0.1}.
func (r yamlReader) numberRange(n *yaml.Node, flag string) ([]string, error) {
	_, values, err := r.pairs(n, flag, []string{"from", "to", "step"})
	if err != nil {
		return nil, err
	}
	text := map[string]string{}
	for key, v := range values {
		if text[key], err = r.scalar(v, key); err != nil {
			return nil, err
		}
	}
	if len(values) < 3 {
		return nil, at(n, "%s: a range has from, to and step", flag)
	}
	out, err := numberRange(text["from"], text["to"], text["step"])
	if err != nil {
		return nil, at(n, "%s: %w", flag, err)
	}
	for _, v := range out {
		if err := r.check(n, flag, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// seeds reads a count, a list, a range, or the word paper.
func (r yamlReader) seeds(n *yaml.Node, p *Part) (err error) {
	p.Seeds, p.Count = "", 0
	var list []string
	switch n.Kind {
	case yaml.MappingNode:
		list, err = r.numberRange(n, "seeds")
	case yaml.SequenceNode:
		list, err = r.scalars(n, "seeds")
		if err == nil && len(list) == 0 {
			err = at(n, "seeds: an empty list")
		}
	default:
		var text string
		if text, err = r.scalar(n, "seeds"); err == nil && text != "paper" &&
			!strings.ContainsAny(text, ":.") {
			if p.Count, err = strconv.Atoi(text); err != nil || p.Count < 1 {
				return at(n, "seeds: %q is neither a count, a list, a range as 1:15, nor "+
					"the word paper", text)
			}
			return nil
		}
		list = []string{text}
	}
	if err == nil {
		p.Seeds, err = ParseSeeds(strings.Join(list, ","))
		if err != nil {
			err = at(n, "seeds: %w", err)
		}
	}
	return err
}

func (r yamlReader) exclude(n *yaml.Node, p *Part) error {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return at(n, "exclude: want a list of flags with values, such as - {pe: nope, heads: 2}")
	}
	for _, item := range n.Content {
		axes, err := r.axes(item, "exclude", r.values)
		if err != nil {
			return err
		}
		p.Exclude = append(p.Exclude, Match(axes))
	}
	return nil
}

func (r yamlReader) scalars(n *yaml.Node, what string) ([]string, error) {
	var out []string
	for _, item := range n.Content {
		v, err := r.scalar(item, what)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// ambiguous matches numbers that YAML and Go read as different ones: 010 is 8 or 10.
var ambiguous = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// scalar returns the text of a value.
func (r yamlReader) scalar(n *yaml.Node, what string) (string, error) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return "", at(n, "%s: anchors and aliases are not read: write the value out", what)
	case n.Kind != yaml.ScalarNode:
		return "", at(n, "%s: want one value", what)
	case n.Tag == "!!null":
		return "", at(n, "%s: has no value", what)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return "", at(n, "%s: the tag %s is not read", what, n.Tag)
	case n.Tag == "!!int" && ambiguous.MatchString(n.Value):
		return "", at(n, "%s: %s may be read as octal: leave out the zero in front", what, n.Value)
	case strings.ContainsAny(n.Value, "\n\x00"):
		return "", at(n, "%s: a value of several lines", what)
	}
	return n.Value, nil
}
