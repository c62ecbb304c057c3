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

// abacusVector: a token's coordinate is the place of its digit, an id from low to high, in its run of
// digits from 1 on, and 0 for other ids.
func abacusVector(t testing.TB, c *VectorCase) Outputs {
	ids, table, digits := c.Input(t, "token_ids"), c.Param(t, "table"), c.Floats("digit_ids")
	b, n, d := ids.Shape[0], ids.Shape[1], table.Shape[1]
	at, added := petest.Array{Shape: []int{b, n}}, petest.Array{Shape: []int{b, n, d}}
	for sample := range b {
		var rows [][]float64
		k := 0.0
		for _, id := range ids.Row(sample) {
			if k++; id < digits[0] || id > digits[1] {
				k = 0
			}
			rows, at.Values = append(rows, []float64{k}), append(at.Values, k)
		}
		sp := petest.Spec{Scheme: "abacus", Layers: 1, DModel: d, Positions: points(rows...),
			Set:   params(t, c, "table=table"),
			Given: given("abacus-rows=%d", c.Int("n_max", table.Shape[0]))}
		added.Values = append(added.Values, tableOf(t, sp).Values...)
	}
	return Outputs{"pe": added, "positions": at}
}

// axialVector: the tutorial's P1 is that of the fast axis and fills the first dimensions;
// lucidrains' axis 0 is the slow one, and both are of full width where the factors are added.
func axialVector(t testing.TB, c *VectorCase) Outputs {
	slow, fast, join := "axis0", "axis1", "slow-first"
	if c.Has("P1") {
		fast, slow, join = "P1", "P2", "fast-first"
	}
	a, b := c.Param(t, slow), c.Param(t, fast)
	d, width := a.Shape[1]+b.Shape[1], a.Shape[1]
	if join == "fast-first" {
		width = b.Shape[1]
	} else if c.Value("dims") == nil {
		d, width, join = a.Shape[1], 0, "sum"
	}
	have := len(a.Values) + len(b.Values)
	expect.Equal(t, "parameters", have, c.Int("n_params", have))
	p := pe.Line(a.Shape[0] * b.Shape[0])
	m := petest.Spec{Scheme: "axial", Layers: 1, DModel: d, Positions: p,
		Given: given("axial-join=%s axial-width=%d axial-fast=%d", join, width, b.Shape[0]),
		Set:   map[string][]float64{"pe.slow": a.Values, "pe.fast": b.Values}}.Model(t)
	p = pe.Line(c.Int("n", p.Tokens()))
	out := Outputs{"table": added(m, 0, p)}
	if c.Has("x") {
		out["y"] = embed(m, 0, c.Input(t, "x"), p)
	}
	return out
}

// bipeVector: the sizes of the case's embedding and of its heads do not belong to one model. The code's
// row m s_j of a query is ours less what it has for the first key, whose segment is 0. Cells are
// {segment, place in it}; a separator ends a segment.
func bipeVector(t testing.TB, c *VectorCase) Outputs {
	x, q, k := c.Input(t, "x"), c.Input(t, "q"), c.Input(t, "k")
	n, rows := x.Shape[0], c.Param(t, "embeds.0.weight").Shape[0]
	expect.Equal(t, "alibi_factor", c.Int("alibi_factor", 96), 96)
	p, intra, inter := pe.Line(n), zeros(n), zeros(n)
	segment, place := 0, 0
	for i, token := range c.Input(t, "token_ids").Values {
		p.Cells, inter.Values[i] = append(p.Cells, [2]int{segment, place}), float64(segment)
		if place++; slices.Contains(c.Floats("separators"), token) {
			segment, place = segment+1, 0
		}
	}
	sp := petest.Spec{Scheme: "bipe", Layers: 1, DModel: x.Shape[1], Positions: p,
		Given: given("bipe=alibi bipe-places=%d", c.Int("train_scale", 0)),
		Set:   params(t, c, "table=embeds.0.weight")}
	out := Outputs{"x_plus_intra": embed(sp.Model(t), 0, x, p), "intra": intra, "inter": inter}
	sp.Set["pe.table"] = count(rows, x.Shape[1]) // the row's number in the first column
	numbers := tableOf(t, sp)
	for i := range n {
		intra.Values[i] = numbers.Row(i)[0]
	}
	sp.Heads, sp.DModel, sp.Set = q.Shape[1], q.Shape[1]*q.Shape[2], nil
	bias := biasOf(t, sp)
	for row := range slices.Chunk(bias.Values, n) {
		for j := n - 1; j >= 0; j-- {
			row[j] -= row[0]
		}
	}
	sp.Given = given("bipe-places=%d rope-base=%s", c.Int("train_scale", 0), format(c.Float("base", 10000)))
	got := HeadInputs{Q: q, K: k}.Attend(sp.Model(t), p, false)
	out["alibi_bias"], out["q_rot"], out["k_rot"], out["logits_rope"] = bias, got.Q, got.K, got.Logits
	return out
}

