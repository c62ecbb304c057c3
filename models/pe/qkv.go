// Encodings that act only on queries, keys and values, no encoding at all, and encodings that
// combine two mechanisms.

package pe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// Bidirectional attention without positions sees a set of tokens.
var _ = Register(Scheme{Name: "nope", Needs: NeedsNothing, Extrapolates: Always,
	New: func(Config, *torchpe.ParamSet) (Encoding, error) { return None{}, nil }})

// The published code keeps a temperature from another experiment, and projections without biases.
var _ = Register(Scheme{Name: "c-nope", Extrapolates: Always,
	New: func(c Config, _ *torchpe.ParamSet) (Encoding, error) {
		attention := rotaryAttention(c)
		attention.Causal, attention.Temperature = true, c.float("c-nope-temperature")
		return encoding{0, attention, func(*torchpe.Scope, Positions) Hooks { return Identity{} }}, nil
	}},
	option("c-nope-temperature", "0.01", between(1e-6, math.Inf(1)),
		"divides the attention logits of c-nope").inText("1"),
	attentionBias, attentionInit)

// The query at place p sees n = p + 1 keys. In a stack such as rope+logn the factor acts beside the
// rotation. In published code s starts at 0.43, or at 1 (TabICL).
var _ = Register(Scheme{Name: "logn", Extrapolates: Always, New: newLogN},
	option("logn", "ssmax", parsed(logFactor),
		"factor of the queries of logn over n keys: s ln n with a trained s (ssmax, or ssmax:s with its "+
			"start), max(1, ln n/ln L) over L trained tokens (qwen, or qwen:L), or "+
			"1 + a ln(1 + floor(n/F)) (llama4, or llama4:F/a; 8192/0.1)"))

// lengthFactor holds the form and the numbers of --logn.
type lengthFactor struct {
	form    string
	numbers []float64
}

// logFactor parses --logn.
func logFactor(text string) (lengthFactor, error) {
	form, given, ok := strings.Cut(text, ":")
	starts := map[string][]float64{"ssmax": {0.43}, "qwen": {0}, "llama4": {8192, 0.1}}
	f := lengthFactor{form, starts[form]}
	if err := oneOf("ssmax", "qwen", "llama4")(form); err != nil || !ok {
		return f, err
	}
	parts := strings.Split(given, "/")
	if len(parts) != len(f.numbers) {
		return f, fmt.Errorf("%q: after llama4 comes F/a, after the others one number", text)
	}
	for i, part := range parts {
		if err := positive(part); err != nil {
			return f, err
		}
		f.numbers[i], _ = strconv.ParseFloat(part, 64)
	}
	if form == "qwen" && f.numbers[0] <= 1 {
		return f, fmt.Errorf("%q divides by the logarithm of %g tokens: give more than 1", text,
			f.numbers[0])
	}
	return f, nil
}

// over returns the factor over n keys; with ssmax, the factor of s.
func (f lengthFactor) over(n float64) float64 {
	switch f.form {
	case "qwen":
		return max(1, math.Log(n)/math.Log(f.numbers[0]))
	case "llama4":
		return 1 + f.numbers[1]*math.Log1p(math.Floor(n/f.numbers[0]))
	}
	return math.Log(n)
}

func newLogN(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	f, err := logFactor(c.text("logn"))
	if err != nil {
		return nil, err
	}
	if f.form == "qwen" && f.numbers[0] == 0 {
		f.numbers[0] = float64(cmp.Or(c.Trained, c.Positions.Tokens()))
	}
	places := c.Positions.Tokens()
	ofPlace := func(i int) float64 { return f.over(float64(i + 1)) }
	factors := ps.Add("pe.factors", false, computed(ofPlace), places)
	var scales *torchpe.Param // [E,L,H]; nil if nothing is trained
	if f.form == "ssmax" {
		scales = ps.Add("pe.s", true, torchpe.Constant(f.numbers[0]), c.Layers, c.Heads)
	}
	return encoding{AtQK, attentionWithMask(true), func(s *torchpe.Scope, p Positions) Hooks {
		at := rowsAt(s, factors.In(s), 1, p.Index).Reshape(c.Members, 1, 1, p.Tokens(), 1)
		return qkvHooks{change: func(a Attn) (q, k, v torchpe.Tensor) {
			if q = a.Q.Mul(at); scales != nil {
				q = q.Mul(perHead(scales.In(s).Select(1, a.Layer)))
			}
			return q, a.K, a.V
		}}
	}}, nil
}

