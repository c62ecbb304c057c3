package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/train/config"
)

// Spec is the definition of a sweep: the union of its parts.
type Spec struct {
	Name  string
	Parts []Part
}

// Part is a grid over flags of "torchpe train".
type Part struct {
	Name string
	// Axes are crossed; the first varies slowest. An axis with one value is a setting. Without an
	// axis of seeds or members there is one seed.
	Axes []Axis
	// Zip names groups of axes that advance together; each group is crossed as one axis.
	Zip [][]string
}

// Axis is a flag, without dashes, and its values as on the command line.
type Axis struct {
	Flag   string
	Values []string
}

// find returns the index of a flag's axis, or -1.
func find(axes []Axis, flag string) int {
	return slices.IndexFunc(axes, func(a Axis) bool { return a.Flag == flag })
}

// Setting is a flag with a value. Several lines in a value stand for a flag given several times.
type Setting struct{ Flag, Value string }

// Point is one configuration of a part, for all of its seeds.
type Point struct {
	Part     string
	Settings []Setting
	varies   []string // flags in which it differs from other points of the part
}

// Args returns the point as arguments of "torchpe train".
func (p Point) Args() []string {
	var args []string
	for _, s := range p.Settings {
		for value := range strings.SplitSeq(s.Value, "\n") {
			args = append(args, "--"+s.Flag+"="+value)
		}
	}
	return args
}

// String describes the point for messages: the settings in which it differs from others of its part.
func (p Point) String() string {
	own := p
	if p.varies != nil {
		own.Settings = slices.DeleteFunc(slices.Clone(p.Settings),
			func(s Setting) bool { return !slices.Contains(p.varies, s.Flag) })
	}
	text := strings.Join(own.Args(), " ")
	if p.Part != "" {
		text = p.Part + ": " + text
	}
	return text
}

// maxPoints guards against typing errors.
const maxPoints = 1_000_000

// Points expands all parts, in their order.
func (s Spec) Points() (all []Point, err error) {
	for _, part := range s.Parts {
		points, err := part.expand()
		if err == nil && len(all)+len(points) > maxPoints {
			err = fmt.Errorf("more than %d configurations", maxPoints)
		}
		if err != nil {
			if part.Name != "" {
				err = fmt.Errorf("part %s: %w", part.Name, err)
			}
			return nil, err
		}
		all = append(all, points...)
	}
	return all, nil
}

func (p Part) expand() ([]Point, error) {
	dimensions, err := p.dimensions()
	if err != nil {
		return nil, err
	}
	total := 1
	for _, d := range dimensions {
		if total *= len(d[0].Values); total > maxPoints {
			return nil, fmt.Errorf("more than %d configurations", maxPoints)
		}
	}
	out := make([]Point, total)
	for i := range out {
		out[i] = p.point(dimensions, i, total)
	}
	return out, nil
}

// point returns the i-th of total points; the last dimension varies fastest.
func (p Part) point(dimensions [][]Axis, i, total int) Point {
	point := Point{Part: p.Name}
	for _, d := range dimensions {
		total /= len(d[0].Values)
		for _, a := range d {
			point.Settings = append(point.Settings, Setting{a.Flag, a.Values[i/total]})
			if len(a.Values) > 1 {
				point.varies = append(point.varies, a.Flag)
			}
		}
		i %= total
	}
	return point
}

// axisError is an error in the axis of a flag.
type axisError struct {
	flag string
	error
}

