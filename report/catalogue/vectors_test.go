package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models/pe"
)

// configuration is that of a case of the reference vectors.
type configuration map[string]any

// text returns an entry, or another where there is none.
func (c configuration) text(name, otherwise string) string {
	switch v := c[name].(type) {
	case nil:
		return otherwise
	case float64:
		return plain(v)
	case []any:
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",")
	default:
		return fmt.Sprint(v)
	}
}

// options returns pairs such as "rope-base=base/10000": the entry base, or 10000 where there is none.
func (c configuration) options(pairs string) pe.Options {
	options := pe.Options{}
	for option, value := range optionsOf(pairs) {
		name, otherwise, ok := strings.Cut(value, "/")
		if options[option] = value; ok {
			options[option] = c.text(name, otherwise)
		}
	}
	return options
}

// vectorSchemes says for files of reference vectors which scheme they are of, with which options, and how
// further arrays are called here. An option with a slash has the value of the configuration's entry.
var vectorSchemes = map[string]struct{ scheme, options, names string }{
	"alibi":               {"alibi", "", ""},
	"alibi_2d":            {"alibi", "alibi=euclidean", ""},
	"alibi_bidirectional": {"alibi", "alibi=symmetric", ""},
	"rope_half_split":     {"rope", "rope-layout=half rope-base=base/10000 rope-dims=rotary_dims/all", ""},
	"rope_proportional": {"rope-pi", "rope-layout=half rope-base=base/10000 rope-proportion=proportion/1 " +
		"rope-scale=factor/1", ""},
	"rope_position_interpolation": {"rope-pi", "rope-layout=half rope-base=base/10000 rope-scale=scale/1", ""},
	"rope_ntk_aware":              {"rope-ntk", "rope-layout=half rope-base=base/10000 rope-scale=alpha/1", ""},
	"rope_dynamic_ntk": {"rope-ntk", "rope-layout=half rope-base=base/10000 rope-scale=factor/1 " +
		"rope-trained-tokens=max_position_embeddings/0", ""},
	"rope_yarn": {"rope-yarn", "rope-layout=half rope-base=base/10000 rope-scale=scale/1 " +
		"rope-trained-tokens=L_orig/0 yarn-beta-fast=beta_fast/32 yarn-beta-slow=beta_slow/1 " +
		"yarn-truncate=truncate/true yarn-attention-factor=attention_factor_given/auto", ""},
	"rope_llama3": {"rope-llama3", "rope-layout=half rope-base=base/10000 rope-scale=factor/8 " +
		"rope-trained-tokens=L_orig/0 llama3-low=low_freq_factor/1 llama3-high=high_freq_factor/4", ""},
	"rope_longrope": {"rope-longrope", "rope-layout=half rope-trained-tokens=L_orig/0 longrope-magnitude=policy/su " +
		"longrope-first=start_token_idx/0", ""},
	"rope_longrope_hf": {"rope-longrope", "rope-layout=half rope-base=base/10000 rope-trained-tokens=L_orig/0 " +
		"rope-scale=factor/1 longrope-factors=long_factor/auto longrope-short=short_factor/none " +
		"longrope-magnitude=attention_factor_given/su", ""},
	"xpos": {"xpos", "xpos-scale-base=scale_base/512 xpos-gamma=gamma/0.4", ""},
	"hope": {"hope", "rope-trained-tokens=train_length/0", ""},
	"rope_dinov3": {"rope-dinov3", "rope-2d-base=temperature/100 dinov3-layout=half dinov3-offset=grid_offset/0 " +
		"dinov3-normalize=normalize_coords/separate", ""},
	"sinusoidal_1d":          {"1d-fixed", "", ""},
	"sinusoidal_1d_concat":   {"1d-fixed", "sinusoid-layout=concat sinusoid-base=base/10000", ""},
	"sinusoidal_1d_t2t":      {"1d-fixed", "sinusoid-layout=t2t sinusoid-base=base/10000", ""},
	"sinusoidal_2d_variants": {"2d-fixed", "sinusoid-layout=concat", ""},
	"sinusoidal_3d":          {"3d-fixed", "", ""},
	"t5_bias": {"t5", "t5-buckets=num_buckets/32 t5-max-distance=max_distance/128",
		"params/table=pe.table"},
	"sandwich":     {"sandwich", "sandwich-width=d_bar/128", ""},
	"rope_3d":      {"rope-3d", "rope-base=base/10000", "inputs/x=q outputs/x_rot=q_out"},
	"swin_bias_2d": {"swin", "", "params/relative_position_bias_table=pe.table"},
	"kerple":       {"kerple", "", "params/bias_a=pe.a params/bias_p=pe.p"},
}

