// Logits from positions alone, biases from networks, and a bias that a network adapts.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// The positions' part is computed once, for all layers. The table starts as in BERT. A class token has the
// numbers theta_1 = p_1 U_Q U_K p_1 for others to the class and theta_2 = p_0 U_Q U_K p_0 for the class to
// all, and the n tokens have the rows from 1 up. The tasks of this program have no class token.
var _ = Register(Scheme{Name: "tupe", Needs: NeedsSame, New: newTUPE},
	option("tupe-projection", "normed", oneOf("plain", "normed"),
		"how tupe projects positions: two matrices, or also a layer norm before and biases").inText("plain"),
	option("tupe-buckets", "none", parsed(tupeRelative),
		"relative part of tupe: none (TUPE-A), or number of buckets / largest distance as "+
			"in 32/128 (TUPE-R)"),
	option("tupe-class-token", "none", oneOf("none", "first"),
		"class token of tupe, whose place is ignored"))

// tupeRelative parses --tupe-buckets; none means no buckets.
func tupeRelative(text string) (b buckets, err error) {
	if text == "none" {
		return b, nil
	}
	number, most, found := strings.Cut(text, "/")
	b.bidirectional = true
	if b.number, err = strconv.Atoi(number); err == nil && found {
		if b.most, err = strconv.Atoi(most); err == nil {
			return b, b.check()
		}
	}
	return b, fmt.Errorf("%q is neither none nor two whole numbers as in 32/128", text)
}

func newTUPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	d, n, class := c.DModel, c.Positions.Tokens(), c.is("tupe-class-token", "first")
	scale := 1 / math.Sqrt(2*float64(c.HeadWidth()))
	if class {
		n++
	}
	table := ps.Add("pe.table", true, torchpe.Normal(0, 0.02), n, d)
	var query, key linearMap
	query.w = ps.Add("pe.query.weight", true, torchpe.Xavier(d, d), d, d)
	key.w = ps.Add("pe.key.weight", true, torchpe.Xavier(d, d), d, d)
	var gain, shift, relative *torchpe.Param // [E,D], [E,D], [E,1,buckets,H]
	if c.is("tupe-projection", "normed") {
		gain, shift = ps.Add("pe.norm.weight", true, torchpe.Constant(1), d),
			ps.Add("pe.norm.bias", true, torchpe.Constant(0), d)
		query.b = ps.Add("pe.query.bias", true, torchpe.FanIn(d), d)
		key.b = ps.Add("pe.key.bias", true, torchpe.FanIn(d), d)
	}
	b, err := tupeRelative(c.text("tupe-buckets"))
	if b.number > 0 {
		rows := b.number + int(oneIf(class)) // others to the class; class to others: the bucket of no offset
		relative = ps.Add("pe.relative", true, torchpe.Normal(0, 0.02), 1, rows, c.Heads)
	}
	bucket := func(i, j int) int {
		switch {
		case class && i == 0:
			return b.number / 2 // not used by other pairs
		case class && j == 0:
			return b.number
		}
		return b.of(j - i)
	}
	return encoding{AtLogits, attentionWithScale(scale), func(s *torchpe.Scope, p Positions) Hooks {
		rows := p.Index
		if class {
			rows = []int{0, 1}
			for _, at := range p.Index {
				rows = append(rows, at+1)
			}
		}
		x := rowsAt(s, table.In(s), 1, rows)
		if gain != nil {
			x = torchpe.AddLayerNorm(x, torchpe.Tensor{},
				torchpe.Norm{Gain: gain.In(s), Bias: shift.In(s), Eps: 1e-5})
		}
		q := splitRows(torchpe.Linear(x, query.w.In(s), query.b.OrNone(s)), c.Heads) // [E,H,R,Dh]
		k := splitRows(torchpe.Linear(x, key.w.In(s), key.b.OrNone(s)), c.Heads)
		scores := q.MatMul(k.Transpose(2, 3)).MulScalar(scale)
		if class {
			scores = untied(s, scores, p)
		}
		bias := scores.Unsqueeze(1) // [E,1,H,N,N]
		if relative != nil {
			bias = bias.Add(biasOf(s, relative.In(s), pairs(p.Index, bucket), p.Tokens()))
		}
		return layerBias(bias)
	}}, err
}

