package hcp

import (
	"errors"
	"fmt"
	"slices"
)

// Matrix is a named matrix of numbers, row-major.
type Matrix struct {
	Name          string // its name in errors, such as its file
	Rows, Columns int
	Data          []float64
}

// empty reports whether a matrix was not given.
func (m Matrix) empty() bool { return m.Rows == 0 && m.Columns == 0 && len(m.Data) == 0 }

// Row returns a row, [Columns]. It shares the matrix's memory.
func (m Matrix) Row(i int) []float64 { return m.Data[i*m.Columns : (i+1)*m.Columns] }

// called describes the input in messages by its kind and, if any, its name.
func (m Matrix) called(what string) string {
	if m.Name == "" {
		return what
	}
	return what + " (" + m.Name + ")"
}

// check returns an error if the size does not match the data or a value is not finite. row and column
// are the names of rows and columns in messages.
func (m Matrix) check(what, row, column string) error {
	if m.Rows < 1 || m.Columns < 1 || len(m.Data)/m.Columns != m.Rows ||
		len(m.Data)%m.Columns != 0 {
		return fmt.Errorf("clean: %s has %d values for %d rows of %d columns", m.called(what),
			len(m.Data), m.Rows, m.Columns)
	}
	for i, v := range m.Data {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("clean: %s has %v at %s %d, %s %d (from 0): give a finite number",
				m.called(what), v, row, i/m.Columns, column, i%m.Columns)
		}
	}
	return nil
}

// Run is one run of one subject. The series and the signals must have all frames of the run.
type Run struct {
	Series Matrix // [parcels, frames]
	// Motion is [frames, 12]: 6 parameters, then their derivatives, as HCP's
	// Movement_Regressors.txt; or [frames, 6].
	Motion      Matrix
	WhiteMatter Matrix // [frames, 5], aCompCor components
	Ventricles  Matrix // [frames, 5], aCompCor components

	// Derivatives of the components, [frames, 5]; backward differences if empty.
	WhiteMatterDerivative, VentriclesDerivative Matrix
}

// Sizes of the published design.
const (
	motionParameters = 6
	components       = 5  // of each mask
	designColumns    = 64 // 32 signals and their squares
)

// signals lists the inputs of the design in its order.
func (r Run) signals() []signal {
	return []signal{
		{"motion", "motion", r.Motion, []int{motionParameters, 2 * motionParameters}, false},
		{"white-matter components", "wm", r.WhiteMatter, []int{components}, false},
		{"white-matter derivatives", "wm", r.WhiteMatterDerivative, []int{components}, true},
		{"ventricle components", "ventricles", r.Ventricles, []int{components}, false},
		{"ventricle derivatives", "ventricles", r.VentriclesDerivative, []int{components}, true},
	}
}

// signal is one input of the design.
type signal struct {
	what, column string // its name in errors; the prefix of its columns' names
	Matrix
	widths     []int // allowed numbers of columns
	derivative bool  // optional derivative of the input before it
}

// checkSignals returns an error that lists all invalid signals, or else numbers of frames that differ.
func (r Run) checkSignals() error {
	var errs []error
	for _, s := range r.signals() {
		if s.empty() {
			if !s.derivative {
				errs = append(errs, fmt.Errorf("clean: no %s", s.what))
			}
			continue
		}
		if err := s.check(s.what, "frame", "column"); err != nil {
			errs = append(errs, err)
		} else if err := s.checkWidth(); err != nil {
			errs = append(errs, err)
		}
	}
	if errs == nil {
		errs = append(errs, r.checkFrames())
	}
	return errors.Join(errs...)
}

// checkWidth returns an error if a signal has a number of columns that is not allowed.
func (s signal) checkWidth() error {
	if slices.Contains(s.widths, s.Columns) {
		return nil
	}
	want := fmt.Sprint(s.widths[0])
	if len(s.widths) > 1 {
		want += fmt.Sprintf(" or %d", s.widths[1])
	}
	hint := ""
	if slices.Contains(s.widths, s.Rows) {
		hint = "; it looks transposed"
	}
	return fmt.Errorf("clean: %s have %d rows and %d columns: want %s columns, one row per frame%s",
		s.called(s.what), s.Rows, s.Columns, want, hint)
}

// checkFrames returns an error that lists the numbers of frames of all inputs, unless they agree.
func (r Run) checkFrames() error {
	said, frames, differ := "", r.Motion.Rows, false
	if !r.Series.empty() {
		frames = r.Series.Columns
		said = fmt.Sprintf("%s %d", r.Series.called("series"), frames)
	}
	for _, s := range r.signals() {
		if s.empty() {
			continue
		}
		if said != "" {
			said += ", "
		}
		said += fmt.Sprintf("%s %d", s.called(s.what), s.Rows)
		differ = differ || s.Rows != frames
	}
	if !differ {
		return nil
	}
	hint := ""
	if r.Series.Rows == r.Motion.Rows {
		hint = "; the series looks transposed: want one row per parcel"
	}
	return fmt.Errorf("clean: the inputs have different numbers of frames: %s: give all frames "+
		"of one run in each%s", said, hint)
}
