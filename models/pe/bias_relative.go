// Logits from queries and keys with vectors of relative positions.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// The published code of the paper uses the skewed reading of Music Transformer, causal and without
// an output projection. Heads share a table; each layer has its own.
var _ = Register(Scheme{Name: "relative", New: newRelative,
	Extrapolates: func(o Options) bool { return o["relative"] == "shaw" }},
	option("relative", "skew", oneOf("shaw", "skew"),
		"reading of relative: bidirectional and clipped, or skewed and causal without "+
			"output projection").inText("shaw"),
	option("relative-clip", "16", whole(1, 1<<20), "largest offset that --relative shaw distinguishes").
		idle("relative", "skew"),
	option("relative-values", "false", yesNo, "with --relative shaw: offsets also act on the values"),
	attentionInit)

// clipped returns the row, of 2k+1, of the offset j-i from query to key.
func clipped(clip int) func(i, j int) int {
	return func(i, j int) int { return max(-clip, min(clip, j-i)) + clip }
}

func newRelative(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, n, clip := c.HeadWidth(), c.Positions.Tokens(), c.int("relative-clip")
	attention := PlainAttention
	attention.LinearInit = c.is("attention-init", "linear")
	if c.is("relative", "skew") {
		if c.yes("relative-values") {
			return nil, fmt.Errorf("relative: --relative-values needs --relative shaw; " +
				"the skewed reading has no value term")
		}
		attention.Causal, attention.OutputProjection = true, false
		table := ps.Add("pe.keys", true, torchpe.Normal(0, 1), c.Layers, n, dh)
		return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
			checkPlaces(p.Index, n)
			keys := table.In(s)
			// keys after the query are masked
			row := func(i, j int) int { return min(n-1-(i-j), n-1) }
			return keyBias(keys, pairIndex(s, keys, p.Index, row))
		}}, nil
	}
	rows, sites := 2*clip+1, AtLogits
	table := ps.Add("pe.keys", true, torchpe.Xavier(dh, rows), c.Layers, rows, dh)
	var values *torchpe.Param
	if c.yes("relative-values") {
		sites |= AtOutput
		values = ps.Add("pe.values", true, torchpe.Xavier(dh, rows), c.Layers, rows, dh)
	}
	return encoding{sites, attention, func(s *torchpe.Scope, p Positions) Hooks {
		keys := table.In(s)
		index := pairIndex(s, keys, p.Index, clipped(clip))
		if values == nil {
			return keyBias(keys, index)
		}
		return &relativeHooks{keyBias(keys, index), values.In(s), index.OneHot(rows, keys.DType())}
	}}, nil
}

// keyBias adds the products of queries and vectors keys [E,L,R,Dh]; index [N,N] is the row for
// query i and key j.
func keyBias(keys, index torchpe.Tensor) biasHooks {
	return biasHooks{bias: func(a Attn) torchpe.Tensor {
		byRow := torchpe.Linear(a.Q, keys.Select(1, a.Layer).MulScalar(a.Scale), torchpe.Tensor{}) // [E,B,H,N,R]
		return gatherPairs(byRow, index)
	}}
}

// relativeHooks also add vectors of the offsets to the values.
type relativeHooks struct {
	biasHooks
	values  torchpe.Tensor // [E,L,R,Dh]
	buckets torchpe.Tensor // [N,N,R] row for query i and key j as one-hot
}

func (h *relativeHooks) Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor {
	w := weights.Shape() // [E,B,H,N,N]
	rows, n := w[0]*w[1]*w[2], w[3]
	byQuery := weights.Permute(3, 0, 1, 2, 4).Reshape(n, rows, n) // [N,E*B*H,N]
	// [E,B,H,N,R]
	sums := byQuery.MatMul(h.buckets).Reshape(n, w[0], w[1], w[2], -1).Permute(1, 2, 3, 0, 4)
	return out.Add(torchpe.Linear(sums, h.values.Select(1, a.Layer).Transpose(1, 2).Contiguous(),
		torchpe.Tensor{}))
}

