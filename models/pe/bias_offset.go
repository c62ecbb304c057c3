// Biases that depend only on the offset of two tokens and on trained numbers.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/torchpe"
)

var _ = Register(Scheme{Name: "alibi", Extrapolates: Always, New: newALiBi},
	option("alibi", "causal", oneOf("causal", "symmetric", "sided", "euclidean"),
		"distance of alibi: causal, the same in both directions, half a step less for keys before "+
			"the query, or that of the tokens' coordinates (on a grid those of cells)"),
	option("alibi-scaled", "false", yesNo,
		"whether the bias of alibi is divided by sqrt(Dh) like the logits"))

func newALiBi(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	slopes, form, scale := addSlopes(c, ps), c.text("alibi"), 1.0
	if c.yes("alibi-scaled") {
		scale = 1 / math.Sqrt(float64(c.HeadWidth()))
	}
	apart := distance(form == "causal")
	return encoding{AtLogits, attentionWithMask(form == "causal"), func(s *torchpe.Scope, p Positions) Hooks {
		ofHead := perHead(slopes.In(s))
		if n := p.Tokens(); form == "euclidean" {
			of := func(x, y []float64) float64 { return -scale * euclidean(x, y) }
			return layerBias(ofHead.Mul(numbers(s, ofHead, pairs(p.coordinates("alibi", 0), of), n, n)))
		}
		return layerBias(ofHead.Mul(pairTensor(s, ofHead, p.Index, func(i, j int) float64 {
			d := apart(i, j)
			if form == "sided" && j < i {
				d -= 0.5
			}
			return -scale * d
		})))
	}}, nil
}

// euclidean returns the distance of two points.
func euclidean(x, y []float64) float64 {
	squares := 0.0
	for a := range x {
		squares += (x[a] - y[a]) * (x[a] - y[a])
	}
	return math.Sqrt(squares)
}

// addSlopes adds the slope m_h of each head, which is not trained: 2^(-8h/H), or if H is not a
// power of 2, those of the power below, followed by every second one of the power above, as in the
// authors' code.
func addSlopes(c Config, ps *torchpe.ParamSet) *torchpe.Param {
	return ps.Add("pe.slopes", false, copied(alibiSlopes(c.Heads)), c.Heads)
}

// alibiSlopes returns m_h for each head.
func alibiSlopes(heads int) []float64 {
	below := 1 << int(math.Log2(float64(heads)))
	slopes := make([]float64, 0, heads)
	for h := 1; h <= below; h++ {
		slopes = append(slopes, math.Pow(2, -8*float64(h)/float64(below)))
	}
	for h := 1; len(slopes) < heads; h += 2 {
		slopes = append(slopes, math.Pow(2, -8*float64(h)/float64(2*below)))
	}
	return slopes
}

// Layers share a and p. As in the published code they start as U(0, 1) and U(0, 2), and the kernel
// clamps them to at least 0.01 (and a power to at most 2), with the gradient of the unclamped
// number. Models of the paper are causal, though the kernels are symmetric.
var _ = Register(Scheme{Name: "kerple", Extrapolates: Always, New: newKERPLE},
	option("kerple", "log", oneOf("log", "power"),
		"kernel of kerple: p log(1 + a d) or a d^p of the distance d"),
	direction("kerple", "causal"),
	option("kerple-trained", "ap", oneOf("ap", "a", "p"),
		"trained numbers of the kernel of kerple; the other is 1").later(),
	option("kerple-weights", "none", oneOf("none", "ap", "a", "p"),
		"trained numbers of a second kernel of kerple, exp(-a d^p), which multiplies the "+
			"logits; none: no such kernel").later())

// kernelNumbers are the trained numbers [E,H] of a kernel; nil stands for 1.
type kernelNumbers struct{ a, p *torchpe.Param }

