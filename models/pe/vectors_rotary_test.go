package pe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// rotarySpec is a scheme that turns pairs in the code's layout of a case: heads, width, base, and
// options.
func rotarySpec(c *VectorCase, scheme, layout, options string, args ...any) petest.Spec {
	heads, all := c.Int("heads", 1), given(options, args...)
	all["rope-base"], all["rope-layout"] = fmt.Sprint(c.Float("base", 10000)), layout
	return petest.Spec{Scheme: scheme, DModel: heads * c.Int("d_head", 0), Heads: heads,
		Positions: pe.Line(c.Int("n", 0)), Given: all}
}

// rotaryOutputs runs a scheme that turns pairs on a case's q and k [N,H,Dh]: what it makes of them,
// their products, and where the case has them its tables of cosines and sines [N,Dh/2] and what
// follows from these.
func rotaryOutputs(t testing.TB, c *VectorCase, sp petest.Spec, p pe.Positions) Outputs {
	m := sp.Model(t)
	got := HeadInputs{Q: c.Input(t, "q"), K: c.Input(t, "k")}.Attend(m, p, false)
	all := Outputs{"q_rot": got.Q, "k_rot": got.K, "logits": got.Logits}
	if c.Has("cos") {
		cos, sin := tableRows(t, m, "pe.cos", p), tableRows(t, m, "pe.sin", p)
		pairs := cos.Shape[1]
		last := len(cos.Values) - pairs
		all["cos"], all["sin"] = cos, sin
		all["inv_freq"] = petest.Array{Shape: []int{pairs}, Values: anglesAt(t, m, 1)}
		all["mscale"] = petest.Array{Values: []float64{math.Hypot(cos.Values[last], sin.Values[last])}}
		all["attention_factor"] = all["mscale"]
	}
	return all
}

// hfOutputs runs a scheme on a case of Hugging Face's scalings: on seq_len tokens, where the case
// may hold some, at given positions or from the first on.
func hfOutputs(t testing.TB, c *VectorCase, sp petest.Spec) Outputs {
	t.Helper()
	at := places(0, c.Int("n", 0))
	if c.Has("positions") {
		at = whole(c.Input(t, "positions").Values)
	}
	n := max(c.Int("seq_len", 0), slices.Max(at)+1, 2)
	if length := c.Int("seq_len", n); length < n && sp.Given["rope-trained-tokens"] != "" &&
		sp.Scheme != "rope-llama3" {
		t.Fatalf("positions up to %d in a sequence of %d tokens", n-1, length)
	}
	if factor := c.Float("partial_rotary_factor", 1); factor != 1 {
		sp.Given["rope-dims"] = fmt.Sprint(int(factor * c.Float("d_head", 0)))
	}
	sp.Positions = pe.Line(n)
	return rotaryOutputs(t, c, sp, sp.Positions.Permuted(at))
}

// tableRows returns the rows of a computed table [1,N,P] for the tokens.
func tableRows(t testing.TB, m *models.Model, name string, p pe.Positions) petest.Array {
	t.Helper()
	table := petest.Array{Shape: m.Params.Get(name).Shape[1:], Values: valuesOf(m, name)}
	rows := petest.Array{Shape: []int{p.Tokens(), table.Shape[1]}}
	for _, at := range p.Index {
		rows.Values = append(rows.Values, table.Row(at)...)
	}
	return rows
}

// anglesAt returns the angles by which pairs are turned at a place.
func anglesAt(t testing.TB, m *models.Model, place int) []float64 {
	t.Helper()
	p := pe.Positions{Index: []int{place}}
	cos, sin := tableRows(t, m, "pe.cos", p).Values, tableRows(t, m, "pe.sin", p).Values
	angles := make([]float64, len(cos))
	for i := range angles {
		angles[i] = math.Atan2(sin[i], cos[i])
	}
	return angles
}

// rotated returns what the QKV hook makes of q and k [N,H,Dh] or [B,N,H,Dh] of tokens at positions p.
// Where they have more rows than there are tokens the first ones, of class tokens, stay as they are.
func rotated(m *models.Model, q, k petest.Array, p pe.Positions) (qOut, kOut petest.Array) {
	petest.Closed(func(s *torchpe.Scope) { qOut, kOut = turnedBy(begin(s, m, p), s, q, k, p) })
	return qOut, kOut
}

