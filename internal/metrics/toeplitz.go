package metrics

import (
	"errors"
	"fmt"
)

// ToeplitzR2 returns the share of the variance of the elements of m [n,n] that the best-fitting
// Toeplitz matrix explains, R^2 = 1 - RSS/TSS (Wennberg and Henter 2021, appendix B). It is 1 if
// elements depend only on the difference of their indices. The best-fitting Toeplitz matrix holds
// the mean of each diagonal.
func ToeplitzR2(m []float64, n int) (float64, error) {
	if n < 2 || len(m) != n*n {
		return 0, fmt.Errorf("metrics: %d numbers are not a matrix of %d x %d", len(m), n, n)
	}
	sums, counts, mean := make([]float64, 2*n-1), make([]float64, 2*n-1), 0.0
	for i := range n {
		for j := range n {
			v := m[i*n+j]
			if v-v != 0 {
				return 0, fmt.Errorf("metrics: element (%d, %d) is %v", i, j, v)
			}
			sums[j-i+n-1] += v
			counts[j-i+n-1]++
			mean += v
		}
	}
	mean /= float64(n * n)
	var rss, tss float64
	for i := range n {
		for j := range n {
			r := m[i*n+j] - sums[j-i+n-1]/counts[j-i+n-1]
			t := m[i*n+j] - mean
			rss, tss = rss+r*r, tss+t*t
		}
	}
	if isConstant(m) {
		return 0, errors.New("metrics: all elements are equal: there is no variance to explain")
	}
	return 1 - rss/tss, nil
}
