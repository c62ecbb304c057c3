package pe_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// copeVector: the other code's batch axis is our heads.
func copeVector(t testing.TB, c *VectorCase) Outputs {
	q, k, v := tokensFirst(c.Input(t, "q")), tokensFirst(c.Input(t, "k")), tokensFirst(c.Input(t, "v"))
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	sp := petest.Spec{Scheme: "cope", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(n),
		Given: given("cope-positions=%d cope-scaled=%v", c.Int("npos", 0), !c.Bool("nodiv")),
		Set:   map[string][]float64{"pe.table": transposed(c.Param(t, "pos_emb")).Values}}
	if c.Value("causal") == false {
		sp.Given["cope-direction"] = "bidirectional"
	}
	got := HeadInputs{Q: q, K: k, V: v}.Attend(sp.Model(t), sp.Positions, false)
	return Outputs{"logits": got.Logits, "output": tokensFirst(got.Output.Reshaped(n, heads, dh)),
		"positions": countsOf(t, sp, q, k)}
}

// countsOf returns p of queries and keys [N,H,Dh]: what is added to their logits where every query
// is (1, 0, ...) and each vector of the table its own number times that.
func countsOf(t testing.TB, sp petest.Spec, q, k petest.Array) (counts petest.Array) {
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	sp.Set = map[string][]float64{"pe.table": count(len(sp.Set["pe.table"])/dh, dh)}
	sp.Given = maps.Clone(sp.Given)
	sp.Given["cope-scaled"] = "false"
	m, unit := sp.Model(t), zeros(q.Shape...)
	for i := range n * heads {
		unit.Values[i*dh] = 1
	}
	petest.Closed(func(s *torchpe.Scope) {
		keys := byHeads(s, k, heads)
		logits := torchpe.AttentionLogits(byHeads(s, q, heads), keys, 1/math.Sqrt(float64(dh)))
		after := begin(s, m, sp.Positions).Logits(
			pe.Attn{Q: byHeads(s, unit, heads), K: keys, V: keys, Scale: 1}, logits)
		counts = petest.ArrayOf(after.Sub(logits)).Reshaped(heads, n, n)
	})
	return counts
}

// dapeVector: a network of zeros leaves the base alone.
func dapeVector(t testing.TB, c *VectorCase) Outputs {
	scores, kernel, base := c.Input(t, "scores"), c.Int("kernel", 1), c.Text("base", "")
	heads := scores.Shape[0]
	if slope := c.Float("leaky_slope", 0.01); slope != 0.01 || c.Int("version", 1) == 1 && kernel != 1 {
		t.Fatalf("slope %g, kernel %d: ours are 0.01, and 1 in version 1", slope, kernel)
	}
	sp := petest.Spec{Scheme: "dape", Heads: heads, DModel: 2 * heads, Layers: 1,
		Positions: pe.Line(scores.Shape[1]),
		Given:     given("dape=%s dape-width=%d dape-kernel=%d", base, c.Int("mlp_width", 0), kernel),
		Set:       map[string][]float64{}}
	switch base {
	case "kerple_log":
		sp.Given["dape"], sp.Set = "kerple", params(t, c, "a=bias_a p=bias_p")
	case "fire":
		expect.Equal(t, "eps", c.Float("eps", 1e-6), 1e-6)
		sp.Given["dape"] = fmt.Sprintf("fire:%d", c.Int("init_L", 0)/2)
		sp.Set = params(t, c, "c=c multiplier=L_multiplier in.weight=mlp.0.weight in.bias=mlp.0.bias "+
			"out.weight=mlp.2.weight out.bias=mlp.2.bias")
	}
	nothing := maps.Clone(sp.Set)
	for theirs, name := range map[string]string{"mlp2.0": "pe.mix.in.", "mlp2.2": "pe.mix.out."} {
		w, b := c.Param(t, theirs+".weight"), c.Param(t, theirs+".bias") // [out,in,1,k], ours has k first
		sp.Set[name+"weight"] = transposed(w.Reshaped(len(w.Values)/kernel, kernel)).Values
		sp.Set[name+"bias"] = b.Values
		nothing[name+"weight"], nothing[name+"bias"] = make([]float64, len(w.Values)), make([]float64, len(b.Values))
	}
	out := HeadInputs{}.Logits(sp.Model(t), scores, sp.Positions)
	sp.Set = nothing
	return Outputs{"base_bias": biasOf(t, sp), "out": out, "out_causal": out}
}

