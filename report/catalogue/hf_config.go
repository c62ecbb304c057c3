package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// Checkpoint holds the positional encoding of each layer of a model of Hugging Face's transformers, according
// to its configuration. Its JSON keys are part of the command line's interface.
type Checkpoint struct {
	Type     string            `json:"model_type"`
	Heads    int               `json:"heads"`
	Width    int               `json:"head_width"`
	Causal   bool              `json:"causal"`
	Layers   []CheckpointLayer `json:"layers"`   // encoder layers first, then decoder layers
	Notes    []string          `json:"notes"`    // values of missing keys, and the meaning of numbers
	Warnings []string          `json:"warnings"` // keys that have no effect or more than one meaning
	Flags    string            `json:"flags"`    // the flags for the same encoding here; "" if there are none
	Cannot   []string          `json:"cannot"`   // what torchpe lacks
}

// CheckpointLayer holds the positional encoding of one layer of a checkpoint.
type CheckpointLayer struct {
	Encoding string `json:"pe"`              // a scheme with its options, as in rope(base=10000)
	Pairs    string `json:"pairs,omitempty"` // of a rotation: half or interleaved
	Turned   int    `json:"turned_dims,omitempty"`
	Width    int    `json:"head_width"`
	Window   int    `json:"window"`          // as in --window; 0 for none
	Chunk    int    `json:"chunk,omitempty"` // tokens attend only to others in their chunk of this size
	Part     string `json:"part,omitempty"`  // encoder or decoder
	Weights  string `json:"trained,omitempty"`

	scheme  string
	options pe.Options
	cannot  string // why torchpe has no such layer
	turn    turning
}

// turning is a scheme with its dimensions; for a rotation, those of the rotated heads.
type turning struct {
	scheme  string
	options pe.Options
	width   int
}

// keys holds the keys of a configuration, or of an object in it.
type keys map[string]any

// sub returns the object under a key, or nil.
func (k keys) sub(name string) keys {
	sub, _ := k[name].(map[string]any)
	return sub
}

// list returns the array under a key, or nil.
func (k keys) list(name string) []any {
	list, _ := k[name].([]any)
	return list
}

// numbers returns the numbers of an array, joined by commas, and their count; "" if there is none.
func (k keys) numbers(name string) (text string, count int) {
	var all []string
	for _, v := range k.list(name) {
		n, _ := v.(float64)
		all = append(all, plain(n))
	}
	return strings.Join(all, ","), len(all)
}

// text returns the text under a key, or "".
func (k keys) text(name string) string {
	text, _ := k[name].(string)
	return text
}

// number returns the number under the first of some keys whose number fits an int.
func (k keys) number(names ...string) (float64, bool) {
	for _, name := range names {
		if v, ok := k[name].(float64); ok && math.Abs(v) < 1<<53 {
			return v, true
		}
	}
	return 0, false
}