// adapted changes options where the configuration says a form in words. It returns false for a case that is
// none of a check.
func (c configuration) adapted(file, name, symbol string, o pe.Options) bool {
	switch {
	case file == "rope_yarn" && c["mscale"] != nil:
		o["yarn-attention-factor"] = c.text("mscale", "") + "/" + c.text("mscale_all_dim", "")
	case file == "rope_yarn" && c["dynamic"] == true:
		o["rope-yarn"] = "dynamic"
	case file == "rope_yarn" && c["gamma"] != nil:
		o["rope-yarn"] = "by-parts"
	case file == "rope_ntk_aware" && c["dynamic"] == true:
		o["rope-scale"], o["rope-trained-tokens"] = c.text("factor", ""), c.text("Lmax", "")
	case file == "rope_longrope":
		o["rope-scale"] = plain(c["L_max"].(float64) / c["L_orig"].(float64))
		if c["dynamic"] == true {
			o["longrope-stretch"] = "dynamic"
		}
	case file == "rope_longrope_hf" && c["L_max"] != nil:
		o["rope-scale"] = plain(c["L_max"].(float64) / c["L_orig"].(float64))
	case file == "hope" && c["layout"] != "interleaved":
		o["rope-layout"] = "half"
	case file == "rope_dinov3" && c["rotate_half"] == false:
		o["dinov3-layout"] = "interleaved"
	case file == "rope_dinov3" && c["min_period"] != nil:
		o["dinov3-periods"] = c.text("min_period", "") + "," + c.text("max_period", "")
	case file == "sinusoidal_2d_variants" && c["normalize"] != nil:
		o["positions-from"], o["grid-order"], o["sinusoid-layout"] = "1", "rows-first", "interleaved"
		o["grid-normalize"] = c.text("normalize", "")
	case strings.Contains(symbol, "posemb_sincos_2d"):
		o["sinusoid-layout"] = "t2t"
	case strings.Contains(symbol, "posemb_sincos_3d"):
		o["space-layout"] = "padded"
	case file == "t5_bias" && c["bidirectional"] == false:
		o["t5-direction"] = "causal"
	case file == "sandwich" && strings.HasPrefix(c.text("reading", ""), "m=1"):
		o["sandwich-first"] = "1"
	case file == "kerple" && strings.HasPrefix(c.text("kind", ""), "kerple_power"):
		o["kerple"] = "power"
	case file == "alibi_bidirectional" && strings.HasPrefix(name, "DeepMind"):
		o["alibi"] = "sided"
	}
	if length := c["seq_len"]; length != nil && length != c["n"] {
		return false // of a longer sequence the first tokens
	}
	return c["add_negative_side"] == nil && c["augment"] == nil && c["kind"] != "kerple_power_ap_ap"
}

// at returns the positions of a case.
func (c configuration) at() string {
	switch {
	case c["H"] != nil:
		return c.text("H", "") + "x" + c.text("W", "")
	case c["dims"] != nil:
		return strings.ReplaceAll(c.text("dims", ""), ",", "x")
	case c["Wh"] != nil:
		return c.text("Wh", "") + "x" + c.text("Ww", "")
	case c["side"] != nil:
		return c.text("side", "") + "x" + c.text("side", "")
	case c["shape"] != nil:
		return strings.ReplaceAll(c.text("shape", ""), ",", "x")
	}
	return "line"
}

// TestCheckVectors: numbers of other people's code follow their scheme, with the options of their
// configuration, and nothing else is said of them.
func TestCheckVectors(t *testing.T) {
	const folder = "../../models/pe/vectors"
	var manifest struct {
		Schemes map[string]struct {
			Cases []struct {
				Name         string
				Config       configuration
				SourceSymbol any `json:"source_symbol"`
			}
		}
	}
	text := expect.Must(os.ReadFile(filepath.Join(folder, "manifest.json")))
	expect.NoError(t, json.Unmarshal(text, &manifest))
	file := expect.Must(safetensors.Read(filepath.Join(folder, "vectors.safetensors")))
	all := map[string][]array.Array{}
	for _, x := range file.Tensors {
		parts := strings.Split(x.Name, "/")
		name, kind := parts[len(parts)-1], parts[len(parts)-2]
		of := strings.TrimSuffix(x.Name, "/"+kind+"/"+name)
		all[of] = append(all[of], array.Array{Name: kind + "/" + name, Shape: x.Shape,
			Data: expect.Must(x.Float64s())})
	}
	checks := 0
	for file, of := range vectorSchemes {
		for _, v := range manifest.Schemes[file].Cases {
			options := v.Config.options(of.options)
			if !v.Config.adapted(file, v.Name, fmt.Sprint(v.SourceSymbol), options) {
				continue
			}
			arrays := givenOf(all[file+"/"+v.Name], of.names, options)
			if !slices.ContainsFunc(arrays, func(a array.Array) bool { return outputKinds[a.Name] != "" }) {
				continue
			}
			checks++
			f, err := checkedExactly(t, of.scheme, arrays, options, v.Config.at())
			if err != nil || !f.Follows {
				t.Errorf("%s, %s: %v (%v)", file, v.Name, f, err)
			}
		}
	}
	if checks < 65 {
		t.Errorf("%d cases were checked, want 65 or more", checks)
	}
	t.Logf("%d cases", checks)
}

