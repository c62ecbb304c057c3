package series

import (
	"fmt"
	"slices"
	"strings"
)

// axesOf returns what the axes of a matrix stand for.
func (c *content) axesOf(m matrix, o Options) ([]Axis, error) {
	where := c.file
	if m.name != "" {
		where += ": " + m.name
	}
	if m.axes != nil {
		if o.Axes != nil && !slices.Equal(o.Axes, m.axes) {
			return nil, fmt.Errorf("%s (%s): --axes says %s, but its names say %s", where, c.format, join(o.Axes), join(m.axes))
		}
		return m.axes, nil
	}
	if o.Axes != nil {
		if len(o.Axes) != len(m.shape) {
			return nil, fmt.Errorf("%s (%s): --axes names %d axes (%s), but its shape is %v", where, c.format, len(o.Axes), join(o.Axes), m.shape)
		}
		return o.Axes, nil
	}
	if len(m.shape) != 2 {
		return nil, fmt.Errorf("%s (%s): its shape is %v: say what its axes are, such as --axes subjects,tokens,frames", where, c.format, m.shape)
	}
	if o.Names != nil {
		o.Tokens = []int{len(o.Names)}
	}
	if len(o.Tokens) == 0 {
		return nil, fmt.Errorf("%s (%s): its shape is %v: say which axis holds the tokens, with --axes frames,tokens or --axes tokens,frames, or --tokens N",
			where, c.format, m.shape)
	}
	rows, columns := slices.Contains(o.Tokens, m.shape[0]), slices.Contains(o.Tokens, m.shape[1])
	switch {
	case rows && columns:
		return nil, fmt.Errorf("%s (%s): both axes of %v could be the %s tokens: say which with --axes frames,tokens or --axes tokens,frames",
			where, c.format, m.shape, numbers(o.Tokens))
	case rows:
		return []Axis{TokenAxis, FrameAxis}, nil
	case columns:
		return []Axis{FrameAxis, TokenAxis}, nil
	}
	return nil, fmt.Errorf("%s (%s): its shape is %v, with no axis of %s tokens", where, c.format, m.shape, numbers(o.Tokens))
}

func join(axes []Axis) string {
	var all []string
	for _, a := range axes {
		all = append(all, string(a))
	}
	return strings.Join(all, ",")
}

func numbers(ns []int) string {
	var all []string
	for _, n := range ns {
		all = append(all, fmt.Sprint(n))
	}
	return strings.Join(all, " or ")
}

// layout says how to walk an array: for each slice, frame and token the steps between neighbours.
type layout struct {
	slices, frames, tokens             int
	sliceStep, frameStep, tokenStep    int
	slicesAreSubjects, slicesAreSeries bool
}

func layoutOf(shape []int, axes []Axis) layout {
	l := layout{slices: 1}
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		switch axes[i] {
		case FrameAxis:
			l.frames, l.frameStep = shape[i], step
		case TokenAxis:
			l.tokens, l.tokenStep = shape[i], step
		default:
			l.slices, l.sliceStep = shape[i], step
			l.slicesAreSubjects, l.slicesAreSeries = axes[i] == SubjectAxis, true
		}
		step *= shape[i]
	}
	return l
}