// capeSpec is cape of a case, with options that both forms have.
func capeSpec(c *VectorCase, form string, d int) petest.Spec {
	return petest.Spec{Scheme: "cape", DModel: d, Layers: 1, Given: given(
		"cape=%s cape-global=%s cape-local=%s cape-scaling=%s", form,
		format(c.Float("max_global_shift", 0)), format(c.Float("max_local_shift", 0)),
		format(c.Float("max_global_scaling", 1)))}
}

// capeDraws holds what cape draws for one sample: shifts of the sample [A] and of its tokens [N,A], and the
// logarithm of its factor [1].
type capeDraws struct{ global, local, scale petest.Array }

// capeOutputs returns the table and sqrt(D) x + table of one sample x [N,D]: as the scheme adds it at
// evaluation, or of draws.
func capeOutputs(m *models.Model, x petest.Array, p pe.Positions, draws *capeDraws) (table, out []float64) {
	still, sum := added(m, 0, p).Values, embed(m, 0, x, p).Values
	if draws == nil {
		return still, sum
	}
	petest.Closed(func(s *torchpe.Scope) {
		in := func(a petest.Array) torchpe.Tensor {
			return a.Reshaped(1, 1, a.Shape[0], len(a.Values)/a.Shape[0]).Tensor(s)
		}
		table = pe.CAPETable(s, m.Encoding, p, in(draws.global), in(draws.local), in(draws.scale)).Float64s()
	})
	for i, v := range still {
		out = append(out, sum[i]-v+table[i])
	}
	return table, out
}

// drawn returns columns of the first n draws of a sample, zeros where the case has no such.
func drawn(t testing.TB, c *VectorCase, sample, n int, factor float64, names ...string) petest.Array {
	a := zeros(n, len(names))
	for k, name := range names {
		for i := 0; c.Has(name) && i < n; i++ {
			a.Row(i)[k] = factor * c.Input(t, name).Row(sample)[i]
		}
	}
	return a
}

// cape1DVector: each sample alone. One token beyond its length is kept, as in the code; what comes after
// it gets no table and enters no mean. The spacing of positions scales a token's coordinate and its shift.
func cape1DVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	n, d := x.Shape[1], x.Shape[2]
	sp := capeSpec(c, "1d", d)
	sp.Given["cape-centred"] = fmt.Sprint(c.Bool("normalize"))
	sp.Given["cape-frequency"] = format(c.Float("freq_scale", 1))
	table, output := zeros(x.Shape...), zeros(x.Shape...)
	for b := range x.Shape[0] {
		tokens, delta := n, 1.0
		if c.Has("x_lengths") {
			tokens = min(n, int(c.Input(t, "x_lengths").Values[b])+1)
		}
		if c.Has("positions_delta") {
			delta = c.Input(t, "positions_delta").Values[b]
		}
		var rows [][]float64
		for i := range tokens {
			rows = append(rows, []float64{delta * float64(i)})
		}
		sp.Positions = points(rows...)
		var draws *capeDraws
		if c.Bool("training") {
			draws = &capeDraws{drawn(t, c, b, 1, 1, "global_shift"),
				drawn(t, c, b, tokens, delta, "local_shift"), drawn(t, c, b, 1, 1, "log_scale")}
		}
		row := petest.Array{Shape: []int{tokens, d}, Values: x.Row(b)[:tokens*d]}
		e, out := capeOutputs(sp.Model(t), row, sp.Positions, draws)
		copy(table.Row(b), e)
		for i, v := range x.Row(b)[copy(output.Row(b), out):] {
			output.Row(b)[tokens*d+i] = math.Sqrt(float64(d)) * v
		}
	}
	return Outputs{"embedding": table, "output": output}
}

