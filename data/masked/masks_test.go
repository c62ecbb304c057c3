package masked

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"torchpe/internal/expect"
)

// draw draws into a new slice.
func draw(m Masking, seed uint64, stream string, step, samples, tokens int) []bool {
	into := make([]bool, samples*tokens)
	for i := range into {
		into[i] = i%3 == 0 // what was there before must not matter
	}
	m.Draw(Source{seed, stream, step}, tokens, into)
	return into
}

func countMasked(mask []bool) int {
	n := 0
	for _, m := range mask {
		if m {
			n++
		}
	}
	return n
}

// checkChi fails where a chi-squared statistic is beyond its 0.999 quantile. Seeds are fixed, so a
// sound generator passes always or never.
func checkChi(t *testing.T, what string, chi float64, freedom int) {
	t.Helper()
	if limit := (distuv.ChiSquared{K: float64(freedom)}).Quantile(0.999); !(chi < limit) {
		t.Errorf("%s: chi-squared %.1f with %d degrees of freedom, want less than %.1f", what, chi,
			freedom, limit)
	}
}

// uniform returns the chi-squared statistic of counts that should be alike.
func uniform(counts []int) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	want, chi := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		chi += (float64(c) - want) * (float64(c) - want) / want
	}
	return chi
}

// TestDrawEqualsSecondImplementation compares with the masks that testdata/make.py draws with its
// own PCG.
func TestDrawEqualsSecondImplementation(t *testing.T) {
	raw := expect.Must(os.ReadFile("testdata/masks.json"))
	var cases []struct {
		Level                 float64
		Exact                 bool
		Seed                  uint64
		Stream                string
		Step, Samples, Tokens int
		Masks                 []string
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 6 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		got := draw(Masking{c.Level, c.Exact}, c.Seed, c.Stream, c.Step, c.Samples, c.Tokens)
		for i, want := range c.Masks {
			var b strings.Builder
			for _, m := range got[i*c.Tokens : (i+1)*c.Tokens] {
				b.WriteByte("01"[map[bool]int{true: 1}[m]])
			}
			expect.Equal(t, fmt.Sprintf("level %v exact %v sample %d", c.Level, c.Exact, i), b.String(), want)
		}
	}
}

func TestExactCounts(t *testing.T) {
	for _, test := range []struct {
		level        float64
		tokens, want int
	}{
		{0.15, 360, 54}, {0.5, 360, 180}, {0.75, 360, 270}, {0.9, 360, 324}, {0.15, 15, 2},
		{0.5, 15, 8}, {0.9, 15, 14},
		{0.001, 15, 1}, {0.999, 15, 14}, {0.5, 2, 1}, {0.9, 2, 1}, {0.5, 3, 2},
	} {
		m := Masking{test.level, true}
		expect.Equal(t, fmt.Sprintf("level %v of %d tokens: Count", test.level, test.tokens), m.Count(test.tokens),
			test.want)
		masks := draw(m, 3, StreamTrain, 5, 50, test.tokens)
		for i := range 50 {
			expect.Equal(t, fmt.Sprintf("level %v of %d tokens: masked in sample %d", test.level, test.tokens, i),
				countMasked(masks[i*test.tokens:(i+1)*test.tokens]), test.want)
		}
	}
}

// TestExactSetsAreUniform counts the 10 sets of 2 (and of 3) of 5 tokens, the pairs of sets of
// successive samples and of the same sample in successive steps, and with a step fixed those of two
// seeds.
func TestExactSetsAreUniform(t *testing.T) {
	const tokens, samples, steps = 5, 40, 1000
	for _, level := range []float64{0.4, 0.6} {
		m := Masking{level, true}
		index := map[int]int{}
		set := func(mask []bool) int {
			bits := 0
			for i, v := range mask {
				if v {
					bits |= 1 << i
				}
			}
			if _, ok := index[bits]; !ok {
				index[bits] = len(index)
			}
			return index[bits]
		}
		single, inBatch, acrossSteps, acrossSeeds := make([]int, 10), make([]int, 100),
			make([]int, 100), make([]int, 100)
		var before []int
		for step := range steps {
			masks, other := draw(m, 1, StreamTrain, step, samples, tokens),
				draw(m, 2, StreamTrain, step, samples, tokens)
			sets := make([]int, samples)
			for i := range samples {
				sets[i] = set(masks[i*tokens : (i+1)*tokens])
				single[sets[i]]++
				acrossSeeds[10*sets[i]+set(other[i*tokens:(i+1)*tokens])]++
				if i > 0 {
					inBatch[10*sets[i-1]+sets[i]]++
				}
				if before != nil {
					acrossSteps[10*before[i]+sets[i]]++
				}
			}
			before = sets
		}
		checkChi(t, "sets", uniform(single), 9)
		checkChi(t, "successive samples", uniform(inBatch), 99)
		checkChi(t, "successive steps", uniform(acrossSteps), 99)
		checkChi(t, "two seeds", uniform(acrossSeeds), 99)
	}
}

