package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// streamPermutation keeps the draws apart from others of the same seed.
const streamPermutation = 0x7065726d // "perm"

// PermutationNull returns the modularities of weights w [n,n] under labels dealt to the nodes at
// random. It depends on the seed and the weights alone.
func PermutationNull(w []float64, modules []int, permutations int, seed uint64) ([]float64, error) {
	if permutations < 1 {
		return nil, fmt.Errorf("metrics: %d permutations; at least one is needed", permutations)
	}
	if _, err := ScoreNetwork(w, modules); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, streamPermutation))
	dealt, null := slices.Clone(modules), make([]float64, permutations)
	for i := range null {
		rng.Shuffle(len(dealt), func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
		null[i] = modularity(w, dealt)
	}
	return null, nil
}

// PermutationP returns the chance that labels dealt to the nodes at random reach the modularity of
// weights w [n,n] under the given modules: (1 + those that do) / (1 + permutations).
func PermutationP(w []float64, modules []int, permutations int, seed uint64) (float64, error) {
	null, err := PermutationNull(w, modules, permutations, seed)
	if err != nil {
		return 0, err
	}
	score, err := ScoreNetwork(w, modules)
	if err != nil {
		return 0, err
	}
	reached := 0
	for _, q := range null {
		if q >= score.Modularity-1e-12 { // a sum in another order may differ in its last bits
			reached++
		}
	}
	return float64(1+reached) / float64(1+permutations), nil
}