func newKERPLE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	numbersOf := func(letters, prefix string) (k kernelNumbers) {
		if strings.Contains(letters, "a") {
			k.a = ps.Add(prefix+"a", true, uniformBelow(1), c.Heads)
		}
		if strings.Contains(letters, "p") {
			k.p = ps.Add(prefix+"p", true, uniformBelow(2), c.Heads)
		}
		return k
	}
	ofBias, ofWeights := numbersOf(c.text("kerple-trained"), "pe."), kernelNumbers{}
	weighted := !c.is("kerple-weights", "none")
	if weighted {
		ofWeights = numbersOf(c.text("kerple-weights"), "pe.weights-")
	}
	power, causal := c.is("kerple", "power"), c.is("kerple-direction", "causal")
	return encoding{AtLogits, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
		var bias, weights torchpe.Tensor // [E,1,H,N,N]
		if power {
			bias = ofBias.powers(s, p.Index, distance(causal)).Neg()
		} else {
			bias = ofBias.logs(s, p.Index, distance(causal)).Neg()
		}
		if weighted {
			weights = ofWeights.powers(s, p.Index, distance(causal)).Neg().Exp()
		}
		return logitHooks{change: func(_ Attn, logits torchpe.Tensor) torchpe.Tensor {
			return times(weights, logits).Add(bias)
		}}
	}}, nil
}

// logs returns p log(1 + a d) of all pairs [E,1,H,N,N].
func (k kernelNumbers) logs(s *torchpe.Scope, index []int, distance func(i, j int) float64) torchpe.Tensor {
	factor, inner := clampThrough(s, k.p, math.MaxFloat32), clampThrough(s, k.a, math.MaxFloat32)
	like := inner
	if !like.Defined() {
		like = factor
	}
	return times(factor, times(inner, pairTensor(s, like, index, distance)).Log1p())
}

// powers returns a d^p of all pairs [E,1,H,N,N]. It computes d^p as exp(p log d), which has a
// gradient at d = 0 too, and sets it to zero there.
func (k kernelNumbers) powers(s *torchpe.Scope, index []int, distance func(i, j int) float64) torchpe.Tensor {
	power, factor := clampThrough(s, k.p, 2), clampThrough(s, k.a, math.MaxFloat32)
	like := power
	if !like.Defined() {
		like = factor
	}
	logs := pairTensor(s, like, index, func(i, j int) float64 { return math.Log(max(1, distance(i, j))) })
	apart := pairTensor(s, like, index, func(i, j int) float64 { return oneIf(distance(i, j) > 0) })
	return times(factor, times(power, logs).Exp().Mul(apart))
}

// clampThrough returns a trained number [E,1,H,1,1] clamped to [0.01, high], with the gradient of
// the unclamped one (straight-through). It returns the zero Tensor for nil.
func clampThrough(s *torchpe.Scope, x *torchpe.Param, high float64) torchpe.Tensor {
	if x == nil {
		return torchpe.Tensor{}
	}
	t := x.In(s)
	return perHead(t.Add(t.Clamp(0.01, high).Sub(t).Detach()))
}

// times returns factor * x, or x if factor is the zero Tensor.
func times(factor, x torchpe.Tensor) torchpe.Tensor {
	if !factor.Defined() {
		return x
	}
	return factor.Mul(x)
}

// The width of the sinusoids, 128 in the paper, is independent of the model width.
var _ = Register(Scheme{Name: "sandwich", Extrapolates: Always, New: newSandwich},
	direction("sandwich", "causal"),
	option("sandwich-width", "128", whole(2, 1<<20), "width d of the sinusoids of sandwich, an even number"),
	option("sandwich-first", "0", oneOf("0", "1"),
		"first m of sandwich; with 1, d/2 is subtracted, as in NeMo"))

func newSandwich(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	width, first := c.int("sandwich-width"), c.int("sandwich-first")
	if width%2 != 0 {
		return nil, fmt.Errorf("sandwich: --sandwich-width %d is odd; sines and cosines come in "+
			"pairs", width)
	}
	weights := ps.Add("pe.weights", false, computed(func(h int) float64 { // 1/r_h
		return float64(c.Heads) / (8 * float64(h+1))
	}), c.Heads)
	mask := attentionWithMask(c.is("sandwich-direction", "causal"))
	return encoding{AtLogits, mask, func(s *torchpe.Scope, p Positions) Hooks {
		curve := make([]float64, farthest(p)+1) // by distance
		for m := first; m < first+width/2; m++ {
			frequency := math.Pow(10000, -2*float64(m)/float64(width))
			for d := range curve {
				curve[d] += math.Cos(float64(d)*frequency) - float64(first)
			}
		}
		w := perHead(weights.In(s))
		return layerBias(w.Mul(pairTensor(s, w, p.Index, func(i, j int) float64 {
			return curve[max(i-j, j-i)]
		})))
	}}, nil
}

