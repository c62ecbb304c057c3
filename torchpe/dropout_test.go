package torchpe

import (
	"fmt"
	"math"
	"testing"

	"torchpe/internal/expect"
)

// philox is Philox4x32-10, written from the paper (Salmon et al. 2011, section 3.3): ten rounds of
// two products and exchanges, the key raised by two Weyl constants after each.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(counter[0])*0xD2511F53, uint64(counter[2])*0xCD9E8D57
		counter = [4]uint32{uint32(b>>32) ^ counter[1] ^ key[0], uint32(b),
			uint32(a>>32) ^ counter[3] ^ key[1], uint32(a)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return counter
}

// TestPhilox checks the twin in Go with the known answers of Random123 (tests/kat_vectors,
// philox4x32 10). The masks below hold the C++ one against it.
func TestPhilox(t *testing.T) {
	const all = math.MaxUint32
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		expect.Equal(t, fmt.Sprintf("philox of %x with key %x", c.counter, c.key), philox(c.counter, c.key), c.want)
	}
}

// mask draws the dropout mask of n ones for each seed.
func mask(t *testing.T, dtype DType, n int, p float64, seeds []uint64, step, call uint64) []float64 {
	t.Helper()
	s := NewScopeNoGrad()
	defer s.Close()
	s.Seed(seeds, int(step))
	s.noise.calls = int(call)
	return Full(s, 1, dtype, CPU, len(seeds), n).Dropout(p).Float64s()
}

// TestDropoutMask compares masks of all forms with the twin: element i of a member is word i%4 of block
// i/4, dropped below p 2^32.
func TestDropoutMask(t *testing.T) {
	for _, seed := range []uint64{0, 1, 12345, 1 << 32, math.MaxUint64} {
		for _, step := range []uint64{0, 1, 70000, 1<<40 + 3} {
			for _, call := range []uint64{0, 1, 40, math.MaxUint32} {
				for p, n := range map[float64]int{0.1: 39, 0.5: 5003, 0.93: 1} {
					var want []float64
					for _, member := range []uint64{seed, seed + 1} {
						for i := range n {
							words := philox([4]uint32{uint32(i / 4), uint32(call), uint32(step), uint32(step >> 32)},
								[2]uint32{uint32(member), uint32(member >> 32)})
							want = append(want, 0)
							if float64(words[i%4]) >= math.Floor(p*(1<<32)) {
								want[len(want)-1] = 1 / (1 - p)
							}
						}
					}
					eachForm(func(form int) {
						name := fmt.Sprintf("mask of seed %d, step %d, call %d, p %g, form %d",
							seed, step, call, p, form)
						seeds := []uint64{seed, seed + 1}
						near(t, name, mask(t, Float64, n, p, seeds, step, call), want, 1e-15)
						near(t, name, mask(t, Float32, n, p, seeds, step, call), want, 1e-7)
					})
				}
			}
		}
	}
	// The first word of counter 0 with key 0 is 0x6627e8d5 (see TestPhilox): kept up to that
	// threshold, dropped above.
	const first = 0x6627e8d5
	kept := mask(t, Float64, 1, first/float64(1<<32), []uint64{0}, 0, 0)
	dropped := mask(t, Float64, 1, (first+1)/float64(1<<32), []uint64{0}, 0, 0)
	if kept[0] == 0 || dropped[0] != 0 {
		t.Errorf("the first number is not %x: at that threshold the mask is %v, above it %v", first, kept, dropped)
	}
}

// TestDropoutInScopes checks how scopes hand out draws: each call the next, children in turn with
// their parent, the same again after Seed with the same step.
func TestDropoutInScopes(t *testing.T) {
	s := kept(t, NewScope())
	x := Full(s, 1, Float64, CPU, 2, 50)
	failing(t, "Dropout", func() { x.Dropout(0.5) })
	same := x.Dropout(0)
	near(t, "without a seed, probability 0", same.Float64s(), x.Float64s(), 0)

	seeds := []uint64{8, 9}
	draw := func() (drawn [][]float64) {
		s.Seed(seeds, 4)
		drawn = append(drawn, x.Dropout(0.5).Float64s())
		s.Do(func(c *Scope) Tensor {
			y := x.In(c).Dropout(0.5)
			drawn = append(drawn, y.Float64s())
			return y
		})
		return append(drawn, x.Dropout(0.5).Float64s())
	}
	first, again := draw(), draw()
	for call := range first {
		identical(t, fmt.Sprint("draw ", call, " again"), again[call], first[call])
		identical(t, fmt.Sprint("draw ", call), first[call], mask(t, Float64, 50, 0.5, seeds, 4, uint64(call)))
	}
	seeds[0] = 1000 // the scope has a copy
	identical(t, "after the caller's seeds changed", x.Dropout(0.5).Float64s(),
		mask(t, Float64, 50, 0.5, []uint64{8, 9}, 4, 3))

	for _, p := range []float64{1, -0.1, 1.5, math.NaN(), math.Inf(1)} {
		failing(t, "Dropout", func() { x.Dropout(p) })
	}
	failing(t, "Dropout", func() { Full(s, 1, Float64, CPU, 3, 4).Dropout(0.5) }) // three members, two seeds
	failing(t, "Dropout", func() { Full(s, 1, Int64, CPU, 2, 4).Dropout(0.5) })
	failing(t, "Dropout", func() { Full(s, 1, Float64, CPU).Dropout(0.5) })
}
