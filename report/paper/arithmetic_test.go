package paper

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The numbers of a report are computed here a second time, by textbook formulas and by other routes than
// packages stats and metrics take.

// present leaves out NaN.
func present(x []float64) []float64 { return slices.DeleteFunc(slices.Clone(x), math.IsNaN) }

// average returns the mean of what is not NaN.
func average(x []float64) float64 { return stat.Mean(present(x), nil) }

// spread returns the sample SD of what is not NaN.
func spread(x []float64) float64 { return stat.StdDev(present(x), nil) }

// cosineBetween returns the cosine of two vectors.
func cosineBetween(a, b []float64) float64 {
	return floats.Dot(a, b) / math.Sqrt(floats.Dot(a, a)*floats.Dot(b, b))
}

// apart returns the Euclidean distance of two vectors.
func apart(a, b []float64) float64 { return floats.Distance(a, b, 2) }

// divergence returns the Jensen-Shannon divergence in bits.
func divergence(p, q []float64) float64 {
	one := func(x []float64) []float64 { return floats.ScaleTo(make([]float64, len(x)), 1/floats.Sum(x), x) }
	return stat.JensenShannon(one(p), one(q)) / math.Ln2
}

// sumOfSingular returns the sum of the singular values of a^T b, of tables [n,d].
func sumOfSingular(a, b []float64, d int) float64 {
	var product mat.Dense
	product.Mul(mat.NewDense(len(a)/d, d, a).T(), mat.NewDense(len(b)/d, d, b))
	var svd mat.SVD
	svd.Factorize(&product, mat.SVDNone)
	return floats.Sum(svd.Values(nil))
}

// orthogonalDistance returns min ||a R - b|| over orthogonal R, of tables [n,d]: the square is
// ||a||^2 + ||b||^2 less twice the sum of the singular values of a^T b.
func orthogonalDistance(a, b []float64, d int) float64 {
	return math.Sqrt(max(0, floats.Dot(a, a)+floats.Dot(b, b)-2*sumOfSingular(a, b, d)))
}

// shapeDisparity returns the disparity of scipy.spatial.procrustes: 1 less the square of that sum
// of the tables centred and of norm 1.
func shapeDisparity(a, b []float64, d int) float64 {
	a, b = aboutMean(a, d), aboutMean(b, d)
	s := sumOfSingular(a, b, d) / math.Sqrt(floats.Dot(a, a)*floats.Dot(b, b))
	return 1 - s*s
}

// aboutMean returns a table [n,d] less its mean row.
func aboutMean(a []float64, d int) []float64 {
	out := slices.Clone(a)
	for k := range d {
		mean := 0.0
		for i := k; i < len(a); i += d {
			mean += a[i] / float64(len(a)/d)
		}
		for i := k; i < len(a); i += d {
			out[i] -= mean
		}
	}
	return out
}

// twoSided returns the two-sided p of a t with df degrees of freedom.
func twoSided(t, df float64) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.Survival(math.Abs(t))
}

// quantile95 returns the t that 95 % lie within.
func quantile95(df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(.975) }

func close9(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
