package nmar

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// SpectralRadius returns the largest modulus of the eigenvalues of the linearised process, sin x ~ x, in its companion form
// [nodes*lags, nodes*lags]. Below 1 it returns to rest from small disturbances; above 1 it leaves rest, and stays bounded
// only if the autoregressive weights of every node sum to less than 1.
func (s *Simulation) SpectralRadius() float64 {
	n, lags := s.Options.Nodes, s.Options.Lags
	a := mat.NewDense(n*lags, n*lags, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, s.Weights[i*n+j])
		}
		for k := range lags {
			a.Set(i, k*n+i, a.At(i, k*n+i)+s.AR[i*lags+k])
			if k > 0 {
				a.Set(k*n+i, (k-1)*n+i, 1)
			}
		}
	}
	var eigen mat.Eigen
	if !eigen.Factorize(a, mat.EigenNone) {
		return math.NaN()
	}
	radius := 0.0
	for _, v := range eigen.Values(nil) {
		radius = math.Max(radius, cmplx.Abs(v))
	}
	return radius
}

// Summary describes a simulation's series.
type Summary struct {
	SpectralRadius float64    `json:"spectral_radius"`
	Mean           [2]float64 `json:"mean"` // smallest and largest over the nodes
	SD             [2]float64 `json:"sd"`
	Within         float64    `json:"correlation_within"`  // mean correlation of two nodes of one module, at lag 0
	Between        float64    `json:"correlation_between"` // and of two modules
}

// Summarise measures the series. Within or Between is NaN where there is no such pair.
func (s *Simulation) Summarise() Summary {
	n := s.Options.Nodes
	columns := make([][]float64, n)
	for at, v := range s.X {
		columns[at%n] = append(columns[at%n], float64(v))
	}
	sum := Summary{SpectralRadius: s.SpectralRadius(), Mean: [2]float64{math.Inf(1), math.Inf(-1)}, SD: [2]float64{math.Inf(1), math.Inf(-1)}}
	widen := func(r *[2]float64, v float64) { r[0], r[1] = math.Min(r[0], v), math.Max(r[1], v) }
	var within, between []float64
	for i, x := range columns {
		mean, sd := stat.MeanStdDev(x, nil)
		widen(&sum.Mean, mean)
		widen(&sum.SD, sd)
		for j := range i {
			r := stat.Correlation(x, columns[j], nil)
			if s.Labels[i] == s.Labels[j] {
				within = append(within, r)
			} else {
				between = append(between, r)
			}
		}
	}
	sum.Within, sum.Between = stat.Mean(within, nil), stat.Mean(between, nil)
	return sum
}