// untied takes the scores [E,H,2+N,2+N] of the two rows for the class token and those of all
// tokens, and replaces the scores of pairs with the class token by the former.
func untied(s *torchpe.Scope, scores torchpe.Tensor, p Positions) torchpe.Tensor {
	toOthers := scores.Narrow(2, 0, 1).Narrow(3, 0, 1) // [E,H,1,1]
	toClass := scores.Narrow(2, 1, 1).Narrow(3, 1, 1)
	n := p.Tokens()
	marks := func(f func(i, j int) bool) torchpe.Tensor {
		return pairTensor(s, scores, p.Index, func(i, j int) float64 { return oneIf(f(i, j)) })
	}
	others := scores.Narrow(2, 2, n).Narrow(3, 2, n).Mul(marks(func(i, j int) bool {
		return i != 0 && j != 0
	}))
	fromClass := toOthers.Mul(marks(func(i, _ int) bool { return i == 0 }))
	return others.Add(fromClass).Add(toClass.Mul(marks(func(i, j int) bool {
		return i != 0 && j == 0
	})))
}

// The slope of LeakyReLU below 0 is 0.01. Biases of keys after the query are those of the distance
// 0. fire has the width of f, one network for each layer, and by default half the threshold, as in
// the published code; kerple's numbers are shared by all layers. f starts as torch.nn.Linear does.
var _ = Register(Scheme{Name: "dape", Extrapolates: Always, New: newDAPE},
	option("dape", "kerple", dapeBases,
		"bias that dape adapts: alibi, kerple, fire, or fire:L with the initial threshold L"),
	option("dape-width", "32", whole(1, 1<<16), "width of the network of dape"),
	option("dape-kernel", "1", whole(1, 1<<12),
		"adjacent keys that the network of dape reads, an odd number; "+
			"1 for V1, more for V2"))

const dapeSlope = 0.01

// dapeBases checks the name of a bias.
func dapeBases(v string) error {
	if threshold, ok := strings.CutPrefix(v, "fire:"); ok {
		if err := fireThreshold(threshold); err != nil {
			return fmt.Errorf("%q: the threshold %w", v, err)
		}
		return nil
	}
	return oneOf("alibi", "kerple", "fire", "fire:L")(v)
}

// dapeBase builds the encoding whose bias is adapted.
func dapeBase(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	name, threshold, ok := strings.Cut(c.text("dape"), ":")
	if !ok {
		threshold = "256"
	}
	scheme, err := Find(name)
	if err != nil {
		return nil, err
	}
	given := Options{}
	if name == "fire" {
		given = Options{"fire-threshold": threshold, "fire-width": c.text("dape-width")}
	}
	if c.Options, err = scheme.Resolve("code", given); err != nil {
		return nil, err
	}
	if name == "fire" {
		return newFIRE(c, ps, true, fireForm{slope: dapeSlope, cut: true}), nil
	}
	return scheme.Build(c, ps)
}

func newDAPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	width, kernel, h := c.int("dape-width"), c.int("dape-kernel"), c.Heads
	if kernel%2 == 0 {
		return nil, fmt.Errorf("dape: --dape-kernel %d is even; it must have as many keys on both sides", kernel)
	}
	base, err := dapeBase(c, ps)
	if err != nil {
		return nil, err
	}
	layers := func(name string, in, out int) linearMap { // [E,L,k,out,in], [E,L,out]
		return linearMap{w: ps.Add(name+"weight", true, torchpe.FanIn(in*kernel), c.Layers, kernel, out, in),
			b: ps.Add(name+"bias", true, torchpe.FanIn(in*kernel), c.Layers, out)}
	}
	mixIn, mixOut := layers("pe.mix.in.", 2*h, width), layers("pe.mix.out.", width, h)
	return encoding{AtLogits, base.Attention(0), func(s *torchpe.Scope, p Positions) Hooks {
		n, like := p.Tokens(), mixIn.w.In(s)
		zero := mixIn.b.In(s).MulScalar(0).Sum() // of the model's dtype and device
		zeros := zero.Reshape(1, 1, 1, 1, 1).Expand(c.Members, 1, h, n, n)
		var biases []torchpe.Tensor // of each layer, [E,1,H,N,N]
		for layer := range c.Layers {
			biases = append(biases, base.Begin(s, p).Logits(Attn{Layer: layer}, zeros))
		}
		var seen torchpe.Tensor // [N,N] 1 if the key is not after the query
		var order order
		if kernel > 1 {
			seen = pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
			order = orderOf(s, like.Device(), p.Index)
		}
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			bias := biases[a.Layer]
			sum := logits.Add(bias)
			z := torchpe.Cat(2, logits, bias.Expand(logits.Shape()...)) // [E,B,2H,N,N]
			if kernel > 1 {
				z = order.sorted(z.Mul(seen), 4)
			}
			hidden := leakyReLU(mixIn.overKeys(z, a.Layer), dapeSlope)
			return sum.Add(order.back(mixOut.overKeys(hidden, a.Layer), 4))
		}}
	}}, nil
}