// dimensions groups the axes that advance together, each group in the place of its first axis.
func (p Part) dimensions() ([][]Axis, error) {
	group := map[string]int{}
	for i, names := range p.Zip {
		for _, name := range names {
			if _, twice := group[name]; twice {
				return nil, axisError{name, fmt.Errorf("zip: %s is named twice", name)}
			}
			if find(p.Axes, name) < 0 {
				return nil, axisError{name, fmt.Errorf("zip: the grid has no %s", name)}
			}
			group[name] = i
		}
	}
	var out [][]Axis
	at, seen := map[int]int{}, map[string]bool{}
	for _, a := range p.Axes {
		if len(a.Values) == 0 {
			return nil, axisError{a.Flag, fmt.Errorf("%s has no values", a.Flag)}
		}
		if seen[a.Flag] {
			return nil, axisError{a.Flag, fmt.Errorf("%s is given twice", a.Flag)}
		}
		seen[a.Flag] = true
		g, zipped := group[a.Flag]
		if i, started := at[g]; zipped && started {
			if first := out[i][0]; len(first.Values) != len(a.Values) {
				hint := ""
				if first.Flag == "seeds" || a.Flag == "seeds" {
					hint = "; a list of seeds is one value: the members of each configuration"
				}
				return nil, axisError{a.Flag, fmt.Errorf("zip: %s has %s and %s %d: they advance together%s",
					first.Flag, wording.Count(len(first.Values), "value"), a.Flag, len(a.Values), hint)}
			}
			out[i] = append(out[i], a)
			continue
		}
		if zipped {
			at[g] = len(out)
		}
		out = append(out, []Axis{a})
	}
	for _, axes := range out {
		if err := distinct(axes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// distinct refuses equal values of an axis, or equal combinations of axes that advance together.
func distinct(axes []Axis) error {
	seen := map[string]bool{}
	for i, shown := range axes[0].Values {
		key := ""
		for j, a := range axes {
			key += number.Canonical(a.Values[i]) + "\n"
			if j > 0 {
				shown += " with " + a.Flag + " " + a.Values[i]
			}
		}
		if seen[key] {
			return axisError{axes[0].Flag, fmt.Errorf("%s: %s is given twice", axes[0].Flag, shown)}
		}
		seen[key] = true
	}
	return nil
}

// seedFlags are the flags of axes that give the seeds of a part; seed may occur in the grid of a file.
var seedFlags = []string{"seeds", "members", "seed"}

// Set returns the sweep with other values of flags in every part, as when a command line overrides
// a preset. Values of seed, seeds and members replace a part's seeds.
func (s Spec) Set(axes []Axis) Spec {
	out := Spec{Name: s.Name, Parts: slices.Clone(s.Parts)}
	for i := range out.Parts {
		p := &out.Parts[i]
		p.Axes = slices.Clone(p.Axes)
		for _, a := range axes {
			if slices.Contains(seedFlags, a.Flag) {
				p.Axes = slices.DeleteFunc(p.Axes, func(b Axis) bool {
					return slices.Contains(seedFlags, b.Flag) && find(axes, b.Flag) < 0
				})
			}
			if at := find(p.Axes, a.Flag); at >= 0 {
				p.Axes[at] = a
			} else {
				p.Axes = append(p.Axes, a)
			}
		}
	}
	return out
}

// ParseValues reads the values of an axis from a flag: a list, separated by commas, of values and
// ranges from:to:step.
func ParseValues(text string) ([]string, error) {
	var out []string
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("%q has an empty value", text)
		}
		values, err := config.Expand(part)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}

// ParseSeeds reads the seeds of "torchpe train --seeds", which must differ, and returns them with
// ranges expanded.
func ParseSeeds(text string) (string, error) {
	seeds, err := config.ParseSeeds(text)
	if text = strings.TrimSpace(text); err != nil || text == "paper" {
		return text, err
	}
	var out []string
	for i, seed := range seeds {
		if slices.Contains(seeds[:i], seed) {
			return "", fmt.Errorf("%d is given twice", seed)
		}
		out = append(out, strconv.FormatUint(seed, 10))
	}
	return strings.Join(out, ","), nil
}

// Resolver converts arguments of "torchpe train" to the text of config.json, and returns notes for the user.
type Resolver func(args []string) (text []byte, notes []string, err error)

// Resolve returns the configuration of each point, nil for those in the Invalid error, and all
// distinct notes. The error is nil or of type *Invalid.
func Resolve(points []Point, resolve Resolver) (configs [][]byte, notes []string, err error) {
	invalid := Invalid{of: len(points)}
	configs = make([][]byte, len(points))
	for i, p := range points {
		config, said, err := resolve(p.Args())
		if err != nil {
			invalid.Add(p, err)
			continue
		}
		configs[i] = config
		for _, note := range said {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return configs, notes, invalid.Err()
}

// Invalid holds the points that cannot be trained, grouped by reason.
type Invalid struct {
	of      int // the number of all points, if known
	reasons []string
	points  map[string][]Point
}

// Add adds a point with its reason.
func (v *Invalid) Add(p Point, reason error) {
	text := reason.Error()
	if v.points == nil {
		v.points = map[string][]Point{}
	}
	if v.points[text] == nil {
		v.reasons = append(v.reasons, text)
	}
	v.points[text] = append(v.points[text], p)
}

// Err returns the points as an error, or nil if there are none.
func (v *Invalid) Err() error {
	if v.reasons == nil {
		return nil
	}
	return v
}

// Lines returns one line per reason, with its first point and the number of other points. A reason
// that holds for all points stands without a point.
func (v *Invalid) Lines() (lines []string) {
	for _, reason := range v.reasons {
		n := len(v.points[reason])
		line := fmt.Sprintf("%s: %s", v.points[reason][0], reason)
		switch {
		case n == v.of:
			line = reason
		case n > 1:
			line += fmt.Sprintf(" (and %s)", wording.Count(n-1, "other configuration"))
		}
		lines = append(lines, line)
	}
	return lines
}

// Error returns the first ten lines.
func (v *Invalid) Error() string {
	const most = 10
	lines := v.Lines()
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(lines, "\n")
}
