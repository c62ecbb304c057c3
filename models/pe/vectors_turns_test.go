package pe_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func fopeVector(t testing.TB, c *VectorCase) Outputs {
	q, heads, dh := c.Input(t, "q"), c.Int("heads", 1), c.Int("d_head", 0)
	n := q.Shape[0]
	sp := petest.Spec{Scheme: "fope", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(n),
		Given: given("rope-base=%v fope-floor=drop rope-trained-tokens=%d", c.Float("base", 10000),
			c.Int("train_length", 0))}
	if c.Value("drop_zero") == false {
		sp.Given["fope-floor"] = "zero"
	} else if c.Int("out_dim", 0) > dh/4 {
		sp.Given["fope-floor"] = "square"
	}
	if c.Value("separate_head") == false {
		sp.Given["fope-heads"] = "shared"
	}
	if c.Has("fourier_coef") {
		sp.Given["fope-basis"] = "one"
		sp.Set = params(t, c, "coefficients=fourier_coef")
	} else {
		sp.Set = params(t, c, "coefficients=cos_coef sine-coefficients=sin_coef")
	}
	m, out := sp.Model(t), Outputs{}
	kept := pe.FoPEFrequencies(pe.Config{Heads: heads, DModel: heads * dh, Positions: sp.Positions,
		Options: m.Config.PEOptions})
	out["inv_freq"] = petest.Array{Shape: []int{len(kept)}, Values: kept}
	petest.Closed(func(s *torchpe.Scope) {
		cos, sin := pe.RotationOf(begin(s, m, sp.Positions)) // [1,1,H or 1,N,Dh/2]
		for name, x := range map[string]torchpe.Tensor{"cos": cos, "sin": sin} {
			out[name] = fromHeads(x.Expand(1, 1, heads, n, dh/2))
			if shape := c.Output(t, name).Shape; len(shape) == 2 { // heads that share are one
				out[name] = petest.ArrayOf(x).Reshaped(n, dh/2)
			}
		}
	})
	out["q_rot"], out["k_rot"] = rotated(m, q, c.Input(t, "k"), sp.Positions)
	out["logits"] = logitsOf(out["q_rot"], out["k_rot"])
	return out
}

// popeVector: queries may be the last of the tokens alone; positions may start at an offset.
func popeVector(t testing.TB, c *VectorCase) Outputs {
	q, k := c.Input(t, "q"), c.Input(t, "k")
	n, heads, dh := k.Shape[0], k.Shape[1], k.Shape[2]
	dims, asked := c.Int("d_rot", dh), q.Shape[0]
	q = stackRows(zeros(n-asked, heads, dh), q)
	at := places(c.Int("offset", 0), n)
	if c.Has("positions") {
		at = whole(c.Input(t, "positions").Values)
	}
	phase := "phase=learned_bias"
	if c.Has("bias") {
		phase = "phase=bias"
	}
	sp := petest.Spec{Scheme: "pope", Layers: 1, Heads: heads, DModel: heads * dh,
		Positions: pe.Line(slices.Max(at) + 1),
		Given:     given("pope-dims=%d rope-base=%v", dims, c.Float("base", 10000)), Set: params(t, c, phase)}
	m, p, out := sp.Model(t), sp.Positions.Permuted(at), Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		polarQ, polarK := pe.Polar(begin(s, m, p), byHeads(s, q, heads),
			byHeads(s, k, heads))
		for name, x := range map[string]torchpe.Tensor{"q_rot": polarQ, "k_rot": polarK} {
			if c.Text("layout", "interleaved") == "interleaved" {
				x = interleave(x, dims)
			}
			out[name] = fromHeads(x)
		}
	})
	out["q_rot"] = lastRows(out["q_rot"].Reshaped(1, n, heads*(dims+dh)), asked).Reshaped(asked, heads, dims+dh)
	in := HeadInputs{Q: q, K: k}
	if c.Has("v") {
		in.V = c.Input(t, "v")
	}
	got := in.Attend(m, p, c.Bool("causal"))
	out["logits"], out["similarity"] = lastRows(got.Logits, asked), lastRows(got.Logits, asked)
	for i := range out["similarity"].Values {
		out["similarity"].Values[i] *= math.Sqrt(float64(dh))
	}
	if c.Has("output") {
		out["output"] = got.Output.Reshaped(c.Output(t, "output").Shape...)
	}
	return out
}

