package catalogue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/models/pe"
)

// scalings lists the keys that have an effect with each rope_type.
var scalings = map[string]string{
	"default": "", "linear": "factor", "dynamic": "factor", "proportional": "factor",
	"llama3":   "factor low_freq_factor high_freq_factor original_max_position_embeddings",
	"longrope": "factor short_factor long_factor attention_factor original_max_position_embeddings",
	"yarn": "factor attention_factor beta_fast beta_slow mscale mscale_all_dim truncate " +
		"original_max_position_embeddings",
}

// scale sets the options of a scaled rotation, and returns its scheme.
func (c *hfConfig) scale(r hfRotation, options pe.Options) (scheme string, err error) {
	known, ok := scalings[r.kind]
	if !ok {
		return "", fmt.Errorf("rope_type %q is not known: want one of %s", r.kind,
			strings.Join(slices.Sorted(maps.Keys(scalings)), ", "))
	}
	others := strings.Fields("type rope_type rope_theta partial_rotary_factor mrope_section mrope_interleaved")
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		if r.keys[name] != nil && !slices.Contains(strings.Fields(known), name) && !slices.Contains(others, name) {
			c.warn("%s has no effect with rope_type %s", name, r.kind)
		}
	}
	factor, given := r.number("factor")
	if factor == 1 && given {
		c.warn("factor 1 has no effect")
	}
	switch r.kind {
	case "yarn":
		return "rope-yarn", c.scaleYaRN(r, options)
	case "longrope":
		return "rope-longrope", c.scaleLongRoPE(r, options)
	case "proportional":
		if share, ok := r.number("partial_rotary_factor"); ok {
			options["rope-proportion"] = plain(share)
		}
		if !given || factor == 1 {
			return "rope", nil
		}
	case "default":
		return "rope", nil
	}
	if !given || factor < 1 {
		return "", fmt.Errorf("rope_type %s without a factor of at least 1", r.kind)
	}
	options["rope-scale"] = plain(factor)
	switch r.kind {
	case "dynamic":
		options["rope-trained-tokens"] = fmt.Sprint(c.max)
		return "rope-ntk", nil
	case "llama3":
		low, ok1 := r.number("low_freq_factor")
		high, ok2 := r.number("high_freq_factor")
		if !ok1 || !ok2 || high < low {
			return "", fmt.Errorf("rope_type llama3: want low_freq_factor, and high_freq_factor not below it")
		}
		if low == high {
			c.warn("low_freq_factor and high_freq_factor are both %s: a step, here a ramp of width 1e-9",
				plain(low))
			high *= 1 + 1e-9
		}
		options["llama3-low"], options["llama3-high"] = plain(low), plain(high)
		options["rope-trained-tokens"] = plain(c.trained(r))
		return "rope-llama3", nil
	}
	return "rope-pi", nil
}

// trained returns the number of tokens before the scaling.
func (c *hfConfig) trained(r hfRotation) float64 {
	outer, ok := c.number("original_max_position_embeddings")
	inner, is := r.number("original_max_position_embeddings")
	switch {
	case ok && is && outer != inner:
		c.warn("original_max_position_embeddings is %s, and %s next to the scaling: the first counts",
			plain(outer), plain(inner))
	case !ok && !is:
		if outer, ok = c.value("original_max_position_embeddings"); !ok {
			c.warn("original_max_position_embeddings is missing: max_position_embeddings %d is used", c.max)
			return float64(c.max)
		}
	}
	if ok {
		return outer
	}
	return inner
}

// stretch returns the factor of a scaling, or max_position_embeddings divided by the trained tokens.
func (c *hfConfig) stretch(r hfRotation, trained float64) float64 {
	ratio := float64(c.max) / trained
	factor, ok := r.number("factor")
	switch {
	case !ok:
		c.note("factor is missing: %s, max_position_embeddings / original_max_position_embeddings", plain(ratio))
		return ratio
	case c.max > 0 && ratio != factor:
		c.warn("factor %s times %s trained tokens is not max_position_embeddings %d: %s uses the factor "+
			"(transformers 4.52 uses the ratio of the other two)", plain(factor), plain(trained), c.max, r.kind)
	}
	return factor
}

// scaleYaRN sets the options of rope-yarn.
func (c *hfConfig) scaleYaRN(r hfRotation, options pe.Options) error {
	trained := c.trained(r)
	options["rope-trained-tokens"] = plain(trained)
	factor := c.stretch(r, trained)
	if factor < 1 {
		return fmt.Errorf("rope_type yarn: the factor %s is less than 1", plain(factor))
	}
	options["rope-scale"] = plain(factor)
	for key, option := range map[string]string{"beta_fast": "yarn-beta-fast", "beta_slow": "yarn-beta-slow"} {
		if v, ok := r.number(key); ok && v != 0 {
			options[option] = plain(v)
		}
	}
	if r.keys["truncate"] == false {
		options["yarn-truncate"] = "false"
	}
	mscale, _ := r.number("mscale")
	ofAll, _ := r.number("mscale_all_dim")
	attention, ok := r.number("attention_factor")
	switch {
	case ok:
		options["yarn-attention-factor"] = plain(attention)
		if mscale != 0 || ofAll != 0 {
			c.warn("mscale and mscale_all_dim have no effect: attention_factor counts")
		}
	case mscale != 0 && ofAll != 0:
		options["yarn-attention-factor"] = plain(mscale) + "/" + plain(ofAll)
	case mscale != 0 || ofAll != 0:
		c.warn("mscale and mscale_all_dim affect cosines only together: one of them is missing")
	}
	if _, ok := c.value("qk_rope_head_dim"); ok && ofAll != 0 {
		m := 0.1*ofAll*math.Log(factor) + 1
		c.warn("mscale_all_dim %s also multiplies all logits by %.6g, which no scheme here does", plain(ofAll), m*m)
	}
	return nil
}

// scaleLongRoPE sets the options of rope-longrope.
func (c *hfConfig) scaleLongRoPE(r hfRotation, options pe.Options) error {
	trained := c.trained(r)
	options["rope-trained-tokens"] = plain(trained)
	options["rope-scale"] = plain(max(1, c.stretch(r, trained)))
	if v, ok := r.number("attention_factor"); ok {
		options["longrope-magnitude"] = plain(v)
	}
	for _, pair := range [][2]string{{"long_factor", "longrope-factors"}, {"short_factor", "longrope-short"}} {
		factors, count := r.numbers(pair[0])
		if count != r.width/2 {
			return fmt.Errorf("%s has %d numbers, but there are %d pairs", pair[0], count, r.width/2)
		}
		options[pair[1]] = factors
	}
	c.note("short factors count up to %s tokens, long ones beyond", options["rope-trained-tokens"])
	return nil
}