// givenOf returns the arrays of a case with the names and axes of a check.
func givenOf(all []array.Array, others string, options pe.Options) (given []array.Array) {
	has := func(text string) bool {
		return slices.ContainsFunc(all, func(a array.Array) bool { return strings.HasPrefix(a.Name, text) })
	}
	if has("inputs/position") || has("inputs/relative") {
		return nil // tokens at other places
	}
	names := map[string]string{"inputs/q": "q", "inputs/k": "k", "inputs/x": "x", "outputs/q_rot": "q_out",
		"outputs/k_rot": "k_out", "outputs/y": "x_out"}
	for _, output := range []string{"cos", "sin", "logits", "bias", "table"} {
		names["outputs/"+output] = output
	}
	if !has("inputs/q") { // they come from a projection of x
		delete(names, "outputs/logits")
	}
	maps.Copy(names, optionsOf(others))
	for _, a := range all {
		if a.Name == "params/lambda" {
			options["longrope-factors"] = strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Data), "[]"), " ", ",")
		}
		if a.Name = names[a.Name]; a.Name == "" {
			continue
		}
		switch a.Name {
		case "pe.table": // of one layer
			a.Shape = append([]int{1}, a.Shape...)
		case "pe.a", "pe.p": // of heads
			a.Shape = a.Shape[:1]
		}
		if len(a.Shape) == 3 && strings.Contains("q k q_out k_out", a.Name) { // [N,H,C]
			n, h, c := a.Shape[0], a.Shape[1], a.Shape[2]
			a.Shape, a.Data = []int{h, n, c}, swapAxes(a.Data, n, h, c)
		}
		given = append(given, a)
	}
	return given
}

// checkedExactly runs a check on arrays in float64.
func checkedExactly(t *testing.T, name string, arrays []array.Array, options pe.Options, at string) (Finding, error) {
	t.Helper()
	c := Check{Scheme: expect.Must(pe.Find(name)), Tolerance: 1e-6}
	for _, a := range arrays {
		expect.NoError(t, c.Given.add(a))
	}
	s := DefaultSetting()
	s.Given, s.Layers = options, 1
	var err error
	if c.Setting, err = c.Given.Fit(s, nil); err != nil {
		return Finding{}, err
	}
	if c.Positions, err = Place(at, c.Setting.Tokens); err != nil {
		return Finding{}, err
	}
	return c.Run()
}

// TestCheckNothing: arrays that follow no convention get no name, and what is called nearest is nearer than the
// scheme as it is in every way.
func TestCheckNothing(t *testing.T) {
	const n = 20
	q, k := random("q", 1, 2, n, 16), random("k", 2, 2, n, 16)
	right := port{repeated: true, angles: lineAngles(powers(10000, 8, 16), from(0))}
	noisy := right.of("q_out", q)
	for i := range noisy.Data {
		noisy.Data[i] *= 1.004 + 0.001*float64(i%16)
	}
	buckets := random("pe.table", 5, 1, 32, 4)
	roots := made("bias", []int{4, n, n}, func(at []int) float64 { // of the root of the distance
		row := int(2 * math.Sqrt(math.Abs(float64(at[2]-at[1]))))
		if at[2] > at[1] {
			row += 16
		}
		return buckets.Data[row*4+at[0]]
	})
	one := made("bias", []int{6, n, n}, func(at []int) float64 {
		return -math.Pow(2, -float64(at[0]+1)) * math.Log1p(float64(max(at[1]-at[2], 0)))
	})
	for _, c := range []struct {
		scheme string
		arrays []array.Array
	}{
		{"rope", []array.Array{q, random("q_out", 9, 2, n, 16)}},
		{"rope", []array.Array{q, k, noisy, right.of("k_out", k)}},
		{"rope-yarn", []array.Array{q, k, noisy, right.of("k_out", k)}},
		{"1d-fixed", []array.Array{random("table", 3, n, 12)}},
		{"alibi", []array.Array{one}},
		{"alibi", []array.Array{random("bias", 4, 6, n, n)}},
		{"t5", []array.Array{buckets, roots}},
	} {
		f, err := checked(t, c.scheme, c.arrays, nil, "line")
		if err != nil || f.Follows || f.Convention != nil {
			t.Errorf("%s: %v (%v)", c.scheme, f, err)
		}
		if f.Nearest == nil {
			continue
		}
		var own, near [2]float64 // numbers that differ, and the largest difference
		for text, to := range map[string]*[2]float64{f.First: &own, f.NearestAt: &near} {
			_, rest, _ := strings.Cut(text, "; ")
			var all int
			expect.Equal(t, fmt.Sprintf("%s: %q", c.scheme, text),
				expect.ErrorOf(fmt.Sscanf(rest, "%g of %d numbers differ, by up to %g", &to[0], &all, &to[1])),
				nil)
		}
		if near[0] > own[0] || near[1] > own[1] {
			t.Errorf("%s: nearest is farther: %v", c.scheme, f)
		}
	}
}

