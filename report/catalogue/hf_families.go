package catalogue

import (
	"slices"
	"strings"
)

// modelFamily holds what models of transformers have in common. It describes version 5.16, commit decba1d2.
type modelFamily struct {
	types         string // each model_type
	kind          string // alibi, t5, learn, or "" for rotations
	interleaved   bool   // dimensions 2k and 2k+1 are rotated together, not k and k+r/2
	tiled         string // what the model does with cosines laid out for halves although its pairs are interleaved
	partial       bool   // partial_rotary_factor also has an effect without a scaling
	bidirectional bool
	windows       string  // which layers have a window: a rule of hfConfig.kinds; "" for none
	nope          string  // which layers are not rotated: listed, global, or "" for none
	localBase     string  // key of the base in layers with a window
	globalBase    string  // key of the base in other layers; "" for rope_theta
	localScaled   bool    // rope_scaling also counts in layers with a window
	scaling       keys    // default of rope_scaling
	weights       string  // name of a trained table
	offset        string  // describes the row of a position if it is not its number
	defaults      numbers // of keys missing from a configuration
}

type numbers = map[string]float64

// modelFamilies lists the known families. Many follow llama.
var modelFamilies = []modelFamily{
	{types: "llama arcee diffllama granite granitemoe olmo olmo2 olmoe", defaults: numbers{"rope_theta": 1e4}},
	{types: "seed_oss", defaults: numbers{"rope_theta": 1e4, "head_dim": 128}},
	{types: "gemma", defaults: numbers{"rope_theta": 1e4, "head_dim": 256}},
	{types: "mistral", windows: "each", defaults: numbers{"rope_theta": 1e4, "sliding_window": 4096}},
	{types: "mixtral phimoe", windows: "each", defaults: numbers{"rope_theta": 1e6}},
	{types: "starcoder2", windows: "each", defaults: numbers{"rope_theta": 1e4}},
	{types: "ministral", windows: "all", defaults: numbers{"rope_theta": 1e4, "sliding_window": 4096}},
	{types: "phi3", windows: "each", partial: true,
		defaults: numbers{"rope_theta": 1e4, "original_max_position_embeddings": 4096}},
	{types: "qwen2 qwen2_moe qwen3_moe", windows: "from",
		defaults: numbers{"rope_theta": 1e4, "sliding_window": 4096, "max_window_layers": 28}},
	{types: "qwen3", windows: "from",
		defaults: numbers{"rope_theta": 1e4, "sliding_window": 4096, "max_window_layers": 28, "head_dim": 128}},
	{types: "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", windows: "from",
		defaults: numbers{"rope_theta": 1e6, "sliding_window": 4096, "max_window_layers": 80}},
	{types: "qwen3_vl qwen3_vl_text", defaults: numbers{"rope_theta": 5e5, "head_dim": 128}},
	{types: "gemma2", windows: "pattern",
		defaults: numbers{"rope_theta": 1e4, "head_dim": 256, "sliding_window_pattern": 2,
			"sliding_window": 4096}},
	{types: "gemma3 gemma3_text", windows: "pattern", localBase: "rope_local_base_freq",
		defaults: numbers{"rope_theta": 1e6, "rope_local_base_freq": 1e4, "head_dim": 256, "num_attention_heads": 8,
			"sliding_window_pattern": 6, "sliding_window": 4096, "max_position_embeddings": 131072}},
	{types: "gemma4 gemma4_text", windows: "pattern", localBase: "rope_local_base_freq",
		scaling: keys{"rope_type": "proportional", "partial_rotary_factor": 0.25},
		defaults: numbers{"rope_theta": 1e6, "rope_local_base_freq": 1e4, "head_dim": 256,
			"sliding_window_pattern": 6, "sliding_window": 512, "global_head_dim": 512}},
	{types: "olmo3", windows: "pattern", localBase: "rope_theta",
		defaults: numbers{"rope_theta": 5e5, "sliding_window_pattern": 4, "sliding_window": 4096}},
	{types: "exaone4", windows: "pattern", nope: "global",
		defaults: numbers{"rope_theta": 1e4, "sliding_window_pattern": 4, "sliding_window": 4096}},
	{types: "gpt_oss", windows: "pattern", scaling: keys{"rope_type": "yarn", "factor": 32.0, "truncate": false,
		"original_max_position_embeddings": 4096.0},
		defaults: numbers{"rope_theta": 1.5e5, "head_dim": 64, "sliding_window_pattern": 2,
			"sliding_window": 128}},
	{types: "smollm3", windows: "unrotated", nope: "listed",
		defaults: numbers{"rope_theta": 2e6, "no_rope_layer_interval": 4}},
	{types: "llama4 llama4_text", interleaved: true, windows: "rotated", nope: "listed",
		defaults: numbers{"rope_theta": 5e5, "head_dim": 128, "no_rope_layer_interval": 4,
			"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1}},
	{types: "cohere", interleaved: true, defaults: numbers{"rope_theta": 5e5}},
	{types: "cohere2", interleaved: true, windows: "pattern", nope: "global",
		defaults: numbers{"rope_theta": 1e4, "sliding_window_pattern": 4, "sliding_window": 4096}},
	{types: "glm glm4", interleaved: true, partial: true, tiled: "rotates 2k and 2k+1 by the k-th",
		defaults: numbers{"rope_theta": 1e4, "partial_rotary_factor": 0.5, "head_dim": 128}},
	{types: "phi persimmon nemotron", partial: true,
		defaults: numbers{"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
	{types: "stablelm", partial: true, defaults: numbers{"rope_theta": 1e4, "partial_rotary_factor": 0.25}},
	{types: "gpt_neox", partial: true, globalBase: "rotary_emb_base",
		defaults: numbers{"rotary_emb_base": 1e4, "rotary_pct": 0.25}},
	{types: "gptj codegen", interleaved: true, defaults: numbers{"rope_theta": 1e4, "rotary_dim": 64}},
	{types: "deepseek_v2", interleaved: true,
		defaults: numbers{"rope_theta": 1e4, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}},
	{types: "deepseek_v3", interleaved: true, tiled: "writes the result as even dimensions, then odd ones",
		defaults: numbers{"rope_theta": 1e4, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}},
	{types: "modernbert", bidirectional: true, windows: "between", localBase: "local_rope_theta",
		globalBase: "global_rope_theta", localScaled: true,
		defaults: numbers{"global_rope_theta": 1.6e5, "local_rope_theta": 1e4, "local_attention": 128,
			"global_attn_every_n_layers": 3}},
	{types: "falcon", defaults: numbers{"rope_theta": 1e4}}, // or alibi: see readRotations
	{types: "bloom mpt", kind: "alibi"},
	{types: "t5 mt5", kind: "t5", bidirectional: true,
		defaults: numbers{"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128}},
	{types: "bert electra", kind: "learn", bidirectional: true, weights: "embeddings.position_embeddings.weight"},
	{types: "roberta xlm-roberta", kind: "learn", bidirectional: true,
		weights: "embeddings.position_embeddings.weight", offset: "position p has row p + padding_idx + 1 of the " +
			"table, and max_position_embeddings counts the rows before"},
	{types: "gpt2 gpt_bigcode", kind: "learn", weights: "transformer.wpe.weight"},
	{types: "opt", kind: "learn", weights: "model.decoder.embed_positions.weight",
		offset: "position p has row p + 2 of the table, which has two rows more than max_position_embeddings"},
}

// findFamily returns the family of a model type.
func findFamily(model string) (modelFamily, bool) {
	for _, f := range modelFamilies {
		if slices.Contains(strings.Fields(f.types), model) {
			return f, true
		}
	}
	return modelFamily{}, false
}

// knownTypes lists all model types.
func knownTypes() (all []string) {
	for _, f := range modelFamilies {
		all = append(all, strings.Fields(f.types)...)
	}
	return all
}