// interleave puts entry i of the second r entries of the last axis after entry i of the first r.
func interleave(x torchpe.Tensor, r int) torchpe.Tensor {
	shape, rest := x.Shape(), x.Size(-1)-2*r
	shape[len(shape)-1] = 2 * r
	paired := torchpe.Stack(-1, x.Narrow(-1, 0, r), x.Narrow(-1, r, r)).Reshape(shape...)
	return torchpe.Cat(-1, paired, x.Narrow(-1, 2*r, rest))
}

func grapeMVector(t testing.TB, c *VectorCase) Outputs {
	q, k, heads, dh := c.Input(t, "q"), c.Input(t, "k"), c.Int("heads", 1), c.Int("d_head", 0)
	n, d, kind, factor := q.Shape[0], heads*dh, c.Text("kind", "commuting"), 1.0
	sp := petest.Spec{Scheme: "grape-m", Layers: 1, Heads: heads, DModel: d, Positions: pe.Line(n),
		Given: given("grape-m=%s grape-heads=own", kind)}
	if c.Bool("share_across_heads") {
		sp.Given["grape-heads"] = "shared"
	}
	x := zeros(n, d)
	switch kind {
	case "commuting":
		factor = c.Float("log_freq_scale", 1)
		sp.Given["grape-scale"], sp.Set = fmt.Sprint(factor), params(t, c, "log-frequencies=log_freq")
	case "contextual":
		sp.Given["grape-scale"] = fmt.Sprint(c.Float("omega_scale", 16))
		if c.Bool("per_head_phase") {
			sp.Given["grape-m"] = "contextual:heads"
		}
		x = c.Input(t, "x")
		if x.Shape[1] > d {
			t.Fatalf("tokens of width %d beside heads of %d in all", x.Shape[1], d)
		}
		x = widened(x, d)
		sp.Set = params(t, c, "omega-bias=omega_proj.bias log-frequencies=log_freq")
		sp.Set["pe.omega-weight"] = widened(c.Param(t, "omega_proj.weight"), d).Values
	case "rank2":
		sp.Given["grape-m"] = fmt.Sprintf("rank-2:%v", c.Float("omega", 1))
		sp.Set = params(t, c, "a=a b=b")
	default:
		t.Fatalf("the form %s", kind)
	}
	m, out := sp.Model(t), Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		hooks := begin(s, m, sp.Positions)
		a := pe.Attn{X: x.Reshaped(1, 1, n, d).Tensor(s), Q: byHeads(s, q, heads),
			K: byHeads(s, k, heads)}
		qt, kt, _ := hooks.QKV(a)
		out["q_rot"], out["k_rot"] = fromHeads(qt), fromHeads(kt)
		if c.Has("freq") {
			f := pe.GrapeFrequency(m.Params.Get("pe.log-frequencies").In(s), factor)
			f = f.Squeeze(0).Squeeze(0).Expand(heads, 1, dh/2)
			out["freq"] = petest.ArrayOf(f).Reshaped(heads, dh/2)
		}
		if c.Has("phi") {
			out["phi"] = petest.ArrayOf(pe.GrapePhase(hooks, a).Squeeze(0).Squeeze(0))
		}
		if c.Has("G") { // the image of each unit vector, in a sample of its own, is a column
			units := zeros(dh, n, heads, dh)
			for i := range dh * n * heads {
				units.Values[i*dh+i/(n*heads)] = 1
			}
			a.Q = byHeads(s, units, heads)
			a.K = a.Q
			columns, _, _ := hooks.QKV(a) // [1,Dh,H,N,Dh]
			out["G"] = petest.ArrayOf(columns.Permute(0, 3, 2, 4, 1)).Reshaped(n, heads, dh, dh)
		}
	})
	out["logits"] = logitsOf(out["q_rot"], out["k_rot"])
	return out
}

