package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
	"torchpe/internal/layers"
	"torchpe/models/pe"
)

// published is a model of testdata/checkpoints.json, most of them as published. What is expected was
// computed by transformers' own classes: scripts/hf_encodings.py says how.
type published struct {
	Name     string
	Tokens   int
	Config   keys
	Expected struct {
		Layers []struct {
			Window, Chunk int
			Rotation      *int // nil for none
		}
		Rotations []struct {
			Frequencies []float64 `json:"inv_freq"`
			Factor      float64
			Query       []float64 // 1, 1.1, 1.2, ... after it at position 1
		}
		Bias    [][]float64 // [H,N], of keys
		Buckets [][]float64 // [N,N]
	}
}

func publishedModels(t *testing.T) []published {
	t.Helper()
	var all struct{ Models []published }
	expect.NoError(t, json.Unmarshal(expect.Must(os.ReadFile("testdata/checkpoints.json")), &all))
	if len(all.Models) < 100 {
		t.Fatalf("%d models", len(all.Models))
	}
	return all.Models
}

// Each family of rotations is among the models, with numbers that were not computed here.
func TestCheckpointFamilies(t *testing.T) {
	var types []string
	for _, m := range publishedModels(t) {
		if m.Expected.Layers != nil {
			types = append(types, m.Config.text("model_type"))
		}
	}
	for _, f := range modelFamilies {
		isThere := func(name string) bool { return slices.Contains(types, name) }
		if f.kind == "" && !slices.ContainsFunc(strings.Fields(f.types), isThere) {
			t.Errorf("no numbers of %s", f.types)
		}
	}
}

// The layers of these models have the windows, inverse frequencies, factors, slopes and buckets that
// transformers computes from their configurations, to the rounding of float32.
func TestCheckpointNumbers(t *testing.T) {
	for _, m := range publishedModels(t) {
		t.Run(m.Name, func(t *testing.T) {
			c := expect.Must(newCheckpoint(m.Config))
			checked := map[int]bool{}
			if m.Expected.Layers != nil && len(m.Expected.Layers) != len(c.Layers) {
				t.Fatalf("%d layers, want %d", len(c.Layers), len(m.Expected.Layers))
			}
			for i, want := range m.Expected.Layers {
				l := c.Layers[i]
				expect.Equal(t, fmt.Sprintf("layer %d: window and chunk", i), [2]int{l.Window, l.Chunk},
					[2]int{want.Window, want.Chunk})
				if want.Rotation == nil {
					if l.Turned != 0 || l.Pairs != "" {
						t.Errorf("layer %d is rotated", i)
					}
					continue
				}
				turn := m.Expected.Rotations[*want.Rotation]
				if checked[*want.Rotation] && i < len(c.Layers)-1 {
					continue
				}
				checked[*want.Rotation] = true
				numbers := expect.Must(c.Numbers(i, m.Tokens))
				sameRotation(t, l, numbers, turn.Frequencies, turn.Factor)
				sameQuery(t, l, m.Tokens, turn.Query, c.Type == "deepseek_v3" && l.Pairs == "interleaved")
				if m.Tokens > 100 { // a check tries many conventions
					continue
				}
				numbers[0].Data, numbers[1].Data = tables(l, m.Tokens, turn.Frequencies, turn.Factor)
				given := []Output{{Name: "cos", Kind: kindCos, Array: numbers[0]},
					{Name: "sin", Kind: kindSin, Array: numbers[1]}}
				check := expect.Must(c.Check(i, Given{Outputs: given}))
				check.Setting = expect.Must(check.Given.Fit(check.Setting, nil))
				check.Positions, check.Tolerance = pe.Line(m.Tokens), 1e-5
				if found := expect.Must(check.Run()); !found.Follows {
					t.Errorf("layer %d: transformers' cosines: %v", i, found)
				}
			}
			if m.Expected.Bias != nil {
				sameBias(t, expect.Must(c.Numbers(0, m.Tokens))[0], m.Expected.Bias)
			}
			if m.Expected.Buckets != nil {
				sameBuckets(t, c, m.Expected.Buckets)
			}
		})
	}
}

// pairOf returns the pair of a column of cosines, as transformers lays them.
func pairOf(l CheckpointLayer, column int) int {
	if l.turn.options["rope-layout"] == "half" {
		return column % (l.turn.width / 2)
	}
	return column / 2
}