// farthest returns the largest place of a token.
func farthest(p Positions) (most int) {
	for _, i := range p.Index {
		most = max(most, i)
	}
	return most
}

// The query's place is counted from 0. In the bidirectional form a key after the query gets the
// mirrored value. The published initial c is 0.1 and m is 1.
var _ = Register(Scheme{Name: "fire", Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		return newFIRE(c, ps, c.is("fire-direction", "causal"), fireForm{}), nil
	}},
	direction("fire", "causal"),
	option("fire-width", "32", whole(1, 1<<16), "width of the network of fire"),
	option("fire-threshold", "512", fireThreshold,
		"initial threshold L_0 of fire: all queries at smaller places have the same normalisation"),
	option("fire-shared", "false", yesNo, "one network of fire for all layers"))

// fireThreshold checks an initial threshold.
var fireThreshold = between(1, 1<<40)

// fireForm holds what dape changes: the slope of LeakyReLU below 0, and keys after the query at the
// distance 0.
type fireForm struct {
	slope float64
	cut   bool
}

func newFIRE(c Config, ps *torchpe.ParamSet, causal bool, form fireForm) Encoding {
	threshold, t, width := c.float("fire-threshold"), c.Layers, c.int("fire-width")
	if c.yes("fire-shared") {
		t = 1
	}
	inner := ps.Add("pe.c", true, torchpe.Constant(0.1), t) // [E,T]
	multiplier := ps.Add("pe.multiplier", true, torchpe.Constant(1), t)
	in := newLinearMap(ps, "pe.in.", 1, t, width)
	out := newLinearMap(ps, "pe.out.", width, t, c.Heads)
	return encoding{AtLogits, attentionWithMask(causal), func(s *torchpe.Scope, p Positions) Hooks {
		n, e := p.Tokens(), c.Members
		c := inner.In(s).Reshape(e, t, 1, 1)
		psi := func(x torchpe.Tensor) torchpe.Tensor { return c.Mul(x).Abs().Log1p() }
		start := multiplier.In(s).MulScalar(threshold).Abs().Reshape(e, t, 1, 1)
		whole := psi(start.Maximum(places(s, c, p.Index))).AddScalar(1e-6) // [E,T,N,1]
		distances := pairTensor(s, c, p.Index, func(i, j int) float64 {
			if form.cut {
				return float64(max(i-j, 0))
			}
			return float64(i - j)
		})
		x := psi(distances).Div(whole).Reshape(e*t, n*n, 1) // each network acts as a member
		y := out.ofEach(leakyReLU(in.ofEach(x), form.slope))
		return layerBias(y.Transpose(1, 2).Contiguous().Reshape(e, t, y.Size(2), n, n))
	}}
}

// leakyReLU returns x if it is positive, else slope x.
func leakyReLU(x torchpe.Tensor, slope float64) torchpe.Tensor {
	if slope == 0 {
		return x.ReLU()
	}
	return x.Maximum(x.MulScalar(slope))
}

// linearMap holds a weight [E,..,out,in] and bias [E,..,out].
type linearMap struct{ w, b *torchpe.Param }

// newLinearMap declares the weight [shape,in] and bias [shape] of a linear map, which start as in
// torch.nn.Linear. The last axis of shape is the outputs.
func newLinearMap(ps *torchpe.ParamSet, name string, in int, shape ...int) (l linearMap) {
	l.w = ps.Add(name+"weight", true, torchpe.FanIn(in), append(slices.Clone(shape), in)...)
	l.b = ps.Add(name+"bias", true, torchpe.FanIn(in), shape...)
	return l
}

func (l linearMap) of(x torchpe.Tensor) torchpe.Tensor {
	s := x.Scope()
	return torchpe.Linear(x, l.w.In(s), l.b.In(s))
}

// ofEach applies maps [E,T,out,in] to x [E T,..,in], treating the T maps like members.
func (l linearMap) ofEach(x torchpe.Tensor) torchpe.Tensor {
	s, shape := x.Scope(), l.w.Shape
	each := shape[0] * shape[1]
	return torchpe.Linear(x, l.w.In(s).Reshape(each, shape[2], shape[3]), l.b.In(s).Reshape(each, shape[2]))
}

