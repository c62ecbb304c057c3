package sweep

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// Spec is the definition of a sweep: the union of its parts.
type Spec struct {
	Name  string
	Parts []Part
}

// Part is a grid over flags of "torchpe train".
type Part struct {
	Name string
	// Axes are crossed, the first varying slowest. An axis of one value is a setting.
	Axes []Axis
	// Zip names groups of axes that advance together; each group is crossed as one axis.
	Zip [][]string
	// Seeds is the argument of --seeds: a list, ranges, or the word paper. Count is the number of
	// seeds from --seed on. At most one is set; with neither there is one seed.
	Seeds string
	Count int
	// Exclude drops the points that agree with one of these.
	Exclude []Match
}

// Axis is a flag, without dashes, and its values as the command line has them.
type Axis struct {
	Flag   string
	Values []string
}

// Match agrees with a point where each of its flags has one of the values there.
type Match []Axis

// Setting is a flag with a value. A value of several lines is a flag given several times.
type Setting struct{ Flag, Value string }

// Point is one configuration of a part, for all of its seeds.
type Point struct {
	Part     string
	Settings []Setting
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

// String returns the point for messages.
func (p Point) String() string {
	text := strings.Join(p.Args(), " ")
	if p.Part != "" {
		text = p.Part + ": " + text
	}
	return text
}

// Limits against typing errors.
const (
	maxPoints = 1_000_000
	maxValues = 10_000 // of a range
)

// Points expands all parts, in their order.
func (s Spec) Points() ([]Point, error) {
	var out []Point
	for _, part := range s.Parts {
		points, err := part.Points()
		if err != nil {
			if part.Name != "" {
				err = fmt.Errorf("part %s: %w", part.Name, err)
			}
			return nil, err
		}
		if out = append(out, points...); len(out) > maxPoints {
			return nil, fmt.Errorf("more than %d configurations", maxPoints)
		}
	}
	return out, nil
}

// Points expands the part.
func (p Part) Points() ([]Point, error) {
	dimensions, err := p.dimensions()
	if err != nil {
		return nil, err
	}
	seeds, err := p.seedSettings()
	if err != nil {
		return nil, err
	}
	for _, m := range p.Exclude {
		for _, a := range m {
			if !slices.ContainsFunc(p.Axes, func(b Axis) bool { return b.Flag == a.Flag }) {
				return nil, fmt.Errorf("exclude: the grid has no %s", a.Flag)
			}
		}
	}
	total := 1
	for _, d := range dimensions {
		if total *= len(d[0].Values); total > maxPoints {
			return nil, fmt.Errorf("more than %d configurations", maxPoints)
		}
	}
	var out []Point
	for i := range total {
		if point := p.point(dimensions, i, total); !p.excludes(point) {
			point.Settings = append(point.Settings, seeds...)
			out = append(out, point)
		}
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
		}
		i %= total
	}
	return point
}