// The table is that of 2d-fixed with rows first and counted from 1, or of learn-2d, which starts as
// U(0, 1) as in DETR's code, in every block. The values carry no position.
var _ = Register(Scheme{Name: "detr", Needs: NeedsGrid, New: newDETR,
	Extrapolates: func(o Options) bool { return o["detr-table"] != "learned" }},
	option("detr-table", "normalised", oneOf("normalised", "sine", "learned"),
		"table of detr: sinusoids of coordinates from 0 to 2 pi, of the coordinates "+
			"themselves, or learned rows and columns"))

func newDETR(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	name, given := "2d-fixed", Options{"grid-normalize": "false", "grid-table": "concat"}
	switch c.text("detr-table") {
	case "normalised":
		given["grid-normalize"] = "true"
	case "learned":
		name, c.initial = "learn-2d", uniformBelow(1)
	}
	if name == "2d-fixed" && c.DModel%4 != 0 {
		return nil, fmt.Errorf("detr: d_model %d is not divisible by 4: two coordinates need pairs of "+
			"sine and cosine", c.DModel)
	}
	base, err := Find(name)
	if err != nil {
		return nil, err
	}
	if c.Options, err = base.Resolve("text", given); err != nil { // rows first, from 1, one table
		return nil, err
	}
	table, err := base.New(c, ps)
	if err != nil {
		return nil, fmt.Errorf("detr: %w", err)
	}
	return encoding{AtQK, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		rows, _ := table.Begin(s, p).Table(0)
		added := rows.Unsqueeze(1) // [E,1,N,D]
		return qkvHooks{change: func(a Attn) (q, k, v torchpe.Tensor) {
			// W_q P and W_k P, for one sample: the projections of P without their biases, which q
			// and k already have.
			pq, pk, _ := a.Project(added)
			bq, bk, _ := a.Project(added.Narrow(2, 0, 1).Detach().MulScalar(0))
			return a.Q.Add(pq.Sub(bq)), a.K.Add(pk.Sub(bk)), a.V
		}}
	}}, nil
}

// In the published code separators are tokens, each part of the segment that it ends. Here segments
// are the rows of the tokens' grid, and columns the places in them.
var _ = Register(Scheme{Name: "bipe", Needs: NeedsGrid, New: newBiPE,
	Extrapolates: func(o Options) bool { return o.Int("bipe-places") > 0 }},
	option("bipe", "rope", oneOf("rope", "alibi"), "encoding of the segment numbers of bipe"),
	option("bipe-places", "0", whole(0, 1<<20),
		"number of places in a segment that bipe distinguishes; 0 for all"),
	direction("bipe", "causal"), ropeBase)

// bipeFactor multiplies the slopes of alibi.
const bipeFactor = 96

func newBiPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	rows, columns := c.Positions.Extent()
	limit, causal := c.int("bipe-places"), c.is("bipe-direction", "causal")
	if limit > 0 {
		columns = limit
	}
	all := ps.Add("pe.table", true, torchpe.Normal(0, 0.02), 1, columns, c.DModel)
	table := func(s *torchpe.Scope, p Positions) Hooks {
		cells := p.cells("bipe")
		at := make([]int, len(cells))
		for i, cell := range cells {
			if at[i] = cell[1]; limit > 0 {
				at[i] = min(at[i], limit-1)
			}
		}
		return &tableHooks{tables: rowsAt(s, all.In(s), 2, at)}
	}
	if c.is("bipe", "alibi") {
		slopes := addSlopes(c, ps)
		return encoding{AtEmbed | AtLogits, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
			added, ofHead := table(s, p), perHead(slopes.In(s))
			return embedAnd{layerBias(ofHead.Mul(pairTensor(s, ofHead, segmentsIn(p), func(i, j int) float64 {
				if causal {
					return -bipeFactor * float64(i-j)
				}
				return -bipeFactor * math.Abs(float64(i-j))
			}))), added}
		}}, nil
	}
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	turn := plainTurn(c.float("rope-base"), c.HeadWidth())
	rotary := c.rotaryTables(ps, rows, c.HeadWidth()/2,
		func(row, pair int) (angle, q, k float64) { return turn(float64(row), pair) })
	rotary.half, rotary.width, rotary.rows = true, c.HeadWidth(), segmentsIn
	return encoding{AtEmbed | AtQK, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
		added := table(s, p)
		return embedAnd{rotary.Begin(s, p), added}
	}}, nil
}