// TestEveryTokenIsMaskedEquallyOften: the counts of n tokens masked with share p in N exact masks
// have the covariance N p (1-p) n/(n-1) (1 - 1/n on the diagonal, -1/n off it), so their squares
// sum to a chi-squared of n-1 degrees.
func TestEveryTokenIsMaskedEquallyOften(t *testing.T) {
	const tokens, samples = 360, 4000
	for _, test := range []struct {
		level float64
		exact bool
	}{{0.15, true}, {0.9, true}, {0.15, false}, {0.5, false}} {
		masks := draw(Masking{test.level, test.exact}, 9, StreamTest, 0, samples, tokens)
		chi, total := 0.0, 0
		for token := range tokens {
			count := 0
			for i := range samples {
				if masks[i*tokens+token] {
					count++
				}
			}
			total += count
			d := float64(count) - test.level*samples
			chi += d * d / (samples * test.level * (1 - test.level))
		}
		if test.exact {
			checkChi(t, "tokens", chi*(tokens-1)/tokens, tokens-1)
			continue
		}
		checkChi(t, "tokens", chi, tokens)
		expect.Near(t, fmt.Sprintf("level %v: %d of %d masked: standard errors off", test.level, total,
			tokens*samples),
			(float64(total)/(tokens*samples)-test.level)/math.Sqrt(test.level*(1-test.level)/(tokens*samples)), 0,
			3.3)
	}
}

// TestBelowIsUnbiased draws below three quarters of 2^32, where a product's upper half without
// rejection is divisible by 3 half of the time.
func TestBelowIsUnbiased(t *testing.T) {
	b, counts := bounded{rng: Masking{}.generator(Source{1, "", 0})}, make([]int, 3)
	for range 30000 {
		counts[b.below(3<<30)%3]++
	}
	checkChi(t, "remainders", uniform(counts), 2)
}

// TestBernoulliRedraws compares the numbers of masked tokens with the binomial distribution less
// its two ends.
func TestBernoulliRedraws(t *testing.T) {
	const tokens, samples, level = 6, 30000, 0.25
	masks := draw(Masking{level, false}, 4, StreamTrain, 0, samples, tokens)
	var counts [tokens + 1]int
	for i := range samples {
		counts[countMasked(masks[i*tokens:(i+1)*tokens])]++
	}
	expect.Equal(t, "samples with no token masked and with all", [2]int{counts[0], counts[tokens]}, [2]int{})
	binomial := distuv.Binomial{N: tokens, P: level}
	inside, chi, mean := 1-binomial.Prob(0)-binomial.Prob(tokens), 0.0, 0.0
	for k := 1; k < tokens; k++ {
		want := samples * binomial.Prob(float64(k)) / inside
		mean += want * float64(k) / samples
		chi += (float64(counts[k]) - want) * (float64(counts[k]) - want) / want
	}
	checkChi(t, "numbers of masked tokens", chi, tokens-2)
	expect.Near(t, "share", Masking{level, false}.Share(tokens), mean/tokens, 1e-12)
}

func TestDrawIsAPureFunction(t *testing.T) {
	for _, exact := range []bool{true, false} {
		m := Masking{0.5, exact}
		base := draw(m, 1, StreamTrain, 7, 8, 40)
		expect.Equal(t, "the same arguments gave two masks",
			!slices.Equal(base, draw(m, 1, StreamTrain, 7, 8, 40)), false)
		expect.Equal(t, "a larger draw begins with other masks",
			!slices.Equal(base, draw(m, 1, StreamTrain, 7, 20, 40)[:8*40]), false)
		for what, other := range map[string][]bool{
			"seed":        draw(m, 2, StreamTrain, 7, 8, 40),
			"high seed":   draw(m, 1+1<<63, StreamTrain, 7, 8, 40),
			"stream":      draw(m, 1, StreamTest, 7, 8, 40),
			"step":        draw(m, 1, StreamTrain, 8, 8, 40),
			"other level": draw(Masking{0.5 + 1e-15, exact}, 1, StreamTrain, 7, 8, 40),
		} {
			// 320 places agree by half, give or take 9.
			agree := 0
			for i := range other {
				if other[i] == base[i] {
					agree++
				}
			}
			if agree < 115 || agree > 205 {
				t.Errorf("another %s: masks agree in %d of 320 places", what, agree)
			}
		}
	}
}

func TestMaskingCheck(t *testing.T) {
	for _, good := range []Masking{{0.15, true}, {0.15, false}, {1e-9, true}, {0.9, false}} {
		if err := good.Check(15); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, test := range []struct {
		m      Masking
		tokens int
		want   string
	}{
		{Masking{0, true}, 15, "level 0"}, {Masking{1, false}, 15, "level 1"},
		{Masking{math.NaN(), true}, 15, "level NaN"},
		{Masking{-0.5, false}, 15, "level -0.5"}, {Masking{0.5, true}, 1, "1 tokens"},
		{Masking{0.5, true}, -2, "-2 tokens"},
		{Masking{0.001, false}, 15, "98.5 %"}, {Masking{0.999, false}, 15, "98.5 %"},
	} {
		expect.Error(t, test.m.Check(test.tokens), test.want)
	}
	for name, call := range map[string]func(){
		"level":        func() { Masking{2, true}.Draw(Source{1, StreamTrain, 0}, 4, make([]bool, 4)) },
		"not rows":     func() { Masking{0.5, true}.Draw(Source{1, StreamTrain, 0}, 4, make([]bool, 5)) },
		"token number": func() { Masking{0.5, true}.Draw(Source{1, StreamTrain, 0}, 0, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
