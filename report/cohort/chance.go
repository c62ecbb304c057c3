package cohort

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"torchpe/internal/metrics"
)

// Chance returns the accuracy of guessing the symbol of a puzzle among all that training puzzles may have.
func (c Config) Chance() float64 {
	if c.Renames() {
		return 1 / float64(c.Symbols())
	}
	return 1 / float64(c.Side())
}

// Chance holds the modularity expected by chance, for the table of a model's first block.
type Chance struct {
	Q                float64 // of the model
	metrics.NullTest         // against shuffled labels of the tokens
	// Smooth is the chance that tables equally smooth over the places of the tokens reach Q (metrics.Moran);
	// NaN if the run keeps no places.
	Smooth float64
}

// The number of surrogates of a test, and their seed.
const (
	Surrogates    = 999
	surrogateSeed = 1
)

// Distance returns the distance between encodings that the run's network scores use.
func (r *Run) Distance() (metrics.Distance, error) {
	if r.Config.Masked == nil || r.Config.Masked.Distance == "" {
		return metrics.Euclidean, nil
	}
	return metrics.ParseDistance(r.Config.Masked.Distance)
}

// ConnectivityModularity returns the modularity of the correlations between tokens in the training samples,
// with negative ones as 0; nil if the run does not have it.
func (r *Run) ConnectivityModularity() *float64 {
	if r.Result.Data == nil {
		return nil
	}
	return r.Result.Data.ConnectivityModularity
}

// Chance tests the modularity of the first block with a table, for the modules that the run keeps. It returns
// nil if there is nothing to test.
func (m Model) Chance() (*Chance, error) {
	p, err := m.Run.Probes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := p.FirstTable(m.Index)
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
	w := metrics.Proximity(x.Distances(kind))
	score, err := metrics.ScoreNetwork(w, labels)
	if err != nil || math.IsNaN(score.Modularity) {
		return nil, err
	}
	test := func(draw metrics.Surrogate) metrics.NullTest {
		return draw.Test(score.Modularity, Surrogates, surrogateSeed)
	}
	c := &Chance{Q: score.Modularity, NullTest: test(metrics.Permuted(w, labels)), Smooth: math.NaN()}
	if points := p.TokenPoints(x.Tokens); points != nil {
		apart := metrics.TableOf(points).Distances(metrics.Euclidean)
		moran, err := metrics.NewMoran(metrics.InverseDistances(apart, x.Tokens), x.Tokens)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Run.Dir, err)
		}
		c.Smooth = test(moran.Surrogate(x, kind, labels)).P
	}
	return c, nil
}
