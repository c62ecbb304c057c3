package torchpe

import (
	"testing"

	"torchpe/internal/expect"
)

// What differs between steps and is no input is found, and not taken from the first step.
func TestConstantsMustNotChange(t *testing.T) {
	c := NewConstants()
	defer c.Close()
	pass := func(v float64) (sum float64, err error) {
		s := NewScope()
		defer s.Close()
		s.Repeat(c)
		inner := s.Child()
		defer inner.Close()
		err = Catch(func() {
			result := Of(s, CPU, []float64{1, 2}, 2).Add(Of(inner, CPU, []float64{v, v}, 2)).Sum()
			inner.Repeat(nil) // to read it
			sum = result.Item()
		})
		return sum, err
	}
	for range 2 {
		expect.Equal(t, "sum", expect.Must(pass(3)), 9)
	}
	expect.Error(t, expect.ErrorOf(pass(4)), "number 2")
}

// A repeated computation that reads what it computed is refused: a recording would not read again.
func TestRepeatedComputationsReadNothing(t *testing.T) {
	c := NewConstants()
	defer c.Close()
	outer := kept(t, NewScope())
	outer.Repeat(c)
	s := outer.Child()
	defer s.Close()
	err := Catch(func() { Full(s, 1, Float32, CPU, 1).Item() })
	expect.Error(t, err, "must not read")
}
