// Logits that depend on the tokens' contents and their order: factors of the distance, counts,
// gates, and products along the path from key to query.

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

// v and w start as in the tutorial's code.
var _ = Register(Scheme{Name: "da", Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		ofV := ps.Add("pe.v", true, uniformBelow(1), c.Layers, c.Heads)
		ofW := ps.Add("pe.w", true, uniformBelow(1), c.Layers, c.Heads)
		return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
			wide := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Unsqueeze(3).Unsqueeze(4) }
			v, w := wide(ofV), wide(ofW) // [E,L,H,1,1]
			distances := pairTensor(s, v, p.Index, distance(false))
			// r in the form sigmoid(w d - v) / sigmoid(-v), which does not overflow
			factors := w.Mul(distances).Sub(v).Sigmoid().Div(v.Neg().Sigmoid()) // [E,L,H,N,N]
			return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
				return logits.ReLU().Mul(layerOf(factors, a.Layer))
			}}
		}}, nil
	}})

// Without a causal mask the sum runs to the end. All heads share the vectors. In a stack the gates
// see what earlier schemes added to the logits.
var _ = Register(Scheme{Name: "cope", Extrapolates: Always, New: newCoPE,
	Ahead: func(o Options) bool { return o["cope-direction"] != "causal" }},
	direction("cope", "causal"),
	option("cope-positions", "64", whole(2, 1<<20), "number P of counts that cope distinguishes"),
	option("cope-scaled", "true", yesNo,
		"whether the addend of cope is divided by sqrt(Dh) like the logits").inText("false"),
	option("cope-shared", "false", yesNo, "one table of cope for all layers"))

func newCoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	tables, most := c.Layers, c.int("cope-positions")
	if c.yes("cope-shared") {
		tables = 1
	}
	vectors := ps.Add("pe.table", true, torchpe.Normal(0, 0.02), tables, most, c.HeadWidth())
	causal, scaled, last := c.is("cope-direction", "causal"), c.yes("cope-scaled"), float64(most-1)
	return encoding{AtLogits, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
		table, seen := vectors.In(s), torchpe.Tensor{}
		if causal {
			seen = pairTensor(s, table, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
		}
		order := orderOf(s, table.Device(), p.Index)
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			gates := logits.Sigmoid()
			if causal {
				gates = gates.Mul(seen)
			}
			sums := order.back(order.sorted(gates, -1).Flip(-1).Cumsum(-1).Flip(-1), -1)
			counts := sums.Clamp(0, last)                                                        // [E,B,H,N,N]
			byCount := torchpe.Linear(a.Q, layerOf(table, a.Layer).Squeeze(1), torchpe.Tensor{}) // [E,B,H,N,P]
			below := counts.Detach().Floor()
			part, above := counts.Sub(below), below.AddScalar(1).Clamp(0, last)
			low, high := byCount.Gather(-1, below.To(torchpe.Int64, below.Device())),
				byCount.Gather(-1, above.To(torchpe.Int64, below.Device()))
			added := low.Add(part.Mul(high.Sub(low)))
			if scaled {
				added = added.MulScalar(a.Scale)
			}
			return logits.Add(added)
		}}
	}}, nil
}

// order sorts tokens by their places.
type order struct {
	// [N] tokens by place, and the place of each token in that order; zero Tensors if they are
	// already in order
	from, at torchpe.Tensor
}

func orderOf(s *torchpe.Scope, dev torchpe.Device, index []int) order {
	if slices.IsSorted(index) {
		return order{}
	}
	n := len(index)
	from, at := Line(n).Index, make([]int, n)
	slices.SortFunc(from, func(a, b int) int { return index[a] - index[b] })
	for i, token := range from {
		at[token] = i
	}
	return order{indexTensor(s, dev, from, n), indexTensor(s, dev, at, n)}
}

// sorted returns x with axis dim, of tokens, in the order of their places.
func (o order) sorted(x torchpe.Tensor, dim int) torchpe.Tensor {
	if !o.from.Defined() {
		return x
	}
	return x.IndexSelect(dim, o.from)
}

