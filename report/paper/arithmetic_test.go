package paper

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"torchpe/internal/expect"
)

// The numbers of a report are computed here a second time, by textbook formulas and by other routes than
// packages stats and metrics take. TestArithmetic holds them against numbers
// by hand and by scipy.

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

// product returns a^T b [d,d] of tables [n,d].
func product(a, b []float64, d int) []float64 {
	out := make([]float64, d*d)
	for i := range len(a) / d {
		for r := range d {
			for c := range d {
				out[r*d+c] += a[i*d+r] * b[i*d+c]
			}
		}
	}
	return out
}

// rotated returns a matrix [n,d] times the rotation that makes its columns orthogonal (one-sided
// Jacobi), and the norms of these columns, which are its singular values.
func rotated(m []float64, d int) (columns [][]float64, norms []float64) {
	for k := range d {
		var column []float64
		for i := k; i < len(m); i += d {
			column = append(column, m[i])
		}
		columns = append(columns, column)
	}
	for turned := true; turned; {
		turned = false
		for p := range d {
			for q := p + 1; q < d; q++ {
				a, b := columns[p], columns[q]
				aa, bb, ab := floats.Dot(a, a), floats.Dot(b, b), floats.Dot(a, b)
				if math.Abs(ab) <= 1e-13*math.Sqrt(aa*bb) || aa*bb < 1e-60 {
					continue
				}
				turned = true
				zeta := (bb - aa) / (2 * ab)
				t := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
				c := 1 / math.Hypot(1, t)
				for i := range a {
					a[i], b[i] = c*(a[i]-t*b[i]), c*(b[i]+t*a[i])
				}
			}
		}
	}
	slices.SortFunc(columns, func(a, b []float64) int {
		return int(math.Copysign(1, floats.Dot(b, b)-floats.Dot(a, a)))
	})
	for _, c := range columns {
		norms = append(norms, math.Sqrt(floats.Dot(c, c)))
	}
	return columns, norms
}

// sumOfSingular returns the sum of the singular values of a matrix [.,d].
func sumOfSingular(m []float64, d int) float64 {
	_, norms := rotated(m, d)
	return floats.Sum(norms)
}

// orthogonalDistance returns min ||a R - b|| over orthogonal R, of tables [n,d]: the square is
// ||a||^2 + ||b||^2 less twice the sum of the singular values of a^T b.
func orthogonalDistance(a, b []float64, d int) float64 {
	return math.Sqrt(max(0, floats.Dot(a, a)+floats.Dot(b, b)-2*sumOfSingular(product(a, b, d), d)))
}