// ReadCheckpoint reads a config.json of transformers, or that in a folder.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all keys
	var c *Checkpoint
	if err = json.Unmarshal(body, &all); err == nil {
		c, err = newCheckpoint(all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// hfConfig reads the keys of a model of a family.
type hfConfig struct {
	keys
	modelFamily
	*Checkpoint
	max int // max_position_embeddings
}

// warn adds a warning.
func (c *hfConfig) warn(format string, args ...any) {
	addOnce(&c.Warnings, fmt.Sprintf(format, args...))
}

// note adds a note.
func (c *hfConfig) note(format string, args ...any) { addOnce(&c.Notes, fmt.Sprintf(format, args...)) }

func addOnce(to *[]string, text string) {
	if !slices.Contains(*to, text) {
		*to = append(*to, text)
	}
}

// value returns the number of the first existing key, or the family's default, with a note. A key that is null
// has no value and no default.
func (c *hfConfig) value(names ...string) (float64, bool) {
	for _, name := range names {
		if v, ok := c.keys[name]; ok {
			number, is := c.number(name)
			if !is && v != nil {
				c.warn("%s is %v, which is not an ordinary number: it is ignored", name, v)
			}
			return number, is
		}
	}
	for _, name := range names {
		if v, ok := c.defaults[name]; ok {
			c.note("%s is missing: %s, the default of %s in transformers", name, plain(v), c.Type)
			return v, true
		}
	}
	return 0, false
}

// whole returns a required number.
func (c *hfConfig) whole(names ...string) (int, error) {
	v, ok := c.value(names...)
	if !ok || v < 1 || v != math.Trunc(v) || v > 1<<31 {
		return 0, fmt.Errorf("want a whole number %s: is this a complete config.json?", strings.Join(names, " or "))
	}
	return int(v), nil
}

// yes reports whether a key is true.
func (c *hfConfig) yes(name string) bool { return c.keys[name] == true }

// plain returns a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// newCheckpoint reads a configuration.
func newCheckpoint(all keys) (*Checkpoint, error) {
	c := &hfConfig{keys: all, Checkpoint: &Checkpoint{Notes: []string{}, Warnings: []string{}, Cannot: []string{}}}
	if text := all.sub("text_config"); text != nil {
		c.keys = text
		c.note("the keys are those of text_config")
	}
	if c.Type = c.text("model_type"); c.Type == "" {
		c.Type = all.text("model_type")
	}
	if c.Type == "" {
		whose := ""
		if all.text("task") != "" && all.text("token_input") != "" {
			whose = ": it is of a model of torchpe"
		}
		return nil, fmt.Errorf("it has no model_type%s; give the config.json of a model of Hugging Face's "+
			"transformers", whose)
	}
	var known bool
	if c.modelFamily, known = findFamily(c.Type); !known {
		return nil, fmt.Errorf("model_type %q is not known%s: if its positions are like those of another, such as "+
			"llama, write that", c.Type, wording.Hint(c.Type, knownTypes()))
	}
	if err := c.readSizes(); err != nil {
		return nil, err
	}
	c.findUnread()
	read := map[string]func() error{"": c.readRotations, "alibi": c.readALiBi, "t5": c.readT5,
		"learn": c.readTable}[c.kind]
	if err := read(); err != nil {
		return nil, err
	}
	for i := range c.Layers {
		c.Layers[i].Encoding = c.Layers[i].notation()
	}
	c.findFlags()
	return c.Checkpoint, nil
}

// readKeys lists the keys about positions that are read.
var readKeys = strings.Fields(`model_type text_config alibi attention_chunk_size
	global_rope_theta local_rope_theta max_position_embeddings max_window_layers n_positions
	no_rope_layer_interval no_rope_layers original_max_position_embeddings partial_rotary_factor
	position_embedding_type qk_nope_head_dim qk_rope_head_dim relative_attention_max_distance
	relative_attention_num_buckets rope_interleave rope_local_base_freq rope_parameters rope_pct
	rope_scaling rope_theta rotary_dim rotary_emb_base rotary_pct sliding_window sliding_window_pattern
	_sliding_window_pattern use_sliding_window`)

// onPositions matches keys that seem to be about positions.
var onPositions = regexp.MustCompile("rope|rotary|alibi|position|relative_attention|sliding|window")

// findUnread warns of keys about positions that are not read.
func (c *hfConfig) findUnread() {
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		if onPositions.MatchString(name) && !slices.Contains(readKeys, name) && c.keys[name] != nil &&
			c.keys[name] != false {
			c.warn("%s is not read: it is not a known key of transformers", name)
		}
	}
	if kind := c.text("position_embedding_type"); kind != "" && c.kind != "learn" {
		c.warn("position_embedding_type %s has no effect in %s", kind, c.Type)
	}
}

// readSizes reads the numbers of layers and heads and the width of a head.
func (c *hfConfig) readSizes() error {
	layers, err := c.whole("num_hidden_layers", "n_layer", "n_layers", "num_layers")
	if err != nil {
		return err
	}
	if c.Heads, err = c.whole("num_attention_heads", "n_head", "n_heads", "num_heads"); err != nil {
		return err
	}
	turned, _ := c.value("qk_rope_head_dim")
	rest, latent := c.value("qk_nope_head_dim")
	width, ok := c.value("head_dim", "d_kv")
	if latent {
		width, ok = turned+rest, true
	}
	if c.Width = int(width); !ok {
		hidden, err := c.whole("hidden_size", "n_embd", "d_model", "n_embed")
		if err != nil {
			return err
		}
		c.Width = hidden / c.Heads
	}
	most, _ := c.value("max_position_embeddings", "n_positions", "max_seq_len")
	c.max = int(most)
	if layers > 1<<12 {
		return fmt.Errorf("%d layers are more than %d", layers, 1<<12)
	}
	c.Layers = make([]CheckpointLayer, layers)
	for i := range c.Layers {
		c.Layers[i].Width, c.Layers[i].options = c.Width, pe.Options{}
	}
	c.Causal = !c.bidirectional
	return nil
}

// readALiBi reads the slopes, equal in all layers.
func (c *hfConfig) readALiBi() error {
	a := c.sub("attn_config") // of MPT
	if a["alibi"] == false || a["rope"] == true {
		c.warn("attn_config has alibi %v, rope %v, which has no effect: mpt in transformers always has the bias",
			a["alibi"], a["rope"])
	}
	if most, ok := a.number("alibi_bias_max"); ok && most != 8 {
		c.warn("alibi_bias_max %s has no effect: transformers takes 8", plain(most))
	}
	for i := range c.Layers {
		l := &c.Layers[i]
		l.scheme = "alibi"
		if c.Type == "falcon" {
			l.options["alibi-scaled"] = "true"
			c.note("falcon rounds m to bfloat16")
		}
	}
	if c.keys["rope_scaling"] != nil {
		c.warn("rope_scaling has no effect: alibi is true")
	}
	c.note("the bias of key j for query i is m (j - i); %s adds m j, which is the same after the softmax", c.Type)
	return nil
}

// readT5 reads the buckets of encoder and decoder.
func (c *hfConfig) readT5() error {
	buckets, _ := c.value("relative_attention_num_buckets")
	most, _ := c.value("relative_attention_max_distance")
	decoder, ok := c.number("num_decoder_layers")
	if !ok {
		decoder = float64(len(c.Layers))
		c.note("num_decoder_layers is missing: %s, as num_layers", plain(decoder))
	}
	encoder := len(c.Layers)
	c.Layers = append(c.Layers, make([]CheckpointLayer, int(max(min(decoder, 1<<12), 0)))...)
	for i := range c.Layers {
		c.Layers[i] = CheckpointLayer{Width: c.Width, Part: "encoder", scheme: "t5", options: pe.Options{
			"t5-buckets": plain(buckets), "t5-max-distance": plain(most), "t5-logit-scale": "none",
			"t5-direction": "bidirectional"},
			Weights: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}
		if l := &c.Layers[i]; i >= encoder {
			l.Part, l.options["t5-direction"] = "decoder", "causal"
			l.Weights = "de" + strings.TrimPrefix(l.Weights, "en")
			l.cannot = "a decoder that attends to an encoder"
		}
	}
	return nil
}

// readTable reads a trained table, added to the input of the first layer or of relative positions.
func (c *hfConfig) readTable() error {
	l := CheckpointLayer{Width: c.Width, Weights: c.weights, scheme: "learn",
		options: pe.Options{"pe-placement": "input"}}
	clip := fmt.Sprint(max(c.max-1, 1))
	switch kind := c.text("position_embedding_type"); kind {
	case "", "absolute":
	case "relative_key":
		l.scheme, l.options = "relative", pe.Options{"relative": "shaw", "relative-clip": clip}
	case "relative_key_query":
		l.scheme, l.options = "huang", pe.Options{"huang-method": "4", "huang-clip": clip}
	default:
		c.warn("position_embedding_type %q is not known: taken as absolute, a guess", kind)
	}
	switch {
	case l.scheme != "learn":
		l.Weights = "attention.self.distance_embedding.weight of each layer"
		c.note("position_embedding_type %s: of transformers before 5; the row of two tokens is i - j + N - 1, "+
			"here j - i", c.text("position_embedding_type"))
	case c.offset != "":
		c.note("%s", c.offset)
	}
	for i := range c.Layers {
		c.Layers[i] = l
	}
	return nil
}
