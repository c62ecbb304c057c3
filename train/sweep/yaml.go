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
	"torchpe/train/config"
)

// Flag is a flag that a sweep file may set.
type Flag struct {
	Sweep config.Sweep
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

// parseYAML reads a sweep. It is strict: unknown and repeated keys, a second document, aliases,
// null, and numbers with leading zeros are errors that name line and column.
func parseYAML(text []byte, flags map[string]Flag) (s Spec, err error) {
	document, err := onlyDocument(text)
	if err != nil {
		return Spec{}, err
	}
	defer catch(&err)
	return yamlReader{flags: flags}.spec(document), nil
}

// onlyDocument returns the document of a text. No document is an error, and so is a second one.
func onlyDocument(text []byte) (*yaml.Node, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes: no sweep file", maxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("empty: it needs at least grid or parts")
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

// yamlReader walks a document's nodes. Its methods panic with a mistake, for catch.
type yamlReader struct{ flags map[string]Flag }

// mistake is an error in a document, with its line and column.
type mistake struct{ error }

func at(n *yaml.Node, format string, args ...any) error {
	return mistake{fmt.Errorf("line %d, column %d: %w", n.Line, n.Column, fmt.Errorf(format, args...))}
}

// refuse panics with a mistake at a node.
func refuse(n *yaml.Node, format string, args ...any) { panic(at(n, format, args...)) }

// catch recovers a mistake as the error of the function that defers it.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case mistake:
		*err = r.error
	default:
		panic(r)
	}
}

// pairs returns the keys and values of a mapping, whose keys must be among the known ones.
func (r yamlReader) pairs(n *yaml.Node, what string, known []string) (keys []string, values map[string]*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		refuse(n, "%s: want keys and values, such as %s: ...", what, known[0])
	}
	values = map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			refuse(key, "%s: a key is a name", what)
		case !slices.Contains(known, key.Value):
			hint := wording.Hint(key.Value, known)
			if len(known) < 12 {
				hint = fmt.Sprintf("; there are %s%s", strings.Join(known, ", "), hint)
			}
			refuse(key, "%s: %q is unknown%s", what, key.Value, hint)
		case values[key.Value] != nil:
			refuse(key, "%s: %q is given twice", what, key.Value)
		}
		keys, values[key.Value] = append(keys, key.Value), n.Content[i+1]
	}
	return keys, values
}

// shared lists the keys that a sweep and its parts both have.
var shared = []string{"set", "grid", "zip", "seeds", "exclude"}

func (r yamlReader) spec(n *yaml.Node) (s Spec) {
	_, values := r.pairs(n, "sweep", slices.Concat([]string{"name"}, shared, []string{"parts"}))
	if v := values["name"]; v != nil {
		s.Name = r.scalar(v, "name")
	}
	parts := values["parts"]
	if parts == nil {
		p := r.part(values, Part{})
		if len(p.Axes) == 0 {
			refuse(n, "nothing to train: give grid, set or parts")
		}
		s.Parts = []Part{p}
		return s
	}
	for _, key := range []string{"grid", "zip"} {
		if v := values[key]; v != nil {
			refuse(v, "%s stands beside parts: move it into a part", key)
		}
	}
	above := r.part(values, Part{})
	if parts.Kind != yaml.SequenceNode || len(parts.Content) == 0 {
		refuse(parts, "parts: want a list of grids")
	}
	for _, item := range parts.Content {
		_, own := r.pairs(item, "part", slices.Concat([]string{"name"}, shared))
		p := r.part(own, above)
		if v := own["name"]; v != nil {
			p.Name = r.scalar(v, "name")
		}
		s.Parts = append(s.Parts, p)
	}
	return s
}

// part reads set, grid, zip, seeds and exclude over those of above.
func (r yamlReader) part(values map[string]*yaml.Node, above Part) Part {
	p := Part{Axes: slices.Clone(above.Axes), Seeds: above.Seeds, Count: above.Count,
		Exclude: slices.Clone(above.Exclude)}
	over := func(axes []Axis) { p = Spec{Parts: []Part{p}}.Set(axes).Parts[0] }
	if v := values["set"]; v != nil {
		over(r.axes(v, "set", func(n *yaml.Node, flag string) []string { return []string{r.setting(n, flag)} }))
	}
	if v := values["grid"]; v != nil {
		over(r.axes(v, "grid", r.values))
	}
	if v := values["zip"]; v != nil {
		if v.Kind != yaml.SequenceNode {
			refuse(v, "zip: want a list of groups, each flags with lists of one length")
		}
		for _, group := range v.Content {
			axes := r.axes(group, "zip", r.zipped)
			var names []string
			for _, a := range axes {
				if len(a.Values) != len(axes[0].Values) {
					refuse(group, "zip: %s has %d values and %s %d: they advance together",
						axes[0].Flag, len(axes[0].Values), a.Flag, len(a.Values))
				}
				names = append(names, a.Flag)
			}
			over(axes)
			p.Zip = append(p.Zip, names)
		}
	}
	if v := values["seeds"]; v != nil {
		r.seeds(v, &p)
	}
	if v := values["exclude"]; v != nil {
		if v.Kind != yaml.SequenceNode {
			refuse(v, "exclude: want a list of flags with values, such as - {pe: nope, heads: 2}")
		}
		for _, item := range v.Content {
			p.Exclude = append(p.Exclude, Match(r.axes(item, "exclude", r.values)))
		}
	}
	return p
}

