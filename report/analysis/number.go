package analysis

import (
	"encoding/json"
	"math"

	"torchpe/internal/number"
)

// Number is a result; one that is not finite is null in JSON.
type Number float64

// None is the Number of what has no value.
var None = Number(math.NaN())

// MarshalJSON writes null for what is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// known says whether there is a value.
func (n Number) known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// String returns four significant digits, or a dash.
func (n Number) String() string {
	return number.Short(float64(n), 4)
}

// numbers converts a list.
func numbers(values []float64) []Number {
	out := make([]Number, len(values))
	for i, v := range values {
		out[i] = Number(v)
	}
	return out
}

// meanOf returns the mean of f over items; None where one of them has no value.
func meanOf[T any](items []T, f func(T) Number) Number {
	sum := 0.0
	for _, item := range items {
		sum += float64(f(item))
	}
	return Number(sum / float64(len(items)))
}
