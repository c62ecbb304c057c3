// Package models holds the encoder transformer of the paper (FACTS 2.2): an ensemble of E independent members, in which
// every parameter and activation has a leading axis E and every linear map is one batched product.
//
// A block is, with post-layer-norm and GELU after both linear maps of the MLP:
//
//	x <- PE hook(x)
//	x <- LN(x + attention(x))
//	x <- LN(x + GELU(W2 GELU(W1 x + b1) + b2))
//
// The package knows no positional encoding by name. It may import torchpe and models/pe.
package models

import (
	"fmt"
	"math"
	"math/rand/v2"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Model is an ensemble with its parameters. Close it.
type Model struct {
	Config   Config
	Params   *torchpe.ParamSet
	Encoding pe.Encoding

	encodingSize   int // trained parameters of the encoding in a member
	encodingCols   int // columns of Params' buffer that they lie in, the first
	attention      pe.Attention
	embedW, embedB *torchpe.Param
	maskToken      *torchpe.Param // nil but for TokenInput Scalar with LearnedMask
	blocks         []block
	headW, headB   *torchpe.Param
}

// block holds the parameters of one layer.
type block struct {
	qkvW, qkvB, outW, outB           *torchpe.Param // qkvB, outW and outB are nil where the scheme has none
	norm1W, norm1B, norm2W, norm2B   *torchpe.Param
	mlpInW, mlpInB, mlpOutW, mlpOutB *torchpe.Param
}

// New builds the ensemble. Parameters of member e are drawn from streams of Seeds[e], by name.
func New(c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	scheme, err := pe.Find(c.PE)
	if err != nil {
		return nil, err
	}
	ps := torchpe.NewParamSet(len(c.Seeds), c.DType, c.Device)
	m := &Model{Config: c, Params: ps}
	m.Encoding, err = scheme.Build(pe.Config{
		Members: len(c.Seeds), Layers: c.Layers, Heads: c.Heads, DModel: c.DModel,
		Positions: c.Positions, Sigma: c.Sigma, Init: c.PEInit, Options: c.PEOptions,
	}, ps)
	if err != nil {
		return nil, err
	}
	if c.PEDropout > 0 && (!scheme.Learned || m.Encoding.Sites()&pe.AtEmbed == 0) {
		return nil, fmt.Errorf("--pe-dropout: %s adds no learned table", c.PE)
	}
	m.encodingSize, m.encodingCols = ps.Count(), ps.Columns()
	m.attention = m.Encoding.Attention()
	m.declare()
	if err := ps.Build(c.Seeds); err != nil {
		return nil, err
	}
	return m, nil
}

// EncodingSize is the number of trained parameters that a member's encoding has.
func (m *Model) EncodingSize() int { return m.encodingSize }

// EncodingColumns is how many of the first columns of Params' buffer [E,P] are the encoding's.
func (m *Model) EncodingColumns() int { return m.encodingCols }

// Close frees the parameters.
func (m *Model) Close() { m.Params.Close() }

// initially is how a weight starts: as init has it, times InitScale.
func (m *Model) initially(init torchpe.Init) torchpe.Init {
	by := m.Config.InitScale
	if by == 0 || by == 1 {
		return init
	}
	return func(member int, rng *rand.Rand, out []float64) {
		init(member, rng, out)
		for i := range out {
			out[i] *= by
		}
	}
}

// declare adds all parameters but the encoding's, with PyTorch's default initial values times InitScale.
func (m *Model) declare() {
	c, ps := m.Config, m.Params
	d, ff := c.DModel, c.FFMultiple*c.DModel
	linear := func(name string, out, in int) (w, b *torchpe.Param) {
		start := m.initially(torchpe.FanIn(in))
		w = ps.Add(name+".weight", true, start, out, in)
		return w, ps.Add(name+".bias", true, start, out)
	}
	norm := func(name string) (w, b *torchpe.Param) {
		return ps.Add(name+".weight", true, torchpe.Constant(1), d), ps.Add(name+".bias", true, torchpe.Constant(0), d)
	}
	channels := c.Symbols - 1
	switch c.TokenInput {
	case OneHot:
		m.embedW, m.embedB = linear("embed", d, channels)
	case Scalar:
		m.embedW, m.embedB = linear("embed", d, 1)
		if c.MaskToken == LearnedMask {
			m.maskToken = ps.Add("embed.mask", true, m.initially(torchpe.Normal(0, c.MaskSD)), d)
		}
	case Embedding:
		start := torchpe.FanIn(channels)
		if c.EmbeddingInit == UnitNormal {
			start = torchpe.Normal(0, 1)
		}
		m.embedW = ps.Add("embed.weight", true, m.initially(start), c.Symbols, d)
	}
	m.blocks = make([]block, c.Layers)
	for i := range m.blocks {
		b, name := &m.blocks[i], fmt.Sprintf("block%d.", i)
		m.declareAttention(b, name)
		b.norm1W, b.norm1B = norm(name + "norm1")
		b.mlpInW, b.mlpInB = linear(name+"mlp.in", ff, d)
		b.mlpOutW, b.mlpOutB = linear(name+"mlp.out", d, ff)
		b.norm2W, b.norm2B = norm(name + "norm2")
	}
	m.headW, m.headB = linear("head", c.Classes, d)
}

// declareAttention adds the projections of one layer: Xavier with zero biases as in torch.nn.MultiheadAttention, or as a
// plain linear map, as the scheme asks.
func (m *Model) declareAttention(b *block, name string) {
	ps, d, a := m.Params, m.Config.DModel, m.attention
	in, bias := torchpe.Xavier(d, 3*d), torchpe.Constant(0)
	if a.LinearInit {
		in, bias = torchpe.FanIn(d), torchpe.FanIn(d)
	}
	b.qkvW = ps.Add(name+"attn.in.weight", true, m.initially(in), 3*d, d)
	if a.Bias {
		b.qkvB = ps.Add(name+"attn.in.bias", true, m.initially(bias), 3*d)
	}
	if !a.OutputProjection {
		return
	}
	b.outW = ps.Add(name+"attn.out.weight", true, m.initially(torchpe.FanIn(d)), d, d)
	if a.Bias {
		b.outB = ps.Add(name+"attn.out.bias", true, m.initially(bias), d)
	}
}

// Input is one batch.
type Input struct {
	Symbols torchpe.Tensor // int64 [E,B,N]
	Probe   torchpe.Tensor // int64 [E,B], the probe's token; used by ReadOut ProbeToken

	Values torchpe.Tensor // [E,B,N], for TokenInput Scalar in place of Symbols
	Masked torchpe.Tensor // [E,B,N], 1 where the token's value is hidden and 0 elsewhere
	Read   torchpe.Tensor // int64 [E,B,M], the tokens to predict; the zero Tensor for all

	Noise torchpe.Tensor // [E,B,N,D], added to the token embedding before any PE; the zero Tensor for none

	Positions pe.Positions
	Training  bool
}

// in returns a parameter as a tensor of s; the zero Tensor for none.
func in(s *torchpe.Scope, p *torchpe.Param) torchpe.Tensor {
	if p == nil {
		return torchpe.Tensor{}
	}
	return p.In(s)
}

// Forward returns the logits [E,B,C] of a batch, or with ReadTokens the predicted values [E,B,M]. trace may be nil, or ask
// for intermediates by name.
func (m *Model) Forward(s *torchpe.Scope, batch Input, trace *Trace) torchpe.Tensor {
	x := m.embed(s, batch)
	if batch.Noise.Defined() {
		x = x.Add(batch.Noise.In(s))
	}
	trace.keep("embedding", x)
	hooks := m.Encoding.Begin(s, batch.Positions)
	if batch.Training && m.Config.PEDropout > 0 {
		dropped, ok := pe.DropTables(hooks, m.Config.PEDropout)
		if !ok {
			panic(&torchpe.Error{Op: "PE dropout", Msg: m.Config.PE + " adds no learned table"})
		}
		hooks = dropped
	}
	mask := m.mask(s, batch.Positions)
	last := len(m.blocks) - 1
	whole := trace.wants(hiddenName(last)) // all tokens of the last block are asked for
	for layer := range m.blocks {
		x = m.block(s, layer, x, hooks, pass{batch: batch, mask: mask, trace: trace, only: layer == last && !whole})
		trace.keep(hiddenName(layer), x)
	}
	if whole {
		x = m.readOut(x, batch)
	}
	logits := torchpe.Linear(x, m.headW.In(s), m.headB.In(s))
	if m.Config.ReadOut == ReadTokens {
		logits = logits.Squeeze(3)
	} else {
		logits = logits.Squeeze(2)
	}
	trace.keep("logits", logits)
	return logits
}

// embed returns the tokens of a batch as x [E,B,N,D].
func (m *Model) embed(s *torchpe.Scope, batch Input) torchpe.Tensor {
	c := m.Config
	if c.TokenInput == Scalar {
		return m.embedValues(s, batch.Values.In(s), batch.Masked.In(s))
	}
	if c.TokenInput == OneHot {
		return torchpe.Linear(m.channels(s, batch.Symbols.In(s), 1), m.embedW.In(s), m.embedB.In(s))
	}
	return torchpe.Linear(m.channels(s, batch.Symbols.In(s), 0), m.embedW.In(s).Transpose(1, 2).Contiguous(), torchpe.Tensor{})
}

// channels returns symbols [E,B,N] as one-hot vectors [E,B,N,S-first] of those from first on; the ones before are all zero. They are rows of
// a table: one kernel on a GPU, where OneHot and a copy of its columns are four.
func (m *Model) channels(s *torchpe.Scope, symbols torchpe.Tensor, first int) torchpe.Tensor {
	n, width := m.Config.Symbols, m.Config.Symbols-first
	rows := make([]float64, n*width)
	for i := range width {
		rows[(first+i)*width+i] = 1
	}
	table := torchpe.Of(s, torchpe.CPU, rows, n, width).To(m.Config.DType, m.Config.Device)
	return table.IndexSelect(0, symbols.Reshape(-1)).Reshape(append(symbols.Shape(), width)...)
}

// embedValues returns value * w + b for tokens that are seen and the mask token for those that are masked, as one product:
// the columns of [w, b, mask token] weighted by (value, 1, 0) or (0, 0, 1).
func (m *Model) embedValues(s *torchpe.Scope, values, masked torchpe.Tensor) torchpe.Tensor {
	seen := masked.MulScalar(-1).AddScalar(1)
	channels := []torchpe.Tensor{values.Mul(seen), seen}
	columns := []torchpe.Tensor{m.embedW.In(s), m.embedB.In(s).Unsqueeze(-1)}
	if m.maskToken != nil {
		channels, columns = append(channels, masked), append(columns, m.maskToken.In(s).Unsqueeze(-1))
	}
	return torchpe.Linear(torchpe.Stack(-1, channels...), torchpe.Cat(-1, columns...), torchpe.Tensor{})
}

// pass is what the blocks of one forward pass share.
type pass struct {
	batch Input
	mask  torchpe.Tensor
	trace *Trace
	only  bool // only the tokens that are read are needed of this block's output
}

func (m *Model) block(s *torchpe.Scope, layer int, x torchpe.Tensor, hooks pe.Hooks, p pass) torchpe.Tensor {
	b := &m.blocks[layer]
	x = hooks.Embed(layer, x)
	if table, ok := hooks.Table(layer); ok {
		p.trace.keep(peName(layer), table)
	}
	x = m.dropout(x, p.batch)
	norm := torchpe.Norm{Gain: b.norm1W.In(s), Bias: b.norm1B.In(s), Eps: layerNormEps}
	if b.outW != nil && m.Encoding.Sites()&^pe.AtEmbed == 0 && m.unseen(layer, p) {
		a := torchpe.SelfAttention{
			QKVWeight: b.qkvW.In(s), QKVBias: in(s, b.qkvB), OutWeight: b.outW.In(s), OutBias: in(s, b.outB),
			Mask: p.mask, Heads: m.Config.Heads, Scale: m.scale() / m.attention.Temperature,
		}
		if p.only {
			a.Read = m.readTokens(x, p.batch)
		}
		x = torchpe.AttentionBlock(x, a, norm)
	} else {
		a := m.attend(s, layer, x, hooks, p)
		if p.only { // all that follows acts on each token alone
			x = m.readOut(x, p.batch)
		}
		if b.outW != nil {
			a = torchpe.Linear(a, b.outW.In(s), in(s, b.outB))
		}
		x = torchpe.AddLayerNorm(x, a, norm)
	}
	norm = torchpe.Norm{Gain: b.norm2W.In(s), Bias: b.norm2B.In(s), Eps: layerNormEps}
	return torchpe.MLPBlock(x, b.mlpInW.In(s), b.mlpInB.In(s), b.mlpOutW.In(s), b.mlpOutB.In(s), norm)
}

// scale is what q k^T is multiplied by.
func (m *Model) scale() float64 { return m.attention.LogitScale(m.Config.DModel / m.Config.Heads) }

// attend returns the merged heads [E,B,N,D] of one layer's attention, before the output projection; with p.only those of the
// tokens that are read.
func (m *Model) attend(s *torchpe.Scope, layer int, x torchpe.Tensor, hooks pe.Hooks, p pass) torchpe.Tensor {
	b, c := &m.blocks[layer], m.Config
	project := func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
		return torchpe.ProjectQKV(y, b.qkvW.In(s), in(s, b.qkvB), c.Heads)
	}
	scale := m.scale()
	attn := pe.Attn{Layer: layer, X: x, Scale: scale, Project: project}
	attn.Q, attn.K, attn.V = project(x)
	attn.Q, attn.K, attn.V = hooks.QKV(attn)
	q, k, v := attn.Q, attn.K, attn.V
	if m.unseen(layer, p) {
		if p.only && !p.mask.Defined() { // the others ask in vain
			q = splitHeads(m.readOut(mergeHeads(q), p.batch), c.Heads)
			return mergeHeads(torchpe.Attention(q, k, v, torchpe.Tensor{}, scale/m.attention.Temperature))
		}
		return m.onlyRead(mergeHeads(torchpe.Attention(q, k, v, p.mask, scale/m.attention.Temperature)), p)
	}
	logits := hooks.Logits(attn, torchpe.AttentionLogits(q, k, scale))
	if m.attention.Temperature != 1 {
		logits = logits.MulScalar(1 / m.attention.Temperature)
	}
	if p.mask.Defined() {
		logits = logits.Add(p.mask)
	}
	weights := logits.Softmax(-1)
	p.trace.keep(attentionName(layer), weights)
	weights = m.dropout(weights, p.batch)
	out := hooks.Output(attn, weights, torchpe.AttentionValues(weights, v))
	return m.onlyRead(mergeHeads(out), p)
}

