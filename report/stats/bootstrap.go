package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a range with the share of bootstrap samples in it.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // such as 0.95
}

// streamBootstrap keeps the draws apart from others of the same seed.
const streamBootstrap = 0x626f6f74 // "boot"

// Bootstrap returns the percentile interval of a statistic of x over samples of its numbers drawn with replacement (Efron and
// Tibshirani 1993, chapter 13). It depends on the seed and the numbers alone.
func Bootstrap(x []float64, statistic func([]float64) float64, level float64, samples int, seed uint64) (Interval, error) {
	if err := check("x", x, 2); err != nil {
		return Interval{}, err
	}
	if !(level > 0 && level < 1) || samples < 100 {
		return Interval{}, fmt.Errorf("level %g with %d samples: want a level between 0 and 1 and at least 100 samples", level, samples)
	}
	if v := statistic(x); v-v != 0 {
		return Interval{}, fmt.Errorf("the statistic of x is %v: the numbers are too large for it", v)
	}
	rng := rand.New(rand.NewPCG(seed, streamBootstrap))
	drawn, values := make([]float64, len(x)), make([]float64, samples)
	for i := range values {
		for j := range drawn {
			drawn[j] = x[rng.IntN(len(x))]
		}
		if values[i] = statistic(drawn); values[i]-values[i] != 0 {
			return Interval{}, fmt.Errorf("the statistic of a bootstrap sample is %v: it has no interval", values[i])
		}
	}
	slices.Sort(values)
	return Interval{Low: Quantile(values, (1-level)/2), High: Quantile(values, (1+level)/2), Level: level}, nil
}

// Quantile returns the q-quantile of sorted numbers, linear between neighbours, as numpy.quantile does.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b := sorted[i]/2, sorted[i+1]/2 // halves, whose difference does not overflow
	return 2 * (a + (at-float64(i))*(b-a))
}