func cape2DVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "patches")
	sp := capeSpec(c, "2d", x.Shape[3])
	sp.Positions = pe.Grid(x.Shape[1], x.Shape[2])
	n, table, output := sp.Positions.Tokens(), zeros(x.Shape...), zeros(x.Shape...)
	for b := range x.Shape[0] {
		var draws *capeDraws
		if c.Bool("training") {
			draws = &capeDraws{drawn(t, c, b, 1, 1, "shift_x", "shift_y"),
				drawn(t, c, b, n, 1, "local_x", "local_y"), drawn(t, c, b, 1, 1, "log_scale")}
		}
		row := petest.Array{Shape: []int{n, sp.DModel}, Values: x.Row(b)}
		e, out := capeOutputs(sp.Model(t), row, sp.Positions, draws)
		copy(table.Row(b), e)
		copy(output.Row(b), out)
	}
	return Outputs{"embedding": table, "output": output}
}

// convVector: the module returns what the scheme adds to x.
func convVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x")
	p := pe.Line(x.Shape[1])
	m := petest.Spec{Scheme: "conv-pos", Layers: 1, DModel: x.Shape[2], Positions: p,
		Given: given("conv-kernel=%d conv-groups=%d", c.Int("kernel", 0), c.Int("groups", 0)),
		Set:   params(t, c, "v=weight_v gain=weight_g bias=bias")}.Model(t)
	out := embed(m, 0, x, p)
	// The same sequence many times over is convolved by one matrix.
	many := petest.Array{Shape: []int{50, x.Shape[1], x.Shape[2]}, Values: slices.Repeat(x.Row(0), 50)}
	last := petest.Array{Shape: x.Shape[1:], Values: embed(m, 0, many, p).Row(49)}
	petest.Near(t, "in a batch", last, petest.Array{Shape: x.Shape[1:], Values: out.Row(0)}, 1e-13)
	return Outputs{"pe": {Shape: x.Shape, Values: difference(out.Values, x.Values)}}
}

// features returns z [N,F] of fourier-features: with the identity for C, that is what it adds.
func features(t testing.TB, p pe.Positions, width int, options string, args ...any) petest.Array {
	t.Helper()
	return featuresOf(t, petest.Spec{Positions: p, Given: given(options, args...)}, width)
}

func featuresOf(t testing.TB, sp petest.Spec, width int) petest.Array {
	t.Helper()
	sp.Scheme, sp.DModel = "fourier-features", width
	if sp.Set == nil {
		sp.Set = map[string][]float64{}
	}
	sp.Set["pe.weight"], sp.Set["pe.bias"] = identity(width), make([]float64, width)
	return tableOf(t, sp)
}

