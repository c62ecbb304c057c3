package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// alibiVector: the authors' row m_h j is our last row, moved so that it starts at zero. The
// tutorial's code divides the bias too.
func alibiVector(t testing.TB, c *VectorCase) Outputs {
	if c.Has("x") {
		x, w := c.Input(t, "x"), plainWeights(t, c)
		sp := over(c, "alibi", x, given("alibi-scaled=true"))
		got := w.Attend(sp.Model(t), x, sp.Positions, false)
		w.AttendInModel(t, sp, x, got)
		return outputs(got)
	}
	sp := perHead(c, "alibi", pe.Line(c.Int("n", 2)), nil)
	bias, n := biasOf(t, sp), sp.Positions.Tokens()
	row := lastRows(bias, 1).Reshaped(sp.Heads, n)
	for h := range sp.Heads {
		for j := n - 1; j >= 0; j-- {
			row.Row(h)[j] -= row.Row(h)[0]
		}
	}
	slopes := petest.Array{Shape: []int{sp.Heads}, Values: valuesOf(sp.Model(t), "pe.slopes")}
	return Outputs{"slopes": slopes, "bias": bias, "official_row_bias": row}
}

// alibiBidirectionalVector: the configuration does not say the form; whose code ran does.
func alibiBidirectionalVector(t testing.TB, c *VectorCase) Outputs {
	form := "symmetric"
	if c.SourceRepo == "google-deepmind/randomized_positional_encodings" {
		form = "sided"
	}
	return Outputs{"bias": biasOf(t, perHead(c, "alibi", pe.Line(c.Int("n", 2)),
		given("alibi=%s", form)))}
}

// alibi2DVector: patches of a square image, row after row.
func alibi2DVector(t testing.TB, c *VectorCase) Outputs {
	side := c.Int("side", 0)
	return Outputs{"bias": biasOf(t, perHead(c, "alibi", pe.Grid(side, side), given("alibi=euclidean")))}
}

// beitVector: the class token comes first; its cell does not matter. A table of row numbers shows the
// index.
func beitVector(t testing.TB, c *VectorCase) Outputs {
	grid := pe.Grid(c.Int("H", 0), c.Int("W", 0))
	p := pe.Line(1 + grid.Tokens())
	p.Cells = append([][2]int{{0, 0}}, grid.Cells...)
	sp := perHead(c, "beit", p, given("beit-class-token=first"))
	sp.Set = params(t, c, "table=table")
	out := Outputs{"bias": biasOf(t, sp)}
	sp.Set["pe.table"] = count(len(sp.Set["pe.table"])/sp.Heads, sp.Heads)
	out["index"] = petest.Array{Shape: []int{p.Tokens(), p.Tokens()}, Values: biasOf(t, sp).Row(0)}
	return out
}

// daVector: logits of one become the factor.
func daVector(t testing.TB, c *VectorCase) Outputs {
	x, w := c.Input(t, "x"), plainWeights(t, c)
	sp := over(c, "da", x, nil)
	sp.Set = params(t, c, "v=v w=w")
	m, n := sp.Model(t), x.Shape[0]
	got := w.Attend(m, x, sp.Positions, c.Bool("auto_regression"))
	if !c.Bool("auto_regression") {
		w.AttendInModel(t, sp, x, got)
	}
	out := outputs(got)
	petest.Closed(func(s *torchpe.Scope) {
		ones := torchpe.Full(s, 1, torchpe.Float64, torchpe.CPU, 1, 1, sp.Heads, n, n)
		out["R_hat"] = petest.ArrayOf(begin(s, m, sp.Positions).Logits(pe.Attn{}, ones)).
			Reshaped(sp.Heads, n, n)
	})
	return out
}

// dynamicBiasVector: where there are fewer queries than keys, they are the last ones.
func dynamicBiasVector(t testing.TB, c *VectorCase) Outputs {
	depth, offsets := c.Int("depth", 0), "linear"
	if c.Bool("norm") {
		t.Fatal("the network has layer norms: ours has none")
	}
	if c.Bool("log_distance") {
		offsets = "log"
	}
	sp := perHead(c, "dynamic-bias", pe.Line(c.Int("n_key", 0)),
		given("dynamic-bias-offsets=%s dynamic-bias-depth=%d dynamic-bias-width=%d", offsets, depth,
			c.Int("mlp_width", 0)))
	names := fmt.Sprintf("out.weight=mlp.%d.weight out.bias=mlp.%[1]d.bias", depth)
	for i := range depth {
		names += fmt.Sprintf(" %d.weight=mlp.%[1]d.0.weight %[1]d.bias=mlp.%[1]d.0.bias", i)
	}
	sp.Set = params(t, c, names)
	return Outputs{"bias": lastRows(biasOf(t, sp), c.Int("n_query", 0))}
}