// debertaVector: with buckets the table has twice as many rows as there are buckets.
func debertaVector(t testing.TB, c *VectorCase) Outputs {
	most, number := c.Int("max_relative_positions", 512), c.Int("position_buckets", -1)
	if c.Has("relative_position_q_minus_k") {
		found := c.Input(t, "relative_position_q_minus_k")
		for i, v := range found.Values {
			found.Values[i] = float64(pe.DeBERTaBucket(int(v), number, most))
		}
		return Outputs{"bucket": found}
	}
	x, offsets := c.Input(t, "x"), fmt.Sprint(most)
	if number > 0 {
		offsets = fmt.Sprintf("%d/%d", number, most)
	}
	sp := over(c, "deberta", x, given("deberta-offsets=%s deberta-terms=both deberta-projections=own", offsets))
	if terms := c.Text("pos_att_type", "c2p|p2c"); !strings.Contains(terms, "|") {
		sp.Given["deberta-terms"] = terms
	}
	if c.Bool("share_att_key") {
		sp.Given["deberta-projections"] = "content"
	}
	names := ""
	for ours, theirs := range map[string]string{"key": "pos_key_proj", "query": "pos_query_proj"} {
		if c.Has(theirs + ".weight") {
			names += fmt.Sprintf(" %s.weight=%s.weight %[1]s.bias=%[2]s.bias", ours, theirs)
		}
	}
	sp.Set = params(t, c, names)
	sp.Set["pe.table"] = c.Input(t, "rel_embeddings_P").Values
	got := namedWeights(t, c, "_proj").Attend(sp.Model(t), x, sp.Positions, false)
	out := outputs(got)
	out["logits_minus_row_max"] = zeros(got.Logits.Shape...)
	for i, v := range got.Logits.Values {
		n := x.Shape[0]
		out["logits_minus_row_max"].Values[i] = v - slices.Max(got.Logits.Values[i/n*n:][:n])
	}
	if c.Has("delta") {
		out["delta"] = deltas(t, offsets, x.Shape[0])
	}
	return out
}

// deltas reads the rows that are looked up for n tokens off a table of one column that holds their
// numbers.
func deltas(t testing.TB, offsets string, n int) petest.Array {
	span := 0
	expect.Must(fmt.Sscan(strings.Split(offsets, "/")[0], &span))
	m := petest.Spec{Scheme: "deberta", Layers: 1, DModel: 1, Positions: pe.Line(n),
		Given: given("deberta-offsets=%s deberta-terms=c2p", offsets),
		Set:   map[string][]float64{"pe.table": count(2*span, 1), "pe.key.weight": {1}, "pe.key.bias": {0}}}.Model(t)
	q := petest.Array{Shape: []int{n, 1}, Values: slices.Repeat([]float64{math.Sqrt2}, n)} // times 1/sqrt(2 Dh)
	return HeadInputs{Q: q, K: zeros(n, 1)}.Attend(m, pe.Line(n), false).Logits.Reshaped(n, n)
}

// gates returns x of ln f = ln sigmoid(x).
func gates(logs petest.Array) petest.Array {
	for i, v := range logs.Values {
		logs.Values[i] = -math.Log(math.Expm1(-v))
	}
	return logs
}