// Kernels start broad and at different offsets; the published code leaves the initial values to its
// caller. In a stack such as learn+tisa it supplements position embeddings (the paper's case a).
var _ = Register(Scheme{Name: "tisa", Extrapolates: Always, New: newTISA},
	option("tisa-kernels", "5", whole(1, 1<<16), "number S of kernels of tisa for each head and layer"),
	option("tisa-offset", "j-i", oneOf("j-i", "i-j-1"),
		"offset that the kernels of tisa use: from query to key, or that of the "+
			"published code"))

func newTISA(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	add := func(name string, deviation float64) *torchpe.Param { // [E,L,S,H]
		return ps.Add(name, true, torchpe.Normal(0, deviation), c.Layers, c.int("tisa-kernels"), c.Heads)
	}
	amplitudes, sharpness, centres := add("pe.a", 0.1), add("pe.b", 0.1), add("pe.c", 5)
	published := c.is("tisa-offset", "i-j-1")
	return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		wide := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Unsqueeze(3) } // [E,L,S,1,H]
		a, b, c := wide(amplitudes), wide(sharpness), wide(centres)
		offset := func(i, j int) int { return j - i }
		if published {
			offset = func(i, j int) int { return i - j - 1 }
		}
		return offsetBias(s, a, p, offset, func(k torchpe.Tensor) torchpe.Tensor {
			return a.Mul(b.Abs().Mul(k.Sub(c).Square()).Neg().Exp()).Sum(2) // [E,L,R,H]
		})
	}}, nil
}

// offsetBias adds a function of offsets [R,1], which returns [E,T,R,H]. The function is called
// once, with all integers from the smallest offset that occurs (or 0) to the largest.
func offsetBias(s *torchpe.Scope, like torchpe.Tensor, p Positions, offset func(i, j int) int,
	of func(offsets torchpe.Tensor) torchpe.Tensor) Hooks {
	rows, least, most := pairs(p.Index, offset), 0, 0
	for _, k := range rows {
		least, most = min(least, k), max(most, k)
	}
	for i := range rows {
		rows[i] -= least
	}
	all := make([]float64, most-least+1)
	for i := range all {
		all[i] = float64(least + i)
	}
	return layerBias(biasOf(s, of(numbers(s, like, all, len(all), 1)), rows, p.Tokens()))
}

// CrossFormer has two-dimensional offsets, ReLU and layer norms, without numbers to compare with;
// the norm of x-transformers is omitted too. One network is shared by all layers, as there.
var _ = Register(Scheme{Name: "dynamic-bias", Extrapolates: Always, New: newDynamicBias},
	direction("dynamic-bias", "bidirectional"),
	option("dynamic-bias-offsets", "linear", oneOf("linear", "log"),
		"input of the network of dynamic-bias: the offset r, or sign(r) ln(|r| + 1)"),
	option("dynamic-bias-width", "16", whole(1, 1<<16), "width of the network of dynamic-bias"),
	option("dynamic-bias-depth", "2", whole(1, 64), "hidden layers of the network of dynamic-bias"))

func newDynamicBias(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	var layers []linearMap
	in, width := 1, c.int("dynamic-bias-width")
	for i := range c.int("dynamic-bias-depth") {
		layers = append(layers, newLinearMap(ps, fmt.Sprintf("pe.%d.", i), in, width))
		in = width
	}
	out, log := newLinearMap(ps, "pe.out.", in, c.Heads), c.is("dynamic-bias-offsets", "log")
	mask := attentionWithMask(c.is("dynamic-bias-direction", "causal"))
	return encoding{AtLogits, mask, func(s *torchpe.Scope, p Positions) Hooks {
		most := farthest(p)
		offsets := make([]float64, 2*most+1)
		for i := range offsets {
			if offsets[i] = float64(i - most); log {
				offsets[i] = math.Copysign(math.Log1p(math.Abs(offsets[i])), offsets[i])
			}
		}
		x := numbers(s, out.w.In(s), offsets, 1, len(offsets), 1).Expand(c.Members, len(offsets), 1)
		for _, layer := range layers {
			x = layer.of(x)
			x = x.Mul(x.Sigmoid())
		}
		index := pairs(p.Index, func(i, j int) int { return i - j + most })
		return layerBias(biasOf(s, out.of(x).Unsqueeze(1), index, p.Tokens()))
	}}, nil
}