// The published code starts the table at 0; here it starts as N(0, 0.02^2).
var _ = Register(Scheme{Name: "erpe", New: newERPE, Ahead: Always},
	option("erpe-scale", "model", oneOf("model", "head"),
		"whether erpe divides q k by sqrt(D) as the published code does, or by sqrt(Dh)"))

func newERPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	tokens, attention := c.Positions.Tokens(), PlainAttention
	if c.is("erpe-scale", "model") {
		attention.Scale = 1 / math.Sqrt(float64(c.DModel))
	}
	table := ps.Add("pe.table", true, torchpe.Normal(0, 0.02), c.Layers, 2*tokens-1, c.Heads)
	return encoding{AtOutput, attention, func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, tokens)
		index := pairs(p.Index, func(i, j int) int { return i - j + tokens - 1 })
		weights := biasOf(s, table.In(s), index, p.Tokens()) // [E,L,H,N,N]
		return outputHooks{change: func(a Attn, out torchpe.Tensor) torchpe.Tensor {
			return out.Add(layerOf(weights, a.Layer).MatMul(a.V))
		}}
	}}, nil
}

// outputHooks change the output of attention.
type outputHooks struct {
	Identity
	change func(a Attn, out torchpe.Tensor) torchpe.Tensor
}

func (h outputHooks) Output(a Attn, _, out torchpe.Tensor) torchpe.Tensor { return h.change(a, out) }

// Method 1 ignores direction. Heads share a table; each layer has its own. Methods 1 to 3 start as
// in the tutorial's code, method 4 as relative does. Method 3 needs a tensor [E,B,H,N,N,Dh]: it
// cannot be factored.
var _ = Register(Scheme{Name: "huang", Extrapolates: Always, New: newHuang},
	option("huang-method", "4", oneOf("1", "2", "3", "4"), "which of the methods of Huang et al. 2020"),
	option("huang-clip", "16", whole(1, 1<<20), "largest offset that huang distinguishes"))

func newHuang(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	method, clip, dh := c.text("huang-method"), c.int("huang-clip"), c.HeadWidth()
	rows, width, init, row := 2*clip+1, 1, torchpe.Normal(0, 1), clipped(clip)
	switch method {
	case "1":
		rows, row = clip+1, func(i, j int) int { return min(max(i-j, j-i), clip) }
	case "3":
		width = dh
	case "4":
		width, init = dh, torchpe.Xavier(dh, rows)
	}
	tables := ps.Add("pe.table", true, init, c.Layers, rows, width)
	return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		n, table := p.Tokens(), tables.In(s)
		index := pairs(p.Index, row)
		switch method {
		case "3":
			rows := table.IndexSelect(2, indexTensor(s, table.Device(), index, n*n)) // [E,L,N*N,Dh]
			// minus one: the addend of the plain product
			factors := rows.AddScalar(-1).Reshape(c.Members, c.Layers, 1, n, n, dh)
			return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
				weighed := a.Q.Unsqueeze(4).Mul(layerOf(factors, a.Layer)) // [E,B,H,N,N,Dh]
				return logits.Add(weighed.Mul(a.K.Unsqueeze(3)).Sum(-1).MulScalar(a.Scale))
			}}
		case "4":
			at := indexTensor(s, table.Device(), index, n, n)
			return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
				table := table.Select(1, a.Layer)
				byQuery := gatherPairs(torchpe.Linear(a.Q, table, torchpe.Tensor{}), at)
				byKey := gatherPairs(torchpe.Linear(a.K, table, torchpe.Tensor{}), at.Transpose(0, 1))
				return logits.Add(byQuery.Add(byKey.Transpose(3, 4)).MulScalar(a.Scale))
			}}
		}
		factors := biasOf(s, table, index, n) // [E,L,1,N,N]
		return logitHooks{change: func(a Attn, logits torchpe.Tensor) torchpe.Tensor {
			return logits.Mul(layerOf(factors, a.Layer))
		}}
	}}, nil
}

