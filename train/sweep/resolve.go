package sweep

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// Resolver turns arguments of "torchpe train" into a configuration as in config.json, and notes for
// the user.
type Resolver func(args []string) (text []byte, notes []string, err error)

// Resolve returns the configuration of each point, nil for those that are Invalid, and all notes, each
// once. The error is nil or of type *Invalid.
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

// Invalid holds the points of which no model can be trained, by what is wrong with them.
type Invalid struct {
	of      int // the number of all points, where it is known
	reasons []string
	points  map[string][]Point
}

// Add adds a point with what is wrong with it.
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

// Err returns the points as an error, nil where there are none.
func (v *Invalid) Err() error {
	if v.reasons == nil {
		return nil
	}
	return v
}

// Lines returns a line for each reason, with its first point and the number of the others. What is wrong
// with all points stands alone.
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

// Error has the first ten lines.
func (v *Invalid) Error() string {
	const most = 10
	lines := v.Lines()
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(lines, "\n")
}
