package hcp

import (
	"errors"
	"fmt"
	"slices"

	"torchpe/data/array"
)

// rowOf returns a row of a matrix. It shares the matrix's memory.
func rowOf(a array.Array, i int) []float64 { return a.Data[i*a.Shape[1] : (i+1)*a.Shape[1]] }

// called describes an input in messages by its kind and, if any, its name.
func called(what string, a array.Array) string {
	if a.Name == "" {
		return what
	}
	return what + " (" + a.Name + ")"
}

// checkMatrix returns an error if the shape does not match the data or a value is not finite. row and
// column are the names of rows and columns in messages.
func checkMatrix(what string, a array.Array, row, column string) error {
	if len(a.Shape) != 2 || len(a.Data) == 0 || a.Check() != nil {
		return fmt.Errorf("clean: %s has %d values in a matrix of shape %v", called(what, a),
			len(a.Data), a.Shape)
	}
	for i, v := range a.Data {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("clean: %s has %v at %s %d, %s %d (from 0): give a finite number",
				called(what, a), v, row, i/a.Shape[1], column, i%a.Shape[1])
		}
	}
	return nil
}

// Run is one run of one subject. The series and the signals must have all frames of the run. Errors call
// them by their names, such as their files.
type Run struct {
	Series array.Array // [parcels, frames]
	// Motion is [frames, 12]: 6 parameters, then their derivatives, as HCP's
	// Movement_Regressors.txt; or [frames, 6].
	Motion      array.Array
	WhiteMatter array.Array // [frames, 5], aCompCor components
	Ventricles  array.Array // [frames, 5], aCompCor components

	// Derivatives of the components, [frames, 5]; backward differences if without a shape.
	WhiteMatterDerivative, VentriclesDerivative array.Array
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
	array.Array
	widths     []int // allowed numbers of columns
	derivative bool  // optional derivative of the input before it
}

// check returns an error that lists all invalid inputs, or else numbers of frames that differ.
func (r Run) check() error {
	var errs []error
	if r.Series.Shape == nil {
		errs = append(errs, errors.New("clean: no series"))
	} else if err := checkMatrix("series", r.Series, "parcel", "frame"); err != nil {
		errs = append(errs, err)
	}
	for _, s := range r.signals() {
		if s.Shape == nil {
			if !s.derivative {
				errs = append(errs, fmt.Errorf("clean: no %s", s.what))
			}
			continue
		}
		if err := checkMatrix(s.what, s.Array, "frame", "column"); err != nil {
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
	if slices.Contains(s.widths, s.Shape[1]) {
		return nil
	}
	want := fmt.Sprint(s.widths[0])
	if len(s.widths) > 1 {
		want += fmt.Sprintf(" or %d", s.widths[1])
	}
	hint := ""
	if slices.Contains(s.widths, s.Shape[0]) {
		hint = "; it looks transposed"
	}
	return fmt.Errorf("clean: %s have %d rows and %d columns: want %s columns, one row per frame%s",
		called(s.what, s.Array), s.Shape[0], s.Shape[1], want, hint)
}

// checkFrames returns an error that lists the numbers of frames of all inputs, unless they agree.
func (r Run) checkFrames() error {
	frames := r.Series.Shape[1]
	said, differ := fmt.Sprintf("%s %d", called("series", r.Series), frames), false
	for _, s := range r.signals() {
		if s.Shape != nil {
			said += fmt.Sprintf(", %s %d", called(s.what, s.Array), s.Shape[0])
			differ = differ || s.Shape[0] != frames
		}
	}
	if !differ {
		return nil
	}
	hint := ""
	if r.Series.Shape[0] == r.Motion.Shape[0] {
		hint = "; the series looks transposed: want one row per parcel"
	}
	return fmt.Errorf("clean: the inputs have different numbers of frames: %s: give all frames "+
		"of one run in each%s", said, hint)
}