// tables returns cosines and sines [N,2P] of inverse frequencies and a factor.
func tables(l CheckpointLayer, tokens int, frequencies []float64, factor float64) (cos, sin []float64) {
	for at := range tokens * l.turn.width {
		angle := float64(at/l.turn.width) * frequencies[pairOf(l, at%l.turn.width)]
		cos, sin = append(cos, factor*math.Cos(angle)), append(sin, factor*math.Sin(angle))
	}
	return cos, sin
}

// sameRotation compares cosines and sines [N,2P] at places 0 and 1 with inverse frequencies and a factor.
func sameRotation(t *testing.T, l CheckpointLayer, got []array.Array, frequencies []float64, factor float64) {
	t.Helper()
	cos, sin, width := got[0], got[1], 2*len(frequencies)
	if l.turn.width != width || cos.Shape[1] != width {
		t.Fatalf("cos has shape %v, want %d columns", cos.Shape, width)
	}
	const rounding = 4e-6 // of powers in float32, relative
	for column := range width {
		expect.Near(t, fmt.Sprintf("column %d: factor", column), cos.Data[column], factor, 1e-6*factor)
		angle := math.Atan2(sin.Data[width+column], cos.Data[width+column])
		want := frequencies[pairOf(l, column)]
		expect.Near(t, fmt.Sprintf("column %d: frequency", column), angle, want, rounding*want)
	}
}

// sameQuery compares a query after the rotation at position 1, in the dimensions that are rotated. evenFirst
// says that all even ones stand before the odd ones.
func sameQuery(t *testing.T, l CheckpointLayer, tokens int, want []float64, evenFirst bool) {
	t.Helper()
	options, width := maps.Clone(l.turn.options), l.turn.width
	if l.Pairs == "interleaved" {
		delete(options, "rope-layout")
	}
	s := Setting{Size: pe.Size{Tokens: tokens, DModel: width, Heads: 1, Layers: 1}, Fidelity: "code", Given: options}
	i := expect.Must(Build(expect.Must(pe.Find(l.turn.scheme)), s, pe.Line(tokens), Start{1, 1}))
	defer i.Close()
	q := made("q", []int{1, tokens, width}, func(at []int) float64 { return 1 + float64(at[2])/10 })
	out, _, err := i.Values(Want{Kind: kindQuery, Q: q})
	expect.NoError(t, err)
	for d, wanted := range want {
		from := d
		if evenFirst {
			from = 2 * d % width
			if d >= width/2 {
				from++
			}
		}
		if got := out.Data[width+from]; math.Abs(got-wanted) > 1e-5*(1+math.Abs(wanted)) {
			t.Fatalf("dimension %d of the query: %g, want %g", d, got, wanted)
		}
	}
}

// sameBias compares a bias [H,N,N] with that of keys [H,N], which a number for each query may shift: the
// softmax drops that.
func sameBias(t *testing.T, got array.Array, keys [][]float64) {
	t.Helper()
	n := got.Shape[1]
	for head, row := range keys {
		for at := range n * n {
			query, key := at/n, at%n
			if key > query {
				continue
			}
			want := row[key] - row[query]
			if have := got.Data[head*n*n+at]; math.Abs(have-want) > 0.004*math.Abs(want) { // falcon has bfloat16
				t.Fatalf("head %d, query %d, key %d: %g, want %g", head, query, key, have, want)
			}
		}
	}
}

// sameBuckets compares the buckets of offsets: those of a table whose rows are their own numbers.
func sameBuckets(t *testing.T, c *Checkpoint, buckets [][]float64) {
	t.Helper()
	l, n := c.Layers[0], len(buckets)
	s := expect.Must(c.Check(0, Given{Outputs: []Output{{Kind: kindBias}}})).Setting
	s.Tokens = n
	i := expect.Must(Build(expect.Must(pe.Find(l.scheme)), s, pe.Line(n), Start{1, 1}))
	defer i.Close()
	table := made("pe.table", []int{1, 32, c.Heads}, func(at []int) float64 { return float64(at[1]) })
	expect.NoError(t, i.Set([]array.Array{table}, 0))
	bias, _, err := i.Values(Want{Kind: kindBias})
	expect.NoError(t, err)
	for at, got := range bias.Data[:n*n] {
		if want := buckets[at/n][at%n]; got != want {
			t.Fatalf("query %d, key %d: bucket %g, want %g", at/n, at%n, got, want)
		}
	}
}

