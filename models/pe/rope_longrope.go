// rope-longrope: LongRoPE (Ding et al. 2024): each frequency is divided by a factor of its own, which a search found; the first tokens
// may keep their rotation; and the logits are made steeper.
//
//	theta'_k = theta_k / lambda_k;  q and k times m;  the first n tokens as rope
//	m = sqrt(1 + ln s/ln L) ("su"),  0.1 ln s + 1 ("yarn"),  or a number
//
// s is --rope-scale, L the trained tokens. The search is no part of torchpe: with --longrope-factors auto lambda_k = s^(k/(Dh/2-1)), which
// is rope-ntk's stretch and where the search starts in the paper.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	longFactors = Option{Name: "longrope-factors", Default: "auto", Check: autoOrPositive,
		Help: "what the frequencies are divided by, from fast to slow: Dh/2 numbers with commas between, or auto"}
	longMagnitude = Option{Name: "longrope-magnitude", Default: "su", Check: longMagnitudeCheck,
		Help: "what q and k are multiplied by: su, yarn, or a number"}
	longFirst = Option{Name: "longrope-first", Default: "0", Check: whole(0, 1<<30),
		Help: "number of first tokens that are turned as by rope"}
)

func init() {
	Register(Scheme{
		Name:    "rope-longrope",
		Summary: "rope with a factor for each frequency",
		Title:   "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens", Year: 2024,
		Reference: "Ding et al. 2024, arXiv 2402.13753",
		Formula: "as rope, with theta'_k = theta_k / lambda_k; q and k times sqrt(1 + ln s/ln N_trained);\n" +
			"the first n tokens as rope", Parameters: "none (Dh/2 factors are searched, not trained)",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true},
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{
			positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, longFactors, longMagnitude, longFirst, attentionBias, attentionInit,
		},
		New: newLongRoPE,
	})
}

// positive checks that a text is a positive, finite number.
func positive(v string) error {
	if x, err := strconv.ParseFloat(v, 64); err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%q is not a number above 0", v)
	}
	return nil
}

func autoOrPositive(v string) error {
	if v == "auto" {
		return nil
	}
	for _, part := range strings.Split(v, ",") {
		if err := positive(part); err != nil {
			return fmt.Errorf("%q is neither auto nor numbers above 0 with commas between: %w", v, err)
		}
	}
	return nil
}

func longMagnitudeCheck(v string) error {
	if v == "su" || v == "yarn" {
		return nil
	}
	if err := positive(v); err != nil {
		return fmt.Errorf("%w, su or yarn", err)
	}
	return nil
}

// longRescale returns lambda_k.
func longRescale(c Config) ([]float64, error) {
	pairs, s := c.HeadWidth()/2, c.Options.Float(ropeScale.Name)
	lambda, text := make([]float64, pairs), c.Options.Text(longFactors.Name)
	if text == "auto" {
		for k := range lambda {
			lambda[k] = math.Pow(s, float64(k)/float64(pairs-1))
		}
		return lambda, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != pairs {
		return nil, fmt.Errorf("rope-longrope: --longrope-factors has %d numbers, the head width %d = %d/%d has %d pairs",
			len(parts), c.HeadWidth(), c.DModel, c.Heads, pairs)
	}
	for k := range lambda {
		lambda[k], _ = strconv.ParseFloat(parts[k], 64)
	}
	return lambda, nil
}

func newLongRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	o, trained := c.Options, trainedTokens(c)
	lambda, err := longRescale(c)
	if err != nil {
		return nil, err
	}
	s, m := o.Float(ropeScale.Name), 1.0
	switch magnitude := o.Text(longMagnitude.Name); {
	case magnitude == "su" && s > 1:
		if trained < 2 {
			return nil, fmt.Errorf("rope-longrope: --longrope-magnitude su divides by the logarithm of %g trained tokens: give --rope-trained-tokens, or another magnitude", trained)
		}
		m = math.Sqrt(1 + math.Log(s)/math.Log(trained))
	case magnitude == "yarn":
		m = 0.1*math.Log(s) + 1
	case magnitude != "su":
		m = o.Float(longMagnitude.Name)
	}
	plain := plainTurn(o.Float(ropeBase.Name), c.HeadWidth())
	end := o.Float(positionsFrom.Name) + o.Float(longFirst.Name)
	return newRotary(c, ps, rotary{name: "rope-longrope", turn: func(p float64, pair int) (angle, q, k float64) {
		if angle, q, k = plain(p, pair); p < end {
			return angle, q, k
		}
		return angle / lambda[pair], m, m
	}})
}
