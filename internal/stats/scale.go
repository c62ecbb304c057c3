package stats

import "math"

// Numbers of 1e200 or 1e-200 have squares outside float64. All tests here are the same for numbers
// times a constant, so their inputs are multiplied by a power of two first, which rounds nothing:
// the largest comes to lie in [0.5,1).

// exponent returns the power of two of the largest magnitude; 0 where all numbers are 0 or one is
// not finite.
func exponent(all ...[]float64) int {
	largest := 0.0
	for _, x := range all {
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
	}
	_, e := math.Frexp(largest) // 0 of what is not finite
	return e
}

// times returns x * 2^e.
func times(x []float64, e int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Ldexp(v, e)
	}
	return out
}

// epsilon is the distance of 1 from the next float64.
const epsilon = 0x1p-52

// flat says whether numbers, of which each may be wrong by epsilon * size, could all be the same:
// what they differ by may then be rounding alone, which no test can be made of.
func flat(x, size []float64) bool {
	low, high := math.Inf(-1), math.Inf(1) // of what all could be
	for i, v := range x {
		low, high = max(low, v-epsilon*size[i]), min(high, v+epsilon*size[i])
	}
	return low <= high
}

// constant says whether numbers are the same but for rounding of each.
func constant(x []float64) bool {
	size := make([]float64, len(x))
	for i, v := range x {
		size[i] = math.Abs(v)
	}
	return flat(x, size)
}
