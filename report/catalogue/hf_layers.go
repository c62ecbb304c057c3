package catalogue

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/models/pe"
)

// Kinds of attention, as layer_types calls them.
const (
	slidingAttention = "sliding_attention"
	fullAttention    = "full_attention"
	chunkedAttention = "chunked_attention"
)

// kinds returns the kind of attention of each layer.
func (c *hfConfig) kinds() ([]string, error) {
	list := c.list("layer_types")
	switch {
	case list == nil:
		return c.kindsByRule(), nil
	case len(list) != len(c.Layers):
		return nil, fmt.Errorf("layer_types has %d values, and there are %d layers", len(list), len(c.Layers))
	case c.windows == "each":
		c.warn("layer_types has no effect in %s: all layers have the window", c.Type)
		return c.kindsByRule(), nil
	}
	kinds := make([]string, len(list))
	for i := range kinds {
		kinds[i], _ = list[i].(string)
	}
	p, ok := c.number("sliding_window_pattern")
	if ok && c.windows == "pattern" && !slices.Equal(kinds, c.kindsByRule()) {
		c.warn("sliding_window_pattern %s has no effect: layer_types differs from it, and counts", plain(p))
	}
	return kinds, nil
}

// kindsByRule returns the kind of attention of each layer if layer_types is missing.
func (c *hfConfig) kindsByRule() []string {
	kind, inUse := slidingAttention, c.yes("use_sliding_window")
	has := func(int) bool { return c.windows != "" }
	switch c.windows {
	case "":
		if v, ok := c.number("sliding_window"); ok {
			c.warn("sliding_window %s has no effect in %s", plain(v), c.Type)
		}
	case "pattern": // all but each nth
		n, ok := c.number("sliding_window_pattern", "_sliding_window_pattern")
		if !ok || n < 1 {
			n = c.defaults["sliding_window_pattern"]
			c.note("layer_types is missing: the last of each %s layers has no window, the default of %s in "+
				"transformers", plain(n), c.Type)
		}
		has = func(i int) bool { return (i+1)%int(n) != 0 }
	case "between": // all but the first and each nth after it (ModernBERT)
		n, _ := c.value("global_attn_every_n_layers")
		has = func(i int) bool { return i%max(int(n), 1) != 0 }
	case "from": // those from max_window_layers on
		first, _ := c.value("max_window_layers")
		if inUse && int(first) >= len(c.Layers) {
			c.warn("use_sliding_window has no effect: max_window_layers %s leaves none of %d layers", plain(first),
				len(c.Layers))
		}
		has = func(i int) bool { return inUse && i >= int(first) }
	case "unrotated": // those without a rotation (SmolLM3)
		unrotated := c.listed()
		has = func(i int) bool { return inUse && unrotated[i] }
	case "rotated": // chunks in those with a rotation (Llama 4)
		unrotated := c.listed()
		kind, has = chunkedAttention, func(i int) bool { return !unrotated[i] }
	}
	kinds := make([]string, len(c.Layers))
	for i := range kinds {
		isLast := i == len(kinds)-1 && strings.HasPrefix(c.Type, "gemma4")
		if kinds[i] = fullAttention; has(i) && !isLast {
			kinds[i] = kind
		}
	}
	return kinds
}

// listed returns the layers excluded by no_rope_layers or its interval.
func (c *hfConfig) listed() []bool {
	list, unrotated := c.list("no_rope_layers"), make([]bool, len(c.Layers))
	if len(list) == len(unrotated) {
		c.note("no_rope_layers has 1 for layers with a rotation, and 0 for those without positions")
		for i, v := range list {
			unrotated[i] = v == 0.0
		}
		return unrotated
	}
	if len(list) > 0 {
		c.warn("no_rope_layers has %d numbers for %d layers: no_rope_layer_interval is taken, a guess", len(list),
			len(unrotated))
	}
	every, _ := c.value("no_rope_layer_interval")
	for i := range unrotated {
		unrotated[i] = every >= 1 && (i+1)%int(every) == 0
	}
	return unrotated
}

// unrotated returns the layers without a rotation.
func (c *hfConfig) unrotated(kinds []string) []bool {
	if c.nope == "listed" {
		return c.listed()
	}
	unrotated := make([]bool, len(kinds))
	if _, ok := c.value("sliding_window"); c.nope == "global" && ok {
		for i, kind := range kinds {
			unrotated[i] = kind != slidingAttention
		}
	}
	return unrotated
}

