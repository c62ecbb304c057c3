package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// streamPermutation keeps the draws apart from others of the same seed.
const streamPermutation = 0x7065726d // "perm"

// PermutationP returns the chance that labels dealt to the nodes at random reach the modularity of weights w [n,n] under the
// given modules: (1 + those that do) / (1 + permutations). It depends on the seed and the weights alone.
func PermutationP(w []float64, modules []int, permutations int, seed uint64) (float64, error) {
	if permutations < 1 {
		return 0, fmt.Errorf("metrics: %d permutations; at least one is needed", permutations)
	}
	score, err := ScoreNetwork(w, modules)
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(seed, streamPermutation))
	dealt, reached := slices.Clone(modules), 0
	for range permutations {
		rng.Shuffle(len(dealt), func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
		// A sum in another order may differ in its last bits.
		if modularity(w, dealt) >= score.Modularity-1e-12 {
			reached++
		}
	}
	return float64(1+reached) / float64(1+permutations), nil
}
