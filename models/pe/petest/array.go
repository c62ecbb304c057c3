package petest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"torchpe/torchpe"
)

// Array is a tensor's values on the host, in row-major order.
type Array struct {
	Shape  []int
	Values []float64
}

// ArrayOf copies a tensor out.
func ArrayOf(t torchpe.Tensor) Array { return Array{Shape: t.Shape(), Values: t.Float64s()} }

// Scalar returns an array of one number and no axes.
func Scalar(v float64) Array { return Array{Values: []float64{v}} }

// Zeros returns an array of zeros.
func Zeros(shape ...int) Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return Array{Shape: shape, Values: make([]float64, n)}
}

// ByHeads copies queries, keys or values [N,H,Dh], [N,H Dh] or [B,N,H,Dh] into a tensor [1,B,H,N,Dh].
func ByHeads(s *torchpe.Scope, x Array, heads int) torchpe.Tensor {
	b, n := 1, x.Shape[0]
	if len(x.Shape) == 4 {
		b, n = x.Shape[0], x.Shape[1]
	}
	return x.Reshaped(1, b, n, heads, len(x.Values)/(b*n*heads)).Tensor(s).Permute(0, 1, 3, 2, 4)
}

// FromHeads returns a tensor [1,B,H,N,Dh] as an array [N,H,Dh] for one sample, [B,N,H,Dh] for more.
func FromHeads(x torchpe.Tensor) Array {
	a := ArrayOf(x.Permute(0, 1, 3, 2, 4))
	if a.Shape[1] == 1 {
		return a.Reshaped(a.Shape[2:]...)
	}
	return a.Reshaped(a.Shape[1:]...)
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

// along moves entries of axis dim: entry i of the result is entry order[i] of a.
func (a Array) along(dim int, order []int) Array {
	n, inner := a.Shape[dim], 1
	for _, size := range a.Shape[dim+1:] {
		inner *= size
	}
	out := Array{Shape: append([]int(nil), a.Shape...)}
	out.Shape[dim] = len(order)
	for outer := 0; outer < len(a.Values); outer += n * inner {
		for _, from := range order {
			out.Values = append(out.Values, a.Values[outer+from*inner:outer+(from+1)*inner]...)
		}
	}
	return out
}

// UnmarshalJSON reads nested lists; null is NaN. An object of rows by number has zeros between them.
func (a *Array) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var rows map[int][]float64
		if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
			return fmt.Errorf("an object that is not rows by number: %v", err)
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
	*a = Array{Shape: shapeOf(nested)}
	return a.flatten(nested, a.Shape)
}

func shapeOf(nested any) (shape []int) {
	for {
		list, ok := nested.([]any)
		if !ok {
			return shape
		}
		shape = append(shape, len(list))
		if len(list) == 0 {
			return shape
		}
		nested = list[0]
	}
}

func (a *Array) flatten(nested any, shape []int) error {
	if list, ok := nested.([]any); ok && len(shape) > 0 && len(list) == shape[0] {
		for _, part := range list {
			if err := a.flatten(part, shape[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(shape) > 0 {
		return fmt.Errorf("ragged lists where the shape is %v", a.Shape)
	}
	switch v := nested.(type) {
	case nil:
		a.Values = append(a.Values, math.NaN())
	case float64:
		a.Values = append(a.Values, v)
	default:
		return fmt.Errorf("%v (%T) is no number", v, v)
	}
	return nil
}

// exactly allows rounding of a few products in float64.
var exactly = Tolerance{1e-12, 1e-12}

// compare returns an error that names the first element that differs. Where want is NaN (masked)
// got may be anything.
func compare(got, want Array, tol Tolerance) error {
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

// same reports whether two arrays have the same shape and bits.
func same(a, b Array) bool {
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
		return false
	}
	for i := range a.Values {
		if math.Float64bits(a.Values[i]) != math.Float64bits(b.Values[i]) {
			return false
		}
	}
	return true
}

// finite reports whether no value is NaN or infinite.
func finite(values []float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// near returns an error where any intermediate of the one run differs from that of the other.
func near(got, want map[string]Array, tol Tolerance) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d intermediates, want %d", len(got), len(want))
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			return fmt.Errorf("no %s", name)
		}
		if err := compare(g, w, tol); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
