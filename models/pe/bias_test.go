package pe_test

import (
	"testing"

	"torchpe/models/pe/petest"
)

// only returns the adapter with those outputs alone that a case has.
func only(a petest.Adapter) petest.Adapter {
	return func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		out := a(t, c)
		for name := range out {
			if c.Outputs[name] == nil {
				delete(out, name)
			}
		}
		return out
	}
}