// The signs of the sines distinguish left from right. u and v are trained for each head and layer,
// with the Xavier start of the published code.
var _ = Register(Scheme{Name: "tener", MinHeadWidth: 2, Extrapolates: Always, New: newTENER},
	option("tener-offset", "i-j", oneOf("i-j", "j-i"),
		"offset of the sinusoids of tener: from key to query, or from query to key as "+
			"in its code"),
	option("tener-frequencies", "paper", oneOf("paper", "code"),
		"sinusoids of tener: sines and cosines alternating, or as in its code"),
	option("tener-key-term", "false", yesNo, "whether to add the term k_j P_{i-j} of tener's code"),
	option("tener-scaled", "false", yesNo, "whether tener divides its logits by sqrt(Dh)"))

func newTENER(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, n := c.HeadWidth(), c.Positions.Tokens()
	inCode, keyTerm := c.is("tener-frequencies", "code"), c.yes("tener-key-term")
	switch {
	case dh%2 != 0:
		return nil, fmt.Errorf("tener: the head width %d = %d/%d is odd; sines and cosines come "+
			"in pairs", dh, c.DModel, c.Heads)
	case inCode && dh < 4:
		return nil, fmt.Errorf("tener: the head width %d = %d/%d is less than 4, "+
			"which --tener-frequencies code divides by Dh/2-1", dh, c.DModel, c.Heads)
	}
	sinusoids := ps.Add("pe.sinusoids", false, computed(func(i int) float64 { // of offsets from -(N-1) up
		offset, d := float64(i/dh-(n-1)), i%dh
		pair, cosine, rate := d/2, d%2 == 1, -2/float64(dh)
		if inCode {
			pair, cosine, rate = d%(dh/2), d >= dh/2, -1/float64(dh/2-1)
		}
		angle := offset * math.Pow(10000, rate*float64(pair))
		if cosine {
			return math.Cos(angle)
		}
		return math.Sin(angle)
	}), 2*n-1, dh)
	draw := torchpe.Normal(0, math.Sqrt(2/float64(c.Heads+dh)))
	ofU := ps.Add("pe.u", true, draw, c.Layers, c.Heads, dh)
	ofV := ps.Add("pe.v", true, draw, c.Layers, c.Heads, dh)
	scale, sign := oneIf(!c.yes("tener-scaled")), 1
	if c.is("tener-offset", "j-i") {
		sign = -1
	}
	return encoding{AtLogits, attentionWithScale(scale), func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, n)
		table, allU, allV := sinusoids.In(s), ofU.In(s).Unsqueeze(3), ofV.In(s).Unsqueeze(3) // [E,L,H,1,Dh]
		rows := func(sign int) torchpe.Tensor {
			return pairIndex(s, allU, p.Index, func(i, j int) int { return sign*(i-j) + n - 1 })
		}
		byOffset := func(x, index torchpe.Tensor) torchpe.Tensor {
			return gatherPairs(torchpe.Linear(x, table, torchpe.Tensor{}), index)
		}
		index, keyIndex := rows(sign), torchpe.Tensor{}
		if keyTerm {
			keyIndex = rows(1).Transpose(0, 1)
		}
		return biasHooks{bias: func(a Attn) torchpe.Tensor {
			u, v := layerOf(allU, a.Layer), layerOf(allV, a.Layer)
			added := byOffset(a.Q.Add(v), index)
			added = added.Add(a.K.Mul(u).Sum(-1).Unsqueeze(3)) // u k_j
			if keyTerm {
				added = added.Add(byOffset(a.K, keyIndex).Transpose(3, 4))
			}
			return added.MulScalar(a.Scale)
		}}
	}}, nil
}