// fourierFeaturesVector: MeshGraphNets' edges are of edge-geometry.
func fourierFeaturesVector(t testing.TB, c *VectorCase) Outputs {
	if c.Has("mesh_pos") {
		return edgeGeometryVector(t, c)
	}
	x := c.Input(t, "x")
	if c.Value("H") != nil { // FNO's channels of the grid, after those of x [B,C,H,W]
		grid := pe.Grid(c.Int("H", 0), c.Int("W", 0))
		z := transposed(features(t, grid, 2, "features=grid feature-range=unit"))
		out := petest.Array{Shape: []int{x.Shape[0], x.Shape[1] + 2, x.Shape[2], x.Shape[3]}}
		for sample := range x.Shape[0] {
			out.Values = slices.Concat(out.Values, x.Row(sample), z.Values)
		}
		return Outputs{"y": out}
	}
	sp := petest.Spec{Positions: points(rowsOf(x)...), Given: given("feature-range=raw")}
	if c.Has("B") {
		levels := c.Param(t, "B").Shape[0]
		sp.Given["features"], sp.Given["feature-levels"] = "gaussian", fmt.Sprint(levels)
		sp.Set = params(t, c, "waves=B")
		return Outputs{"features": featuresOf(t, sp, 2*levels)}
	}
	levels := c.Int("L", 0)
	sp.Given["features"], sp.Given["feature-levels"] = c.Text("kind", ""), fmt.Sprint(levels)
	expect.Equal(t, "max_positions", c.Float("max_positions", 10000), 10000)
	return Outputs{"features": featuresOf(t, sp, 2*levels*x.Shape[1])}
}

// edgeGeometryVector: a head for each feature, each with the weight 1 for its own: the bias of a
// key at the sender, seen from the receiver, is the edge's feature.
func edgeGeometryVector(t testing.TB, c *VectorCase) Outputs {
	at := c.Input(t, "mesh_pos")
	n, heads := at.Shape[0], at.Shape[1]+1
	sp := petest.Spec{Scheme: "edge-geometry", Layers: 1, Heads: heads, DModel: heads,
		Positions: points(rowsOf(at)...),
		Set:       map[string][]float64{"pe.weight": identity(heads)}}
	none := zeros(n, heads, 1)
	bias := HeadInputs{Q: none, K: none, V: none}.Attend(sp.Model(t), sp.Positions, false).Logits
	senders, receivers := whole(c.Input(t, "senders").Values), whole(c.Input(t, "receivers").Values)
	expect.Contains(t, fmt.Sprint(c.SourceSymbol), "edge_features")
	return Outputs{"edge_features": reordered(bias, func(i int) int {
		return (i%heads*n+receivers[i/heads])*n + senders[i/heads]
	}, len(senders), heads)}
}

// checkCount holds the number of parameters of a scheme against a case's.
func checkCount(t testing.TB, c *VectorCase, m *models.Model, name string) {
	t.Helper()
	have := m.Params.Get(name).PerMember()
	expect.Equal(t, "parameters", have, c.Int("n_params", have))
}

// learnVector: a table with more rows than tokens is one built for more positions.
func learnVector(t testing.TB, c *VectorCase) Outputs {
	table, x := c.Param(t, "table"), c.Input(t, "x")
	sp := over(c, "learn", table, nil)
	sp.Set = params(t, c, "table=table")
	m := sp.Model(t)
	checkCount(t, c, m, "pe.table")
	return Outputs{"y": embed(m, 0, x, pe.Line(x.Shape[1]))}
}

// learned2DVector: ViT's table counts tokens in a row, its class token first: that is a grid of one
// row.
func learned2DVector(t testing.TB, c *VectorCase) Outputs {
	rows, columns := c.Int("H", 1), c.Int("W", c.Int("tokens", 0))
	sp := petest.Spec{Scheme: "learn-2d", Layers: 1, DModel: c.Int("d", 0), Given: given("grid-table=sum"),
		Positions: pe.Grid(c.Int("H_max", rows), c.Int("W_max", columns))}
	switch {
	case c.Has("P_h"):
		sp.Set = params(t, c, "row=P_h column=P_w")
	case c.Has("row"): // DETR's tables may have more rows than the grid
		sp.Given["grid-table"], sp.Set = "concat", params(t, c, "row=row column=col")
		sp.Positions = pe.Grid(c.Param(t, "row").Shape[0], c.Param(t, "col").Shape[0])
	default:
		sp.Given["grid-table"], sp.Set = "full", params(t, c, "table=table")
		sp.Positions = pe.Grid(1, c.Int("table_rows", columns))
	}
	m, p := sp.Model(t), pe.Grid(rows, columns)
	if !c.Has("y") {
		return Outputs{"table": added(m, 0, p)}
	}
	x := c.Input(t, "x")
	y := embed(m, 0, x.Reshaped(len(x.Values)/rows/columns/sp.DModel, rows*columns, sp.DModel), p)
	return Outputs{"y": y.Reshaped(x.Shape...)}
}