// unseen says whether nobody sees the logits and weights of a layer's attention: neither the encoding nor dropout nor the
// trace. They are not computed as tensors then.
func (m *Model) unseen(layer int, p pass) bool {
	acts := m.Encoding.Sites()&(pe.AtLogits|pe.AtOutput) != 0
	drops := p.batch.Training && m.Config.Dropout > 0
	return !acts && !drops && !p.trace.wants(attentionName(layer))
}

// onlyRead returns the tokens of x [E,B,N,D] that the rest of the block needs.
func (m *Model) onlyRead(x torchpe.Tensor, p pass) torchpe.Tensor {
	if !p.only {
		return x
	}
	return m.readOut(x, p.batch)
}

// mergeHeads returns x [E,B,H,N,Dh] as [E,B,N,D].
func mergeHeads(x torchpe.Tensor) torchpe.Tensor {
	n := x.Shape()
	return x.Permute(0, 1, 3, 2, 4).Reshape(n[0], n[1], n[3], n[2]*n[4])
}

// splitHeads returns x [E,B,N,D] as [E,B,H,N,Dh].
func splitHeads(x torchpe.Tensor, heads int) torchpe.Tensor {
	n := x.Shape()
	return x.Reshape(n[0], n[1], n[2], heads, n[3]/heads).Permute(0, 1, 3, 2, 4)
}