// u and v are shared by layers as in the published code. The paper is causal, where i-j >= 0. The
// segment memory of the paper is not part of the encoding: attending to m earlier tokens amounts to
// having them in the input.
var _ = Register(Scheme{Name: "transformer-xl", New: newTransformerXL,
	Extrapolates: func(o Options) bool {
		return o["xl-table"] == "sinusoid" && o["xl-keys"] == "mapped"
	}},
	option("xl-direction", "causal", oneOf("causal", "bidirectional", "mirrored"),
		"whether tokens of transformer-xl see only those before them; mirrored is in both "+
			"directions, with distances j-i for i-j"),
	option("xl-table", "sinusoid", oneOf("sinusoid", "learned"),
		"vectors of distances of transformer-xl before they are mapped"),
	option("xl-keys", "mapped", oneOf("mapped", "free"),
		"keys of distances of transformer-xl: mapped from one table, or trained for each "+
			"head and layer, with one number each"),
	option("xl-scaled", "true", yesNo, "whether transformer-xl divides its logits by sqrt(Dh)"))

// xlStart draws initial values as in the published code.
var xlStart = torchpe.Normal(0, 0.02)

func newTransformerXL(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, d, free, causal := c.Positions.Tokens(), c.DModel, c.is("xl-keys", "free"), c.is("xl-direction", "causal")
	switch {
	case free && !c.is("xl-table", "sinusoid"):
		return nil, fmt.Errorf("transformer-xl: --xl-table learned needs --xl-keys mapped; " +
			"free keys have no table to map")
	case !free && d%2 != 0:
		return nil, c.oddWidth()
	}
	attention := attentionWithMask(causal)
	attention.Scale = oneIf(!c.yes("xl-scaled"))
	rows, first, row := n, 0, func(i, j int) int { return max(i-j, 0) } // keys after the query are masked
	if !causal {
		sign := 1
		if c.is("xl-direction", "mirrored") {
			sign = -1
		}
		rows, first, row = 2*n-1, -(n - 1), func(i, j int) int { return sign*(i-j) + n - 1 }
	}
	if free {
		return c.newFreeXL(ps, attention, rows, row), nil
	}
	x := addMappedXL(c, ps)
	var table *torchpe.Param // [E,R,D]
	if c.is("xl-table", "learned") {
		table = ps.Add("pe.table", true, torchpe.Normal(0, 1), rows, d)
	} else {
		table = ps.Add("pe.table", false, computed(func(i int) float64 {
			angle := float64(first+i/d) * math.Pow(10000, -2*float64(i%d%(d/2))/float64(d))
			if i%d < d/2 {
				return math.Sin(angle)
			}
			return math.Cos(angle)
		}), rows, d)
	}
	return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, n)
		return x.hooks(s, table.In(s), pairIndex(s, x.u.In(s), p.Index, row))
	}}, nil
}

// newFreeXL returns the form with trained vectors r and numbers b for each distance (Al-Rfou's):
// logits_ij = [(q_i + u) k_j + q_i r_{i-j} + b_{i-j}] / sqrt(Dh).
func (c Config) newFreeXL(ps *torchpe.ParamSet, attention Attention, rows int,
	row func(i, j int) int) Encoding {
	n := c.Positions.Tokens()
	ofU := ps.Add("pe.u", true, xlStart, c.Heads, c.HeadWidth())
	vectors := ps.Add("pe.vectors", true, xlStart, c.Layers, rows, c.Heads, c.HeadWidth())
	numbers := ps.Add("pe.terms", true, xlStart, c.Layers, rows, c.Heads)
	return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
		checkPlaces(p.Index, n)
		u := ofU.In(s)
		wide, index := u.Unsqueeze(1).Unsqueeze(3), pairIndex(s, u, p.Index, row)
		return biasHooks{bias: func(a Attn) torchpe.Tensor {
			byDistance := byHead(a.Q, vectors.In(s).Select(1, a.Layer).Transpose(1, 2))
			terms := numbers.In(s).Select(1, a.Layer).Transpose(1, 2) // [E,H,R]
			byDistance = byDistance.Add(terms.Unsqueeze(1).Unsqueeze(3))
			return xlSum(a, wide, byDistance, index)
		}}
	}}
}

