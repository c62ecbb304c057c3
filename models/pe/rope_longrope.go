// rope-longrope: LongRoPE (Ding et al. 2024): each frequency is divided by a factor of its own,
// which a search found; the first tokens may keep their rotation; and the logits are made steeper.
//
//	theta'_k = theta_k / lambda_k;  q and k times m;  the first n tokens as rope
//	m = sqrt(1 + ln s/ln L) ("su"),  0.1 ln s + 1 ("yarn"),  or a number
//
// s is --rope-scale, L the trained tokens. Hugging Face's Phi-3 has two lists: up to L tokens
// lambda_k are --longrope-short, beyond it --longrope-factors; m is that of s for both. With
// --longrope-stretch dynamic the stretch grows with the length (the authors' longrope_dynamic):
//
//	lambda'_k = 1 + (lambda_k - 1) (N/L - 1)/(s - 1)
//
// As in their code, it is not clamped for N < L, where frequencies grow. torchpe does not search for
// the factors: --longrope-factors auto sets lambda_k = s^(k/(Dh/2-1)), rope-ntk's stretch, with which
// the paper's search starts.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	longFactors = Option{Name: "longrope-factors", Default: "auto",
		Check: orWord(positives, "auto"),
		Help:  "divisors of the frequencies, from fast to slow: Dh/2 numbers with commas between, or auto"}
	longMagnitude = Option{Name: "longrope-magnitude", Default: "su",
		Check: orWord(positive, "su", "yarn"),
		Help:  "factor of q and k: su, yarn, or a number"}
	longShort = Option{Name: "longrope-short", Default: "none", Check: orWord(positives, "none"),
		Help: "divisors of the frequencies up to the trained tokens: Dh/2 numbers with commas " +
			"between, or none for those of --longrope-factors"}
	longStretch = Option{Name: "longrope-stretch", Default: "fixed",
		Check: oneOf("fixed", "dynamic"),
		Help:  "factors of rope-longrope as given, or less the nearer the length is to the trained one"}
	longFirst = Option{Name: "longrope-first", Default: "0", Check: whole(0, 1<<30),
		Help: "number of first tokens that are turned as by rope"}
)

func init() {
	Register(Scheme{
		Name:         "rope-longrope",
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{
			positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, longFactors, later(longShort),
			later(longStretch), longMagnitude, longFirst, attentionBias, attentionInit,
		},
		New: newLongRoPE,
	})
}

// positives checks for positive numbers with commas between.
func positives(v string) error {
	for _, part := range strings.Split(v, ",") {
		if err := positive(part); err != nil {
			return fmt.Errorf("%q is not a list of numbers above 0 with commas between: %w", v, err)
		}
	}
	return nil
}

// longRescale returns lambda_k for the tokens there are.
func longRescale(c Config, trained float64) ([]float64, error) {
	name, s, n := longFactors.Name, c.Options.Float(ropeScale.Name), float64(c.Positions.Tokens())
	if n <= trained && c.Options.Text(longShort.Name) != "none" {
		name = longShort.Name
	}
	lambda, err := longList(c, name)
	if err != nil || c.Options.Text(longStretch.Name) == "fixed" {
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
				"pair %d %g at %g tokens, trained on %g: a factor is above 0", factor, k, lambda[k], n, trained)
		}
	}
	return lambda, nil
}

// longList returns the factors of an option.
func longList(c Config, name string) ([]float64, error) {
	pairs, s := c.HeadWidth()/2, c.Options.Float(ropeScale.Name)
	lambda, text := make([]float64, pairs), c.Options.Text(name)
	if text == "auto" {
		for k := range lambda {
			lambda[k] = math.Pow(s, float64(k)/float64(pairs-1))
		}
		return lambda, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != pairs {
		return nil, fmt.Errorf("rope-longrope: --%s has %d numbers, the head width "+
			"%d = %d/%d has %d pairs",
			name, len(parts), c.HeadWidth(), c.DModel, c.Heads, pairs)
	}
	for k := range lambda {
		lambda[k], _ = strconv.ParseFloat(parts[k], 64)
	}
	return lambda, nil
}

func newLongRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	o, trained := c.Options, trainedTokens(c)
	lambda, err := longRescale(c, trained)
	if err != nil {
		return nil, err
	}
	s, m := o.Float(ropeScale.Name), 1.0
	switch magnitude := o.Text(longMagnitude.Name); {
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
		m = o.Float(longMagnitude.Name)
	}
	plain := plainTurn(o.Float(ropeBase.Name), c.HeadWidth())
	end := o.Float(positionsFrom.Name) + o.Float(longFirst.Name)
	return newRotary(c, ps, c.HeadWidth(), func(p float64, pair int) (angle, q, k float64) {
		if angle, q, k = plain(p, pair); p < end {
			return angle, q, k
		}
		return angle / lambda[pair], m, m
	})
}
