// Package petest builds small models with a positional encoding for tests, gives them inputs and
// compares the resulting arrays. The conformance suite of encodings, in the tests of models/pe, and
// the tests of models and models/export use it. It may import torchpe, models/pe, models and the
// standard library.
package petest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"torchpe/torchpe"
)

// Array is a tensor's values on the host, in row-major order.
type Array struct {
	Shape  []int
	Values []float64
}

// ArrayOf copies a tensor to the host.
func ArrayOf(t torchpe.Tensor) Array { return Array{Shape: t.Shape(), Values: t.Float64s()} }

// Zeros returns an array of zeros.
func Zeros(shape ...int) Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return Array{Shape: shape, Values: make([]float64, n)}
}

// Tensor copies the array into a float64 tensor on the CPU.
func (a Array) Tensor(s *torchpe.Scope) torchpe.Tensor {
	return torchpe.Of(s, torchpe.CPU, a.Values, a.Shape...)
}

// Reshaped returns the same values with another shape.
func (a Array) Reshaped(shape ...int) Array { return Array{Shape: shape, Values: a.Values} }

// Row returns row i of the first axis.
func (a Array) Row(i int) []float64 {
	n := len(a.Values) / a.Shape[0]
	return a.Values[i*n : (i+1)*n]
}

// UnmarshalJSON reads nested lists; null is NaN. In an object with rows by number, missing rows are zeros.
func (a *Array) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var rows map[int][]float64
		if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
			return fmt.Errorf("an object without rows by number: %v", err)
		}
		last := slices.Max(slices.Collect(maps.Keys(rows)))
		*a = Zeros(last+1, len(rows[last]))
		for i, row := range rows {
			copy(a.Row(i), row)
		}
		return nil
	}
	var nested any
	if err := json.Unmarshal(data, &nested); err != nil {
		return err
	}
	*a = Array{}
	return a.append(nested, 0)
}

// append reads nested lists of an axis; the first list of each axis gives its length.
func (a *Array) append(nested any, axis int) error {
	list, ok := nested.([]any)
	if ok && axis == len(a.Shape) && len(a.Values) == 0 {
		a.Shape = append(a.Shape, len(list))
	}
	if ok != (axis < len(a.Shape)) || ok && len(list) != a.Shape[axis] {
		return fmt.Errorf("ragged lists for the shape %v", a.Shape)
	}
	for _, part := range list {
		if err := a.append(part, axis+1); err != nil {
			return err
		}
	}
	if ok {
		return nil
	}
	switch v := nested.(type) {
	case nil:
		a.Values = append(a.Values, math.NaN())
	case float64:
		a.Values = append(a.Values, v)
	default:
		return fmt.Errorf("%v (%T) is not a number", v, v)
	}
	return nil
}

// Tolerance bounds the difference of a value from want: Atol + Rtol |want|.
type Tolerance struct{ Atol, Rtol float64 }

// Compare returns an error that names the first element that differs. Where want is NaN (masked),
// got may have any value.
func Compare(got, want Array, tol Tolerance) error {
	if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Errorf("shape %v, want %v", got.Shape, want.Shape)
	}
	for i, w := range want.Values {
		if math.IsNaN(w) {
			continue
		}
		if d := math.Abs(got.Values[i] - w); !(d <= tol.Atol+tol.Rtol*math.Abs(w)) {
			return fmt.Errorf("element %d of %v is %g, want %g (off by %.1e)",
				i, got.Shape, got.Values[i], w, d)
		}
	}
	return nil
}

// Near checks that two arrays agree to the tolerance, absolute and relative.
func Near(t testing.TB, what string, got, want Array, tol float64) {
	t.Helper()
	if err := Compare(got, want, Tolerance{tol, tol}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Closed runs f in a scope without gradients and closes it.
func Closed(f func(s *torchpe.Scope)) {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	f(s)
}

// Main runs a package's tests and returns their exit status, which is 1 if tensors are left alive.
func Main(m *testing.M) int {
	code := m.Run()
	if n := torchpe.Live(); n != 0 && code == 0 {
		fmt.Println(n, "tensors are still alive: a scope or parameter set was not closed")
		return 1
	}
	return code
}
