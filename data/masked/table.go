package masked

import (
	"errors"
	"fmt"
	"math"
)

// Table is a table of samples and tokens with their labels. Only Frames, Tokens and X are required.
type Table struct {
	Frames, Tokens int
	X              []float32 // [Frames, Tokens], row-major: one sample per row

	Names       []string // of the tokens, or nil
	Modules     []int    // label of each token, or nil
	ModuleNames []string // name of a label: ModuleNames[Modules[token]], or nil
	Groups      []int    // group of each frame, such as its subject, or nil
}

// Check returns an error that lists all parts of a table with inconsistent sizes or labels, or else the
// first value that is not finite.
func (t Table) Check() error {
	if err := t.checkShape(); err != nil {
		return err
	}
	return t.checkFinite(nil)
}

// Row returns the sample of a frame, [Tokens]. It shares the table's memory.
func (t Table) Row(frame int) []float32 { return t.X[frame*t.Tokens : (frame+1)*t.Tokens] }

// checkShape returns an error that lists all parts with inconsistent sizes or labels.
func (t Table) checkShape() error {
	if t.Frames < 1 || t.Tokens < 2 {
		return fmt.Errorf("masked: a table of %d frames and %d tokens: want at least 1 frame and "+
			"2 tokens, one to mask and one to see", t.Frames, t.Tokens)
	}
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("masked: "+format, args...))
	}
	if t.Frames > math.MaxInt/t.Tokens || len(t.X) != t.Frames*t.Tokens {
		fail("%d values in a table of %d frames of %d tokens", len(t.X), t.Frames, t.Tokens)
	}
	if t.Names != nil && len(t.Names) != t.Tokens {
		fail("%d names for %d tokens", len(t.Names), t.Tokens)
	}
	if t.Modules != nil && len(t.Modules) != t.Tokens {
		fail("%d module labels for %d tokens", len(t.Modules), t.Tokens)
	}
	if t.Groups != nil && len(t.Groups) != t.Frames {
		fail("%d group labels for %d frames", len(t.Groups), t.Frames)
	}
	if t.ModuleNames != nil && t.Modules == nil {
		fail("%d module names, but no token has a module label", len(t.ModuleNames))
	}
	if err := t.checkLabels(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkLabels returns an error for the first repeated name and the first label out of range.
func (t Table) checkLabels() error {
	var errs []error
	first := make(map[string]int, len(t.Names))
	for i, name := range t.Names {
		if j, ok := first[name]; ok {
			errs = append(errs, fmt.Errorf("masked: tokens %d and %d are both named %q: names "+
				"must differ", j, i, name))
			break
		}
		first[name] = i
	}
	for i, m := range t.Modules {
		if m < 0 || t.ModuleNames != nil && m >= len(t.ModuleNames) {
			want := "0 or more"
			if t.ModuleNames != nil {
				want = fmt.Sprintf("0 to %d, a place in the %d module names", len(t.ModuleNames)-1,
					len(t.ModuleNames))
			}
			errs = append(errs, fmt.Errorf("masked: token %s has module label %d: want %s",
				t.token(i), m, want))
			break
		}
	}
	return errors.Join(errs...)
}

// checkFinite returns an error for the first value that is NaN or infinite in the given frames; nil means
// all frames. The caller must check the shape.
func (t Table) checkFinite(frames []int) error {
	n := len(frames)
	if frames == nil {
		n = t.Frames
	}
	for i := range n {
		frame := i
		if frames != nil {
			frame = frames[i]
		}
		for j, v := range t.Row(frame) {
			if v-v != 0 { // NaN or infinite
				return fmt.Errorf("masked: the value of frame %d, token %s is %v: leave the "+
					"frame or the token out", frame, t.token(j), v)
			}
		}
	}
	return nil
}

// frames returns the given frames, or all frames for nil. It returns an error for a frame that the table
// lacks.
func (t Table) frames(frames []int) ([]int, error) {
	if frames == nil {
		frames = make([]int, t.Frames)
		for i := range frames {
			frames[i] = i
		}
	}
	for i, f := range frames {
		if f < 0 || f >= t.Frames {
			return nil, fmt.Errorf(
				"masked: frame %d (place %d of the list) of a table of %d frames", f, i, t.Frames)
		}
	}
	return frames, nil
}

// token returns the number and, if any, the name of a token for messages.
func (t Table) token(i int) string {
	if i < len(t.Names) {
		return fmt.Sprintf("%d (%s)", i, t.Names[i])
	}
	return fmt.Sprint(i)
}
