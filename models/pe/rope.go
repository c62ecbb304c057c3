// Rotations by the token's place on the line: rope, and methods that stretch it to more tokens than
// in training.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	ropeDims = option("rope-dims", "all", allOrEven,
		"how many dimensions of a head are rotated, with frequencies for that width: all, or an even "+
			"number; the rest stay as they are")
	ropeProportion = option("rope-proportion", "1", positiveUpTo(1),
		"share of the pairs that are rotated, with frequencies for the whole head, fastest first "+
			"(p-RoPE); the rest stay as they are").later()
	ropeScale = option("rope-scale", "2", between(1, 1e6),
		"how many times longer than in training the sequence is; the base's factor alpha in "+
			"rope-ntk")
	ropeTrained = option("rope-trained-tokens", "0", whole(0, 1<<30),
		"tokens on which the rotation was trained; with 0 a fixed --rope-scale (rope-pi, "+
			"rope-ntk), or the current number of tokens (rope-yarn, rope-longrope)")
)

// allOrEven checks the number of rotated dimensions.
func allOrEven(v string) error {
	if n, err := strconv.Atoi(v); v != "all" && (err != nil || n < 2 || n%2 != 0) {
		return fmt.Errorf("%q is neither all nor an even number of at least 2", v)
	}
	return nil
}

// registerRope registers a scheme given by its angles, a function of place and pair. The pairs are
// those of width dimensions, --rope-dims or the head width. A head has at least leastPairs pairs.
//
//nolint:unparam // the result is for "var _ = registerRope(...)", which needs no init function
func registerRope(name string, leastPairs int, angles func(c Config, width int) (turn, error),
	options ...Option) Scheme {
	all := append([]Option{positionsFrom, ropeBase, ropeLayout}, options...)
	has := func(name string) bool {
		return slices.ContainsFunc(options, func(o Option) bool { return o.Name == name })
	}
	return Register(Scheme{Name: name, MinHeadWidth: 2 * leastPairs, Extrapolates: Always,
		New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
			width := c.HeadWidth()
			if has("rope-dims") {
				var err error
				if width, err = c.turnedDims(); err != nil {
					return nil, err
				}
			}
			turn, err := angles(c, width)
			if err != nil {
				return nil, err
			}
			r, err := newRotary(c, ps, width, turn)
			if err != nil {
				return nil, err
			}
			r.attention.Causal = has("xpos-causal") && c.yes("xpos-causal")
			return r, nil
		}}, append(all, attentionBias, attentionInit)...)
}

// turnedDims returns --rope-dims, which is the head width for all.
func (c Config) turnedDims() (int, error) {
	dims := c.int("rope-dims")
	switch {
	case dims == 0:
		return c.HeadWidth(), nil
	case dims > c.HeadWidth():
		return 0, fmt.Errorf("%s: --rope-dims %d is more than the head width %d = %d/%d",
			c.scheme, dims, c.HeadWidth(), c.DModel, c.Heads)
	}
	return dims, nil
}

// trainedTokens returns --rope-trained-tokens, or if it is 0 the number of tokens in training.
func (c Config) trainedTokens() float64 {
	if trained := c.float("rope-trained-tokens"); trained > 0 {
		return trained
	}
	if c.Trained > 0 {
		return float64(c.Trained)
	}
	return float64(c.Positions.Tokens())
}

// With --rope-dims, frequencies are those for r dimensions; with --rope-proportion, those for all:
// GPT-NeoX, and section 6 of Barbero et al.
var _ = registerRope("rope", 1, func(c Config, width int) (turn, error) {
	return c.proportion(plainTurn(c.float("rope-base"), width), width)
}, ropeDims, ropeProportion)

// proportion returns the rotation restricted to --rope-proportion of the pairs of width dimensions.
func (c Config) proportion(t turn, width int) (turn, error) {
	share := c.float("rope-proportion")
	kept := int(math.Floor(share * float64(width) / 2))
	if kept == 0 {
		return nil, fmt.Errorf("%s: --rope-proportion %g of %d pairs is less than one pair: give at least %g",
			c.scheme, share, width/2, 2/float64(width))
	}
	return t.first(kept), nil
}