// words takes a line of flags apart.
func words(line string) []string {
	return strings.FieldsFunc(line, func() func(rune) bool {
		quoted := false
		return func(r rune) bool {
			if r == '\'' {
				quoted = !quoted
				return true
			}
			return r == ' ' && !quoted
		}
	}())
}

// Of models that turn neighbouring dimensions, these have the cosines of halves, cat(angles, angles), as their
// modeling_*.py say; cohere repeats each, and the others have no such table.
func TestCheckpointLayouts(t *testing.T) {
	tiled := map[string]bool{"glm": true, "glm4": true, "deepseek_v3": true, "cohere": false, "cohere2": false}
	for _, m := range publishedModels(t) {
		isTiled, isKnown := tiled[m.Config.text("model_type")]
		if !isKnown || m.Config["rope_interleave"] == false {
			continue
		}
		c := expect.Must(newCheckpoint(m.Config))
		cos := expect.Must(c.Numbers(0, 2))[0]
		row, second := cos.Data[cos.Shape[1]:], 1 // where the angle of the first dimension is again
		if isTiled {
			second = len(row) / 2
		}
		if c.Layers[0].Pairs != "interleaved" || row[0] != row[second] || row[0] == row[len(row)/2+1-second] {
			t.Errorf("%s: pairs %s, cosines %v", m.Name, c.Layers[0].Pairs, row)
		}
	}
}

// The flags that a checkpoint is said to have here give each of its layers its scheme, options and window.
func TestCheckpointFlags(t *testing.T) {
	without := 0
	for _, m := range publishedModels(t) {
		c := expect.Must(newCheckpoint(m.Config))
		if c.Flags == "" {
			if without++; c.Cannot == nil {
				t.Errorf("%s: no flags and no reason", m.Name)
			}
			continue
		}
		given, flags := pe.Options{}, words(c.Flags)
		for i := 0; i < len(flags); i += 2 {
			given[strings.TrimPrefix(flags[i], "--")] = flags[i+1]
		}
		scheme := expect.Must(pe.Find(given["pe"]))
		delete(given, "pe")
		windows := given["window"]
		delete(given, "window")
		isDecoder := func(l CheckpointLayer) bool { return l.Part == "decoder" }
		encoded := slices.DeleteFunc(slices.Clone(c.Layers), isDecoder)
		resolved := expect.Must(scheme.Resolve("code", given))
		parts := expect.Must(scheme.Parts(pe.Config{Layers: len(encoded), Options: resolved}))
		found := 0
		for _, p := range parts {
			if p.Layers == nil { // the scheme itself is in all layers
				for i := range encoded {
					p.Layers = append(p.Layers, i)
				}
			}
			for _, i := range p.Layers {
				found++
				want := expect.Must(expect.Must(pe.Find(encoded[i].scheme)).Resolve("code", encoded[i].options))
				if p.Scheme.Name != encoded[i].scheme || !maps.Equal(p.Options, want) {
					t.Errorf("%s: %s: layer %d has %s %v, want %s", m.Name, c.Flags, i, p.Scheme.Name, p.Options,
						encoded[i].Encoding)
				}
			}
		}
		expect.Equal(t, fmt.Sprintf("%s: %s: layers with encodings", m.Name, c.Flags), found, len(encoded))
		if windows == "" {
			windows = "0"
		}
		list := expect.Must(layers.Parse(windows))
		for i, entry := range expect.Must(list.Assign(len(encoded), nil)) {
			expect.Equal(t, fmt.Sprintf("%s: %s: layer %d has window", m.Name, c.Flags, i), list[entry].Value,
				fmt.Sprint(encoded[i].Window))
		}
	}
	if without > 6 {
		t.Errorf("%d models have no flags", without)
	}
}

// checkpointOf reads a configuration in JSON.
func checkpointOf(text string) (*Checkpoint, error) {
	var config keys
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	return newCheckpoint(config)
}

