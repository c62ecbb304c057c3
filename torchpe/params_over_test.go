package torchpe

import (
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// TestBuildOver checks that trained parameters share the other set's memory, and frozen ones have their own.
func TestBuildOver(t *testing.T) {
	base := NewParamSet(2, Float64, CPU)
	base.Add("first", true, Constant(1), 5)
	base.Add("w", true, Normal(0, 1), 2, 3)
	base.Add("table", false, Constant(2), 4)
	base.Add("drawn", false, Normal(0, 1), 3)
	expect.NoError(t, base.Build([]uint64{1, 2}))
	defer base.Close()
	before := Live()
	over := NewParamSet(2, Float64, CPU)
	over.Add("table", false, Constant(7), 6)
	w := over.Add("w", true, Constant(9), 2, 3)
	over.Add("drawn", false, Normal(0, 1), 3)
	expect.NoError(t, over.BuildOver(base, []uint64{1, 2}))
	s := NewScope()
	identical(t, "w", valuesOf(over, "w"), valuesOf(base, "w"))
	identical(t, "what is drawn", valuesOf(over, "drawn"), valuesOf(base, "drawn"))
	identical(t, "what is computed", valuesOf(over, "table"), slices.Repeat([]float64{7}, 12))
	base.Flat(s).Fill(3)
	identical(t, "w after training", valuesOf(over, "w"), slices.Repeat([]float64{3}, 12))
	w.In(s).Mul(w.In(s)).Sum().Backward()
	identical(t, "gradients", base.Get("w").In(s).Grad().Float64s(), slices.Repeat([]float64{6}, 12))
	s.Close()
	over.Close()
	expect.Equal(t, "tensors after", Live(), before)
	identical(t, "w of the other set, after closing", valuesOf(base, "w"), slices.Repeat([]float64{3}, 12))
}

func TestBadBuildOver(t *testing.T) {
	base := NewParamSet(1, Float32, CPU)
	base.Add("w", true, Constant(1), 3)
	base.Add("fixed", false, Constant(1), 3)
	expect.NoError(t, base.Build([]uint64{1}))
	defer base.Close()
	before := Live()
	for name, shape := range map[string][]int{"w": {4}, "v": {3}, "fixed": {3}} {
		over := NewParamSet(1, Float32, CPU)
		over.Add("good", false, Constant(1), 3)
		over.Add(name, true, Constant(1), shape...)
		expect.Error(t, over.BuildOver(base, []uint64{1}), "parameter "+name)
	}
	expect.Refused(t, "two members over one", NewParamSet(2, Float32, CPU).BuildOver(base, []uint64{1, 2}))
	expect.Refused(t, "a set over one that is not built",
		NewParamSet(1, Float32, CPU).BuildOver(NewParamSet(1, Float32, CPU), []uint64{1}))
	expect.Refused(t, "building twice", base.BuildOver(base, []uint64{1}))
	expect.Equal(t, "tensors after", Live(), before)
}