// With --rope-trained-tokens L the scale is N/L, or 1 if N is smaller.
var _ = registerRope("rope-pi", 1, func(c Config, width int) (turn, error) {
	s := c.float("rope-scale")
	if trained := c.int("rope-trained-tokens"); trained > 0 {
		s = max(1, float64(c.Positions.Tokens())/float64(trained))
	}
	plain := plainTurn(c.float("rope-base"), width)
	return c.proportion(func(p float64, pair int) (angle, q, k float64) {
		return plain(p/s, pair)
	}, width)
}, ropeScale.idle("rope-trained-tokens", "!0"), ropeTrained, ropeProportion)

// alpha is --rope-scale f; with --rope-trained-tokens L it follows from the length.
var _ = registerRope("rope-ntk", 2, func(c Config, width int) (turn, error) {
	if width < 4 {
		return nil, fmt.Errorf("rope-ntk: --rope-dims %d has one pair, which no base slows down: give at "+
			"least 4", width)
	}
	alpha := c.float("rope-scale")
	if trained, n := c.int("rope-trained-tokens"), c.Positions.Tokens(); trained > 0 {
		f := alpha
		if alpha = 1; n > trained {
			alpha = f*float64(n)/float64(trained) - (f - 1)
		}
	}
	return plainTurn(ntkBase(c.float("rope-base"), alpha, width), width), nil
}, ropeScale, ropeTrained, ropeDims.later())

// ntkBase returns the base of NTK-aware interpolation by alpha over width dimensions.
func ntkBase(base, alpha float64, width int) float64 {
	return base * math.Pow(alpha, float64(width)/float64(width-2))
}

// by-parts is the authors' earlier "NTK-by-parts", with their code's constants: NTK-aware between
// linear and plain, without a factor on q and k.
var _ = registerRope("rope-yarn", 2, func(c Config, width int) (turn, error) {
	trained := c.trainedTokens()
	base, s, kind := c.float("rope-base"), c.float("rope-scale"), c.text("rope-yarn")
	if kind == "dynamic" {
		s = max(1, float64(c.Positions.Tokens())/trained)
	}
	theta := func(base float64, k int) float64 { return math.Pow(base, -2*float64(k)/float64(width)) }
	mix := func(g, slow, fast float64) float64 { return (1-g)*slow + g*fast }
	frequency, m := make([]float64, width/2), c.yarnFactor(s, kind)
	r := trainedRotary{width, base, trained}
	g := r.ramp(c.float("yarn-beta-fast"), c.float("yarn-beta-slow"), c.yes("yarn-truncate"))
	for k := range frequency {
		frequency[k] = mix(g(k), theta(base, k)/s, theta(base, k))
	}
	if kind == "by-parts" {
		ntk, plain := r.ramp(1.25, 0.75, true), r.ramp(16, 2, true)
		for k := range frequency {
			inner := mix(ntk(k), theta(base, k)/s, theta(ntkBase(base, s, width), k))
			frequency[k] = mix(plain(k), inner, theta(base, k))
		}
	}
	return turnBy(frequency, m), nil
}, ropeScale.idle("rope-yarn", "dynamic"), ropeTrained,
	option("rope-yarn", "fixed", oneOf("fixed", "dynamic", "by-parts"),
		"YaRN with a fixed scale, with the scale of the length (dynamic), or the earlier "+
			"NTK-by-parts"),
	option("yarn-beta-fast", "32", between(1e-6, 1e6),
		"a rotation with at least this many turns over the trained tokens stays unchanged").
		idle("rope-yarn", "by-parts"),
	option("yarn-beta-slow", "1", between(1e-6, 1e6),
		"a rotation with fewer turns over the trained tokens is interpolated").idle("rope-yarn", "by-parts"),
	option("yarn-truncate", "true", yesNo,
		"whether the ends of the ramp of rope-yarn are rounded to whole pairs; false in gpt-oss").
		later().idle("rope-yarn", "by-parts"),
	option("yarn-attention-factor", "auto", yarnFactor,
		"factor of q and k of rope-yarn: auto (0.1 ln s + 1), a number, or mscale/mscale_all_dim "+
			"as in 1/0.707").later())

// yarnFactor checks --yarn-attention-factor.
var yarnFactor = orWord(func(v string) error {
	scale, ofAll, quotient := strings.Cut(v, "/")
	if err := positive(scale); err != nil || !quotient {
		return err
	}
	return positive(ofAll)
}, "auto")