// axes reads a mapping of flags.
func (r yamlReader) axes(n *yaml.Node, what string, read func(*yaml.Node, string) []string) (out []Axis) {
	keys, values := r.pairs(n, what, slices.Sorted(maps.Keys(r.flags)))
	if len(keys) == 0 {
		refuse(n, "%s: no flags", what)
	}
	for _, key := range keys {
		out = append(out, Axis{key, read(values[key], key)})
	}
	return out
}

// setting reads one value of a flag, which may be a list where the flag takes one.
func (r yamlReader) setting(n *yaml.Node, flag string) string {
	if n.Kind != yaml.SequenceNode {
		return r.value(n, flag)
	}
	separator := map[config.Sweep]string{config.List: ",", config.Repeated: "\n"}[r.flags[flag].Sweep]
	if separator == "" {
		refuse(n, "%s: takes one value; a list of values belongs under grid", flag)
	}
	var values []string
	for _, item := range n.Content {
		values = append(values, r.value(item, flag))
	}
	return strings.Join(values, separator)
}

// value reads one value of a flag that takes it.
func (r yamlReader) value(n *yaml.Node, flag string) string {
	v := r.scalar(n, flag)
	r.check(n, flag, v)
	return v
}

func (r yamlReader) check(n *yaml.Node, flag, value string) {
	if check := r.flags[flag].Check; check != nil {
		if err := check(value); err != nil {
			refuse(n, "%s: %w", flag, err)
		}
	}
}

// values reads the values of an axis: a list, a range, or one value.
func (r yamlReader) values(n *yaml.Node, flag string) []string { return r.axis(n, flag, true) }

// zipped reads the values of an axis that advances with others: it may have one twice.
func (r yamlReader) zipped(n *yaml.Node, flag string) []string { return r.axis(n, flag, false) }

func (r yamlReader) axis(n *yaml.Node, flag string, distinct bool) (out []string) {
	switch n.Kind {
	case yaml.MappingNode:
		return r.numberRange(n, flag)
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			refuse(n, "%s: an empty list", flag)
		}
		for _, item := range n.Content {
			v := r.setting(item, flag)
			if distinct && slices.ContainsFunc(out, func(o string) bool { return canonical(o) == canonical(v) }) {
				refuse(item, "%s: %s is given twice", flag, v)
			}
			out = append(out, v)
		}
		return out
	}
	return []string{r.value(n, flag)}
}

// numberRange reads {from: 0.1, to: 2, step: 0.1}.
func (r yamlReader) numberRange(n *yaml.Node, flag string) []string {
	_, values := r.pairs(n, flag, []string{"from", "to", "step"})
	text := map[string]string{}
	for key, v := range values {
		text[key] = r.scalar(v, key)
	}
	if len(values) < 3 {
		refuse(n, "%s: a range has from, to and step", flag)
	}
	out, err := numberRange(text["from"], text["to"], text["step"])
	if err != nil {
		refuse(n, "%s: %w", flag, err)
	}
	for _, v := range out {
		r.check(n, flag, v)
	}
	return out
}

// seeds reads a count, a list, a range, or the word paper.
func (r yamlReader) seeds(n *yaml.Node, p *Part) {
	p.Seeds, p.Count = "", 0
	var list []string
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		list = r.numberRange(n, "seeds")
	case yaml.SequenceNode:
		for _, item := range n.Content {
			list = append(list, r.scalar(item, "seeds"))
		}
		if list == nil {
			refuse(n, "seeds: an empty list")
		}
	default:
		text := r.scalar(n, "seeds")
		if text != "paper" && !strings.ContainsAny(text, ":.") {
			if p.Count, err = strconv.Atoi(text); err != nil || p.Count < 1 {
				refuse(n, "seeds: %q is neither a count, a list, a range as 1:15, nor the word paper", text)
			}
			return
		}
		list = []string{text}
	}
	if p.Seeds, err = ParseSeeds(strings.Join(list, ",")); err != nil {
		refuse(n, "seeds: %w", err)
	}
}

// ambiguous matches numbers that YAML and Go read as different ones: 010 is 8 or 10.
var ambiguous = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// scalar returns the text of a value.
func (r yamlReader) scalar(n *yaml.Node, what string) string {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		refuse(n, "%s: anchors and aliases are not read: write the value out", what)
	case n.Kind != yaml.ScalarNode:
		refuse(n, "%s: want one value", what)
	case n.Tag == "!!null":
		refuse(n, "%s: has no value", what)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		refuse(n, "%s: the tag %s is not read", what, n.Tag)
	case n.Tag == "!!int" && ambiguous.MatchString(n.Value):
		refuse(n, "%s: %s may be read as octal: leave out the zero in front", what, n.Value)
	case strings.ContainsAny(n.Value, "\n\x00"):
		refuse(n, "%s: a value of several lines", what)
	}
	return n.Value
}