// forgettingVector: where the case gives gates, the first H numbers of each token hold them.
func forgettingVector(t testing.TB, c *VectorCase) Outputs {
	q, heads := c.Input(t, "q"), c.Int("heads", 1)
	n, d := q.Shape[0], heads*q.Shape[2]
	in := HeadInputs{Q: q, K: forQueries(c.Input(t, "k"), heads), V: forQueries(c.Input(t, "v"), heads)}
	sp := petest.Spec{Scheme: "forgetting", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n),
		Given: given("forgetting-window=%d", c.Int("window", 0)), Set: map[string][]float64{}}
	weight := petest.Array{Shape: []int{heads, heads}, Values: identity(heads)}
	if c.Has("x") {
		in.X, weight = c.Input(t, "x"), c.Param(t, "fgate_proj.weight")
		sp.Set = params(t, c, "bias=fgate_proj.bias")
	} else {
		in.X = gates(c.Input(t, "log_f"))
	}
	in.X, sp.Set["pe.weight"] = widened(in.X, d), widened(weight, d).Values
	m := sp.Model(t)
	got := in.Attend(m, sp.Positions, false)
	none := zeros(q.Shape...)
	bias := HeadInputs{Q: none, K: none, X: in.X}.Attend(m, sp.Positions, false).Logits
	// ln f of a token is its bias for the key before it; the first one has a token put before it.
	more := HeadInputs{Q: zeros(n+1, d), K: zeros(n+1, d), X: stackRows(zeros(1, d), in.X)}
	sp.Positions, sp.Given = pe.Line(n+1), nil
	before := more.Attend(sp.Model(t), sp.Positions, false).Logits
	logs := reordered(before, func(i int) int { return (i%heads*(n+1)+i/heads+1)*(n+1) + i/heads }, n, heads)
	return Outputs{"log_f": logs, "bias": bias, "logits": got.Logits,
		"output": got.Output.Reshaped(q.Shape...)}
}

func dataDependentALiBiVector(t testing.TB, c *VectorCase) Outputs {
	x, heads := c.Input(t, "x"), c.Int("heads", 1)
	n, d := x.Shape[0], (x.Shape[1]+heads-1)/heads*heads // of a model with such heads
	sp := petest.Spec{Scheme: "forgetting", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n),
		Given: given("forgetting-scale=%v", c.Float("post_log_scale", 1)),
		Set:   params(t, c, "bias=to_forget_gates.0.bias")}
	sp.Set["pe.weight"] = widened(c.Param(t, "to_forget_gates.0.weight"), d).Values
	if !c.Bool("causal") {
		sp.Given["forgetting-direction"] = "bidirectional"
	}
	none := zeros(n, heads, d/heads)
	in := HeadInputs{Q: none, K: none, X: widened(x, d)}
	return Outputs{"bias": in.Attend(sp.Model(t), sp.Positions, false).Logits}
}

func grapeAVector(t testing.TB, c *VectorCase) Outputs {
	kind, heads := c.Text("kind", ""), c.Int("heads", 1)
	if kind == "path_integral" {
		x := c.Input(t, "x")
		sp := over(c, "grape-a", x, given("grape-a=path"))
		if d := c.Int("p_head_dim", 0); d*heads != x.Shape[1] {
			sp.Given["grape-a"] = fmt.Sprintf("path:%d", d)
		}
		sp.Set = params(t, c, "weight=c_p.weight")
		w := Projections{QKV: stacked(t, c, "c_q.weight", "c_k.weight", "c_v.weight"),
			Out: c.Param(t, "c_proj.weight")}
		m, none := sp.Model(t), Projections{QKV: zeros(w.QKV.Shape...)}
		got := w.Attend(m, x, sp.Positions, false)
		return Outputs{"logits": got.Logits, "output": got.Output,
			"bias": none.Attend(m, x, sp.Positions, false).Logits}
	}
	q, k, names := c.Input(t, "q"), c.Input(t, "k"), ""
	for _, name := range []string{"omega", "u", "v"} {
		if c.Has(name) {
			names += fmt.Sprintf(" %s=%[1]s", name)
		}
	}
	sp := petest.Spec{Scheme: "grape-a", Heads: heads, Layers: 1, DModel: heads * q.Shape[2],
		Positions: pe.Line(q.Shape[0]), Given: given("grape-a=%s", kind), Set: params(t, c, names)}
	if c.Value("l2_norm") == false {
		sp.Given["grape-a-unit"] = "false"
	}
	m, in := sp.Model(t), HeadInputs{Q: q, K: k}
	return Outputs{"bias": in.Logits(m, petest.Array{}, sp.Positions),
		"logits": in.Attend(m, sp.Positions, false).Logits}
}