// overKeys applies w [E,L,k,out,in] of a layer over k adjacent keys to x [E,B,in,N,N]:
// [E,B,out,N,N].
func (l linearMap) overKeys(x torchpe.Tensor, layer int) (y torchpe.Tensor) {
	w, b, shape := l.w.In(x.Scope()), l.b.In(x.Scope()), x.Shape()
	e, samples, in, n := shape[0], shape[1], shape[2], shape[3]
	taps, out := w.Size(2), w.Size(3)
	if taps > 1 {
		x = x.Pad(4, taps/2, taps/2, 0)
	}
	for t := range taps {
		seen := x.Narrow(4, t, n).Reshape(e, samples, in, n*n)
		part := w.Select(1, layer).Select(1, t).Unsqueeze(1).MatMul(seen)
		if t == 0 {
			y = part
		} else {
			y = y.Add(part)
		}
	}
	return y.Reshape(e, samples, out, n, n).Add(b.Select(1, layer).Reshape(e, 1, out, 1, 1))
}

// Positions enter through the fixed column of each key. As in a public reimplementation, shared
// weights map each head's queries, and tables start as N(0, 1); the factorised ones start so that
// their product has this standard deviation.
//
// The factorised dense form multiplies two tilings of short vectors. In column j it uses p =
// floor(j/b) and r = j mod b, so that all columns differ, as the paper asks of the two tilings
// together. The tiled form uses p = j mod a and r = j mod b: each vector is "simply duplicated", as
// in the paper's words and that reimplementation; columns then repeat after the least common
// multiple of a and b.
var _ = Register(Scheme{Name: "synthesizer", Needs: NeedsSame, New: newSynthesizer},
	option("synthesizer", "dense", parsed(synthesizerForms),
		"source of the logits of synthesizer: dense, a network of the token; random, a matrix; "+
			"factorised, the product of two thin ones; factorised-dense (or factorised-dense:4), "+
			"products of two short vectors of the token, the first of length 4; "+
			"factorised-dense-tiled, both repeated"),
	option("synthesizer-input", "block", oneOf("block", "query"),
		"input of the network of synthesizer: the block's, with weights for each head, or queries, "+
			"with shared weights"),
	option("synthesizer-width", "32", whole(1, 1<<16),
		"hidden units of synthesizer's network, or the rank k of its factorised matrix"))

// synthesizerForm names a form and, for the factorised dense ones, the length a of the first
// vector, 0 for the default.
type synthesizerForm struct {
	name string
	a    int
}

// synthesizerForms parses --synthesizer.
func synthesizerForms(text string) (f synthesizerForm, err error) {
	name, length, given := strings.Cut(text, ":")
	f.name = name
	if given {
		if f.a, err = strconv.Atoi(length); err != nil || f.a < 1 ||
			!strings.HasPrefix(name, "factorised-dense") {
			return f, fmt.Errorf("%q: only a whole number from 1 may follow factorised-dense: "+
				"or factorised-dense-tiled:", text)
		}
	}
	return f, oneOf("dense", "random", "factorised", "factorised-dense", "factorised-dense-tiled")(name)
}