// fireVector: the causal bias is the lower half of ours; the mask does the rest.
func fireVector(t testing.TB, c *VectorCase) Outputs {
	expect.Equal(t, "eps", c.Float("eps", 1e-6), 1e-6)
	sp := perHead(c, "fire", pe.Line(c.Int("n", 0)),
		given("fire-width=%d fire-threshold=%v", c.Int("mlp_width", 0), c.Float("L", 512)))
	sp.Set = params(t, c, "in.weight=mlp.0.weight in.bias=mlp.0.bias out.weight=mlp.2.weight out.bias=mlp.2.bias")
	sp.Set["pe.c"], sp.Set["pe.multiplier"] = []float64{c.Float("c",
		0.1)}, []float64{c.Float("L_multiplier", 1)}
	bias := biasOf(t, sp)
	return Outputs{"bias": bias, "bias_causal": bias}
}

// kerpleVector: kind is kerple_log, or kerple_power_BIAS_WEIGHTS with the letters of the numbers that
// are trained. What is added to logits of zero is the bias alone.
func kerpleVector(t testing.TB, c *VectorCase) Outputs {
	scores := c.Input(t, "scores")
	expect.Equal(t, "eps", c.Float("eps", 0.01), 0.01)
	sp := petest.Spec{Scheme: "kerple", Heads: scores.Shape[0], DModel: 2 * scores.Shape[0], Layers: 1,
		Positions: pe.Line(scores.Shape[1]), Given: pe.Options{}}
	trained, weights, names := "ap", "", ""
	if kind, ok := strings.CutPrefix(c.Text("kind", ""), "kerple_power_"); ok {
		trained, weights, _ = strings.Cut(kind, "_")
		sp.Given["kerple"], sp.Given["kerple-trained"] = "power", trained
	} else if c.Text("kind", "") != "kerple_log" {
		t.Fatalf("kind %v: ours are kerple_log and kerple_power_BIAS_WEIGHTS", c.Value("kind"))
	}
	if weights != "" {
		sp.Given["kerple-weights"] = weights
	}
	for _, letter := range trained {
		names += fmt.Sprintf(" %c=bias_%[1]c", letter)
	}
	for _, letter := range weights {
		names += fmt.Sprintf(" weights-%c=wei_%[1]c", letter)
	}
	sp.Set = params(t, c, names)
	out := HeadInputs{}.Logits(sp.Model(t), scores, sp.Positions)
	return Outputs{"bias": biasOf(t, sp), "out": out, "out_causal": out}
}

func ropeAndBiasVector(t testing.TB, c *VectorCase) Outputs {
	n := c.Int("n", 0)
	sp := petest.Spec{Scheme: "rope+relative-bias", Layers: 1, DModel: c.Int("d", 0), Positions: pe.Line(n),
		Given: given("relative-bias-scaled=false"), Set: params(t, c, "relative-bias.bias=bias_table")}
	in := HeadInputs{Q: c.Input(t, "q"), K: c.Input(t, "k"), V: c.Input(t, "v")}
	got := in.Attend(sp.Model(t), sp.Positions, false)
	return Outputs{"logits": got.Logits.Reshaped(n, n), "output": got.Output}
}

func erpeVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	sp := over(c, "erpe", x, nil)
	sp.Set = params(t, c, "table=relative_bias_table")
	w := Projections{QKV: stacked(t, c, "query.weight", "key.weight", "value.weight")}
	return outputs(w.Attend(sp.Model(t), x, sp.Positions, false))
}

// relativeBiasVector: Swin's table is [2n-1,H], ours [H,2n-1]; a case may have the whole matrix
// [H,n,n] and q and k [H,n,Dh].
func relativeBiasVector(t testing.TB, c *VectorCase) Outputs {
	sp := petest.Spec{Scheme: "relative-bias", Layers: 1, DModel: c.Int("d_model", 0), Heads: c.Int("heads", 1),
		Positions: pe.Line(c.Int("n", 0)), Given: given("relative-bias-scaled=%v", c.Bool("bias_scaled"))}
	if c.Has("q") {
		sp.Given["relative-bias"], sp.Set = "full", map[string][]float64{"pe.bias": c.Input(t, "bias").Values}
		in := HeadInputs{Q: tokensFirst(c.Input(t, "q")), K: tokensFirst(c.Input(t, "k"))}
		return Outputs{"logits": in.Attend(sp.Model(t), sp.Positions, false).Logits}
	}
	sp.Set = map[string][]float64{"pe.bias": transposed(c.Param(t, "relative_position_bias_table")).Values}
	c.Unused("proj.weight", "proj.bias") // after the heads are merged
	w := Projections{QKV: c.Param(t, "qkv.weight"), QKVB: c.Param(t, "qkv.bias")}
	return Outputs{"bias": biasOf(t, sp),
		"logits": w.Attend(sp.Model(t), c.Input(t, "x"), sp.Positions, false).Logits}
}