// yarnFactor returns the factor of q and k at a scale s. With --yarn-attention-factor A/B it is the
// ratio of those of mscale A and mscale_all_dim B, as in transformers.
func (c Config) yarnFactor(s float64, kind string) float64 {
	magnitude := func(factor float64) float64 { return 0.1*factor*math.Log(s) + 1 }
	scale, ofAll, quotient := strings.Cut(c.text("yarn-attention-factor"), "/")
	a, _ := strconv.ParseFloat(scale, 64)
	b, _ := strconv.ParseFloat(ofAll, 64)
	switch {
	case quotient:
		return magnitude(a) / magnitude(b)
	case scale != "auto":
		return a
	case kind == "by-parts":
		return 1
	}
	return magnitude(1)
}

// trainedRotary is the rotation with which a model was trained: the width of a head, the base, and
// the number of tokens.
type trainedRotary struct {
	width        int
	base, tokens float64
}

// ramp returns g_k: 1 for pairs that turn more than fast times over the trained tokens, 0 for those that
// turn less than slow times, and linear in between. If truncated, the ramp begins and ends at whole pairs.
func (r trainedRotary) ramp(fast, slow float64, truncated bool) func(k int) float64 {
	dim := func(turns float64) float64 {
		return float64(r.width) * math.Log(r.tokens/(turns*2*math.Pi)) / (2 * math.Log(r.base))
	}
	low, high := dim(fast), dim(slow)
	if truncated {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(r.width-1))
	if low == high {
		high += 0.001 // as in the authors' code
	}
	return func(k int) float64 { return 1 - min(max((float64(k)-low)/(high-low), 0), 1) }
}

// Llama 3.1 has base 500000, s = 8, L = 8192, low = 1 and high = 4.
var _ = registerRope("rope-llama3", 1, func(c Config, width int) (turn, error) {
	trained, base, s := c.trainedTokens(), c.float("rope-base"), c.float("rope-scale")
	low, high := c.float("llama3-low"), c.float("llama3-high")
	if low >= high {
		return nil, fmt.Errorf("rope-llama3: --llama3-low %g is not below --llama3-high %g", low, high)
	}
	frequency := make([]float64, width/2)
	for k := range frequency {
		theta := math.Pow(base, -2*float64(k)/float64(width))
		turns := trained * theta / (2 * math.Pi) // L/w_k
		g := min(max((turns-low)/(high-low), 0), 1)
		frequency[k] = (1-g)*theta/s + g*theta
	}
	return turnBy(frequency, 1), nil
}, ropeScale, ropeTrained, ropeDims,
	option("llama3-low", "1", positive,
		"rope-llama3 divides a rotation by the scale if it has fewer turns over the trained tokens"),
	option("llama3-high", "4", positive,
		"rope-llama3 leaves a rotation unchanged from this many turns over the trained tokens"))

// The factor of q and k is that of the scale for both lists of factors. torchpe does not search for
// factors: auto is s^(k/(Dh/2-1)), the stretch of rope-ntk, with which the paper's search starts.
var _ = registerRope("rope-longrope", 2, func(c Config, width int) (turn, error) {
	trained := c.trainedTokens()
	lambda, err := longRescale(c, trained)
	if err != nil {
		return nil, err
	}
	s, m := c.float("rope-scale"), 1.0
	switch magnitude := c.text("longrope-magnitude"); {
	case magnitude == "su" && s > 1:
		if trained < 2 {
			return nil, fmt.Errorf("rope-longrope: --longrope-magnitude su divides by the "+
				"logarithm of %g trained "+
				"tokens: give --rope-trained-tokens, or another magnitude", trained)
		}
		m = math.Sqrt(1 + math.Log(s)/math.Log(trained))
	case magnitude == "yarn":
		m = 0.1*math.Log(s) + 1
	case magnitude != "su":
		m = c.float("longrope-magnitude")
	}
	plain := plainTurn(c.float("rope-base"), width)
	end := c.float("positions-from") + c.float("longrope-first")
	return func(p float64, pair int) (angle, q, k float64) {
		if angle, q, k = plain(p, pair); p < end {
			return angle, q, k
		}
		return angle / lambda[pair], m, m
	}, nil
}, ropeScale, ropeTrained,
	option("longrope-factors", "auto", orWord(positives, "auto"),
		"divisors of the frequencies, from fast to slow: Dh/2 comma-separated numbers, or auto"),
	option("longrope-short", "none", orWord(positives, "none"),
		"divisors of the frequencies up to the trained tokens: Dh/2 comma-separated "+
			"numbers, or none for those of --longrope-factors").later(),
	option("longrope-stretch", "fixed", oneOf("fixed", "dynamic"),
		"factors of rope-longrope as given, or smaller the closer the length is to the trained one").later(),
	option("longrope-magnitude", "su", orWord(positive, "su", "yarn"),
		"factor of q and k: su, yarn, or a number"),
	option("longrope-first", "0", whole(0, 1<<30), "number of first tokens that are rotated as by rope"))