// segmentsIn returns the row of each token's cell.
func segmentsIn(p Positions) []int {
	rows := make([]int, len(p.Cells))
	for i, cell := range p.Cells {
		rows[i] = cell[0]
	}
	return rows
}

// Blocks share h, and so do q, k and v. As in the official code dt = 0.01, and the solver is the
// fourth-order Runge-Kutta method with the 3/8 rule and 5 steps from token to token; gradients go
// through its steps. W and b start as in torch.nn.Linear. The projections keep their own biases,
// which the official code omits. A pass needs 20 (N-1) sequential evaluations of h, regardless of
// the width of the model.
var _ = Register(Scheme{Name: "floater", Learned: true, Extrapolates: Always, New: newFloater},
	option("floater-dt", "0.01", between(1e-9, 1e3), "time from one place to the next in floater"),
	option("floater-solver", "rk4", oneOf("rk4", "euler"),
		"how floater steps from one place to the next: five fourth-order steps as in the "+
			"official code, or one Euler step, which is faster"))

// floaterSteps is the number of solver steps from one place to the next.
const floaterSteps = 5

type floater struct {
	None
	start    *torchpe.Param // [E,3,L,D]
	maps     [2]linearMap   // [E,D,D+1], [E,D]: the last column is for t
	dt       float64
	euler    bool
	layers   int
	heads, d int
}

func newFloater(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.Init.Kind != "" {
		return nil, fmt.Errorf("floater: --pe-init %s: it has no learned table; its first "+
			"vectors start as N(0, sigma^2)", c.Init)
	}
	f := &floater{
		start: ps.Add("pe.start", true, ofSigma(c), 3, c.Layers, c.DModel),
		dt:    c.float("floater-dt"), euler: c.is("floater-solver", "euler"),
		layers: c.Layers, heads: c.Heads, d: c.DModel,
	}
	for i, name := range []string{"pe.in.", "pe.out."} {
		f.maps[i] = newLinearMap(ps, name, c.DModel+1, c.DModel)
	}
	return f, nil
}

func (f *floater) Sites(int) Site { return AtQK | AtValues }

func (f *floater) Begin(s *torchpe.Scope, p Positions) Hooks {
	members, rows, n := f.start.Shape[0], 3*f.layers, p.Tokens()
	start := f.start.In(s).Reshape(members, rows, f.d)
	path := f.flow(s, start, slices.Max(p.Index)) // [E,places,3 L,D]
	at := path.IndexSelect(1, indexTensor(s, path.Device(), p.Index, n))
	biases := at.Reshape(members, n, 3, f.layers, f.heads, f.d/f.heads).Permute(0, 2, 3, 4, 1, 5)
	return &floaterHooks{biases: biases}
}