func learnFourierVector(t testing.TB, c *VectorCase) Outputs {
	x := c.Input(t, "x") // [N,G,M]
	if x.Shape[1] != c.Int("G", x.Shape[1]) || x.Shape[2] != c.Int("M", x.Shape[2]) {
		t.Fatalf("coordinates %v, the case has G = %d, M = %d", x.Shape, c.Int("G", 0), c.Int("M", 0))
	}
	return Outputs{"pe": tableOf(t, petest.Spec{Scheme: "learn-fourier", Layers: 1,
		DModel:    c.Int("D", 0),
		Positions: points(rowsOf(x)...),
		Set: params(t, c, "waves=Wr.weight in.weight=mlp.0.weight in.bias=mlp.0.bias out.weight=mlp.2.weight "+
			"out.bias=mlp.2.bias"),
		Given: given("fourier-features=%d fourier-hidden=%d fourier-groups=%d",
			c.Int("F_dim", 0), c.Int("H_dim", 0), x.Shape[1])})}
}

func learnWavesVector(t testing.TB, c *VectorCase) Outputs {
	sp := petest.Spec{Scheme: "learn-waves", Layers: 1, DModel: c.Int("d", 0),
		Positions: pe.Line(c.Int("n", 0)),
		Set:       params(t, c, "index=f")}
	checkCount(t, c, sp.Model(t), "pe.index")
	return Outputs{"table": tableOf(t, sp)}
}

// resampledVector: rows before the grid's (a class token's) stay as they are, outside of the
// scheme.
func resampledVector(t testing.TB, c *VectorCase) Outputs {
	table, prefix := c.Param(t, "table"), c.Int("prefix", 0)
	d := table.Shape[1]
	sp := petest.Spec{Scheme: "learn-resampled", Layers: 1, DModel: d, Positions: pe.Line(c.Int("n", 0)),
		Given: given("resample-by=linear resample-from=1x%d", c.Int("L_train", 0)),
		Set:   map[string][]float64{"pe.table": table.Values[prefix*d:]}}
	if how := c.Text("interpolation", "linear"); how != "linear" {
		if how != "bicubic" && how != "bilinear" || !c.Bool("antialias") {
			t.Fatalf("interpolation %s with antialias %v: only linear and antialiased bicubic and "+
				"bilinear are there", how, c.Bool("antialias"))
		}
		from, to := whole(c.Floats("old")), whole(c.Floats("new"))
		sp.Given, sp.Positions = given("resample-by=%s resample-from=%dx%d", how, from[0],
			from[1]), pe.Grid(to[0], to[1])
	}
	kept := petest.Array{Shape: []int{prefix, d}, Values: table.Values[:prefix*d]}
	return Outputs{"rows": stackRows(kept, tableOf(t, sp))}
}

// drawnLine returns tokens one after the other at drawn positions.
func drawnLine(s *torchpe.Scope, drawn []float64) pe.Positions {
	p := pe.Line(len(drawn))
	p.Drawn = torchpe.Of(s, torchpe.CPU, drawn, 1, 1, len(drawn))
	return p
}

// embedAt returns what the first block adds to tokens at the drawn positions, [N,D].
func embedAt(m *models.Model, drawn []float64) (added petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		zero := zeros(1, 1, len(drawn), m.Config.DModel)
		x := m.Encoding.Begin(s, drawnLine(s, drawn)).Embed(0, zero.Tensor(s))
		added = petest.ArrayOf(x).Reshaped(zero.Shape[2:]...)
	})
	return added
}