// xlSum returns the bias of u [E,1,H,1,Dh] and of the products by distance [E,B,H,N,R]. index [N,N]
// is the distance of each pair as an index into R.
func xlSum(a Attn, u, byDistance, index torchpe.Tensor) torchpe.Tensor {
	content := a.K.Mul(u).Sum(-1).Unsqueeze(3) // u k_j [E,B,H,1,N]
	return gatherPairs(byDistance, index).Add(content).MulScalar(a.Scale)
}

// mappedXL holds the parameters of keys that are mapped from a table of distances.
type mappedXL struct {
	u, v *torchpe.Param // [E,H,Dh]
	keys *torchpe.Param // [E,L,D,D]
}

func addMappedXL(c Config, ps *torchpe.ParamSet) (x mappedXL) {
	d := c.DModel
	x.u = ps.Add("pe.u", true, xlStart, c.Heads, c.HeadWidth())
	x.v = ps.Add("pe.v", true, xlStart, c.Heads, c.HeadWidth())
	x.keys = ps.Add("pe.keys", true, torchpe.Xavier(d, d), c.Layers, d, d)
	return x
}

// hooks returns the hooks for a table [E,R,D], or one for each sample [E,B,R,D]. index [N,N] is its
// row for query i and key j.
func (x mappedXL) hooks(s *torchpe.Scope, table, index torchpe.Tensor) Hooks {
	wide, shape := x.u.In(s).Unsqueeze(1).Unsqueeze(3), table.Shape()
	d := shape[len(shape)-1]
	return biasHooks{bias: func(a Attn) torchpe.Tensor {
		q, heads := a.Q.Add(x.v.In(s).Unsqueeze(1).Unsqueeze(3)), a.Q.Size(2)
		rows := table.Reshape(shape[0], -1, d)
		keys := torchpe.Linear(rows, x.keys.In(s).Select(1, a.Layer), torchpe.Tensor{}) // [E,R,D]
		var byDistance torchpe.Tensor                                                   // [E,B,H,N,R]
		if len(shape) == 3 {
			byDistance = byHead(q, splitRows(keys, heads))
		} else { // [E,B,H,R,Dh]
			keys = keys.Reshape(shape[0], shape[1], shape[2], heads, d/heads).Transpose(2, 3)
			byDistance = q.MatMul(keys.Transpose(3, 4))
		}
		return xlSum(a, wide, byDistance, index)
	}}
}

// Layers share the table and have their own W; with one of the two terms the divisor is sqrt(2 Dh).
var _ = Register(Scheme{Name: "deberta", Extrapolates: Always, New: newDeBERTa},
	option("deberta-offsets", "512", parsed(debertaOffsets),
		"offsets that deberta distinguishes: all up to a number K, or buckets / largest "+
			"offset as in 256/512 for logarithmic ones"),
	option("deberta-terms", "both", oneOf("both", "c2p", "p2c"),
		"terms of deberta: content to position, position to content, or both"),
	option("deberta-projections", "own", oneOf("own", "content"),
		"projections of the relative positions of deberta to queries and keys: their own, "+
			"or the layer's"))

// debertaSpan holds the number of offsets or buckets on each side, and the largest offset that
// buckets distinguish, 0 without buckets.
type debertaSpan struct{ span, most int }

// debertaOffsets parses --deberta-offsets.
func debertaOffsets(text string) (b debertaSpan, err error) {
	first, second, bucketed := strings.Cut(text, "/")
	b.span, err = strconv.Atoi(first)
	if err == nil && bucketed {
		b.most, err = strconv.Atoi(second)
	}
	switch {
	case err != nil || b.span < 1 || b.span > 1<<20 || b.most < 0 || b.most > 1<<30:
		return b, fmt.Errorf("%q is neither a whole number from 1 to %d nor two as in 256/512", text, 1<<20)
	case bucketed && (b.span < 4 || b.most-1 <= b.span/2):
		return b, fmt.Errorf("%q: give at least 4 buckets, and a largest offset above half "+
			"their number plus 1", text)
	}
	return b, nil
}