func turnedBy(hooks pe.Hooks, s *torchpe.Scope, q, k petest.Array, p pe.Positions) (qOut, kOut petest.Array) {
	first := len(q.Values) / q.Shape[0] * max(0, q.Shape[0]-p.Tokens()) // of class tokens
	if len(q.Shape) == 4 {
		first = 0
	}
	heads := q.Shape[len(q.Shape)-2]
	in := func(x petest.Array) torchpe.Tensor {
		if first > 0 {
			x = petest.Array{Shape: append([]int{p.Tokens()}, x.Shape[1:]...), Values: x.Values[first:]}
		}
		return byHeads(s, x, heads)
	}
	out := func(from petest.Array, x torchpe.Tensor) petest.Array {
		return petest.Array{Shape: from.Shape, Values: slices.Concat(from.Values[:first],
			fromHeads(x).Values)}
	}
	qt, kt, _ := hooks.QKV(pe.Attn{Q: in(q), K: in(k)})
	return out(q, qt), out(k, kt)
}

// logitsOf returns q k^T/sqrt(Dh) [H,N,N] of q and k [N,H,Dh].
func logitsOf(q, k petest.Array) petest.Array {
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	logits := zeros(heads, n, n)
	for at := range logits.Values {
		h, i, j := at/(n*n), at/n%n, at%n
		for c := range dh {
			logits.Values[at] += q.Values[(i*heads+h)*dh+c] * k.Values[(j*heads+h)*dh+c] / math.Sqrt(float64(dh))
		}
	}
	return logits
}

func ropeVector(t testing.TB, c *VectorCase) Outputs {
	start, sp := c.Int("start", 0), rotarySpec(c, "rope", "interleaved", "")
	sp.Positions = pe.Line(start + c.Int("n", 0)) // a case that starts at another position is tokens from there on
	return rotaryOutputs(t, c, sp, sp.Positions.Permuted(places(start, c.Int("n", 0))))
}

func halfSplitVector(t testing.TB, c *VectorCase) Outputs {
	sp := rotarySpec(c, "rope", "half", "rope-dims=%d", c.Int("rotary_dims", c.Int("d_head", 0)))
	return rotaryOutputs(t, c, sp, sp.Positions)
}

func proportionalVector(t testing.TB, c *VectorCase) Outputs {
	sp := rotarySpec(c, "rope", "half", "rope-proportion=%v", c.Float("proportion", 1))
	if factor := c.Float("factor", 1); factor != 1 {
		sp.Scheme, sp.Given["rope-scale"] = "rope-pi", fmt.Sprint(factor)
	}
	return hfOutputs(t, c, sp)
}

func interpolationVector(t testing.TB, c *VectorCase) Outputs {
	scale := c.Float("scale", 1)
	sp := rotarySpec(c, "rope-pi", "half", "rope-scale=%v", scale)
	out := rotaryOutputs(t, c, sp, sp.Positions)
	for i := range out["inv_freq"].Values { // their frequencies are rope's; it is positions that they divide
		out["inv_freq"].Values[i] *= scale
	}
	return out
}

func dynamicNTKVector(t testing.TB, c *VectorCase) Outputs {
	return hfOutputs(t, c, rotarySpec(c, "rope-ntk", "half", "rope-scale=%v rope-trained-tokens=%d",
		c.Float("factor", 1), c.Int("max_position_embeddings", 0)))
}

func ntkVector(t testing.TB, c *VectorCase) Outputs {
	sp := rotarySpec(c, "rope-ntk", "half", "rope-scale=%v", c.Float("alpha", 1))
	if c.Bool("dynamic") {
		sp = rotarySpec(c, "rope-ntk", "half", "rope-scale=%v rope-trained-tokens=%d", c.Float("factor", 1),
			c.Int("Lmax", 0))
	}
	return rotaryOutputs(t, c, sp, sp.Positions)
}

