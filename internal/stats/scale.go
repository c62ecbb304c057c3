package stats

import "math"

// Squares of numbers such as 1e200 or 1e-200 lie outside float64. The tests here do not depend on the
// scale of the numbers. They first multiply their inputs by a power of two, which is exact and brings
// the largest magnitude into [0.5,1).

// exponent returns the binary exponent of the largest magnitude. It returns 0 where all numbers are 0
// or one is not finite.
func exponent(all ...[]float64) int {
	largest := 0.0
	for _, x := range all {
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
	}
	_, e := math.Frexp(largest) // e is 0 if largest is not finite
	return e
}

// scaled returns x * 2^e.
func scaled(x []float64, e int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Ldexp(v, e)
	}
	return out
}

// epsilon is the distance between 1 and the next float64.
const epsilon = 0x1p-52

// isConstantWithin reports whether one number lies within epsilon * size[i] of every x[i]. The numbers
// may then differ by rounding alone.
func isConstantWithin(x, size []float64) bool {
	low, high := math.Inf(-1), math.Inf(1) // intersection of the ranges
	for i, v := range x {
		low, high = max(low, v-epsilon*size[i]), min(high, v+epsilon*size[i])
	}
	return low <= high
}

// isConstant reports whether the numbers are equal up to rounding.
func isConstant(x []float64) bool {
	size := make([]float64, len(x))
	for i, v := range x {
		size[i] = math.Abs(v)
	}
	return isConstantWithin(x, size)
}