func (m *Model) dropout(x torchpe.Tensor, batch Input) torchpe.Tensor {
	if !batch.Training {
		return x
	}
	return x.Dropout(m.Config.Dropout)
}

// readOut returns the tokens of x [E,B,N,D] that are read, as [E,B,M,D]; M is 1 but for ReadTokens.
func (m *Model) readOut(x torchpe.Tensor, batch Input) torchpe.Tensor {
	shape := x.Shape()
	if m.Config.ReadOut == LastToken {
		return x.Narrow(2, shape[2]-1, 1)
	}
	index := m.readTokens(x, batch)
	if !index.Defined() {
		return x
	}
	return x.Gather(2, index.Unsqueeze(-1).Expand(shape[0], shape[1], index.Size(2), shape[3]))
}

// readTokens returns which tokens of x [E,B,N,D] are read, as [E,B,M]; the zero Tensor for all.
func (m *Model) readTokens(x torchpe.Tensor, batch Input) torchpe.Tensor {
	s, shape := x.Scope(), x.Shape()
	switch m.Config.ReadOut {
	case LastToken:
		return torchpe.Full(s, float64(shape[2]-1), torchpe.Int64, m.Config.Device, shape[0], shape[1], 1)
	case ProbeToken:
		return batch.Probe.In(s).Unsqueeze(-1)
	case ReadTokens:
		if batch.Read.Defined() {
			return batch.Read.In(s)
		}
	}
	return torchpe.Tensor{}
}

// mask returns what is added to the logits [E,B,H,N,N] so that tokens see no later position; the zero Tensor for nothing.
func (m *Model) mask(s *torchpe.Scope, p pe.Positions) torchpe.Tensor {
	if !m.attention.Causal {
		return torchpe.Tensor{}
	}
	n := p.Tokens()
	values := make([]float64, 0, n*n)
	for _, i := range p.Index {
		for _, j := range p.Index {
			v := 0.0
			if j > i {
				v = math.Inf(-1)
			}
			values = append(values, v)
		}
	}
	return torchpe.Of(s, torchpe.CPU, values, n, n).To(m.Config.DType, m.Config.Device)
}