// back undoes sorted.
func (o order) back(x torchpe.Tensor, dim int) torchpe.Tensor {
	if !o.at.Defined() {
		return x
	}
	return x.IndexSelect(dim, o.at)
}

// sums returns the running sums of x over axis dim, of tokens, up to and including each place.
func (o order) sums(x torchpe.Tensor, dim int) torchpe.Tensor {
	return o.back(o.sorted(x, dim).Cumsum(dim), dim)
}

// The gates after the key count, up to that of the query. A gate that is the same
// for all tokens gives ALiBi with the slope -ln f. In the bidirectional form keys after the query
// use gates of their own. Layers have their own w and b. b starts at 0 as in the authors' code,
// whose fgate_bias_init is for gates that are the same for all tokens.
var _ = Register(Scheme{Name: "forgetting", Extrapolates: Always, New: newForgetting},
	option("forgetting-direction", "causal", oneOf("causal", "bidirectional"),
		"whether tokens of forgetting see only those before them, or also those after them "+
			"with separate gates"),
	option("forgetting-scale", "1", positive, "factor of the logarithms of the gates of forgetting"),
	option("forgetting-bias", "0", between(0, 50),
		"initial bias of the gates of forgetting: above 0 they start nearer to 1"),
	option("forgetting-window", "0", whole(0, 1<<30),
		"tokens that a query of forgetting sees, including itself; 0 for all"))

// unseen is added to the logits of keys outside the window: their weight is 0 in float32.
const unseen = -1e30

// gates are linear maps of the tokens, one for each layer and gate.
type gates struct{ w, b *torchpe.Param } // [E,L,G,D], [E,L,G]

func (c Config) addGates(ps *torchpe.ParamSet, name string, number int, bias float64) gates {
	return gates{ps.Add(name+"weight", true, torchpe.FanIn(c.DModel), c.Layers, number, c.DModel),
		ps.Add(name+"bias", true, torchpe.Constant(bias), c.Layers, number)}
}

// of returns w x + b of a layer's tokens [E,B,G,N].
func (g gates) of(a Attn) torchpe.Tensor {
	s := a.X.Scope()
	y := torchpe.Linear(a.X, g.w.In(s).Select(1, a.Layer), g.b.In(s).Select(1, a.Layer))
	return y.Transpose(2, 3)
}

// logSigmoid returns ln sigmoid(x).
func logSigmoid(x torchpe.Tensor) torchpe.Tensor { return x.Neg().Softplus().Neg() }

// differences returns c_i - c_j of sums c [E,B,H,N], for queries i and keys j.
func differences(c torchpe.Tensor) torchpe.Tensor { return c.Unsqueeze(4).Sub(c.Unsqueeze(3)) }

func newForgetting(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	number, causal := c.Heads, c.is("forgetting-direction", "causal")
	if !causal {
		number *= 2
	}
	gates := c.addGates(ps, "pe.", number, c.float("forgetting-bias"))
	scale, window := c.float("forgetting-scale"), c.int("forgetting-window")
	return encoding{AtLogits, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
		like := gates.b.In(s)
		order := orderOf(s, like.Device(), p.Index)
		var before, after, outside torchpe.Tensor // [N,N]
		if !causal {
			before = pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j < i) })
			after = pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j > i) })
		}
		if window > 0 {
			outside = pairTensor(s, like, p.Index, func(i, j int) float64 {
				return unseen * oneIf(max(i-j, j-i) >= window)
			})
		}
		return biasHooks{bias: func(a Attn) torchpe.Tensor {
			sums := order.sums(logSigmoid(gates.of(a)).MulScalar(scale), 3) // [E,B,G,N]
			var bias torchpe.Tensor
			if causal {
				bias = differences(sums)
			} else {
				back, ahead := sums.Narrow(2, 0, c.Heads), sums.Narrow(2, c.Heads, c.Heads)
				bias = differences(back).Mul(before).Sub(differences(ahead).Mul(after))
			}
			if window > 0 {
				bias = bias.Add(outside)
			}
			return bias
		}}
	}}, nil
}

