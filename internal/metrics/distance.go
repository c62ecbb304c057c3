package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Distance selects a distance between the learned encodings a and b of two tokens. The paper aligns
// matrices by an orthogonal Procrustes transform and takes the Frobenius norm of their difference, but
// does not say which matrices. SignAligned and OneMinusCorr2 are the possible readings.
type Distance int

// The distances.
const (
	Euclidean     Distance = iota // |a - b|
	SignAligned                   // min(|a - b|, |a + b|): Procrustes of two columns [D,1]
	OneMinusCorr2                 // 1 - corr(a,b)^2: the disparity of scipy.spatial.procrustes of two columns
	Cosine                        // 1 - a.b / (|a| |b|)
)

var distanceNames = []string{"euclidean", "sign-aligned", "corr2", "cosine"}

// String returns the name that ParseDistance accepts.
func (d Distance) String() string { return distanceNames[d] }

// DistanceNames lists the distances by name.
func DistanceNames() []string { return slices.Clone(distanceNames) }

// ParseDistance returns the distance of that name.
func ParseDistance(name string) (Distance, error) {
	if i := slices.Index(distanceNames, name); i >= 0 {
		return Distance(i), nil
	}
	return 0, fmt.Errorf("unknown distance %q; want one of %s", name, strings.Join(distanceNames, ", "))
}

// between returns the distance of two rows.
func (d Distance) between(a, b []float64) float64 {
	switch d {
	case Euclidean:
		return norm(a, b, -1)
	case SignAligned:
		return math.Min(norm(a, b, -1), norm(a, b, 1))
	case OneMinusCorr2:
		c := CosineOf(centred(a), centred(b))
		return 1 - c*c
	default:
		return 1 - CosineOf(a, b)
	}
}

// norm returns |a + sign b|.
func norm(a, b []float64, sign float64) float64 {
	sum := 0.0
	for i := range a {
		v := a[i] + sign*b[i]
		sum += v * v
	}
	return math.Sqrt(sum)
}

// centred subtracts the mean from a. For equal numbers it returns exact zeros, so that rounding does
// not leave a direction.
func centred(a []float64) []float64 {
	if slices.Max(a) == slices.Min(a) {
		return make([]float64, len(a))
	}
	mean := 0.0
	for _, v := range a {
		mean += v / float64(len(a))
	}
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v - mean
	}
	return out
}

// CosineOf returns the cosine of two vectors.
func CosineOf(a, b []float64) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return ab / (math.Sqrt(aa) * math.Sqrt(bb))
}

// Proximity returns weights 1 - s [n,n], where s are the distances [n,n] scaled to 0...1 over the whole
// matrix, its diagonal of zeros included (the paper's A.3). Weights are NaN if all distances are equal.
func Proximity(distances []float64) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range distances {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	out := make([]float64, len(distances))
	for i, v := range distances {
		out[i] = 1 - (v-low)/(high-low)
	}
	return out
}