// inklingVector: their bank of curves is [M,R].
func inklingVector(t testing.TB, c *VectorCase) Outputs {
	x, bank := c.Input(t, "x"), c.Param(t, "distance_bank")
	sp := over(c, "inkling", x, given("inkling-direction=bidirectional inkling-curves=%d inkling-distance=%d",
		bank.Shape[0], bank.Shape[1]))
	sp.Set = params(t, c, "weight=to_distance_weights.0.weight bias=to_distance_weights.0.bias")
	sp.Set["pe.curves"] = transposed(bank).Values
	m, none := sp.Model(t), Projections{QKV: zeros(3*x.Shape[1], x.Shape[1])}
	return Outputs{"bias": none.Attend(m, x, sp.Positions, false).Logits}
}

// huangVector: BERT's relative_key_query is method 4 with offsets i-j, as in shawVector.
func huangVector(method string) Adapter {
	return func(t testing.TB, c *VectorCase) Outputs {
		x := c.Input(t, "x")
		var w Projections
		var table petest.Array
		if c.Has("distance_embedding.weight") {
			w, table, _ = shawWeights(t, c)
		} else {
			w = plainWeights(t, c)
			for _, name := range []string{"key_relative_positions_embeddings", "relative_parameters"} {
				if c.Has(name) {
					table = c.Param(t, name)
				}
			}
		}
		clip := table.Shape[0] / 2
		if method == "1" {
			clip = table.Shape[0] - 1
		}
		sp := over(c, "huang", x, given("huang-method=%s huang-clip=%d", method, clip))
		sp.Set = map[string][]float64{"pe.table": table.Values}
		return outputs(w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression")))
	}
}

// pathVector: the tokens are unit vectors, so the maps' columns hold what the case gives for each token.
func pathVector(t testing.TB, c *VectorCase) Outputs {
	q, heads := c.Input(t, "q"), c.Int("heads", 1)
	n, d := q.Shape[0], heads*q.Shape[2]
	if scale := 1 / math.Sqrt(float64(q.Shape[2])); math.Abs(c.Float("scale", scale)-scale) > 1e-12 ||
		n > d {
		t.Fatalf("scale %g, %d tokens: ours is %g, and the test needs at most %d tokens",
			c.Float("scale", scale), n, scale, d)
	}
	shared := func(name string) petest.Array { return forQueries(c.Input(t, name), heads) }
	columns := func(a petest.Array) []float64 { // the matrix [R,D] that maps the unit vector of a token to its row
		return widened(transposed(a.Reshaped(n, len(a.Values)/n)), d).Values
	}
	beta := shared("beta")
	for i, v := range beta.Values {
		beta.Values[i] = math.Log(v / (2 - v)) // 2 sigmoid of it is v
	}
	sp := petest.Spec{Scheme: "path", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n),
		Given: given("path-rank=0"), Set: map[string][]float64{"pe.up": columns(shared("w")),
			"pe.beta.weight": columns(beta), "pe.beta.bias": make([]float64, heads)}}
	if c.Bool("forget_gate") {
		sp.Given["path-forget"], sp.Set["pe.forget.weight"] = "true", columns(gates(shared("log_f")))
	}
	in := HeadInputs{Q: q, K: shared("k"), V: shared("v"),
		X: widened(petest.Array{Shape: []int{n, n}, Values: identity(n)}, d)}
	got := in.Attend(sp.Model(t), sp.Positions, false)
	return Outputs{"logits": got.Logits, "output": got.Output.Reshaped(q.Shape...)}
}

// shawVector: BERT's relative_key counts i-j where Shaw has j-i: its table is ours with the rows
// reversed, and without clipping where it has rows for all offsets. A causal mask does not belong to
// --relative shaw; it is the test's own.
func shawVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	w, keys, values := shawWeights(t, c)
	sp := over(c, "relative", x, given("relative=shaw relative-clip=%d relative-values=%v", keys.Shape[0]/2,
		values.Values != nil))
	sp.Fidelity, sp.Set = "text", map[string][]float64{"pe.keys": keys.Values}
	if values.Values != nil {
		sp.Set["pe.values"] = values.Values
	}
	return outputs(w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression")))
}

