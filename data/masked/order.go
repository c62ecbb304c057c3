package masked

import (
	"fmt"
	"math/rand/v2"
)

// EpochOrder returns the order of n examples in an epoch (from 0): a permutation that depends on seed
// and epoch alone, so that a resumed run needs no hidden state.
func EpochOrder(seed uint64, epoch, n int) []int {
	// The epoch goes through a multiplicative hash (2^64 over the golden ratio) so that
	// neighbouring epochs share nothing.
	rng := rand.New(rand.NewPCG(seed, uint64(epoch+1)*0x9E3779B97F4A7C15))
	return rng.Perm(n)
}

// Sampler draws the samples of training steps. Samples come by epochs, each a permutation
// (EpochOrder) of all of them, and batches follow one another across the ends of epochs, so that
// every batch has the same size and n steps of batch b take n x b samples of as equal counts as can
// be.
type Sampler struct {
	seed     uint64
	batch, n int

	epoch int   // whose order is kept, for it costs time that grows with n
	order []int // nil before the first use
}

// NewSampler returns the sampler of a seed for batches of batch out of n samples.
func NewSampler(seed uint64, batch, n int) (*Sampler, error) {
	if batch < 1 || n < 1 {
		return nil, fmt.Errorf("masked: batches of %d out of %d samples: want at least 1 of each",
			batch, n)
	}
	return &Sampler{seed: seed, batch: batch, n: n}, nil
}

// Frames returns the samples of a step (from 0), [batch]: numbers from 0 to n-1, places in the
// caller's list of training frames. They are a pure function of seed, batch, n and step, whatever
// was asked before. Successive steps are cheap; a step of another epoch costs a permutation of n.
// It must not run in two goroutines at once, and panics for a negative step.
func (s *Sampler) Frames(step int) []int {
	if step < 0 {
		panic(fmt.Sprintf("masked: step %d: want 0 or more", step))
	}
	frames := make([]int, s.batch)
	for i := range frames {
		at := step*s.batch + i
		if epoch := at / s.n; s.order == nil || epoch != s.epoch {
			s.epoch, s.order = epoch, EpochOrder(s.seed, epoch, s.n)
		}
		frames[i] = s.order[at%s.n]
	}
	return frames
}
