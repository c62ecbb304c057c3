package masked

import (
	"fmt"
	"math/rand/v2"
)

// EpochOrder returns the order of n examples in an epoch, counted from 0. The permutation depends only on
// seed and epoch, so that a resumed run needs no stored state.
func EpochOrder(seed uint64, epoch, n int) []int {
	// A multiplicative hash (2^64 over the golden ratio) separates the streams of successive epochs.
	rng := rand.New(rand.NewPCG(seed, uint64(epoch+1)*0x9E3779B97F4A7C15))
	return rng.Perm(n)
}

// Sampler selects the samples of training steps. It goes through the samples in epochs, in the order of
// EpochOrder. Batches continue across the ends of epochs, so that all batches have the same size and
// the counts of samples differ by at most one.
type Sampler struct {
	seed     uint64
	batch, n int

	epoch int   // epoch of order
	order []int // cached EpochOrder; nil before the first use
}

// NewSampler returns a sampler of batches from n samples.
func NewSampler(seed uint64, batch, n int) (*Sampler, error) {
	if batch < 1 || n < 1 {
		return nil, fmt.Errorf("masked: batches of %d out of %d samples: want at least 1 of each",
			batch, n)
	}
	return &Sampler{seed: seed, batch: batch, n: n}, nil
}

// Frames returns the samples [batch] of a step, counted from 0, as indices from 0 to n-1. They are a pure
// function of seed, batch, n and step. A step of another epoch costs a permutation of n. Frames is not
// safe for concurrent use, and panics for a negative step.
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
