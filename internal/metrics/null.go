package metrics

import (
	"math/rand/v2"
	"slices"

	"torchpe/internal/stats"
)

// Surrogate draws the weights [n,n] and the modules [n] of a network under a null hypothesis. The
// returned slices are valid until the next draw.
type Surrogate func(rng *rand.Rand) (w []float64, modules []int)

// streamPermutation separates these draws from others with the same seed.
const streamPermutation = 0x7065726d // "perm"

// Null returns the modularities of n surrogates drawn with a seed.
func Null(draw Surrogate, n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, streamPermutation))
	null := make([]float64, n)
	for i := range null {
		null[i] = modularity(draw(rng))
	}
	return null
}

// NullTest compares the modularity of a network with that of surrogates.
type NullTest struct {
	Mean, Low, High float64 // of the surrogates: mean, 2.5 and 97.5 % quantiles
	P               float64 // p-value: see Reached
}

// Test compares a modularity q with that of n surrogates drawn with a seed.
func (draw Surrogate) Test(q float64, n int, seed uint64) NullTest {
	null := Null(draw, n, seed)
	slices.Sort(null)
	return NullTest{Mean: stats.Mean(null), Low: stats.Quantile(null, 0.025), High: stats.Quantile(null, 0.975),
		P: Reached(null, q)}
}

// Reached returns the p-value of a statistic q under a null distribution: (1 + the number of draws
// that reach q) / (1 + the number of draws).
func Reached(null []float64, q float64) float64 {
	reached := 0
	for _, v := range null {
		if v >= q-1e-12 { // a sum in another order may differ in its last bits
			reached++
		}
	}
	return float64(1+reached) / float64(1+len(null))
}

// Permuted returns a Surrogate that assigns the labels to the nodes at random. It ignores spatial
// autocorrelation, which makes any compact module score high; [Moran] and [Sphere] keep it.
func Permuted(w []float64, modules []int) Surrogate {
	dealt := slices.Clone(modules)
	return func(rng *rand.Rand) ([]float64, []int) {
		rng.Shuffle(len(dealt), func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
		return w, dealt
	}
}
