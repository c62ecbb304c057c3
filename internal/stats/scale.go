package stats

import "math"

// epsilon is the distance between 1 and the next float64.
const epsilon = 0x1p-52

// isConstantWithin reports whether one number lies within epsilon * size[i] of every x[i]. The
// numbers then differ only by rounding.
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
