package masked

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Independent random streams of a seed for [Masking.Draw].
const (
	StreamTrain = "train"
	StreamTest  = "test"
)

// Masking selects the masked tokens of a sample at random.
//
// An exact masking hides round(Level x tokens) tokens of each sample, at least one and at most all but
// one. All sets of that size are equally likely. A Bernoulli masking hides each token independently
// with probability Level, and redraws a sample in which none or all would be masked. With many tokens
// redraws hardly occur (360 tokens at level 0.15: once in 10^25). With few tokens they raise the share
// of masked tokens above a low Level (15 tokens at 0.15: 0.164) and lower it below a high one.
type Masking struct {
	Level float64 // share of masked tokens, above 0 and below 1
	Exact bool    // masks an exact count of tokens; else Bernoulli
}

// maxRedrawn bounds the expected share of samples that a Bernoulli masking redraws, and so its time.
const maxRedrawn = 0.9

// Check returns an error if samples of the given number of tokens cannot be masked.
func (m Masking) Check(tokens int) error {
	if !(m.Level > 0 && m.Level < 1) {
		return fmt.Errorf("masked: mask level %v: want a share above 0 and below 1", m.Level)
	}
	if tokens < 2 || tokens > math.MaxInt32 {
		return fmt.Errorf(
			"masked: samples of %d tokens: want at least 2, one to mask and one to see", tokens)
	}
	n := float64(tokens)
	if again := math.Pow(1-m.Level, n) + math.Pow(m.Level, n); !m.Exact && again > maxRedrawn {
		return fmt.Errorf("masked: level %v masks none or all of %d tokens in %.1f %% of samples: "+
			"use an exact count or a level nearer 0.5", m.Level, tokens, 100*again)
	}
	return nil
}

// Count returns the number of tokens that an exact masking hides.
func (m Masking) Count(tokens int) int {
	return min(max(1, int(math.Round(m.Level*float64(tokens)))), tokens-1)
}

// Share returns the expected share of masked tokens. It differs from the level because exact masks have a whole
// number of tokens, and because Bernoulli masks of no token or of all tokens are drawn again.
func (m Masking) Share(tokens int) float64 {
	n := float64(tokens)
	if m.Exact {
		return float64(m.Count(tokens)) / n
	}
	all := math.Pow(m.Level, n)
	return (m.Level - all) / (1 - math.Pow(1-m.Level, n) - all)
}

// Source identifies a draw: the masks of a training step, or those of a test. A test uses [StreamTest]
// and step 0, so that its masks stay the same over a run.
type Source struct {
	Seed   uint64
	Stream string
	Step   int
}

// Draw fills into [samples, tokens], row-major, with a mask for each sample; true means masked. The masks
// are a pure function of m, the source and tokens. The masks of the first k samples do not depend on
// the number of samples.
//
// It panics if the length of into is no multiple of tokens or [Masking.Check] fails.
func (m Masking) Draw(from Source, tokens int, into []bool) {
	if err := m.Check(tokens); err != nil {
		panic(err.Error())
	}
	if len(into)%tokens != 0 {
		panic(fmt.Sprintf("masked: into has %d values for masks of %d tokens", len(into), tokens))
	}
	rng := m.generator(from)
	if m.Exact {
		drawExact(rng, m.Count(tokens), tokens, into)
	} else {
		drawBernoulli(rng, m.Level, tokens, into)
	}
}

// generator returns the generator of a draw. Both words of its state depend on all arguments, because
// streams that differ in one word only would share the low half of PCG's states.
func (m Masking) generator(from Source) *rand.PCG {
	// 2^64 over the golden ratio, and twice that
	const golden, golden2 = 0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A
	h := mix(from.Seed + golden)
	for _, c := range []byte(from.Stream) {
		h = mix(h ^ uint64(c))
	}
	h = mix(h ^ uint64(len(from.Stream)))
	h = mix(h ^ math.Float64bits(m.Level))
	h = mix(h ^ uint64(from.Step))
	return rand.NewPCG(mix(h+golden), mix(h+golden2))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection in which
// each bit of the result depends on all bits of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// drawExact masks count tokens of each sample, chosen by a partial Fisher-Yates shuffle. Each sample
// shuffles the order left by the one before, because a uniform shuffle of any order is uniform.
func drawExact(rng *rand.PCG, count, tokens int, into []bool) {
	// Draw the smaller of the masked and the visible set.
	fill, k := true, count
	if tokens-count < count {
		fill, k = false, tokens-count
	}
	order := make([]int32, tokens)
	for i := range order {
		order[i] = int32(i)
	}
	draws := bounded{rng: rng}
	for start := 0; start < len(into); start += tokens {
		mask := into[start : start+tokens]
		for i := range mask {
			mask[i] = !fill
		}
		for i := range k {
			j := i + int(draws.below(uint32(tokens-i)))
			order[i], order[j] = order[j], order[i]
			mask[order[i]] = fill
		}
	}
}

// bounded draws bounded integers, two from each word of its generator.
type bounded struct {
	rng  *rand.PCG
	word uint64
	half bool // the upper half of word is unused
}

func (b *bounded) next() uint32 {
	if b.half = !b.half; b.half {
		b.word = b.rng.Uint64()
		return uint32(b.word)
	}
	return uint32(b.word >> 32)
}

// below returns a number from 0 to n-1, each equally likely (Lemire, ACM Trans. Model. Comput.
// Simul. 29, 2019, algorithm 5).
func (b *bounded) below(n uint32) uint32 {
	hi, lo := bits.Mul32(b.next(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul32(b.next(), n)
		}
	}
	return hi
}

// drawBernoulli masks each token with probability level, rounded to a multiple of 2^-53.
func drawBernoulli(rng *rand.PCG, level float64, tokens int, into []bool) {
	below := uint64(math.Round(level * (1 << 53)))
	for start := 0; start < len(into); {
		mask := into[start : start+tokens]
		count := 0
		for i := range mask {
			masked := rng.Uint64()>>11 < below
			mask[i] = masked
			if masked {
				count++
			}
		}
		if count > 0 && count < tokens {
			start += tokens
		}
	}
}