// randomisedVector: DeepMind's sinusoids have all sines before all cosines where ours alternate as
// in the paper's other schemes: the columns are compared in our order.
func randomisedVector(t testing.TB, c *VectorCase) Outputs {
	n, name := c.Int("n", 0), "draw_unsorted"
	if c.Has("permutation") {
		name = "permutation"
	}
	drawn := slices.Sorted(slices.Values(c.Input(t, name).Values[:n]))
	out := Outputs{"positions": {Shape: []int{n}, Values: drawn}}
	sp := petest.Spec{Scheme: "random", Fidelity: "text", Layers: 1, DModel: c.Int("d", 0),
		Heads:     c.Int("heads", 1),
		Positions: pe.Line(n), Given: given("random-max=%d", c.Int("L", 0))}
	switch {
	case c.Text("base", "") == "sinusoidal_1d_concat":
		d := sp.DModel
		out["table"] = reordered(embedAt(sp.Model(t), drawn), func(i int) int {
			return i/d*d + i%d%(d/2)*2 + i%d/(d/2)
		}, n, d)
	case c.Has("table") && c.Has("permutation"):
		sp.Given["random-base"], sp.Set = "learn", params(t, c, "rows=table")
		out["table"] = embedAt(sp.Model(t), drawn)
	default: // queries [B,N,H,Dh] are turned in every sample the same
		sp.Given["random-base"] = "rope"
		sp.DModel *= sp.Heads
		m, x := sp.Model(t), c.Input(t, "x")
		petest.Closed(func(s *torchpe.Scope) {
			p := drawnLine(s, drawn)
			out["y"], _ = turnedBy(m.Encoding.Begin(s, p), s, x, x, p)
		})
	}
	return out
}

func sinusoid1DVector(layout string) Adapter {
	return func(t testing.TB, c *VectorCase) Outputs {
		n, start, sp := c.Int("n", 0), c.Int("start", 0), petest.Spec{Scheme: "1d-fixed", DModel: c.Int("d", 0),
			Given: given("fixed-pe-dropout=0 sinusoid-base=%v sinusoid-layout=%s",
				c.Float("base", 10000), layout)}
		if c.Bool("add_negative_side") {
			sp.Positions = pe.Line(n + 1)
			return Outputs{"table": bothSides(tableOf(t, sp))}
		}
		if start > 0 { // the tokens from place start-1 on, where the first place is 1
			sp.Given["positions-from"] = "1"
			start--
		}
		sp.Positions = pe.Line(start + n)
		m, p := sp.Model(t), sp.Positions.Permuted(places(start, n))
		out := Outputs{"table": added(m, 0, p)}
		if c.Has("x") {
			out["y"] = embed(m, 0, c.Input(t, "x"), p)
		}
		return out
	}
}

func tapeVector(t testing.TB, c *VectorCase) Outputs {
	n, all := c.Int("n", 0), c.Int("max_len", 0)
	sp := petest.Spec{Scheme: "tape", DModel: c.Int("d", 0), Positions: pe.Line(n),
		Given: given("pe-placement=input tape-length=%d", all)}
	return Outputs{"y": embed(sp.Model(t), 0, c.Input(t, "x"), sp.Positions)}
}

// bothSides returns the rows -n..n-1 of a concatenated sinusoid from its rows 0..n: the sines,
// which come first, change their sign with the position. Tokens of this project have no negative
// positions; offsets between them have.
func bothSides(a petest.Array) petest.Array {
	n, d := a.Shape[0]-1, a.Shape[1]
	out := petest.Array{Shape: []int{2 * n, d}}
	for p := -n; p < n; p++ {
		row := slices.Clone(a.Row(max(p, -p)))
		for k := range d / 2 {
			if p < 0 {
				row[k] = -row[k]
			}
		}
		out.Values = append(out.Values, row...)
	}
	return out
}