// flow returns p at the times 0, dt, .. last dt: [E,last+1,3 L,D].
//
// h is W_2 relu(z) + b_2 + t u_2 for z = W_1 p + b_1 + t u_1, with u the columns of t. So the
// solver steps z instead of p,
//
//	dz/dt = M relu(z) + c_0 + t c_1,  M = W_1 W_2,  c_0 = W_1 b_2 + u_1,  c_1 = W_1 u_2
//
// Each stage then needs one product instead of two, and p follows from the sums R of relu(z) over
// the stages as p(t) = p_0 + W_2 R + b_2 t + u_2 t^2/2. Runge-Kutta methods commute with linear
// maps, and integrate times exactly, so the numbers equal those of steps on p up to rounding.
func (f *floater) flow(s *torchpe.Scope, start torchpe.Tensor, last int) torchpe.Tensor {
	members := f.start.Shape[0]
	w1, u1 := f.parts(s, 0)
	w2, u2 := f.parts(s, 1)
	b2 := f.maps[1].b.In(s)
	m := w1.MatMul(w2)
	c0 := w1.MatMul(b2.Unsqueeze(-1)).Squeeze(-1).Add(u1)
	c1 := w1.MatMul(u2.Unsqueeze(-1)).Squeeze(-1)
	// at 1/2: the mean over a step
	step, stages := f.dt/floaterSteps, []float64{0, 1.0 / 3, 2.0 / 3, 0.5}
	if f.euler {
		step, stages = f.dt, []float64{0}
	}
	steps := last * int(math.Round(f.dt/step))
	column := func(values []float64, shape ...int) torchpe.Tensor {
		return numbers(s, m, values, shape...)
	}
	z := torchpe.Linear(start, w1, f.maps[0].b.In(s))
	sums := []torchpe.Tensor{z.MulScalar(0)}
	if steps > 0 {
		var times []float64
		for i := range steps {
			for _, c := range stages {
				times = append(times, (float64(i)+c)*step)
			}
		}
		// [E,stages,D]
		forces := column(times, 1, len(times), 1).Mul(c1.Unsqueeze(1)).Add(c0.Unsqueeze(1)).
			MulScalar(step)
		solver := &floaterSolve{m: m.MulScalar(step), eighth: m.MulScalar(step / 8), forces: forces}
		sum := sums[0]
		for i := 1; i <= steps; i++ {
			var r torchpe.Tensor
			if f.euler {
				r, z = solver.euler(z)
			} else {
				r, z = solver.threeEighths(z)
			}
			if sum = sum.Add(r); i%(steps/last) == 0 {
				sums = append(sums, sum)
			}
		}
	}
	// squares: 2 times the sum of time over steps
	t, squares := make([]float64, last+1), make([]float64, last+1)
	weight := step / 8
	for i := range t {
		t[i] = float64(i) * f.dt
		if squares[i] = t[i] * t[i]; f.euler {
			weight, squares[i] = step, t[i]*(t[i]-f.dt)
		}
	}
	n := last + 1
	// [E,n,3 L,D]
	moved := torchpe.Linear(torchpe.Stack(1, sums...).MulScalar(weight), w2, torchpe.Tensor{})
	forced := column(t, 1, n, 1).Mul(b2.Unsqueeze(1)).
		Add(column(squares, 1, n, 1).Mul(u2.Unsqueeze(1)).MulScalar(0.5))
	return moved.Add(start.Unsqueeze(1)).Add(forced.Reshape(members, n, 1, f.d))
}

// parts returns the weights of p [E,D,D] and of t [E,D] in a layer of h.
func (f *floater) parts(s *torchpe.Scope, layer int) (w, u torchpe.Tensor) {
	all := f.maps[layer].w.In(s)
	return all.Narrow(2, 0, f.d).Contiguous(), all.Select(2, f.d)
}

// floaterSolve steps z.
type floaterSolve struct {
	m, eighth torchpe.Tensor // M times a step, and an eighth of it
	forces    torchpe.Tensor // [E,stages,D], times a step
	at        int            // index of the next
}

func (f *floaterSolve) force() torchpe.Tensor {
	f.at++
	return f.forces.Select(1, f.at-1)
}

// threeEighths does a step of the fourth-order Runge-Kutta method with the 3/8 rule (Kutta 1901),
// which torchdiffeq calls rk4. r is the sum of relu(z) with the weights 1, 3, 3, 1.
func (f *floaterSolve) threeEighths(z torchpe.Tensor) (r, next torchpe.Tensor) {
	r1 := z.ReLU()
	k1 := torchpe.Linear(r1, f.m, f.force())
	third := k1.MulScalar(1.0 / 3)
	r2 := z.Add(third).ReLU()
	k2 := torchpe.Linear(r2, f.m, f.force())
	r3 := z.Add(k2).Sub(third).ReLU()
	k3 := torchpe.Linear(r3, f.m, f.force())
	r4 := z.Add(k1).Sub(k2).Add(k3).ReLU()
	r = r2.Add(r3).MulScalar(3).Add(r1).Add(r4)
	return r, z.Add(torchpe.Linear(r, f.eighth, f.force()))
}

// euler does one Euler step; r is relu(z).
func (f *floaterSolve) euler(z torchpe.Tensor) (r, next torchpe.Tensor) {
	r = z.ReLU()
	return r, z.Add(torchpe.Linear(r, f.m, f.force()))
}

type floaterHooks struct {
	Identity
	biases torchpe.Tensor // [E,3,L,H,N,Dh]
}

func (h *floaterHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	of := func(x torchpe.Tensor, i int) torchpe.Tensor {
		// [E,1,H,N,Dh] over the batch
		return x.Add(h.biases.Select(1, i).Select(1, a.Layer).Unsqueeze(1))
	}
	return of(a.Q, 0), of(a.K, 1), of(a.V, 2)
}