// shapeDisparity returns the disparity of scipy.spatial.procrustes: 1 less the square of that sum
// of the tables centred and of norm 1.
func shapeDisparity(a, b []float64, d int) float64 {
	a, b = aboutMean(a, d), aboutMean(b, d)
	s := sumOfSingular(product(a, b, d), d) / math.Sqrt(floats.Dot(a, a)*floats.Dot(b, b))
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

// ranks returns ranks from 1; equal numbers share their mean rank.
func ranks(x []float64) (out []float64) {
	for _, v := range x {
		below, equal := 0, 0
		for _, w := range x {
			if w < v {
				below++
			} else if w == v {
				equal++
			}
		}
		out = append(out, float64(below)+float64(equal+1)/2)
	}
	return out
}

// rankCorrelation returns Spearman's rho, and p: the share of all orders of fewer than ten numbers
// in which it is as large, else by Student's t.
func rankCorrelation(x, y []float64) (rho, p float64) {
	a, b := aboutMean(ranks(x), 1), aboutMean(ranks(y), 1)
	rho = cosineBetween(a, b)
	if n := len(b); n < 10 {
		orders, far, order := 0., 0., make([]float64, n)
		for g := combin.NewPermutationGenerator(n, n); g.Next(); orders++ {
			for i, from := range g.Permutation(nil) {
				order[i] = b[from]
			}
			if math.Abs(cosineBetween(a, order)) > math.Abs(rho)-1e-9 {
				far++
			}
		}
		return rho, far / orders
	}
	df := float64(len(x) - 2)
	if 1-rho*rho < 1e-12 {
		return rho, 0
	}
	return rho, twoSided(rho*math.Sqrt(df/(1-rho*rho)), df)
}

// shareBelow returns the integral of sin^a cos^b from 0 to theta over that to pi/2, by Simpson's
// rule in u, with theta = (pi/2) sin^2(u): ends where an exponent is small are smooth in u.
func shareBelow(theta, a, b float64) float64 {
	const steps = 400
	part := func(upTo float64) (sum float64) {
		for i := 0; i <= steps; i++ {
			u := upTo * float64(i) / steps
			sin, cos := math.Sincos(u)
			weight := []float64{2, 4}[i%2]
			if i == 0 || i == steps {
				weight = 1
			}
			s, c := math.Sincos(math.Pi / 2 * sin * sin)
			sum += weight * math.Pow(s, a) * math.Pow(max(c, 0), b) * sin * cos * upTo
		}
		return sum
	}
	return part(math.Asin(math.Sqrt(theta*2/math.Pi))) / part(math.Pi/2)
}

// twoSided returns the two-sided p of a t with df degrees of freedom: with t = sqrt(df) tan(theta)
// its density is cos^(df-1).
func twoSided(t, df float64) float64 {
	return shareBelow(math.Pi/2-math.Atan(math.Abs(t)/math.Sqrt(df)), df-1, 0)
}

// upperTail returns the p of an F with df and df2 degrees of freedom.
func upperTail(f, df, df2 float64) float64 {
	return shareBelow(math.Atan(math.Sqrt(df2/(df*f))), df2-1, df-1)
}

// quantile95 returns the t that 95 % lie within, found by halving.
func quantile95(df float64) float64 {
	low, high := 1.0, 20.0
	for range 50 {
		if middle := (low + high) / 2; twoSided(middle, df) > 0.05 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func close9(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

func TestArithmetic(t *testing.T) {
	root := math.Sqrt(.5)
	quarter := []float64{0, 2, -2, 0, -3, 1, 1, 3} // the rows of square turned by 90 degrees
	square := []float64{2, 0, 0, 2, 1, 3, 3, -1}
	for name, c := range map[string][2]float64{
		"mean without NaN": {average([]float64{1, math.NaN(), 4}), 2.5},
		"SD":               {spread([]float64{1, 3}), math.Sqrt(2)},
		"cosine":           {cosineBetween([]float64{1, 0}, []float64{1, 1}), root},
		"JSD apart":        {divergence([]float64{1, 0}, []float64{0, 1}), 1},
		// H(3/4) - H(1/2)/2 in bits.
		"JSD half": {divergence([]float64{1, 0}, []float64{.5, .5}), 2 - .75*math.Log2(3) - .5},
		"turned":   {orthogonalDistance(quarter, square, 2), 0},
		"doubled": {orthogonalDistance([]float64{4, 0, 0, 4}, []float64{2, 0, 0, 2}, 2),
			math.Sqrt(8)},
		"disparity": {shapeDisparity(quarter, square, 2), 0},
		// scipy.stats: 2*t.sf(2.5, 14), f.sf(.24, 7, 112), t.ppf(.975, df); a Cauchy's by hand.
		"t":      {twoSided(2.5, 14), 0.025466664614062152},
		"Cauchy": {twoSided(1, 1), .5},
		"F":      {upperTail(.24, 7, 112), 0.974376900746315},
		"t 14":   {quantile95(14), 2.1447866879169273},
		"t 2.5":  {quantile95(2.5), 3.5746548420118773},
	} {
		expect.Near(t, name, c[0], c[1], 1e-7)
	}
	// scipy.stats.spearmanr([1, 2, 3, 4, 5], [2, 1, 4, 4, 5]), and the share of all orders as far from 0.
	rho, p := rankCorrelation([]float64{1, 2, 3, 4, 5}, []float64{2, 1, 4, 4, 5})
	if !close9(rho, 0.872081599272381) || math.Abs(p-0.06666666666666667) > 1e-7 {
		t.Errorf("rho %v, p %v", rho, p)
	}
}
