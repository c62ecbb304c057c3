// Package order draws the order of training examples.
package order

import "math/rand/v2"

// Epoch returns the order of n examples in an epoch (from 0): a permutation that depends on seed
// and epoch alone, so that a resumed run needs no hidden state.
func Epoch(seed uint64, epoch, n int) []int {
	// The epoch goes through a multiplicative hash (2^64 over the golden ratio) so that
	// neighbouring epochs share nothing.
	rng := rand.New(rand.NewPCG(seed, uint64(epoch+1)*0x9E3779B97F4A7C15))
	return rng.Perm(n)
}
