package expect

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Number is a number of a JSON file in which NaN and the infinities are strings.
type Number float64

// UnmarshalJSON reads a number, or a string that holds one.
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = Number(v)
	return err
}

// JSON returns the contents of a JSON file. It ends the test if they are not a T.
func JSON[T any](t testing.TB, path string) (value T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	NoError(t, err)
	return value
}

// Same reports whether two numbers have the same bits or are both NaN.
func Same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}
