// Package array has rectangular arrays of numbers read from files. Each file format has a package below this
// one. All of them are pure Go, check claimed sizes against the length of the file and a [Budget] before
// they allocate memory, and return an error for a damaged or hostile file: see [Fail].
package array

import (
	"fmt"
	"math"
	"slices"
)

// Array is an array in row-major order (the last axis varies fastest), regardless of the order in its file.
type Array struct {
	Name  string // a path in HDF5, a variable in MATLAB; empty for the only array of a file
	Shape []int  // empty for a single number
	Data  []float64
}

// Damaged returns the error of a file that contradicts itself.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: could the file be damaged?", fmt.Errorf(format, args...))
}

// Count returns the number of elements of a shape. It fails for a negative length, and if all elements
// of the given number of bytes would not fit an int. That check ignores lengths of zero, so that the
// answer does not depend on the order of the axes.
func Count(shape []int, bytes int) (int, error) {
	n, empty := 1, false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %v has a negative length", shape)
		case d == 0:
			empty = true
		case n > math.MaxInt/max(1, bytes)/d:
			return 0, fmt.Errorf("shape %v is larger than any file", shape)
		default:
			n *= d
		}
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// Check returns an error if the shape does not match the number of elements.
func (a Array) Check() error {
	n, err := Count(a.Shape, 8)
	if err != nil {
		return err
	}
	if n != len(a.Data) {
		return fmt.Errorf("%d numbers in an array of shape %v", len(a.Data), a.Shape)
	}
	return nil
}

// Squeeze removes axes of length one, down to two axes: [1,360,1195] becomes [360,1195].
func (a Array) Squeeze() Array {
	shape := slices.Clone(a.Shape)
	for i := 0; i < len(shape) && len(shape) > 2; {
		if shape[i] == 1 {
			shape = slices.Delete(shape, i, i+1)
		} else {
			i++
		}
	}
	a.Shape = shape
	return a
}

// Transpose returns a matrix with its axes swapped. a must have two axes.
func (a Array) Transpose() Array {
	rows, columns := a.Shape[0], a.Shape[1]
	t := Array{Name: a.Name, Shape: []int{columns, rows}, Data: make([]float64, len(a.Data))}
	for i := range rows {
		for j, v := range a.Data[i*columns : (i+1)*columns] {
			t.Data[j*rows+i] = v
		}
	}
	return t
}

// FromColumnMajor converts the numbers of an array of this shape from column-major order (Fortran,
// MATLAB), in which the first axis varies fastest, to row-major order. It may return its argument.
func FromColumnMajor(data []float64, shape []int) []float64 {
	if len(shape) < 2 || len(data) == 0 {
		return data
	}
	out, p := make([]float64, len(data)), newPlaces(shape, true)
	for _, v := range data {
		out[p.next()] = v
	}
	return out
}