// row returns d(i,j).
func (b debertaSpan) row(i, j int) int {
	offset := i - j
	if b.most > 0 {
		offset = debertaBucket(offset, b.span, b.most)
	}
	return max(0, min(2*b.span-1, offset+b.span))
}

// debertaBucket returns the bucket of an offset: the offset itself up to half the number of buckets, then
// logarithmic, rounded in float32 like the published code; offsets from most up are most-1.
func debertaBucket(offset, number, most int) int {
	middle := number / 2
	size := max(offset, -offset)
	if size <= middle {
		return offset
	}
	size = min(size, most-1)
	log := float32(math.Log(float64(float32(size) / float32(middle))))
	part := log / float32(math.Log(float64(most-1)/float64(middle))) * float32(middle-1)
	bucket := int(math.Ceil(float64(part))) + middle
	if offset < 0 {
		return -bucket
	}
	return bucket
}

func newDeBERTa(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	offsets, err := debertaOffsets(c.text("deberta-offsets"))
	if err != nil {
		return nil, fmt.Errorf("deberta: --deberta-offsets: %w", err)
	}
	products, d := 3.0, c.DModel
	c2p, p2c, own := !c.is("deberta-terms", "p2c"), !c.is("deberta-terms", "c2p"), c.is("deberta-projections", "own")
	if !c2p || !p2c {
		products = 2
	}
	rows := ps.Add("pe.table", true, torchpe.Normal(0, 0.02), 2*offsets.span, d)
	projection := func(name string) linearMap {
		return linearMap{w: ps.Add(name+"weight", true, torchpe.Xavier(d, d), c.Layers, d, d),
			b: ps.Add(name+"bias", true, torchpe.FanIn(d), c.Layers, d)}
	}
	var toKeys, toQueries linearMap
	if own && c2p {
		toKeys = projection("pe.key.")
	}
	if own && p2c {
		toQueries = projection("pe.query.")
	}
	attention := attentionWithScale(1 / math.Sqrt(products*float64(c.HeadWidth())))
	return encoding{AtLogits, attention, func(s *torchpe.Scope, p Positions) Hooks {
		// Only the rows between the smallest and the largest index that occur are projected.
		places := pairs(p.Index, offsets.row)
		first, last := slices.Min(places), slices.Max(places)
		for i := range places {
			places[i] -= first
		}
		table := rows.In(s).Narrow(1, first, last-first+1) // [E,R,D]
		index := indexTensor(s, table.Device(), places, p.Tokens(), p.Tokens())
		projected := func(m linearMap, layer int) torchpe.Tensor { // [E,H,R,Dh]
			return splitRows(torchpe.Linear(table, m.w.In(s).Select(1, layer), m.b.In(s).Select(1, layer)), c.Heads)
		}
		return biasHooks{bias: func(a Attn) (bias torchpe.Tensor) {
			var keys, queries torchpe.Tensor
			if !own {
				q, k, _ := a.Project(table.Unsqueeze(1)) // [E,1,H,R,Dh]
				keys, queries = k.Squeeze(1), q.Squeeze(1)
			}
			if own && c2p {
				keys = projected(toKeys, a.Layer)
			}
			if own && p2c {
				queries = projected(toQueries, a.Layer)
			}
			if c2p {
				bias = gatherPairs(byHead(a.Q, keys), index).MulScalar(a.Scale)
			}
			if p2c {
				of := gatherPairs(byHead(a.K, queries), index.Transpose(0, 1)).Transpose(3, 4).MulScalar(a.Scale)
				if bias.Defined() {
					of = bias.Add(of)
				}
				bias = of
			}
			return bias
		}}
	}}, nil
}