// window returns the window of layers that have one, like --window; 0 for none.
func (c *hfConfig) window() int {
	if total, ok := c.value("local_attention"); ok { // half of it on each side, including the last token
		return int(total)/2 + 1
	}
	v, ok := c.number("sliding_window")
	_, has := c.keys["use_sliding_window"]
	if has && !c.yes("use_sliding_window") {
		if ok {
			c.warn("sliding_window %s has no effect: use_sliding_window is false", plain(v))
		}
		return 0
	}
	v, _ = c.value("sliding_window")
	if c.max > 0 && int(v) >= c.max {
		c.warn("sliding_window %s hides nothing within max_position_embeddings %d", plain(v), c.max)
	}
	return int(v)
}

// readRotations reads the rotation and the window of each layer.
func (c *hfConfig) readRotations() error {
	if c.yes("alibi") {
		return c.readALiBi()
	}
	kinds, err := c.kinds()
	if err != nil {
		return err
	}
	if c.keys["rope_interleave"] == false {
		c.interleaved, c.tiled = false, ""
	}
	window, unrotated := 0, c.unrotated(kinds)
	if slices.Contains(kinds, slidingAttention) || c.windows != "" && c.keys["use_sliding_window"] != nil {
		window = c.window()
	}
	for i, kind := range kinds {
		l := &c.Layers[i]
		l.scheme = "nope"
		switch kind {
		case slidingAttention:
			l.Window = window
		case chunkedAttention:
			if size, ok := c.value("attention_chunk_size"); ok {
				l.Chunk = int(size)
				l.cannot = fmt.Sprintf("attention within chunks of %d tokens; up to that many it is the same", l.Chunk)
			}
		case fullAttention:
		default:
			l.cannot = "layers of " + kind
			continue
		}
		if unrotated[i] {
			c.readUnrotated(l)
			continue
		}
		if err := c.readRotation(l, kind == slidingAttention); err != nil {
			return err
		}
	}
	return nil
}

// readUnrotated reads a layer without a rotation, whose queries may have a factor (Llama 4).
func (c *hfConfig) readUnrotated(l *CheckpointLayer) {
	tuning, given := c.keys["attn_temperature_tuning"]
	floor, ok := c.value("floor_scale")
	if !ok || given && (tuning == false || tuning == 0.0) {
		return
	}
	scale, _ := c.value("attn_scale")
	l.scheme, l.options["logn"] = "logn", "llama4:"+plain(floor)+"/"+plain(scale)
}

// hfRotation holds the keys that describe the rotation of a layer.
type hfRotation struct {
	keys          // factor and others
	kind  string  // rope_type
	base  float64 // rope_theta
	width int     // rotated dimensions
}

// readRotation reads the rotation of a layer, with a window or not.
func (c *hfConfig) readRotation(l *CheckpointLayer, local bool) error {
	if wide, ok := c.value("global_head_dim"); ok && !local {
		l.Width = int(wide)
		l.cannot = fmt.Sprintf("heads that are %d wide in some layers and %d in others", l.Width, c.Width)
	}
	r, err := c.rotation(l, local)
	if err != nil {
		return err
	}
	l.turn = turning{options: pe.Options{"rope-base": plain(r.base)}, width: r.width}
	if l.turn.scheme, err = c.scale(r, l.turn.options); err != nil {
		return err
	}
	l.Turned, l.Pairs = r.width, "half"
	if c.interleaved {
		l.Pairs = "interleaved"
	} else {
		l.turn.options["rope-layout"] = "half"
	}
	l.scheme, l.options = l.turn.scheme, maps.Clone(l.turn.options)
	if c.tiled != "" {
		l.turn.options["rope-layout"] = "half"
		c.note("transformers lays out cosines for k and k+%d, and %s", r.width/2, c.tiled)
	}
	if r.width < l.Width {
		if hasOption(l.Scheme(), "rope-dims") {
			l.options["rope-dims"] = fmt.Sprint(r.width)
		} else {
			l.cannot = cmp.Or(l.cannot,
				fmt.Sprintf("%s of part of a head, %d of %d dimensions", l.scheme, r.width, l.Width))
		}
	}
	c.readSections(r, l)
	return nil
}

// readSections reads which coordinate of a token rotates which pairs (M-RoPE).
func (c *hfConfig) readSections(r hfRotation, l *CheckpointLayer) {
	isThree, hasSections := strings.HasPrefix(c.Type, "qwen3_vl"), r.list("mrope_section") != nil
	sections, _ := r.numbers("mrope_section")
	if !hasSections && isThree {
		sections = "24,20,20"
		c.note("mrope_section is missing: %s, the default of %s in transformers", sections, c.Type)
	}
	if !hasSections && !isThree {
		return
	}
	if l.scheme != "rope" {
		l.cannot = "mrope with frequencies of " + l.scheme
	}
	l.scheme, l.options["mrope-sections"] = "mrope", sections
	delete(l.options, "rope-dims")
	if r.keys["mrope_interleaved"] == true || isThree {
		l.options["mrope-order"] = "interleaved"
	}
	c.note("cos and sin are for text, whose three coordinates are equal: mrope is then rope")
}