// shawWeights reads a case's projections and its tables of keys and values, in Shaw's order; no
// values where it has none.
func shawWeights(t testing.TB, c *VectorCase) (w Projections, keys, values petest.Array) {
	t.Helper()
	if c.Has("distance_embedding.weight") {
		table := c.Param(t, "distance_embedding.weight")
		rows, d := table.Shape[0], table.Shape[1]
		keys = reordered(table, func(i int) int { return (rows-1-i/d)*d + i%d }, rows, d)
		return namedWeights(t, c, ""), keys, values
	}
	if c.Has("value_relative_positions_embeddings") {
		values = c.Param(t, "value_relative_positions_embeddings")
	}
	return plainWeights(t, c), c.Param(t, "key_relative_positions_embeddings"), values
}

// musicTransformerVector: a table with more rows than tokens is one built for more positions, of
// which the tokens take the first. The causal mask and the missing output projection are the
// scheme's, so that a whole layer of the model must agree.
func musicTransformerVector(t testing.TB, c *VectorCase) Outputs {
	x, w := c.Input(t, "x"), namedWeights(t, c, "")
	sp := over(c, "relative", x, nil)
	sp.Positions, sp.Set = pe.Line(c.Param(t, "Er").Shape[0]), params(t, c, "keys=Er")
	got := w.Attend(sp.Model(t), x, sp.Positions.Permuted(places(0, x.Shape[0])), false)
	w.AttendInModel(t, sp, x, got)
	return Outputs{"weights": got.Weights, "output": got.Output}
}

// synthesizerVector: 10-zin's code gives q and v [H,N,Dh], leaderj1001's gives x and has one head;
// The tables are for L tokens; the case has the first of them.
func synthesizerVector(t testing.TB, c *VectorCase) Outputs {
	n := c.Int("n", 0)
	sp := petest.Spec{Scheme: "synthesizer", Layers: 1, Heads: c.Int("heads", 1),
		Positions: pe.Line(c.Int("L", n)), Given: pe.Options{}}
	p := sp.Positions.Permuted(places(0, n))
	dense := func(first, second string) {
		sp.Given["synthesizer-width"] = fmt.Sprint(c.Param(t, first+".weight").Shape[0])
		sp.Set = params(t, c, fmt.Sprintf(
			"in.weight=%s.weight in.bias=%[1]s.bias out.weight=%s.weight out.bias=%[2]s.bias", first, second))
	}
	if c.Has("x") {
		x, value, bias := c.Input(t, "x"), c.Param(t, "value_fc.weight"), c.Param(t, "value_fc.bias")
		sp.DModel = x.Shape[1]
		dense("dense.0", "dense.2")
		none, noBias := zeros(value.Shape...), zeros(bias.Shape...)
		w := Projections{QKV: stackRows(none, none, value),
			QKVB: stackRows(noBias, noBias, bias)}
		got := w.Attend(sp.Model(t), x, p, false)
		return Outputs{"logits": got.Logits.Reshaped(n, n), "weights": got.Weights.Reshaped(n, n),
			"output": got.Output}
	}
	v := zeros(sp.Heads, n, 2) // where there is none
	if c.Has("v") {
		v = c.Input(t, "v")
	}
	q := v
	switch {
	case c.Has("w_1.weight"):
		q = c.Input(t, "q")
		sp.Given["synthesizer-input"] = "query"
		dense("w_1", "w_2")
	case c.Has("R"):
		sp.Given["synthesizer"], sp.Set = "random", params(t, c, "matrix=R")
	default:
		sp.Given, sp.Set = given("synthesizer=factorised synthesizer-width=%d", c.Int("k", 8)),
			params(t, c, "left=R1 right=R2")
	}
	sp.DModel = sp.Heads * q.Shape[2]
	q, v = tokensFirst(q), tokensFirst(v)
	out := outputs(HeadInputs{Q: q, K: q, V: v}.Attend(sp.Model(t), p, false))
	out["output"] = tokensFirst(out["output"].Reshaped(v.Shape...))
	return out
}