// Each layer has its own maps and curves. Keys at or beyond the largest distance have no bias.
var _ = Register(Scheme{Name: "inkling", Extrapolates: Always, New: newInkling},
	direction("inkling", "causal"),
	option("inkling-curves", "16", whole(1, 1<<16),
		"number of curves over the distance that a query of inkling mixes"),
	option("inkling-distance", "1024", whole(1, 1<<20),
		"number of distances of the curves of inkling, from 0 up"))

func newInkling(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	number, most := c.int("inkling-curves"), c.int("inkling-distance")
	mix := newLinearMap(ps, "pe.", c.DModel, c.Layers, c.Heads*number)
	curves := ps.Add("pe.curves", true, torchpe.Normal(0, 0.02), c.Layers, most, number)
	mask := attentionWithMask(c.is("inkling-direction", "causal"))
	return encoding{AtLogits, mask, func(s *torchpe.Scope, p Positions) Hooks {
		all := curves.In(s)
		all = all.Narrow(2, 0, min(most, farthest(p)+1)) // [E,L,R,M]
		last := all.Size(2) - 1
		index := pairIndex(s, all, p.Index, func(i, j int) int { return max(0, min(i-j, last)) })
		within := pairTensor(s, all, p.Index, func(i, j int) float64 { return oneIf(i >= j && i-j <= last) })
		w, b := mix.w.In(s), mix.b.In(s)
		return biasHooks{bias: func(a Attn) torchpe.Tensor {
			weights := headsOf(torchpe.Linear(a.X, w.Select(1, a.Layer), b.Select(1, a.Layer)), c.Heads)
			values := torchpe.Linear(weights, all.Select(1, a.Layer), torchpe.Tensor{}) // [E,B,H,N,R]
			return gatherPairs(values, index).Mul(within)
		}}
	}}, nil
}

// The matrix of the query is applied and that of the key is not, so that for j = i the logit is q
// k. With --path-forget the gates of forgetting are added, also times 1/sqrt(Dh) as in
// flash-linear-attention; the stack path+forgetting adds them without that factor. The convolution
// over three tokens that the published code applies to w is omitted.
//
// The products are not computed explicitly: with D_ts = w_t w_s for s before t, P_it = q_i w_t for
// t up to i and K_tj = w_t k_j for j before t, logits are q k - P (I + beta D)^-1 beta K (Yang et
// al. 2024, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length").
var _ = Register(Scheme{Name: "path", Extrapolates: Always, New: newPath},
	option("path-rank", "32", whole(0, 1<<16),
		"rank of the map from a token to the directions of path; 0 for the full map"),
	option("path-forget", "false", yesNo, "whether path adds the logarithms of forget gates, times 1/sqrt(Dh)"))

func newPath(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	var down *torchpe.Param // [E,L,r,D]; nil for rank 0, where r = D
	in, forgets := c.DModel, c.yes("path-forget")
	if rank := c.int("path-rank"); rank > 0 {
		down = ps.Add("pe.down", true, torchpe.FanIn(in), c.Layers, rank, in)
		in = rank
	}
	up := ps.Add("pe.up", true, torchpe.FanIn(in), c.Layers, c.DModel, in) // [E,L,D,r]
	betas, forget := c.addGates(ps, "pe.beta.", c.Heads, 0), gates{}
	if forgets {
		forget = c.addGates(ps, "pe.forget.", c.Heads, 0)
	}
	directions := func(a Attn) torchpe.Tensor { // w [E,B,H,N,Dh]
		s, x := a.X.Scope(), a.X
		if down != nil {
			x = torchpe.Linear(x, down.In(s).Select(1, a.Layer), torchpe.Tensor{})
		}
		w := torchpe.Linear(x, up.In(s).Select(1, a.Layer), torchpe.Tensor{})
		return unit(headsOf(w, c.Heads))
	}
	return encoding{AtLogits, attentionWithMask(true), func(s *torchpe.Scope, p Positions) Hooks {
		like := up.In(s)
		order := orderOf(s, like.Device(), p.Index)
		before := pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j < i) })
		upTo := pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
		inverse := inverseOf(s, like, p.Index)
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			w := directions(a)
			beta := betas.of(a).Sigmoid().MulScalar(2).Unsqueeze(4) // [E,B,H,N,1]
			between := torchpe.AttentionLogits(w, w, 1).Mul(before).Mul(beta)
			passed := torchpe.AttentionLogits(w, a.K, 1).Mul(before).Mul(beta)
			left := torchpe.AttentionLogits(a.Q, w, a.Scale).Mul(upTo)
			logits = logits.Sub(left.MatMul(inverse(between).MatMul(passed)))
			if forgets {
				sums := order.sums(logSigmoid(forget.of(a)), 3)
				logits = logits.Add(differences(sums).MulScalar(a.Scale))
			}
			return logits
		}}
	}}, nil
}

