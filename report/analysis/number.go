package analysis

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a result; one that is not finite is null in JSON.
type Number float64

// None is the Number of what has no value.
var None = Number(math.NaN())

// MarshalJSON writes null for what is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = None
	if string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Known says whether there is a value.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// String returns four significant digits, or a dash.
func (n Number) String() string {
	if !n.Known() {
		return "–"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

// counted returns "1 table", "2 tables".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Numbers converts a list.
func Numbers(values []float64) []Number {
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
