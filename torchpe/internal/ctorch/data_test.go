package ctorch

import (
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// TestFromDataFits checks that an array is only read as far as it goes: a shape that holds more or
// less, and a dtype of another size, are errors.
func TestFromDataFits(t *testing.T) {
	for name, f := range map[string]func() (Handle, error){
		"too short":       func() (Handle, error) { return FromData([]float32{1}, []int{1000, 1000}, Float32, CPU) },
		"too long":        func() (Handle, error) { return FromData([]float32{1, 2}, []int{1}, Float32, CPU) },
		"nothing for one": func() (Handle, error) { return FromData([]float32(nil), nil, Float32, CPU) },
		"larger dtype":    func() (Handle, error) { return FromData(make([]float32, 6), []int{6}, Float64, CPU) },
		"smaller dtype":   func() (Handle, error) { return FromData(make([]float64, 6), []int{6}, Bool, CPU) },
		"overflow to a fit": func() (Handle, error) {
			return FromData([]float32(nil), []int{1 << 32, 1 << 32}, Float32, CPU)
		},
		"two negatives": func() (Handle, error) { return FromData(make([]float32, 6), []int{-2, -3}, Float32, CPU) },
	} {
		if h, err := f(); err == nil {
			t.Errorf("%s is no error", name)
			Release([]Handle{h})
		}
	}
	empty := must(FromData([]float64(nil), []int{3, 0}, Float64, CPU))
	defer Release([]Handle{empty})
	expect.Equal(t, "reading nothing", Read(empty, []float64(nil)), nil)
}

// TestReadFits checks that reading fills exactly the array it is given.
func TestReadFits(t *testing.T) {
	want := []int64{1, -2, math.MaxInt64, math.MinInt64}
	h := must(FromData(want, []int{2, 2}, Int64, CPU))
	defer Release([]Handle{h})
	have := make([]int64, 4)
	expect.NoError(t, Read(h, have))
	expect.Equal(t, "read", have, want)
	if Read(h, make([]int64, 3)) == nil || Read(h, make([]int64, 5)) == nil ||
		Read(h, make([]float32, 4)) == nil || Read(h, []bool(nil)) == nil {
		t.Error("reading into an array of another size is no error")
	}
}

// TestLeafGradientFits checks that the buffer of a parameter's gradient has its shape and dtype.
func TestLeafGradientFits(t *testing.T) {
	p := must(Full([]int{2, 3}, 1, Float64, CPU))
	for _, g := range []Handle{must(Full([]int{2, 3}, 1, Float32, CPU)),
		must(Full([]int{2, 3}, 1, Int64, CPU)), must(Full([]int{2, 4}, 1, Float64, CPU))} {
		h, err := Result("Leaf", Operands{Tensors: []Handle{p, g}, Ints: []int{0, 2, 3}})
		if err == nil || !strings.Contains(err.Error(), "gradient buffer") {
			t.Errorf("another buffer is taken: %v", err)
			Release([]Handle{h})
		}
		check(Release([]Handle{g}))
	}
	check(Release([]Handle{p}))
}

// TestOldHandles checks that a slot that is used again and again never gives a handle twice.
func TestOldHandles(t *testing.T) {
	seen := map[Handle]bool{}
	for range 10_000 {
		h := must(Full(nil, 0, Float32, CPU))
		if seen[h] {
			t.Fatalf("handle %x came twice", h)
		}
		seen[h] = true
		check(Release([]Handle{h}))
	}
}