// A configuration's keys that have no effect or two meanings are named.
func TestCheckpointWarnings(t *testing.T) {
	const llama = `"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4,
		"max_position_embeddings": 64`
	for _, c := range []struct{ config, want string }{
		{llama + `, "rope_scaling": {"type": "linear", "rope_type": "dynamic", "factor": 2}`,
			`rope_scaling has type "linear" and rope_type "dynamic": rope_type counts`},
		{llama + `, "rope_scaling": {"type": "default", "factor": 2}`, "factor has no effect with rope_type default"},
		{llama + `, "rope_scaling": {"type": "linear", "factor": 1}`, "factor 1 has no effect"},
		{llama + `, "rope_scaling": {"type": "yarn", "factor": 4}`,
			"original_max_position_embeddings is missing: max_position_embeddings 64 is used"},
		{llama + `, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 32}`,
			"factor 4 times 32 trained tokens is not max_position_embeddings 64: yarn uses the factor"},
		{llama + `, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 32,
			"attention_factor": 1, "mscale": 1, "mscale_all_dim": 1}`, "mscale and mscale_all_dim have no effect"},
		{llama + `, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 32,
			"mscale": 0.7}`, "one of them is missing"},
		{llama + `, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 32,
			"finetuned": true}`, "finetuned has no effect with rope_type yarn"},
		{llama + `, "rope_theta": 10, "rope_parameters": {"rope_theta": 20}`,
			"rope_theta 10 has no effect: rope_theta 20"},
		{llama + `, "rope_parameters": {"rope_theta": 20}, "rope_scaling": {"type": "linear", "factor": 2}`,
			"rope_parameters has no effect: rope_scaling also exists"},
		{llama + `, "partial_rotary_factor": 0.5`, "partial_rotary_factor 0.5 has no effect in llama"},
		{llama + `, "sliding_window": 8`, "sliding_window 8 has no effect in llama"},
		{llama, "rope_theta is missing: 10000, the default of llama in transformers"},
		{strings.Replace(llama, "llama", "qwen2", 1) + `, "sliding_window": 8, "use_sliding_window": false`,
			"sliding_window 8 has no effect: use_sliding_window is false"},
		{strings.Replace(llama, "llama", "qwen2", 1) + `, "sliding_window": 8, "use_sliding_window": true`,
			"max_window_layers 28 leaves none of 4 layers"},
		{strings.Replace(llama, "llama", "mistral", 1) + `, "sliding_window": 64`, "sliding_window 64 hides nothing"},
		{strings.Replace(llama, "llama", "gemma2", 1) + `, "sliding_window_pattern": 4, "layer_types":
			["full_attention", "full_attention", "full_attention", "sliding_attention"]`,
			"sliding_window_pattern 4 has no effect: layer_types differs"},
		{strings.Replace(llama, "llama", "olmo3", 1) + `, "rope_parameters": {"rope_type": "linear", "factor": 2}`,
			"transformers leaves it out, here it counts in layers without a window"},
		{strings.Replace(llama, "llama", "smollm3", 1) + `, "no_rope_layers": [1, 0, 1, 0]`,
			"no_rope_layers has 1 for layers with a rotation"},
		{strings.Replace(llama, "llama", "bert", 1) + `, "position_embedding_type": "relative_key"`,
			"of transformers before 5"},
		{strings.Replace(llama, "llama", "opt", 1), "position p has row p + 2 of the table"},
		{strings.Replace(llama, "llama", "roberta", 1), "position p has row p + padding_idx + 1"},
		{strings.Replace(llama, "llama", "olmo3", 1) + `, "rope_theta": 1000`, "here it counts in all layers"},
		{strings.Replace(llama, "llama", "gemma3", 1) + `, "sliding_window_pattern": 2,
			"rope_scaling": {"rope_type": "linear", "factor": 2},
			"rope_parameters": {"full_attention": {"rope_theta": 100}}`, "the keys of rope_scaling count"},
		{strings.Replace(llama, "llama", "mpt", 1) + `, "attn_config": {"alibi": false, "alibi_bias_max": 4}`,
			"mpt in transformers always has the bias"},
		{strings.Replace(llama, "llama", "mpt", 1) + `, "attn_config": {"alibi_bias_max": 4}`,
			"alibi_bias_max 4 has no effect"},
		{llama + `, "rotary_embedding_base": 10`, "rotary_embedding_base is not read"},
		{strings.Replace(llama, "llama", "modernbert", 1) + `, "position_embedding_type": "absolute"`,
			"position_embedding_type absolute has no effect in modernbert"},
		{strings.Replace(llama, "llama", "bloom", 1), "which is the same after the softmax"},
	} {
		expect.Contains(t, expect.Must(checkpointOf("{"+c.config+"}")).String(), c.want)
	}
}