// rope2DVector: points anywhere in a plane are divided by a smallest distance.
func rope2DVector(t testing.TB, c *VectorCase) Outputs {
	if c.Has("coords_x") {
		x := c.Input(t, "x")
		n, d := x.Shape[1], x.Shape[2]
		at := transposed(petest.Array{Shape: []int{2, n},
			Values: slices.Concat(c.Input(t, "coords_y").Values, c.Input(t, "coords_x").Values)})
		sp := petest.Spec{Scheme: "rope-2d", DModel: d, Positions: points(rowsOf(at)...),
			Given: given("rope-layout=half rope-2d-base=%v rope-unit=%v", c.Float("base", 10000),
				c.Float("min_freq", 1)/c.Float("scale", 1))}
		y, _ := rotated(sp.Model(t), x.Reshaped(n, 1, d), x.Reshaped(n, 1, d), sp.Positions)
		return Outputs{"y": y.Reshaped(x.Shape...)}
	}
	heads := c.Int("heads", 1)
	sp := petest.Spec{Scheme: "rope-2d", Layers: 1, DModel: heads * c.Int("d_head", 0), Heads: heads,
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)), Given: given("rope-2d-base=%v", c.Float("theta", 100))}
	if c.Has("freqs_xy_head") {
		sp.Given["rope-2d"], sp.Set = "mixed", params(t, c, "frequencies=freqs_xy_head")
	}
	return rotaryOutputs(t, c, sp, sp.Positions)
}

// mixedVector: frequencies are given, or follow from a uniform draw for each head; a class token
// comes first and is not turned.
func mixedVector(t testing.TB, c *VectorCase) Outputs {
	heads, dh := c.Int("heads", 1), c.Int("d_head", 0)
	frequencies := petest.Array{Shape: []int{2, heads, dh / 2}}
	if c.Has("u") {
		u := c.Input(t, "u").Values
		if len(u) != heads {
			t.Fatalf("%d draws for %d heads", len(u), heads)
		}
		frequencies.Values = pe.MixedStart(u, c.Float("theta", 10), dh/2)
	} else if frequencies.Values = c.Param(t, "freqs").Values; len(frequencies.Values) != heads*dh {
		t.Fatalf("%d frequencies for %d heads of %d dimensions", len(frequencies.Values), heads, dh)
	}
	sp := petest.Spec{Scheme: "rope-2d", Layers: 1, DModel: heads * dh, Heads: heads,
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)), Given: given("rope-2d=mixed rope-2d-order=columns-first"),
		Set: map[string][]float64{"pe.frequencies": frequencies.Values}}
	if c.Text("grid_indexing", "xy") == "ij" {
		sp.Given["rope-2d-order"] = "rows-first"
	}
	q, k := rotated(sp.Model(t), c.Input(t, "q"), c.Input(t, "k"), sp.Positions)
	return Outputs{"freqs": frequencies, "q_rot": q, "k_rot": k, "logits": logitsOf(q, k)}
}

// crossed returns the positions of axes of so many steps each, the last the fastest.
func crossed(steps ...int) pe.Positions {
	rows := [][]float64{nil}
	for _, n := range steps {
		var next [][]float64
		for _, row := range rows {
			for i := range n {
				next = append(next, append(slices.Clone(row), float64(i)))
			}
		}
		rows = next
	}
	return points(rows...)
}

func rope3DVector(t testing.TB, c *VectorCase) Outputs {
	heads, dims, x := c.Int("heads", 1), whole(c.Floats("dims")), c.Input(t, "x")
	sp := petest.Spec{Scheme: "rope-3d", DModel: heads * c.Int("d_head", 0), Heads: heads,
		Positions: crossed(dims...),
		Given:     given("rope-axes=%d rope-base=%v", len(dims), c.Float("base", 10000))}
	if c.Text("kind", "lang") == "pixel" {
		sp.Given["rope-max-frequency"] = fmt.Sprint(c.Float("max_freq", 10))
	}
	if width := c.Int("d_head", 0) / (2 * len(dims)) * 2; c.Int("per_axis", width) != width {
		t.Fatalf("blocks of %d dimensions; ours are of %d", c.Int("per_axis", width), width)
	}
	y, _ := rotated(sp.Model(t), x, x, sp.Positions)
	return Outputs{"x_rot": y}
}

// mropeVector: sections are of pairs; widths of axes are twice that.
func mropeVector(t testing.TB, c *VectorCase) Outputs {
	heads := c.Int("heads", 1)
	sp := petest.Spec{Scheme: "mrope", Layers: 1, Heads: heads, DModel: heads * c.Int("d_head", 0),
		Positions: points(rowsOf(c.Input(t, "positions"))...),
		Given: given("mrope-order=%s mrope-frequencies=%s rope-layout=%s rope-base=%v", c.Text("order", "sections"),
			c.Text("frequencies", "head"), c.Text("layout", "half"), c.Float("base", 10000))}
	if sections := c.Floats("sections"); sections != nil {
		sp.Given["mrope-sections"] = commas(sections)
	}
	return rotaryOutputs(t, c, sp, sp.Positions)
}