// sinusoid2DVariant: DETR says whether it normalises, MAE and simple ViT by which function ran.
func sinusoid2DVariant(t testing.TB, c *VectorCase) Outputs {
	sp := petest.Spec{Scheme: "2d-fixed", DModel: c.Int("d", 0),
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)),
		Given: given("fixed-pe-dropout=0 positions-from=0 grid-order=columns-first sinusoid-layout=concat "+
			"sinusoid-base=%v", c.Float("temperature", 10000))}
	symbol := fmt.Sprint(c.SourceSymbol)
	switch {
	case c.Value("normalize") != nil:
		if scale := c.Text("scale", "2pi"); scale != "2pi" || c.Float("eps", 1e-6) != 1e-6 {
			t.Fatalf("scale %s, eps %v: DETR has 2pi and 1e-6", scale, c.Value("eps"))
		}
		sp.Given = given("fixed-pe-dropout=0 positions-from=1 grid-order=rows-first "+
			"sinusoid-base=%v grid-normalize=%v",
			c.Float("temperature", 10000), c.Bool("normalize"))
	case strings.Contains(symbol, "posemb_sincos_2d"):
		sp.Given["sinusoid-layout"] = "t2t"
	case !strings.Contains(symbol, "get_2d_sincos_pos_embed"):
		t.Fatalf("%s is none of DETR, MAE and simple ViT", symbol)
	}
	return Outputs{"table": tableOf(t, sp)}
}

func sinusoid2DVector(t testing.TB, c *VectorCase) Outputs {
	start, grid := c.Int("start", 0), pe.Grid(c.Int("H", 0), c.Int("W", 0))
	sp := petest.Spec{Scheme: "2d-fixed", DModel: c.Int("d", 0), Positions: grid,
		Given: given("fixed-pe-dropout=0 grid-order=columns-first sinusoid-base=%v", c.Float("base", 10000))}
	if c.Text("exponent", "d/2") == "d" {
		sp.Given["grid-exponent"] = "full"
	}
	if start > 0 {
		sp.Given["positions-from"] = "1"
	}
	for i := range grid.Cells { // cells are any pairs of numbers
		grid.Cells[i][0] += max(0, start-1)
		grid.Cells[i][1] += max(0, start-1)
	}
	table := tableOf(t, sp)
	if c.Bool("cls_token") { // MAE's class token has zeros
		table = stackRows(zeros(1, sp.DModel), table)
	}
	return Outputs{"table": table}
}

// sinusoid3DVector: VideoMAE's table is that of 1d-fixed over all tubes in a row.
func sinusoid3DVector(t testing.TB, c *VectorCase) Outputs {
	shape := whole(c.Floats("shape"))
	if len(shape) == 0 {
		return sinusoid1DVector("interleaved")(t, c)
	}
	layout := "cut"
	if strings.Contains(c.SourceSymbol.(string), "posemb_sincos_3d") {
		layout = "padded"
	}
	return Outputs{"table": tableOf(t, petest.Spec{Scheme: "3d-fixed", DModel: c.Int("d", 0),
		Positions: pe.Box(shape[0], shape[1], shape[2]), Given: given("space-layout=%s", layout)})}
}

// spaceTimeVector: TimeSformer's tokens lie patch by patch, with all frames of a patch together;
// its class token, which is no token of the scheme, comes first and gets the first row of the
// spatial table.
func spaceTimeVector(t testing.TB, c *VectorCase) Outputs {
	b, frames, patches, d := c.Int("B", 0), c.Int("T", 0), c.Int("P", 0), c.Int("d", 0)
	n, space, class := patches*frames, c.Param(t, "pos_embed"), c.Param(t, "cls_token")
	order := make([]int, n)
	for i := range order {
		order[i] = i%frames*patches + i/frames
	}
	tokens := reordered(c.Input(t, "patches_bt_p_d"), func(i int) int {
		return (i/(n*d)*n+order[i/d%n])*d + i%d
	}, b, n, d)
	box := pe.Box(frames, 1, patches)
	m := petest.Spec{Scheme: "space-time", Layers: 1, DModel: d, Positions: box, Set: map[string][]float64{
		"pe.space": space.Values[d:], "pe.time": c.Param(t, "time_embed").Values}}.Model(t)
	got := embed(m, 0, tokens, box.Permuted(order))
	out := petest.Array{Shape: []int{b, 1 + n, d}}
	for sample := range b {
		for k, v := range class.Values {
			out.Values = append(out.Values, v+space.Row(0)[k])
		}
		out.Values = append(out.Values, got.Row(sample)...)
	}
	return Outputs{"y": out}
}