func yarnVector(t testing.TB, c *VectorCase) Outputs {
	sp := rotarySpec(c, "rope-yarn", "half",
		"rope-trained-tokens=%d rope-scale=%v yarn-beta-fast=%v yarn-beta-slow=%v",
		c.Int("L_orig", 0), c.Float("scale", 1), c.Float("beta_fast", 32), c.Float("beta_slow", 1))
	if c.Value("truncate") == false {
		sp.Given["yarn-truncate"] = "false"
	}
	if factor := c.Float("attention_factor_given", 0); factor != 0 {
		sp.Given["yarn-attention-factor"] = fmt.Sprint(factor)
	} else if scale, ofAll := c.Float("mscale", 0), c.Float("mscale_all_dim", 0); scale*ofAll != 0 {
		sp.Given["yarn-attention-factor"] = fmt.Sprintf("%v/%v", scale, ofAll)
	}
	if c.Bool("dynamic") {
		sp.Given["rope-yarn"] = "dynamic"
	} else if c.Floats("gamma") != nil && c.Floats("beta") != nil { // the constants of NTK-by-parts
		sp.Given["rope-yarn"] = "by-parts"
	}
	return rotaryOutputs(t, c, sp, sp.Positions)
}

func llama3Vector(t testing.TB, c *VectorCase) Outputs {
	return hfOutputs(t, c, rotarySpec(c, "rope-llama3", "half",
		"rope-scale=%v rope-trained-tokens=%d llama3-low=%v llama3-high=%v", c.Float("factor", 8),
		c.Int("L_orig", 8192), c.Float("low_freq_factor", 1), c.Float("high_freq_factor", 4)))
}

func longRoPEVector(t testing.TB, c *VectorCase) Outputs {
	policy := c.Text("policy", "su")
	if v, ok := c.Value("policy").(float64); ok {
		policy = fmt.Sprint(v)
	}
	trained := c.Float("L_orig", 0)
	sp := rotarySpec(c, "rope-longrope", "half",
		"longrope-factors=%s longrope-magnitude=%s rope-scale=%v rope-trained-tokens=%v longrope-first=%d",
		commas(c.Param(t, "lambda").Values), policy, c.Float("L_max",
			0)/trained, trained, c.Int("start_token_idx", 0))
	if c.Bool("dynamic") || strings.HasPrefix(fmt.Sprint(c.SourceSymbol), "Dynamic") {
		sp.Given["longrope-stretch"] = "dynamic"
	}
	return hfOutputs(t, c, sp)
}

func longRoPEHFVector(t testing.TB, c *VectorCase) Outputs {
	trained := c.Float("L_orig", 0)
	scale, magnitude := c.Float("factor", 1), "su"
	if longest := c.Float("L_max", 0); longest != 0 {
		scale = longest / trained
	}
	if factor := c.Float("attention_factor_given", 0); factor != 0 {
		magnitude = fmt.Sprint(factor)
	}
	return hfOutputs(t, c, rotarySpec(c, "rope-longrope", "half",
		"longrope-factors=%s longrope-short=%s longrope-magnitude=%s rope-scale=%v rope-trained-tokens=%v",
		commas(c.Floats("long_factor")), commas(c.Floats("short_factor")), magnitude, max(scale, 1), trained))
}

func xposVector(t testing.TB, c *VectorCase) Outputs {
	sp := rotarySpec(c, "xpos", "interleaved", "xpos-scale-base=%v xpos-gamma=%v", c.Float("scale_base", 512),
		c.Float("gamma", 0.4))
	expect.Equal(t, "the centre", c.Int("centre", 0), (sp.Positions.Tokens()+1)/2)
	return rotaryOutputs(t, c, sp, sp.Positions)
}

func hopeVector(t testing.TB, c *VectorCase) Outputs {
	layout := c.Text("layout", "interleaved")
	if layout != "interleaved" {
		layout = "half"
	}
	sp := rotarySpec(c, "hope", layout, "rope-trained-tokens=%d", c.Int("train_length", 0))
	out := rotaryOutputs(t, c, sp, sp.Positions)
	kept := slices.DeleteFunc(anglesAt(t, sp.Model(t), 1), func(angle float64) bool { return angle == 0 })
	out["inv_freq_kept"] = petest.Array{Shape: []int{len(kept)}, Values: kept}
	return out
}