// tenerVector: the official code calls u r_r_bias and v r_w_bias, and has no output projection. The
// tutorial's code has offsets j-i; a case that follows the text says i-j.
func tenerVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	sp := over(c, "tener", x, given("tener-offset=j-i"))
	if c.Text("offset", "") == "i-j" {
		sp.Given["tener-offset"] = "i-j"
	}
	var w Projections
	if c.Has("qkv_linear.weight") {
		sp.Given["tener-frequencies"], sp.Given["tener-key-term"] = "code", "true"
		sp.Given["tener-scaled"] = fmt.Sprint(c.Bool("scale"))
		w.QKV, sp.Set = c.Param(t, "qkv_linear.weight"), params(t, c, "u=r_r_bias v=r_w_bias")
	} else {
		w, sp.Set = plainWeights(t, c), params(t, c, "u=u v=v")
	}
	return outputs(w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression")))
}

// transformerXLVector: memory is tokens before the others; only the rows of the others are asked
// for.
func transformerXLVector(t testing.TB, c *VectorCase) Outputs {
	if c.Has("W_kR") { // DeepMind's: in both directions, without scale where the case says so, W to the right of R
		q, k := c.Input(t, "q"), c.Input(t, "k")
		sp := petest.Spec{Scheme: "transformer-xl", Layers: 1, Heads: c.Int("heads", 1),
			DModel:    q.Shape[1] * q.Shape[2],
			Positions: pe.Line(q.Shape[0]), Given: given("xl-direction=mirrored"), Set: params(t, c, "u=u v=v")}
		if c.Text("offset", "j-i") == "i-j" {
			sp.Given["xl-direction"] = "bidirectional"
		}
		if c.Value("scaled") == false {
			sp.Given["xl-scaled"] = "false"
		}
		sp.Set["pe.keys"] = transposed(c.Param(t, "W_kR")).Values
		return Outputs{"logits": HeadInputs{Q: q, K: k}.Attend(sp.Model(t), sp.Positions,
			false).Logits}
	}
	x := c.Input(t, "x")
	n, all := x.Shape[0], x
	if c.Has("memory") {
		all = stackRows(c.Input(t, "memory"), x)
	}
	sp := over(c, "transformer-xl", all, pe.Options{})
	if c.Has("r_emb_by_distance") {
		sp.Given["xl-keys"] = "free"
		sp.Set = params(t, c, "u=u vectors=r_emb_by_distance terms=r_bias_by_distance")
	} else {
		sp.Set = params(t, c, "u=u v=v keys=r_net.weight")
		table := c.Param(t, "R_by_distance")
		if strings.HasPrefix(c.Text("R", ""), "sinusoid") {
			ours := petest.Array{Shape: table.Shape, Values: valuesOf(sp.Model(t), "pe.table")}
			petest.Near(t, "sinusoids", ours, table, 1e-13)
		} else {
			sp.Given["xl-table"], sp.Set["pe.table"] = "learned", table.Values
		}
	}
	w := Projections{QKV: c.Param(t, "qkv_net.weight"), Out: c.Param(t, "o_net.weight")}
	got := w.Attend(sp.Model(t), all, sp.Positions, false)
	sum, d := lastRows(got.Output.Reshaped(append([]int{1}, all.Shape...)...),
		n).Reshaped(x.Shape...), x.Shape[1]
	gain, bias := c.Param(t, "layer_norm.weight").Values, c.Param(t, "layer_norm.bias").Values
	for i := range n {
		row := sum.Row(i)
		for j, v := range x.Row(i) {
			row[j] += v
		}
		for j, v := range layerNorm(row) {
			row[j] = v*gain[j%d] + bias[j%d]
		}
	}
	return Outputs{"logits": lastRows(got.Logits, n), "weights": lastRows(got.Weights, n),
		"layer_output_with_residual_and_layernorm": sum}
}