func newSynthesizer(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	form, err := synthesizerForms(c.text("synthesizer"))
	if err != nil {
		return nil, err
	}
	n, width := c.Positions.Tokens(), c.int("synthesizer-width")
	// G networks, each with I inputs
	queries, networks, reads := c.is("synthesizer-input", "query"), c.Heads, c.DModel
	if queries {
		networks, reads = 1, c.HeadWidth()
	}
	var begin func(s *torchpe.Scope, index []int) func(a Attn, logits torchpe.Tensor) torchpe.Tensor
	switch form.name {
	case "random":
		matrix := ps.Add("pe.matrix", true, torchpe.Normal(0, 1), c.Layers, c.Heads, n, n)
		begin = func(s *torchpe.Scope, index []int) func(Attn, torchpe.Tensor) torchpe.Tensor {
			return inPlaceOfLogits(rowsAt(s, rowsAt(s, matrix.In(s), 3, index), 4, index))
		}
	case "factorised":
		draw := torchpe.Normal(0, math.Pow(float64(width), -0.25))
		left := ps.Add("pe.left", true, draw, c.Layers, c.Heads, n, width)
		right := ps.Add("pe.right", true, draw, c.Layers, c.Heads, n, width)
		begin = func(s *torchpe.Scope, index []int) func(Attn, torchpe.Tensor) torchpe.Tensor {
			ofRight := rowsAt(s, right.In(s), 3, index).Transpose(3, 4)
			return inPlaceOfLogits(rowsAt(s, left.In(s), 3, index).MatMul(ofRight))
		}
	case "factorised-dense", "factorised-dense-tiled":
		a, err := factorOf(n, form.a)
		if err != nil {
			return nil, err
		}
		first := newLinearMap(ps, "pe.a.", reads, c.Layers, networks, a)
		second := newLinearMap(ps, "pe.b.", reads, c.Layers, networks, n/a)
		ofFirst := func(j int) int { return j % a }
		if form.name == "factorised-dense" {
			ofFirst = func(j int) int { return j / (n / a) }
		}
		begin = func(_ *torchpe.Scope, index []int) func(Attn, torchpe.Tensor) torchpe.Tensor {
			var ofA, ofB []int // indexes into both vectors; the product is a token's column
			for _, j := range index {
				ofA, ofB = append(ofA, ofFirst(j)), append(ofB, j%(n/a))
			}
			return func(a Attn, _ torchpe.Tensor) torchpe.Tensor {
				tiled := func(m linearMap, of []int) torchpe.Tensor {
					short := m.read(a, queries)
					return short.IndexSelect(4, indexTensor(short.Scope(), short.Device(), of, len(of)))
				}
				return tiled(first, ofA).Mul(tiled(second, ofB))
			}
		}
	default:
		in := newLinearMap(ps, "pe.in.", reads, c.Layers, networks, width)
		out := newLinearMap(ps, "pe.out.", width, c.Layers, networks, n)
		begin = func(s *torchpe.Scope, index []int) func(Attn, torchpe.Tensor) torchpe.Tensor {
			w, b := rowsAt(s, out.w.In(s), 3, index), rowsAt(s, out.b.In(s), 3, index) // [E,L,G,N,h], [E,L,G,N]
			return func(a Attn, _ torchpe.Tensor) torchpe.Tensor {
				hidden, w, b := in.read(a, queries).ReLU(), w.Select(1, a.Layer), b.Select(1, a.Layer)
				if queries { // one network for all heads
					return torchpe.Linear(hidden, w.Squeeze(1), b.Squeeze(1))
				}
				return byHead(hidden, w).Add(b.Unsqueeze(1).Unsqueeze(3))
			}
		}
	}
	attention := PlainAttention
	attention.Replaces = true
	return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, n)
		return logitHooks{change: begin(s, p.Index)}
	}}, nil
}

// inPlaceOfLogits returns a function that replaces logits by tables [E,L,H,N,N].
func inPlaceOfLogits(tables torchpe.Tensor) func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
		return layerOf(tables, a.Layer).Expand(logits.Shape()...)
	}
}

// factorOf returns a with a b = n: by default the largest divisor up to the square root.
func factorOf(n, a int) (int, error) {
	if a > 0 && n%a != 0 {
		return 0, fmt.Errorf("synthesizer: --synthesizer factorised-dense:%d: %d does not divide "+
			"%d tokens", a, a, n)
	}
	if a == 0 {
		a = largestDivisor(n)
	}
	return a, nil
}

// read returns W x_i + b of each network [E,B,G,N,O], for W [E,L,G,O,D], or W q_i + b of each head,
// for the W of a single network.
func (l linearMap) read(a Attn, queries bool) torchpe.Tensor {
	s := a.X.Scope()
	if queries {
		s = a.Q.Scope()
	}
	w, b := l.w.In(s).Select(1, a.Layer), l.b.In(s).Select(1, a.Layer)
	if queries {
		return torchpe.Linear(a.Q, w.Squeeze(1), b.Squeeze(1))
	}
	e, samples, n, d := a.X.Size(0), a.X.Size(1), a.X.Size(2), a.X.Size(3)
	networks, out := w.Size(1), w.Size(2)
	y := torchpe.Linear(a.X, w.Reshape(e, networks*out, d), b.Reshape(e, networks*out))
	return y.Reshape(e, samples, n, networks, out).Permute(0, 1, 3, 2, 4)
}