// lognVector: queries may lie beyond the first place.
func lognVector(t testing.TB, c *VectorCase) Outputs {
	q, k, start := c.Input(t, "q"), c.Input(t, "k"), c.Int("start", 0)
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	sp := petest.Spec{Scheme: "logn", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(start + n),
		Given: given("logn=ssmax")}
	if step := c.Float("floor_scale", 0); step > 0 {
		sp.Given["logn"] = fmt.Sprintf("llama4:%v/%v", step, c.Float("attn_scale", 0))
	} else {
		sp.Set = params(t, c, "s=scales")
	}
	turned, kept := rotated(sp.Model(t), q, k, sp.Positions.Permuted(places(start, n)))
	return Outputs{"q_scaled": turned, "k": kept}
}

// floaterVector: one kind of case is the path alone, the other attention with given biases; in that
// one the projections have no biases of their own.
func floaterVector(t testing.TB, c *VectorCase) Outputs {
	if !c.Has("p0") {
		x := c.Input(t, "x")
		sp := over(c, "floater", x, nil)
		m := sp.Model(t)
		m.Encoding = pe.GivenBiases(m.Encoding, c.Input(t, "bias_n_qkv_d").Values)
		w := Projections{QKV: c.Param(t, "in_proj_weights"), Out: c.Param(t, "out_proj.weight"),
			OutB: c.Param(t, "out_proj.bias")}
		got := w.Attend(m, x, sp.Positions, false)
		return Outputs{"logits": got.Logits, "context_out": got.Output}
	}
	n, d, layers, dt := c.Int("n", 0), c.Int("d", 0), c.Int("layers", 0), c.Float("dt", 0.01)
	if method, steps := c.Text("method", "rk4"), math.Round(dt/c.Float("step",
		dt/5)); method != "rk4" || steps != 5 {
		t.Fatalf("method %s, %g steps a token: floater's solver is torchdiffeq's rk4 with 5", method, steps)
	}
	sp := petest.Spec{Scheme: "floater", DModel: d, Layers: layers, Positions: pe.Line(n),
		Given: given("floater-dt=%v", dt),
		Set: params(t, c, "start=p0 in.weight=layers.0.linear.weight in.bias=layers.0.linear.bias "+
			"out.weight=layers.2.linear.weight out.bias=layers.2.linear.bias")}
	return Outputs{"bias_n_qkv_layer_d": flowBiases(sp.Model(t), pe.Line(n)).Reshaped(n, 3, layers, d)}
}

// flowBiases returns the biases of a model of one head at the given positions, [N,3,L,D].
func flowBiases(m *models.Model, p pe.Positions) (out petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		out = petest.ArrayOf(pe.FlowBiases(begin(s, m, p)).Squeeze(0).Squeeze(2).Permute(2, 0, 1, 3))
	})
	return out
}

// nopeVector runs nope, or c-nope where the case is causal: among these is the published code's
// temperature of 0.01. What is around the attention in the model is held against the case too.
func nopeVector(t testing.TB, c *VectorCase) Outputs {
	x, w := c.Input(t, "x"), Projections{}
	if c.Has("c_attn.weight") { // the published code's CausalSelfAttention, else PyTorch's MultiheadAttention
		w.QKV, w.Out = c.Param(t, "c_attn.weight"), c.Param(t, "c_proj.weight")
	} else {
		w = Projections{QKV: c.Param(t, "in_proj_weight"), QKVB: c.Param(t, "in_proj_bias"),
			Out: c.Param(t, "out_proj.weight"), OutB: c.Param(t, "out_proj.bias")}
	}
	sp := over(c, "nope", x, nil)
	if c.Bool("causal") || c.Has("c_attn.weight") {
		sp.Scheme, sp.Given = "c-nope", given("c-nope-temperature=%v attention-bias=%v",
			c.Float("temperature", 1),
			w.QKVB.Values != nil)
	}
	m := sp.Model(t)
	got := w.Attend(m, x, sp.Positions, false)
	w.AttendInModel(t, sp, x, got)
	out := Outputs{"weights": got.Weights, "output": got.Output}
	if c.Has("x_permuted") {
		out["output_of_permuted"] = w.Attend(m, c.Input(t, "x_permuted"), sp.Positions, false).Output
	}
	return out
}