func sandwichVector(t testing.TB, c *VectorCase) Outputs {
	sp := perHead(c, "sandwich", pe.Line(c.Int("n", 0)), given("sandwich-width=%d", c.Int("d_bar", 0)))
	switch reading := c.Text("reading", ""); reading {
	case "m=0..d_bar/2-1":
	case "m=1..d_bar/2, minus d_bar/2":
		sp.Given["sandwich-first"] = "1"
	default:
		t.Fatalf("reading %q is none of ours", reading)
	}
	return Outputs{"bias": biasOf(t, sp)}
}

// swinVector reads the index off a table that holds its own row numbers.
func swinVector(t testing.TB, c *VectorCase) Outputs {
	sp := perHead(c, "swin", pe.Grid(c.Int("Wh", 0), c.Int("Ww", 0)), nil)
	sp.DModel, sp.Set = c.Int("d_model", sp.DModel), params(t, c, "table=relative_position_bias_table")
	n, out := sp.Positions.Tokens(), Outputs{"bias": biasOf(t, sp)}
	if c.Has("x") {
		x, w := c.Input(t, "x"), Projections{QKV: c.Param(t, "qkv.weight"), QKVB: c.Param(t, "qkv.bias"),
			Out: c.Param(t, "proj.weight"), OutB: c.Param(t, "proj.bias")}
		got := w.Attend(sp.Model(t), x, sp.Positions, false)
		w.AttendInModel(t, sp, x, got)
		out["logits"], out["output"] = got.Logits, got.Output
	}
	sp.Set["pe.table"] = count(len(sp.Set["pe.table"])/sp.Heads, sp.Heads)
	out["index"] = petest.Array{Shape: []int{n, n}, Values: biasOf(t, sp).Row(0)}
	return out
}

func swinV2Vector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	sp := over(c, "swin-v2", x, given("swin-v2-width=%d", c.Int("mlp_width", 0)))
	sp.Positions = pe.Grid(c.Int("Wh", 0), c.Int("Ww", 0))
	sp.Set = params(t, c, "tau=logit_scale out.weight=cpb_mlp.2.weight in.weight=cpb_mlp.0.weight "+
		"in.bias=cpb_mlp.0.bias")
	if size := c.Floats("pretrained_window_size"); len(size) == 2 && size[0] > 0 {
		sp.Given["swin-v2-pretrained"] = fmt.Sprintf("%gx%g", size[0], size[1])
	}
	n, d := x.Shape[0], x.Shape[1]
	w := Projections{QKV: c.Param(t, "qkv.weight"), // keys have no bias
		QKVB: stackRows(c.Param(t, "q_bias"), zeros(d), c.Param(t, "v_bias")),
		Out:  c.Param(t, "proj.weight"), OutB: c.Param(t, "proj.bias")}
	got := w.Attend(sp.Model(t), x, sp.Positions, false)
	w.AttendInModel(t, sp, x, got)
	table := valuesOf(sp.Model(t), "pe.coordinates")
	return Outputs{
		"coords_table": {Shape: c.Output(t, "coords_table").Shape, Values: table}, "bias": biasOf(t, sp),
		"index":  {Shape: []int{n, n}, Values: rowsOfTable(t, sp, table)},
		"logits": got.Logits, "output": got.Output,
	}
}