// A configuration that does not say what a layer does is an error, never a guess.
func TestCheckpointRefuses(t *testing.T) {
	const sizes = `"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4`
	for _, c := range []struct{ config, want string }{
		{`"model_type": "llama"`, "num_hidden_layers or n_layer"},
		{`"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 4`, "hidden_size or"},
		{sizes, "it has no model_type; give"},
		{`"task": "lst", "token_input": "one-hot"`, "it has no model_type: it is of a model of torchpe; give"},
		{sizes + `, "model_type": "mamba"`, `model_type "mamba" is not known`},
		{sizes + `, "model_type": "lama", "rope_theta": 1000`, `"lama" is not known; did you mean "llama"?`},
		{sizes + `, "model_type": "llama", "rope_scaling": {"type": "ntk", "factor": 2}`,
			`rope_type "ntk" is not known`},
		{sizes + `, "model_type": "llama", "rope_scaling": {"type": "linear"}`, "linear without a factor"},
		{sizes + `, "model_type": "llama", "head_dim": 15`, "15 dimensions of a head would be rotated"},
		{sizes + `, "model_type": "llama", "rope_theta": 1`, "rope_theta 1: want more than 1"},
		{sizes + `, "model_type": "phi3", "rope_scaling": {"type": "su", "long_factor": [1], "short_factor": [1]},
			"max_position_embeddings": 64`, "long_factor has 1 numbers"},
		{sizes + `, "model_type": "gemma2", "layer_types": ["full_attention"]`, "layer_types has 1 values"},
	} {
		_, err := checkpointOf("{" + c.config + "}")
		expect.Error(t, err, c.want)
	}
}

// Keys with values of other kinds, or none, give an error or a table, and no panic.
func TestCheckpointHostile(t *testing.T) {
	strange := []any{nil, "x", -1.0, 0.0, 0.5, 7.0, 1e300, true, []any{}, []any{3.0}, map[string]any{},
		map[string]any{"a": 1.0}}
	refused, told := 0, 0
	try := func(config keys) {
		c, err := newCheckpoint(config)
		if err != nil {
			refused++
			return
		}
		if told++; !strings.Contains(c.String(), "layers from 0") {
			t.Errorf("%v: %s", config, c)
		}
	}
	for _, m := range publishedModels(t) {
		for _, name := range slices.Collect(maps.Keys(m.Config)) {
			for _, v := range strange {
				changed := maps.Clone(m.Config)
				changed[name] = v
				try(changed)
			}
			for inner := range m.Config.sub(name) {
				for _, v := range strange {
					changed, of := maps.Clone(m.Config), maps.Clone(m.Config.sub(name))
					of[inner] = v
					changed[name] = map[string]any(of)
					try(changed)
				}
			}
		}
	}
	if refused < 500 || told < 500 {
		t.Errorf("%d refused, %d told", refused, told)
	}
}

// Values of layers are written by turns, of the shortest period.
func TestByTurns(t *testing.T) {
	for want, of := range map[string]string{"a": "a a a", "a*1,b": "a b a b a", "a*2,b": "a a b a a b a",
		"a*3,b": "a a a b a", "b,a*2": "b a a b a a", "a*2,b*2": "a a b b a"} {
		expect.Equal(t, of, repeated(strings.Fields(of)), want)
	}
	for want, of := range map[string][]int{"0-2, 4": {0, 1, 2, 4}, "0, 2, ..., 8": {0, 2, 4, 6, 8}, "3": {3}} {
		expect.Equal(t, of, ranges(of), want)
	}
}

// docs/porting.md shows what is said of the configurations that it writes.
func TestCheckpointPage(t *testing.T) {
	page := string(expect.Must(os.ReadFile("../../docs/porting.md")))
	written := regexp.MustCompile(`(?m)^printf '(.*)' > \S+\.json$`).FindAllStringSubmatch(page, -1)
	expect.Equal(t, "configurations", len(written), 2)
	for _, w := range written {
		if text := expect.Must(checkpointOf(w[1])).String(); !strings.Contains(page, "```text\n"+text+"```") {
			t.Errorf("the page does not have\n%s", text)
		}
	}
}