// T5's initial queries are smaller by sqrt(Dh), so its code does not divide the logits. Here
// projections start as for other schemes.
var _ = Register(Scheme{Name: "t5", Extrapolates: Always, New: newT5},
	option("t5-direction", "bidirectional", oneOf("bidirectional", "causal"),
		"buckets of t5 for keys on both sides (encoder), or only before the query (decoder)"),
	option("t5-buckets", "32", whole(2, 1<<20), "number of buckets of offsets of t5"),
	option("t5-max-distance", "128", whole(2, 1<<30),
		"distance from which all offsets share the last bucket of t5"),
	option("t5-logit-scale", "sqrt", oneOf("sqrt", "none"),
		"whether t5 divides q k by sqrt(Dh), which its own code replaces by smaller "+
			"initial queries"))

func newT5(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	b := buckets{c.int("t5-buckets"), c.int("t5-max-distance"), c.is("t5-direction", "bidirectional")}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("t5: --t5-buckets, --t5-max-distance: %w", err)
	}
	attention := attentionWithMask(!b.bidirectional)
	if c.is("t5-logit-scale", "none") {
		attention.Scale = 1
	}
	draw := torchpe.Normal(0, 1/math.Sqrt(float64(c.DModel)))
	table := ps.Add("pe.table", true, draw, 1, b.number, c.Heads)
	return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
		index := pairs(p.Index, func(i, j int) int { return b.of(j - i) })
		return layerBias(biasOf(s, table.In(s), index, p.Tokens()))
	}}, nil
}

// It starts as in Swin. The formula of the notes divides B by sqrt(Dh); their code and Swin's do not.
var _ = Register(Scheme{Name: "relative-bias", New: newRelativeBias},
	option("relative-bias", "offset", oneOf("offset", "full"),
		"one number for each offset i-j, or for each pair of places"),
	option("relative-bias-scaled", "true", yesNo,
		"whether the bias of relative-bias is divided by sqrt(Dh) like the logits"))

func newRelativeBias(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	tokens := c.Positions.Tokens()
	count, row := 2*tokens-1, func(i, j int) int { return i - j + tokens - 1 }
	if c.is("relative-bias", "full") {
		count, row = tokens*tokens, func(i, j int) int { return i*tokens + j }
	}
	table := ps.Add("pe.bias", true, torchpe.Normal(0, 0.02), c.Layers, c.Heads, count)
	scaled := c.yes("relative-bias-scaled")
	return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, tokens)
		n, index := p.Tokens(), pairs(p.Index, row)
		b := table.In(s).IndexSelect(-1, indexTensor(s, table.In(s).Device(), index, len(index))).
			Reshape(c.Members, c.Layers, c.Heads, n, n)
		return biasHooks{bias: func(a Attn) torchpe.Tensor {
			if scaled {
				return layerOf(b, a.Layer).MulScalar(a.Scale)
			}
			return layerOf(b, a.Layer)
		}}
	}}, nil
}

// buckets sort offsets by size.
type buckets struct {
	number, most  int // number of buckets, and the largest distance that is distinguished
	bidirectional bool
}

// check returns an error if there are too few buckets for the direction, or for the largest distance.
func (b buckets) check() error {
	least := 2
	if b.bidirectional {
		least = 4
	}
	if b.number < least || b.bidirectional && b.number%2 != 0 {
		return fmt.Errorf("%d buckets: give at least %d, and an even number for both directions",
			b.number, least)
	}
	if _, exact := b.side(); b.most <= exact {
		return fmt.Errorf("the largest distance %d is within the %d that have a bucket each: "+
			"give a larger one, or fewer buckets than %d", b.most, exact, b.number)
	}
	return nil
}

// side returns the number of buckets for each direction and how many of them hold a single offset.
func (b buckets) side() (half, exact int) {
	half = b.number
	if b.bidirectional {
		half /= 2
	}
	return half, half / 2
}

// of returns the bucket of the offset from query to key.
func (b buckets) of(offset int) int {
	half, exact := b.side()
	first, distance := 0, -offset
	if b.bidirectional && offset > 0 {
		first, distance = half, offset
	}
	if distance = max(distance, 0); distance < exact {
		return first + distance
	}
	log := float32(math.Log(float64(float32(distance) / float32(exact))))
	part := log / float32(math.Log(float64(b.most)/float64(exact))) * float32(half-exact)
	return first + min(exact+int(part), half-1)
}