// rowsOfTable returns the row of the table of offsets that each pair of tokens takes: with the
// network sigmoid(y + x/100) the bias tells the offset {y, x}.
func rowsOfTable(t testing.TB, sp petest.Spec, table []float64) (rows []float64) {
	const above = 10 // keeps what the ReLU sees positive
	width := len(sp.Set["pe.in.bias"])
	in, bias, out := make([]float64, 2*width), make([]float64, width), make([]float64, sp.Heads*width)
	in[0], in[3], bias[0], bias[1], out[0], out[1] = 1, 1, above, above, 1, 0.01
	sp.Set = map[string][]float64{"pe.in.weight": in, "pe.in.bias": bias, "pe.out.weight": out}
	for _, b := range biasOf(t, sp).Row(0) {
		at := math.Log(b/16/(1-b/16)) - 1.01*above
		off := func(row int) float64 { return math.Abs(table[2*row] + table[2*row+1]/100 - at) }
		nearest := 0
		for row := range len(table) / 2 {
			if off(row) < off(nearest) {
				nearest = row
			}
		}
		rows = append(rows, float64(nearest))
	}
	return rows
}

// byOffset reads what a bias over so many tokens, [H,N,N], has for offsets j-i, [H,offsets].
func byOffset(offsets petest.Array, bias func(tokens int) petest.Array) petest.Array {
	most := 0
	for _, v := range offsets.Values {
		most = max(most, int(v), -int(v))
	}
	all, n := bias(most+1), len(offsets.Values)
	return reordered(all, func(i int) int {
		v := int(offsets.Values[i%n])
		return (i/n*(most+1)+max(-v, 0))*(most+1) + max(v, 0)
	}, all.Shape[0], n)
}

// t5Vector reads buckets off a table that holds its own row numbers.
func t5Vector(t testing.TB, c *VectorCase) Outputs {
	direction, number := "bidirectional", c.Int("num_buckets", 32)
	if c.Value("bidirectional") == false {
		direction = "causal"
	}
	sp := perHead(c, "t5", pe.Line(c.Int("n", 0)),
		given("t5-direction=%s t5-buckets=%d t5-max-distance=%d", direction,
			number, c.Int("max_distance", 128)))
	buckets := func(n int) petest.Array {
		return biasOf(t, petest.Spec{Scheme: "t5", Given: sp.Given, Layers: 1, DModel: 2, Positions: pe.Line(n),
			Set: map[string][]float64{"pe.table": count(number, 1)}})
	}
	if c.Has("relative_position_k_minus_q") {
		offsets := c.Input(t, "relative_position_k_minus_q")
		return Outputs{"bucket": byOffset(offsets, buckets).Reshaped(offsets.Shape...)}
	}
	n := sp.Positions.Tokens()
	sp.Set = params(t, c, "table=table")
	return Outputs{"bucket": buckets(n).Reshaped(n, n), "bias": biasOf(t, sp)}
}

// tisaVector reads f off the first row and the first column of a bias over as many tokens as there
// are offsets.
func tisaVector(t testing.TB, c *VectorCase) Outputs {
	bias := func(offset string, tokens int) petest.Array {
		sp := perHead(c, "tisa", pe.Line(tokens),
			given("tisa-kernels=%d tisa-offset=%s", c.Int("S", 5), offset))
		sp.Set = params(t, c, "a=a b=b c=c")
		if have, want := 3*len(sp.Set["pe.a"]), c.Int("n_params", 0); want != 0 && have != want {
			t.Errorf("%d parameters a kernel, the other code has %d", have, want)
		}
		return biasOf(t, sp)
	}
	n := c.Int("n", 0)
	out := Outputs{"bias_paper": bias("j-i", n), "bias_official_forward": bias("i-j-1", n)}
	if c.Has("offsets") {
		out["f_of_offset"] = byOffset(c.Input(t, "offsets"), func(n int) petest.Array { return bias("j-i", n) })
	}
	return out
}

// tupeVector: the code has a class token in the first place; its table may be one for more tokens.
func tupeVector(t testing.TB, c *VectorCase) Outputs {
	sp := perHead(c, "tupe", pe.Line(c.Int("n", 0)), given("tupe-projection=normed tupe-class-token=first"))
	sp.DModel = c.Int("d_model", 0)
	sp.Set = params(t, c, "norm.weight=pos_ln.weight norm.bias=pos_ln.bias query.weight=pos_q_linear.weight "+
		"query.bias=pos_q_linear.bias key.weight=pos_k_linear.weight key.bias=pos_k_linear.bias")
	sp.Set["pe.table"] = c.Param(t, "pos.weight").Values[:(sp.Positions.Tokens()+1)*sp.DModel]
	if c.Bool("rel_pos") {
		sp.Given["tupe-buckets"] = fmt.Sprintf("%d/%d", c.Int("rel_pos_bins", 32), c.Int("max_rel_pos", 128))
		sp.Set["pe.relative"] = c.Param(t, "relative_attention_bias.weight").Values
	}
	return Outputs{"bias": biasOf(t, sp)}
}