// rotation reads the keys of a rotation, which may be in several places.
func (c *hfConfig) rotation(l *CheckpointLayer, local bool) (r hfRotation, err error) {
	r.keys = keys{}
	given, old := c.sub("rope_parameters"), c.sub("rope_scaling")
	kind := map[bool]string{true: slidingAttention, false: fullAttention}[local]
	byLayer := given.sub(slidingAttention) != nil || given.sub(fullAttention) != nil
	scaled := !local || c.localBase == "" || c.localScaled
	switch {
	case byLayer:
		maps.Copy(r.keys, given.sub(kind))
		if len(old) > 0 && scaled {
			c.warn("both rope_scaling and rope_parameters exist: the keys of rope_scaling count")
			maps.Copy(r.keys, old)
		}
	case len(old) > 0:
		if len(given) > 0 {
			c.warn("rope_parameters has no effect: rope_scaling also exists, and counts")
		}
		if scaled {
			maps.Copy(r.keys, old)
		}
	case len(given) > 0 && c.localBase != "":
		c.warn("rope_parameters has no %s: transformers leaves it out, here it counts in layers without a window",
			fullAttention)
		if !local {
			maps.Copy(r.keys, given)
		}
	case given == nil && c.scaling != nil && scaled:
		c.note("rope_parameters and rope_scaling are missing: %s, the default of %s in transformers",
			c.scaling.text("rope_type"), c.Type)
		maps.Copy(r.keys, c.scaling)
	default:
		maps.Copy(r.keys, given)
	}
	r.base = c.base(r.keys, local)
	if r.base <= 1 {
		return r, fmt.Errorf("rope_theta %s: want more than 1", plain(r.base))
	}
	r.kind = c.ropeType(r.keys)
	r.width, err = c.rotatedDims(r, l)
	return r, err
}

// base returns the base of frequencies.
func (c *hfConfig) base(params keys, local bool) float64 {
	name := cmp.Or(c.globalBase, "rope_theta")
	if local && c.localBase != "" {
		name = c.localBase
	}
	if v, ok := params.number("rope_theta"); ok {
		if outer, ok := c.number(name); ok && outer != v {
			c.warn("%s %s has no effect: rope_theta %s next to the scaling counts", name, plain(outer), plain(v))
		}
		return v
	}
	if v, ok := c.value(name); ok {
		if c.Type == "olmo3" && local && v != c.defaults[name] {
			c.warn("rope_theta %s has no effect with a window in transformers 5.16: here it counts in all layers",
				plain(v))
		}
		return v
	}
	c.note("%s is missing: 10000, the default of transformers", name)
	return 10000
}

// ropeType returns the kind of scaling, whose key has two spellings.
func (c *hfConfig) ropeType(params keys) string {
	old, kind := params.text("type"), params.text("rope_type")
	if old != "" && kind != "" && old != kind {
		c.warn("rope_scaling has type %q and rope_type %q: rope_type counts", old, kind)
	}
	kind = cmp.Or(kind, old, "default")
	switch {
	case kind == "mrope":
		return "default"
	case kind == "su" || kind == "yarn" && c.Type == "phi3":
		return "longrope"
	}
	return kind
}

// rotatedDims returns the number of rotated dimensions of a head.
func (c *hfConfig) rotatedDims(r hfRotation, l *CheckpointLayer) (int, error) {
	if last, ok := c.value("qk_rope_head_dim"); ok {
		c.note("the last %s of the %d dimensions of a head are rotated", plain(last), l.Width)
		return even(last)
	}
	if dims, ok := c.value("rotary_dim"); ok {
		return even(dims)
	}
	share, ok := c.number("partial_rotary_factor", "rotary_pct", "rope_pct")
	if inner, is := r.number("partial_rotary_factor"); is {
		if ok && share != inner {
			c.warn("partial_rotary_factor is %s and, within rope_parameters, %s: the latter counts without "+
				"a scaling, the former with one", plain(share), plain(inner))
		}
		if !ok || r.kind == "default" {
			share, ok = inner, true
		}
	}
	if !ok {
		share, ok = c.value("partial_rotary_factor", "rotary_pct")
	}
	switch {
	case !ok || r.kind == "proportional":
		return even(float64(l.Width))
	case !c.partial && r.kind == "default" && share != 1:
		c.warn("partial_rotary_factor %s has no effect in %s", plain(share), c.Type)
		return even(float64(l.Width))
	}
	return even(math.Floor(float64(l.Width) * share))
}

// even returns a number of dimensions, or an error if it is not even.
func even(dims float64) (int, error) {
	if n := int(dims); n >= 2 && n%2 == 0 {
		return n, nil
	}
	return 0, fmt.Errorf("%s dimensions of a head would be rotated: want an even number", plain(dims))
}
