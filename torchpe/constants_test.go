package torchpe

import (
	"strings"
	"testing"
)

// What differs between steps and is no input is found, and not taken from the first step.
func TestConstantsMustNotChange(t *testing.T) {
	c := NewConstants()
	defer c.Close()
	pass := func(v float64) (sum float64, err error) {
		s := NewScope()
		defer s.Close()
		c.Restart()
		s.Repeat(c)
		inner := s.Child()
		defer inner.Close()
		err = Catch(func() {
			sum = Of(s, CPU, []float64{1, 2}, 2).Add(Of(inner, CPU, []float64{v, v}, 2)).Sum().Item()
		})
		return sum, err
	}
	for range 2 {
		if sum, err := pass(3); err != nil || sum != 9 {
			t.Errorf("%g, %v", sum, err)
		}
	}
	if _, err := pass(4); err == nil || !strings.Contains(err.Error(), "number 2") {
		t.Errorf("a changed constant: %v", err)
	}
}