// TestCheckHalfPrecision: with the tolerance of bfloat16 errors are named; a base is read off roughly.
func TestCheckHalfPrecision(t *testing.T) {
	const n = 60
	q := random("q", 1, 2, n, 16)
	theta := powers(10000, 8, 16)
	rounded := func(a array.Array) array.Array {
		a.Data = each(a.Data, bfloat16)
		return a
	}
	for _, c := range []struct {
		theta []float64
		first float64
		want  string
	}{
		{theta, 0, ""}, {theta, 3, "positions from 3"}, {powers(20000, 8, 16), 0, "base about 20000"},
		{powers(500000, 8, 16), 1, "positions from 1; base 500000"},
	} {
		p := port{repeated: true, angles: lineAngles(c.theta, from(c.first))}
		arrays := []array.Array{rounded(q), rounded(p.of("q_out", q))}
		f, err := checkedWithin(t, 0.02, "rope", arrays, nil, "line")
		deviates(t, "in bfloat16", c.want, f, err)
	}
}

// TestCheckOwnNumbers: the numbers of every scheme follow it, at many sizes, and other numbers get no name.
func TestCheckOwnNumbers(t *testing.T) {
	checks, noisy := 0, map[string]bool{}
	for _, size := range []struct {
		at            string
		n, d, heads   int
		always, noise bool
	}{{"2x3", 6, 24, 2, true, true}, {"line", 1, 8, 1, false, false}, {"line", 15, 12, 1, false, false},
		{"2x1x2", 4, 12, 2, false, false}, {"2x2", 4, 4, 2, false, true}} {
		if testing.Short() && !size.always {
			continue
		}
		x := random("x", 1, size.n, size.d)
		heads := []int{size.heads, size.n, size.d / size.heads}
		q, k, v := random("q", 2, heads...), random("k", 3, heads...), random("v", 4, heads...)
		for _, name := range pe.Names() {
			s := DefaultSetting()
			s.Tokens, s.DModel, s.Heads = size.n, size.d, size.heads
			s.Given = pe.Options{"fixed-pe-dropout": "0"}
			scheme := expect.Must(pe.Find(name))
			if !hasOption(scheme, "fixed-pe-dropout") {
				s.Given = nil
			}
			at := expect.Must(Place(size.at, size.n))
			i, err := Build(scheme, s, at, Start{1, 1})
			if err != nil {
				continue // too small, or on other positions
			}
			var params []array.Array
			for _, p := range i.params.All() {
				if p.Trainable {
					params = append(params, array.Array{Name: p.Name, Shape: p.Shape[1:],
						Data: expect.Must(i.params.Values(p.Name))})
				}
			}
			for _, kind := range Kinds() {
				out, _, err := i.Values(Want{Kind: kind, X: x, Q: q, K: k, V: v})
				in := map[string]array.Array{kindInput: x, kindQuery: q, kindKey: k, kindValue: v}[kind]
				if err != nil || slices.Equal(out.Data, in.Data) {
					continue // the scheme does not act there
				}
				c := Check{Scheme: scheme, Setting: s, Positions: at, Tolerance: 1e-6, Given: Given{X: x, Q: q, K: k,
					V: v, Params: params, Outputs: []Output{{Name: kind, Kind: kind, Array: out}}}}
				f, err := c.Run()
				if err != nil || !f.Follows {
					t.Errorf("%s, %s, %v: %v (%v)", name, kind, size, f, err)
				}
				if checks++; !size.noise || noisy[name+size.at] {
					continue
				}
				noisy[name+size.at] = true
				noise := random(kind, uint64(checks), out.Shape...)
				c.Given.Outputs = []Output{{Name: kind, Kind: kind, Array: noise}}
				if f, err := c.Run(); err != nil || f.Convention != nil && len(noise.Data) > 8 {
					t.Errorf("%s, %s, noise, %v: %v (%v)", name, kind, size, f, err)
				}
			}
			i.Close()
		}
	}
	if checks < 150 {
		t.Errorf("%d checks, want 150 or more", checks)
	}
	t.Logf("%d checks", checks)
}
