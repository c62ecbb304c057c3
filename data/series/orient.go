package series

import (
	"fmt"
	"slices"
	"strings"
)

// axesOf returns the meanings of a matrix's axes. The file, a known number of tokens and the user
// must not contradict each other.
func (c *content) axesOf(m matrix, o Options) ([]Axis, error) {
	where := fmt.Sprintf("%s (%s)", plan{c: c, m: m}, c.format)
	known, from := o.Tokens, o.TokensFrom
	switch {
	case from != "":
	case m.names != nil && m.axes == nil:
		known, from = []int{len(m.names)}, m.namesFrom
	case o.Names != nil:
		known, from = []int{len(o.Names)}, o.NamesFrom
	}
	axes := m.axes
	switch {
	case axes != nil && o.Axes != nil && !slices.Equal(o.Axes, axes):
		return nil, fmt.Errorf("%s: --axes says %s, but its names say %s", where,
			join(o.Axes), join(axes))
	case axes == nil && o.Axes != nil:
		if axes = o.Axes; len(axes) == len(m.entry.Shape) {
			axes = squeezed(axes, m.entry.Shape)
		}
		if len(axes) != len(m.shape) {
			return nil, fmt.Errorf("%s: --axes names %d axes (%s), but its shape is %v", where,
				len(o.Axes), join(o.Axes), m.shape)
		}
	case axes == nil:
		var err error
		if axes, err = axesByLength(m.shape, known); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	if err := m.checkTokens(axes, known, from); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return axes, nil
}

// squeezed returns the remaining axes of an array after those of length 1 are removed (see
// array.Array.Squeeze); all of them if frames or tokens would be removed, too.
func squeezed(axes []Axis, shape []int) []Axis {
	left := slices.Clone(axes)
	for i := len(shape) - 1; i >= 0 && len(left) > 2; i-- {
		if shape[i] == 1 && axes[i] != FrameAxis && axes[i] != TokenAxis {
			left = slices.Delete(left, i, i+1)
		}
	}
	return left
}

// axesByLength returns the axes of a matrix, given possible numbers of tokens.
func axesByLength(shape, known []int) ([]Axis, error) {
	if len(shape) != 2 {
		return nil, fmt.Errorf(
			"its shape is %v: name its axes, such as --axes subjects,tokens,frames", shape)
	}
	rows, columns := slices.Contains(known, shape[0]), slices.Contains(known, shape[1])
	switch {
	case rows && columns:
		return nil, fmt.Errorf("both axes of %v could be the %s tokens: choose with --axes "+
			"frames,tokens or --axes tokens,frames", shape, numbers(known))
	case rows:
		return []Axis{TokenAxis, FrameAxis}, nil
	case columns:
		return []Axis{FrameAxis, TokenAxis}, nil
	}
	lacks, hint := "", ""
	if len(known) > 0 && !slices.Equal(known, CorticalParcels) {
		lacks = fmt.Sprintf(", with no axis of %s tokens", numbers(known))
	}
	if slices.Contains(known, shape[0]-1) || slices.Contains(known, shape[1]-1) {
		hint = fmt.Sprintf("; one axis has one more than %s: is its first line or column an index or "+
			"the time? If so, leave it out", numbers(known))
	}
	return nil, fmt.Errorf("its shape is %v%s: choose the axis of the tokens with --axes "+
		"frames,tokens or --axes tokens,frames, or --tokens N%s", shape, lacks, hint)
}

// checkTokens returns an error if the number of tokens along the axes is not a known one. If from
// is empty, other numbers are allowed, and only signs of a wrong axis or of a column that counts
// frames are errors.
func (m matrix) checkTokens(axes []Axis, known []int, from string) error {
	n := m.shape[slices.Index(axes, TokenAxis)]
	if len(known) == 0 || slices.Contains(known, n) {
		return nil
	}
	hint := ""
	isIndex := len(m.index) > 0 && axes[0] == FrameAxis
	if slices.Contains(known, n-1) || isIndex && slices.Contains(known, n-len(m.index)) {
		hint = ": is one an index or the time? If so, leave it out"
		if isIndex {
			hint = fmt.Sprintf(": its column %s counts frames or gives their time, subject or label, and is not a "+
				"token: leave it out", strings.Join(m.index, ", "))
		}
	}
	how := "by --axes " + join(axes)
	if m.axes != nil {
		how = "by its names"
	}
	if from != "" {
		return fmt.Errorf("it has %d tokens %s, but %s by %s%s", n, how, numbers(known), from, hint)
	}
	if isIndex && hint != "" {
		return fmt.Errorf("it has %d tokens %s, not %s%s", n, how, numbers(known), hint)
	}
	if m.axes != nil { // names identify the axis, and other parcels are fine
		return nil
	}
	for i, length := range m.shape {
		if slices.Contains(known, length) {
			return fmt.Errorf("its shape is %v: by --axes %s it has %d tokens, but axis %d has "+
				"%d, an expected number of tokens: correct --axes, or also give --tokens %d "+
				"if that is correct", m.shape, join(axes), n, i, length, n)
		}
	}
	return nil
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
	for i, n := range ns {
		if !slices.Contains(ns[:i], n) {
			all = append(all, fmt.Sprint(n))
		}
	}
	return strings.Join(all, " or ")
}

// layout has the strides of an array: for each slice, frame and token, the distance between neighbours.
type layout struct {
	slices, frames, tokens             int
	sliceStep, frameStep, tokenStep    int
	slicesAreSubjects, slicesAreSeries bool
}

// numbers returns the number of values of the array.
func (l layout) numbers() int { return l.slices * l.frames * l.tokens }

// layout returns the layout of the array that load returns.
func (m matrix) layout(axes []Axis) layout {
	if m.transposed {
		return layoutOf([]int{m.shape[1], m.shape[0]}, []Axis{axes[1], axes[0]})
	}
	return layoutOf(m.shape, axes)
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