// dimensions groups the axes that advance together, each group where its first axis stands.
func (p Part) dimensions() ([][]Axis, error) {
	group := map[string]int{}
	for i, names := range p.Zip {
		for _, name := range names {
			if _, twice := group[name]; twice {
				return nil, fmt.Errorf("zip: %s is named twice", name)
			}
			if !slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Flag == name }) {
				return nil, fmt.Errorf("zip: the grid has no %s", name)
			}
			group[name] = i
		}
	}
	var out [][]Axis
	at, seen := map[int]int{}, map[string]bool{}
	for _, a := range p.Axes {
		if len(a.Values) == 0 {
			return nil, fmt.Errorf("%s has no values", a.Flag)
		}
		if seen[a.Flag] {
			return nil, fmt.Errorf("%s is given twice", a.Flag)
		}
		seen[a.Flag] = true
		g, zipped := group[a.Flag]
		if i, started := at[g]; zipped && started {
			if first := out[i][0]; len(first.Values) != len(a.Values) {
				hint := ""
				if first.Flag == "seeds" || a.Flag == "seeds" {
					hint = "; a list of seeds is one value, the members of each configuration"
				}
				return nil, fmt.Errorf("zip: %s has %s and %s %d: they advance together%s",
					first.Flag, wording.Count(len(first.Values), "value"), a.Flag, len(a.Values), hint)
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

// distinct refuses equal values of an axis, or of axes that advance together in all of them.
func distinct(axes []Axis) error {
	seen := map[string]bool{}
	for i, shown := range axes[0].Values {
		key := ""
		for j, a := range axes {
			key += canonical(a.Values[i]) + "\n"
			if j > 0 {
				shown += " with " + a.Flag + " " + a.Values[i]
			}
		}
		if seen[key] {
			return fmt.Errorf("%s: %s is given twice", axes[0].Flag, shown)
		}
		seen[key] = true
	}
	return nil
}

// seedSettings returns the flags that give the seeds.
func (p Part) seedSettings() ([]Setting, error) {
	if p.Seeds == "" && p.Count == 0 {
		return nil, nil
	}
	if p.Seeds != "" && p.Count != 0 {
		return nil, fmt.Errorf("seeds: a list and a count: give one of them")
	}
	for _, a := range p.Axes {
		if a.Flag == "seeds" || a.Flag == "members" || a.Flag == "seed" && p.Seeds != "" {
			return nil, fmt.Errorf("%s and seeds both give seeds: give one of them", a.Flag)
		}
	}
	if p.Seeds != "" {
		seeds, err := ParseSeeds(p.Seeds)
		if err != nil {
			return nil, fmt.Errorf("seeds: %w", err)
		}
		return []Setting{{"seeds", seeds}}, nil
	}
	return []Setting{{"members", strconv.Itoa(p.Count)}}, nil
}

func (p Part) excludes(point Point) bool {
	return slices.ContainsFunc(p.Exclude, func(m Match) bool { return m.agrees(point) })
}

func (m Match) agrees(point Point) bool {
	for _, a := range m {
		i := slices.IndexFunc(point.Settings, func(s Setting) bool { return s.Flag == a.Flag })
		if i < 0 || !slices.ContainsFunc(a.Values,
			func(v string) bool { return canonical(v) == canonical(point.Settings[i].Value) }) {
			return false
		}
	}
	return len(m) > 0
}

// ParseMatch reads a match as the flag --exclude has it: pe=nope,heads=2|4.
func ParseMatch(text string) (Match, error) {
	var m Match
	for term := range strings.SplitSeq(text, ",") {
		flag, values, ok := strings.Cut(term, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form pe=nope,heads=2|4", text)
		}
		m = append(m, Axis{Flag: strings.TrimSpace(flag), Values: strings.Split(values, "|")})
	}
	return m, nil
}

// String writes what ParseMatch reads.
func (m Match) String() string {
	var terms []string
	for _, a := range m {
		terms = append(terms, a.Flag+"="+strings.Join(a.Values, "|"))
	}
	return strings.Join(terms, ",")
}

// UnusedExclusions lists the exclusions that no point of any part agrees with: typing errors, mostly.
func (s Spec) UnusedExclusions() (idle []string, err error) {
	agrees := map[string]bool{}
	for _, p := range s.Parts {
		whole := p
		whole.Exclude = nil
		var points []Point
		if len(p.Exclude) > 0 {
			if points, err = whole.Points(); err != nil {
				return nil, err
			}
		}
		for _, m := range p.Exclude {
			text := m.String()
			if _, seen := agrees[text]; !seen {
				idle = append(idle, text)
			}
			agrees[text] = agrees[text] || slices.ContainsFunc(points, m.agrees)
		}
	}
	return slices.DeleteFunc(idle, func(text string) bool { return agrees[text] }), nil
}

// canonical returns a text that is equal for equal values: 0.5 for .50.
func canonical(value string) string {
	x, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return value
	case x == 0:
		return "0" // -0, too
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Set gives flags other values in every part, in place of those they have there: flags of a command
// line over a preset. Values of seed, seeds and members replace a part's seeds.
func (s Spec) Set(axes []Axis) Spec {
	out := Spec{Name: s.Name, Parts: slices.Clone(s.Parts)}
	for i := range out.Parts {
		p := &out.Parts[i]
		p.Axes = slices.Clone(p.Axes)
		for _, a := range axes {
			if a.Flag == "seeds" || a.Flag == "members" || a.Flag == "seed" {
				p.Seeds, p.Count = "", 0
			}
			if at := slices.IndexFunc(p.Axes, func(b Axis) bool { return b.Flag == a.Flag }); at >= 0 {
				p.Axes[at] = a
			} else {
				p.Axes = append(p.Axes, a)
			}
		}
	}
	return out
}

// numberRange returns from, from+step, ..., to, exactly: 0.1 to 2 in tenths has 20 values.
func numberRange(from, to, step string) ([]string, error) {
	var numbers [3]*big.Rat
	for i, text := range []string{from, to, step} {
		x, err := number(text)
		if err != nil {
			return nil, fmt.Errorf("range: %s: %w", []string{"from", "to", "step"}[i], err)
		}
		numbers[i] = x
	}
	x, last, by := numbers[0], numbers[1], numbers[2]
	rises := by.Sign()
	if rises == 0 {
		return nil, fmt.Errorf("range: step %s does not move %s", step, from)
	}
	if d := last.Cmp(x); d != 0 && d != rises {
		return nil, fmt.Errorf("range: step %s leads away from %s", step, to)
	}
	var out []string
	for ; x.Cmp(last) != rises; x = new(big.Rat).Add(x, by) {
		if len(out) == maxValues {
			return nil, fmt.Errorf("range: more than %d values", maxValues)
		}
		f, _ := x.Float64()
		out = append(out, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return out, nil
}

// number reads a decimal number of modest size exactly.
func number(text string) (*big.Rat, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f || f > 1e18 || f < -1e18 || f != 0 && f < 1e-18 && f > -1e-18 ||
		strings.ContainsAny(text, "xXpP_") {
		return nil, fmt.Errorf("%q is no number between 1e-18 and 1e18", text)
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return x, nil
}

// ParseValues reads the values of an axis as a flag has them: values separated by commas, each a
// value or a range from:to:step.
func ParseValues(text string) ([]string, error) {
	var out []string
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if ends := strings.Split(part, ":"); len(ends) == 3 {
			values, err := numberRange(ends[0], ends[1], ends[2])
			if err != nil {
				return nil, err
			}
			out = append(out, values...)
			continue
		}
		if part == "" {
			return nil, fmt.Errorf("%q has an empty value", text)
		}
		out = append(out, part)
	}
	return out, nil
}

// ParseSeeds reads seeds: the word paper, or numbers and ranges separated by commas. A range is
// from:to, from..to or from:to:step. It returns the argument of "torchpe train --seeds".
func ParseSeeds(text string) (string, error) {
	if strings.TrimSpace(text) == "paper" {
		return "paper", nil
	}
	var out []string
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		ends := strings.Split(strings.Replace(part, "..", ":", 1), ":")
		values := []string{part}
		if len(ends) == 2 {
			ends = append(ends, "1")
		}
		if len(ends) == 3 {
			var err error
			if values, err = numberRange(ends[0], ends[1], ends[2]); err != nil {
				return "", fmt.Errorf("%s: %w", part, err)
			}
		}
		for _, v := range values {
			if _, err := strconv.ParseUint(v, 10, 64); err != nil {
				return "", fmt.Errorf("%q is no seed: give whole numbers from 0 to 2^64-1, ranges "+
					"as 1:15, or the word paper alone", v)
			}
			if slices.Contains(out, v) {
				return "", fmt.Errorf("%s is given twice", v)
			}
			out = append(out, v)
		}
	}
	return strings.Join(out, ","), nil
}