// headsOf splits vectors of tokens [E,B,N,D] into heads [E,B,H,N,Dh].
func headsOf(x torchpe.Tensor, heads int) torchpe.Tensor {
	e, b, n, d := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return x.Reshape(e, b, n, heads, d/heads).Permute(0, 1, 3, 2, 4)
}

// inverseOf returns (I + m)^-1 as a function of m [E,B,H,N,N] that is 0 except where the key is
// before the query. It joins blocks to blocks of twice the size:
//
//	[A 0]^-1   [   A^-1        0 ]
//	[C B]    = [-B^-1 C A^-1  B^-1]
func inverseOf(s *torchpe.Scope, like torchpe.Tensor, index []int) func(m torchpe.Tensor) torchpe.Tensor {
	one := pairTensor(s, like, index, func(i, j int) float64 { return oneIf(j == i) })
	// [N,N] 1 if the key is in the first half of a block of places and the query in the second, for
	// blocks of 2, 4, .. places
	var joins []torchpe.Tensor
	for size := 1; size <= slices.Max(index); size *= 2 {
		joins = append(joins, pairTensor(s, like, index, func(i, j int) float64 {
			return oneIf(j < i && i/size != j/size && i/(2*size) == j/(2*size))
		}))
	}
	return func(m torchpe.Tensor) torchpe.Tensor {
		x := one.Expand(m.Shape()...)
		for i, join := range joins {
			c := m.Mul(join)
			if i > 0 {
				c = x.MatMul(c).MatMul(x)
			}
			x = x.Sub(c)
		}
		return x
	}
}

// Each layer has its own vectors. omega starts at softplus = 1, u and v as N(0, 1) (the code's 0.02
// has the same directions), W as N(0, 0.02^2). Keys after the query are masked; their bias is 0.
// These are the forms of the published code.
var _ = Register(Scheme{Name: "grape-a", Extrapolates: Always, New: newGrapeA},
	option("grape-a", "key", checkGrapeForm,
		"source of the penalty of grape-a: gates of the key, of the query, of both, or of all "+
			"tokens on the path between them (path, or path:w for vectors of w numbers in each head)"),
	option("grape-a-unit", "true", yesNo,
		"whether the vectors of the gates of grape-a are divided by their lengths"))

// grapeForm parses --grape-a: one of the gates, or path with the width w of p in each head, which
// is 0 if it is the head width.
func grapeForm(text string) (form string, width int, err error) {
	form, given, ok := strings.Cut(text, ":")
	if err := oneOf("key", "query", "both", "path")(form); err != nil {
		return "", 0, err
	}
	if !ok {
		return form, 0, nil
	}
	width, err = strconv.Atoi(given)
	if err != nil || form != "path" || width < 2 || width > 1<<16 || width%2 != 0 {
		return "", 0, fmt.Errorf("%q: the width after path is an even number from 2 to %d", text, 1<<16)
	}
	return form, width, nil
}

func checkGrapeForm(v string) error {
	_, _, err := grapeForm(v)
	return err
}

