package torchpe

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Stream returns the random stream called name of a seed: PCG seeded with the seed and the FNV-1a
// hash of the name. Streams of different names are independent, so that an additional draw does not
// change others.
func Stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Normal draws from N(mean, sd^2).
func Normal(mean, sd float64) Init {
	return func(_ int, rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = mean + sd*rng.NormFloat64()
		}
	}
}

// Uniform draws from U(-bound, bound).
func Uniform(bound float64) Init {
	return func(_ int, rng *rand.Rand, out []float64) {
		for i := range out {
			out[i] = bound * (2*rng.Float64() - 1)
		}
	}
}

// FanIn draws from U(-1/sqrt(fanIn), 1/sqrt(fanIn)): PyTorch's default for a linear map's weight
// and bias.
func FanIn(fanIn int) Init { return Uniform(1 / math.Sqrt(float64(fanIn))) }

// Xavier draws from U(-a, a), a = sqrt(6/(fanIn+fanOut)) (Glorot & Bengio 2010): PyTorch's default
// for the projection to queries, keys and values.
func Xavier(fanIn, fanOut int) Init { return Uniform(math.Sqrt(6 / float64(fanIn+fanOut))) }

// Constant gives every element one value.
func Constant(v float64) Init {
	return func(_ int, _ *rand.Rand, out []float64) {
		for i := range out {
			out[i] = v
		}
	}
}
