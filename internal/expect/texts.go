package expect

import (
	"errors"
	"math"
	"testing"
)

// ErrorIs fails unless errors.Is finds target in err, which must contain all of these texts.
func ErrorIs(t testing.TB, err, target error, says ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error %v, want %v", err, target)
	}
	Error(t, err, says...)
}

// Near fails unless two numbers differ by at most a tolerance.
func Near(t testing.TB, what any, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%v: %v, want %v", what, got, want)
	}
}
