package cohort

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"torchpe/internal/metrics"
	"torchpe/internal/stats"
)

// Chance holds what modularity is by chance, on the table of a model's first block.
type Chance struct {
	Q               float64 // of the model
	Mean, Low, High float64 // of modules dealt to the tokens at random; 2.5 and 97.5 %
	P               float64 // the chance of such a deal to reach Q
	// Smooth is the chance of tables to reach Q that are as smooth over the places of the tokens
	// (metrics.Moran); NaN where the run keeps none.
	Smooth float64
}

// The surrogates of a test, and the seed that they are drawn from.
const (
	Surrogates    = 999
	surrogateSeed = 1
)

// Distance returns the distance between encodings that the run's network scores are of.
func (r *Run) Distance() (metrics.Distance, error) {
	if r.Config.Masked == nil || r.Config.Masked.Distance == "" {
		return metrics.Euclidean, nil
	}
	return metrics.ParseDistance(r.Config.Masked.Distance)
}

// ConnectivityModularity returns the modularity of the correlations between tokens in the training
// samples, negative ones as 0; nil where the run does not know it.
func (r *Run) ConnectivityModularity() *float64 {
	if r.Result.Data == nil {
		return nil
	}
	return r.Result.Data.ConnectivityModularity
}

// Chance tests the modularity of the model's first block for the modules that the run keeps; nil
// where there is nothing to test.
func (m Model) Chance() (*Chance, error) {
	p, err := m.Run.Probes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := p.Table(m.Index, 0)
	if errors.Is(err, ErrNoTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	labels, ok, err := p.Modules()
	if err != nil || !ok || len(labels) != x.Tokens {
		return nil, err
	}
	kind, err := m.Run.Distance()
	if err != nil {
		return nil, err
	}
	d, err := metrics.Distances(x.Values, x.Tokens, x.Dim, kind)
	if err != nil {
		return nil, err
	}
	w := metrics.Proximity(d)
	score, err := metrics.ScoreNetwork(w, labels)
	if err != nil || math.IsNaN(score.Modularity) {
		return nil, err
	}
	null := metrics.Null(metrics.Permuted(w, labels), Surrogates, surrogateSeed)
	slices.Sort(null)
	c := &Chance{Q: score.Modularity, Mean: stats.Mean(null), Low: stats.Quantile(null, 0.025),
		High: stats.Quantile(null, 0.975), P: metrics.Reached(null, score.Modularity), Smooth: math.NaN()}
	if points := p.TokenPoints(x.Tokens); points != nil {
		moran, err := moranOf(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Run.Dir, err)
		}
		null := metrics.Null(moran.Surrogate(x.Values, kind, labels), Surrogates, surrogateSeed)
		c.Smooth = metrics.Reached(null, score.Modularity)
	}
	return c, nil
}

func moranOf(points [][]float64) (*metrics.Moran, error) {
	n := len(points)
	d, err := metrics.Distances(slices.Concat(points...), n, len(points[0]), metrics.Euclidean)
	if err != nil {
		return nil, err
	}
	return metrics.NewMoran(metrics.InverseDistances(d, n), n)
}