// longRescale returns lambda_k for the current number of tokens: with --longrope-stretch dynamic 1
// + (lambda_k - 1) (N/L - 1)/(s - 1), which as in the authors' code is not clamped for N < L.
func longRescale(c Config, trained float64) ([]float64, error) {
	name, s, n := "longrope-factors", c.float("rope-scale"), float64(c.Positions.Tokens())
	if n <= trained && !c.is("longrope-short", "none") {
		name = "longrope-short"
	}
	lambda, err := longList(c, name)
	if err != nil || c.is("longrope-stretch", "fixed") {
		return lambda, err
	}
	if s == 1 {
		return nil, fmt.Errorf("rope-longrope: --longrope-stretch dynamic divides by s - 1: give a " +
			"--rope-scale above 1")
	}
	for k := range lambda {
		factor := lambda[k]
		if lambda[k] = 1 + (factor-1)*(n/trained-1)/(s-1); lambda[k] <= 0 {
			return nil, fmt.Errorf("rope-longrope: --longrope-stretch dynamic makes the factor %g of "+
				"pair %d %g at %g tokens, trained on %g: a factor must be above 0",
				factor, k, lambda[k], n, trained)
		}
	}
	return lambda, nil
}

// longList returns the factors of an option.
func longList(c Config, name string) ([]float64, error) {
	pairs, s := c.HeadWidth()/2, c.float("rope-scale")
	if c.text(name) == "auto" {
		lambda := make([]float64, pairs)
		for k := range lambda {
			lambda[k] = math.Pow(s, float64(k)/float64(pairs-1))
		}
		return lambda, nil
	}
	lambda := c.floats(name)
	if len(lambda) != pairs {
		return nil, fmt.Errorf("rope-longrope: --%s has %d numbers, but the head width %d = %d/%d has %d pairs",
			name, len(lambda), c.HeadWidth(), c.DModel, c.Heads, pairs)
	}
	return lambda, nil
}

// At least the fastest pair is rotated. Other papers with this name (video, hyperbolic) are other schemes.
var _ = registerRope("hope", 1, func(c Config, width int) (turn, error) {
	base, kept, slowest := c.float("rope-base"), 1, 2*math.Pi/c.trainedTokens()
	for kept < width/2 && math.Pow(base, -2*float64(kept)/float64(width)) > slowest {
		kept++
	}
	return plainTurn(base, width).first(kept), nil
}, ropeTrained)

// Logits scale with zeta^((i-j)/S), which grows without bound for j > i, so the default is causal.
// The centre ceil(N/2) keeps numbers small and does not change logits.
var _ = registerRope("xpos", 1, func(c Config, width int) (turn, error) {
	dh, gamma, span := float64(width), c.float("xpos-gamma"), c.float("xpos-scale-base")
	centre := c.float("positions-from") + math.Ceil(float64(c.Positions.Tokens())/2)
	plain := plainTurn(c.float("rope-base"), width)
	return func(p float64, pair int) (angle, q, k float64) {
		angle, _, _ = plain(p, pair)
		decay := math.Pow((2*float64(pair)+gamma*dh)/((1+gamma)*dh), (p-centre)/span)
		return angle, decay, 1 / decay
	}, nil
}, option("xpos-scale-base", "512", between(1, math.Inf(1)),
	"tokens over which xpos decays by zeta (S)"),
	option("xpos-gamma", "0.4", between(0.01, 1e6),
		"gamma of xpos: the larger, the less the fastest rotation decays"),
	option("xpos-causal", "true", yesNo, "xpos under a causal mask"))