func repoVector(t testing.TB, c *VectorCase) Outputs {
	q, heads := c.Input(t, "q"), c.Int("heads", 1)
	sp := over(c, "repo", c.Input(t, "x"), given("rope-layout=half repo=linear rope-base=%v", c.Float("base", 10000)))
	names := "final=dynamic_map.weight"
	if c.Has("gate_map.weight") {
		sp.Given["repo"] = "swiglu"
		sp.Given["repo-width"] = fmt.Sprint(c.Param(t, "gate_map.weight").Shape[0])
		names = "gate=gate_map.weight content=content_map.weight final=final_map.weight"
	}
	sp.Set = params(t, c, names)
	got := HeadInputs{Q: q, K: c.Input(t, "k"), X: c.Input(t, "x")}.Attend(sp.Model(t), sp.Positions, true)
	expect.Equal(t, "heads of queries", q.Shape[1], heads)
	return Outputs{"q_rot": got.Q, "k_rot": got.K, "logits": got.Logits}
}

func selectiveVector(t testing.TB, c *VectorCase) Outputs {
	names := "down=phi_proj.0.weight up=phi_proj.1.weight"
	sp := over(c, "selective-rope", c.Input(t, "x"), given("rope-layout=half rope-base=%v selective-conv=0 "+
		"selective-rank=%d", c.Float("temp_theta", 10000), c.Param(t, "phi_proj.0.weight").Shape[0]))
	if c.Has("phi_conv1d.weight") {
		conv := c.Param(t, "phi_conv1d.weight")
		sp.Given["selective-conv"] = fmt.Sprint(conv.Shape[len(conv.Shape)-1])
		names += " conv=phi_conv1d.weight"
	}
	if c.Bool("use_bias") {
		sp.Given["selective-bias"] = "true"
		names += " bias=phi_bias"
	}
	if c.Bool("use_gate") {
		sp.Given["selective-gate"] = "true"
		names += " gate.weight=phase_gate_proj.weight gate.bias=phase_gate_proj.bias"
	}
	sp.Set = params(t, c, names)
	in := HeadInputs{Q: c.Input(t, "q"), K: c.Input(t, "k"), X: c.Input(t, "x")}
	got := in.Attend(sp.Model(t), sp.Positions, true)
	return Outputs{"q_rot": got.Q, "k_rot": got.K, "logits": got.Logits}
}

func goldenGateVector(t testing.TB, c *VectorCase) Outputs {
	heads := c.Int("heads", 1)
	sp := petest.Spec{Scheme: "golden-gate", Layers: 1, Heads: heads, DModel: heads * c.Int("d_head", 0),
		Positions: points(rowsOf(c.Input(t, "positions"))...),
		Given: given("golden-gate-range=raw rope-layout=half golden-gate-frequencies=%v,%v golden-gate-zero=%v",
			c.Float("min_freq", 1), c.Float("max_freq", 10000), c.Float("p_zero_freqs", 0))}
	q, k := rotated(sp.Model(t), c.Input(t, "q"), c.Input(t, "k"), sp.Positions)
	return Outputs{"q_rot": q, "k_rot": k, "logits": logitsOf(q, k)}
}