func newGrapeA(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	form, width, err := grapeForm(c.text("grape-a"))
	if err != nil {
		return nil, err
	}
	ofUnit, dh, slopes := c.yes("grape-a-unit"), c.HeadWidth(), addSlopes(c, ps)
	if form == "path" {
		return c.newGrapePath(ps, slopes, cmp.Or(width, dh))
	}
	omegas := ps.Add("pe.omega", true, torchpe.Constant(math.Log(math.E-1)), c.Layers, c.Heads)
	var ofKey, ofQuery *torchpe.Param // [E,L,H,Dh]; nil if there is no such gate
	if form != "query" {
		ofKey = ps.Add("pe.u", true, torchpe.Normal(0, 1), c.Layers, c.Heads, dh)
	}
	if form != "key" {
		ofQuery = ps.Add("pe.v", true, torchpe.Normal(0, 1), c.Layers, c.Heads, dh)
	}
	scale := 1 / math.Sqrt(float64(dh))
	gate := func(x, vectors torchpe.Tensor, layer int) torchpe.Tensor { // [E,B,H,N,1]
		vector := vectors.Select(1, layer).Reshape(c.Members, 1, c.Heads, 1, dh)
		return x.Mul(vector).SumKeep(-1).MulScalar(scale).Softplus()
	}
	return encoding{AtLogits, attentionWithMask(true), func(s *torchpe.Scope, p Positions) Hooks {
		m := perHead(slopes.In(s))
		distances := m.Mul(pairTensor(s, m, p.Index, func(i, j int) float64 { return -float64(max(i-j, 0)) }))
		omega := omegas.In(s).Softplus().Reshape(c.Members, c.Layers, c.Heads, 1, 1)
		vectors := func(p *torchpe.Param) torchpe.Tensor {
			if p == nil || !ofUnit {
				return p.OrNone(s)
			}
			return unit(p.In(s))
		}
		u, v := vectors(ofKey), vectors(ofQuery)
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			var g torchpe.Tensor
			if u.Defined() {
				g = gate(a.K, u, a.Layer).Transpose(3, 4)
			}
			if v.Defined() {
				if of := gate(a.Q, v, a.Layer); g.Defined() {
					g = g.Add(of)
				} else {
					g = of
				}
			}
			return logits.Add(layerOf(omega, a.Layer).Mul(g).Mul(distances))
		}}
	}}, nil
}

// newGrapePath returns the form that sums along paths. R_l rotates dimensions c and c + w/2 of the
// width w of p by -l radians; p_i itself is neither rotated nor normalised, so that the bias of a
// path depends on the places.
func (c Config) newGrapePath(ps *torchpe.ParamSet, slopes *torchpe.Param, width int) (Encoding, error) {
	if width%2 != 0 {
		return nil, c.oddHead()
	}
	if !c.yes("grape-a-unit") {
		return nil, fmt.Errorf("grape-a: --grape-a-unit false is for gates, but --grape-a path has none")
	}
	weights := ps.Add("pe.weight", true, torchpe.Normal(0, 0.02), c.Layers, c.Heads*width, c.DModel)
	return encoding{AtLogits, attentionWithMask(true), func(s *torchpe.Scope, at Positions) Hooks {
		w, m, n := weights.In(s), perHead(slopes.In(s)), at.Tokens()
		order := orderOf(s, m.Device(), at.Index)
		seen := pairTensor(s, m, at.Index, func(i, j int) float64 { return oneIf(j <= i) })
		angles := places(s, m, at.Index).Reshape(1, 1, 1, n, 1).Expand(1, 1, 1, n, width/2)
		turn := rotation{angles.Cos(), angles.Sin().Neg()}
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			p := headsOf(torchpe.Linear(a.X, w.Select(1, a.Layer), torchpe.Tensor{}), c.Heads)
			eps := 1.1920929e-7 // of the dtype, as in torch.nn.functional.rms_norm
			if p.DType() == torchpe.Float64 {
				eps = 2.220446049250313e-16
			}
			normed := p.Div(p.Square().Mean(-1).Unsqueeze(-1).AddScalar(eps).Sqrt())
			turned := turn.apply(normed, width, true)
			steps := logSigmoid(torchpe.AttentionLogits(p, turned, 1/float64(width))).Mul(seen)
			// The steps l = j+1..i are all steps of i except those up to j.
			bias := steps.SumKeep(4).Sub(order.sums(steps, 4)).Mul(seen)
			return logits.Add(m.Mul(bias))
		}}
	}}, nil
}