func dinov3Vector(t testing.TB, c *VectorCase) Outputs {
	heads, dh := c.Int("heads", 1), c.Int("d_head", 0)
	sp := petest.Spec{Scheme: "rope-dinov3", Layers: 1, Heads: heads, DModel: heads * dh,
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)),
		Given: given("rope-2d-base=%v dinov3-layout=half dinov3-normalize=%s dinov3-offset=%v",
			c.Float("temperature", 100), c.Text("normalize_coords", "separate"), c.Float("grid_offset", 0))}
	if least := c.Float("min_period", 0); least != 0 {
		sp.Given["dinov3-periods"] = fmt.Sprintf("%v,%v", least, c.Float("max_period", 0))
	}
	if c.Value("rotate_half") == false {
		sp.Given["dinov3-layout"] = "interleaved"
	}
	draws := petest.Array{Shape: []int{1, 5}}
	if limits, ok := c.Value("augment").(map[string]any); ok {
		for name, value := range limits {
			if value != nil {
				sp.Given["dinov3-"+name] = fmt.Sprint(value)
			}
		}
		for _, name := range []string{"shift", "jitter_log", "rescale_log"} {
			values := make([]float64, 2-len(name)/11) // of the rescale one
			if c.Has(name) {
				values = c.Input(t, name).Values
			}
			draws.Values = append(draws.Values, values...)
		}
	}
	m, p, out := sp.Model(t), sp.Positions, Outputs{"periods": dinoPeriodsOf(t, sp)}
	petest.Closed(func(s *torchpe.Scope) {
		hooks := begin(s, m, p)
		if draws.Values != nil {
			hooks = pe.DINOv3Drawn(m.Encoding, s, p, draws.Tensor(s))
		}
		cos, sin := pe.RotationOf(hooks)
		for name, x := range map[string]torchpe.Tensor{"cos": cos, "sin": sin} {
			if sp.Given["dinov3-layout"] == "half" {
				x = torchpe.Cat(-1, x, x)
			} else {
				x = torchpe.Stack(-1, x, x)
			}
			out[name] = petest.ArrayOf(x).Reshaped(p.Tokens(), dh)
		}
		out["q_rot"], out["k_rot"] = turnedBy(hooks, s, c.Input(t, "q"), c.Input(t, "k"), p)
	})
	out["logits"] = logitsOf(out["q_rot"], out["k_rot"])
	return out
}

// dinoPeriodsOf returns the periods of a model's turns, which are at least 1/2: the third of four
// rows lies at 1/4.
func dinoPeriodsOf(t testing.TB, sp petest.Spec) petest.Array {
	t.Helper()
	sp.Positions, sp.Given = pe.Grid(4, 1), maps.Clone(sp.Given)
	sp.Given["dinov3-normalize"], sp.Given["dinov3-offset"] = "separate", "0"
	angles := anglesAt(t, sp.Model(t), 2)
	periods := zeros(len(angles) / 2)
	for i := range periods.Values {
		periods.Values[i] = math.Pi / 2 / angles[i]
	}
	return periods
}

// liereVector: their matrices are given whole, and only the upper triangle counts; a class token
// comes first and is not turned.
func liereVector(t testing.TB, c *VectorCase) Outputs {
	raw, heads, dh, g := c.Param(t, "generator_raw_params"), c.Int("heads", 1), c.Int("d_head", 0),
		c.Int("generator_dim", 0)
	expect.Equal(t, "layers of matrices", raw.Shape[1], 1)
	var upper []float64
	for i, v := range raw.Values {
		if i/g%g < i%g {
			upper = append(upper, v)
		}
	}
	sp := petest.Spec{Scheme: "liere", Layers: 1, Heads: heads, DModel: heads * dh,
		Given: given("liere-block=%d liere-share=heads liere-steps=raw", g),
		Set:   map[string][]float64{"pe.skew": upper}}
	if c.Bool("per_head") {
		sp.Given["liere-share"] = "none"
	}
	if steps := whole(c.Floats("steps")); len(steps) > 0 {
		sp.Positions = crossed(steps...)
		sp.Given["liere-steps"] = commas(c.Floats("expected_steps"))
	} else {
		sp.Positions = points(rowsOf(c.Input(t, "positions"))...)
	}
	m, p, out := sp.Model(t), sp.Positions, Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		turns := pe.LieRETurns(begin(s, m, p)) // [1,1,H,Dh/g,N,g,g]
		blocks := turns.Size(2) * turns.Size(3)
		all := petest.ArrayOf(turns.Permute(0, 1, 4, 2, 3, 5, 6)).Reshaped(p.Tokens(), blocks, g, g)
		if c.Bool("cls_token") {
			first := petest.Array{Shape: []int{1, blocks, g, g}, Values: slices.Repeat(identity(g), blocks)}
			all = stackRows(first, all)
		}
		out["rotations"] = all
	})
	if c.Has("positions") {
		at := tableRows(t, m, "pe.places", pe.Line(p.Tokens()))
		petest.Near(t, "coordinates", at, c.Input(t, "positions"), 1e-15)
	}
	out["q_rot"], out["k_rot"] = rotated(m, c.Input(t, "q"), c.Input(t, "k"), p)
	out["logits"] = logitsOf(out["q_rot"], out["k_rot"])
	return out
}
