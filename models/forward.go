package models

import (
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Input is one batch.
type Input struct {
	Symbols torchpe.Tensor // int64 [E,B,N]
	Probe   torchpe.Tensor // int64 [E,B], the probe's token; used by ReadOut ProbeToken

	Values torchpe.Tensor // [E,B,N], for TokenInput Scalar in place of Symbols
	Masked torchpe.Tensor // [E,B,N], 1 where the token's value is hidden and 0 elsewhere
	Read   torchpe.Tensor // int64 [E,B,M], the tokens to predict; the zero Tensor for all

	// [E,B,N,D], added to the token embedding before any PE; the zero Tensor for none
	Noise torchpe.Tensor

	Positions pe.Positions
	Training  bool
}

// pass holds what the blocks of one forward pass share.
type pass struct {
	batch Input
	hooks pe.Hooks
	mask  torchpe.Tensor // [N,N], added to the logits; the zero Tensor for none
	// The distinct inputs of the first block, where sharesRows: one row for each symbol at each position.
	// Scalar has two rows at each position, hidden and visible; the value of a visible token is added.
	rows  torchpe.TokenRows
	trace *Trace
}

// rowsOf returns the rows that a layer's input was taken from: none but for the first layer.
func (p pass) rowsOf(layer int) torchpe.TokenRows {
	if layer > 0 {
		return torchpe.TokenRows{}
	}
	return p.rows
}

// shares reports whether a layer's input was taken from rows.
func (p pass) shares(layer int) bool { return p.rowsOf(layer).All.Defined() }

// Forward returns the logits [E,B,C] of a batch; with ReadTokens [E,B,M,C], or for one class the
// predicted values [E,B,M].
// trace keeps the intermediates that it asks for; it may be nil.
func (m *Model) Forward(s *torchpe.Scope, batch Input, trace *Trace) torchpe.Tensor {
	at := batch.Positions
	at.Training = at.Training || batch.Training
	p := pass{batch: batch, hooks: m.Encoding.Begin(s, at), trace: trace}
	if batch.Training && m.Config.PEDropout > 0 {
		dropped, ok := p.hooks.DropTables(m.Config.PEDropout)
		if !ok {
			panic(&torchpe.Error{Op: "PE dropout", Msg: m.Config.PE + " adds no learned table"})
		}
		p.hooks = dropped
	}
	x := m.input(s, &p)
	if m.attention.Causal {
		p.mask = pe.CausalMask(s, x, batch.Positions.Index)
	}
	for layer := range m.blocks {
		if batch.Training || trace != nil {
			x = m.block(s, layer, x, p)
			trace.keep(hiddenName(layer), x)
			continue
		}
		x = s.Do(func(c *torchpe.Scope) torchpe.Tensor { return m.block(c, layer, x.In(c), p) })
	}
	if !m.readsOnly(len(m.blocks)-1, p) {
		x = m.readOut(x, batch)
	}
	logits := torchpe.Linear(x, m.headW.In(s), m.headB.In(s))
	switch {
	case m.Config.ReadOut != ReadTokens:
		logits = logits.Squeeze(2)
	case m.Config.Classes == 1:
		logits = logits.Squeeze(3)
	}
	trace.keep("logits", logits)
	return logits
}

// input returns the tokens of a batch as x [E,B,N,D]. Where sharesRows, it sets p.rows, and x already
// includes what the encoding adds.
func (m *Model) input(s *torchpe.Scope, p *pass) torchpe.Tensor {
	if !m.sharesRows(*p) {
		x := m.embed(s, p.batch)
		if p.batch.Noise.Defined() {
			x = x.Add(p.batch.Noise.In(s))
		}
		p.trace.keep("embedding", x)
		return x
	}
	shape, kinds := p.batch.shape(), m.kinds()
	members, tokens := shape[0], shape[2]
	each := make([]int64, members*kinds*tokens)
	for i := range each {
		each[i] = int64(i / tokens % kinds)
	}
	all := Input{Symbols: torchpe.Of(s, m.Config.Device, each, members, kinds, tokens)}
	if m.Config.TokenInput == Scalar {
		hidden := p.batch.Masked.In(s)
		all.Masked = all.Symbols.To(m.Config.DType, m.Config.Device)
		all.Values = all.Masked.MulScalar(0)
		p.rows.Index = hidden.To(torchpe.Int64, m.Config.Device)
		p.rows.Values = p.batch.Values.In(s).Mul(seen(hidden))
		p.rows.Slope = m.embedW.In(s).Squeeze(2)
	} else {
		p.rows.Index = p.batch.Symbols.In(s)
	}
	p.rows.All = p.hooks.Embed(0, m.embed(s, all))
	return torchpe.TakeRows(p.rows)
}

// shape returns [E,B,N].
func (b Input) shape() []int {
	if b.Symbols.Defined() {
		return b.Symbols.Shape()
	}
	return b.Values.Shape()
}

// kinds returns the number of symbols; for Scalar 2, hidden and visible.
func (m *Model) kinds() int {
	if m.Config.TokenInput == Scalar {
		return 2
	}
	return m.Config.Symbols
}

// sharesRows reports whether projecting distinct rows is cheaper than projecting tokens: tokens with
// the same symbol and position have the same input to the first block. Only on the CPU, because a GPU
// waits for memory, not for products; and only in fp32, because tf32 and bf16 round the gradient of
// each token, not that of a row.
func (m *Model) sharesRows(p pass) bool {
	c, batch := m.Config, p.batch
	if c.Device != torchpe.CPU || torchpe.Precision() != "fp32" || p.trace != nil {
		return false
	}
	alike := m.Encoding.Sites()&pe.AtEmbed == 0 || p.hooks.AddsTable(0)
	drops := batch.Training && c.Dropout > 0
	return alike && !drops && !batch.Noise.Defined() && batch.shape()[1] >= 2*m.kinds()
}

// embed returns the tokens of a batch as x [E,B,N,D].
func (m *Model) embed(s *torchpe.Scope, batch Input) torchpe.Tensor {
	switch m.Config.TokenInput {
	case Scalar:
		return m.embedValues(s, batch.Values.In(s), batch.Masked.In(s))
	case OneHot:
		return torchpe.Linear(m.oneHot(s, batch.Symbols.In(s), 1), m.embedW.In(s), m.embedB.In(s))
	}
	weight := m.embedW.In(s).Transpose(1, 2).Contiguous()
	return torchpe.Linear(m.oneHot(s, batch.Symbols.In(s), 0), weight, torchpe.Tensor{})
}

// oneHot returns symbols [E,B,N] as one-hot vectors [E,B,N,S-first]; symbols below first are all zero.
// The vectors are rows of a table, which takes one kernel on a GPU instead of four.
func (m *Model) oneHot(s *torchpe.Scope, symbols torchpe.Tensor, first int) torchpe.Tensor {
	n, width := m.Config.Symbols, m.Config.Symbols-first
	rows := make([]float64, n*width)
	for i := range width {
		rows[(first+i)*width+i] = 1
	}
	table := torchpe.Of(s, torchpe.CPU, rows, n, width).To(m.Config.DType, m.Config.Device)
	return table.IndexSelect(0, symbols.Reshape(-1)).Reshape(append(symbols.Shape(), width)...)
}

// embedValues returns value * w + b for visible tokens and the mask token for masked ones, as one
// product: the columns of [w, b, mask token] weighted by (value, 1, 0) or (0, 0, 1).
func (m *Model) embedValues(s *torchpe.Scope, values, masked torchpe.Tensor) torchpe.Tensor {
	visible := seen(masked)
	channels := []torchpe.Tensor{values.Mul(visible), visible}
	columns := []torchpe.Tensor{m.embedW.In(s), m.embedB.In(s).Unsqueeze(-1)}
	if m.maskToken != nil {
		channels = append(channels, masked)
		columns = append(columns, m.maskToken.In(s).Unsqueeze(-1))
	}
	return torchpe.Linear(torchpe.Stack(-1, channels...), torchpe.Cat(-1, columns...),
		torchpe.Tensor{})
}

// seen returns 1 where masked is 0, and 0 where it is 1.
func seen(masked torchpe.Tensor) torchpe.Tensor { return masked.MulScalar(-1).AddScalar(1) }

// block returns the output of a layer for its input x [E,B,N,D]: [E,B,N,D], or only the tokens that
// are read, [E,B,M,D], where readsOnly.
func (m *Model) block(s *torchpe.Scope, layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	b := &m.blocks[layer]
	if !m.addedBefore(layer, p) && !p.shares(layer) {
		x = p.hooks.Embed(layer, x)
	}
	if table, ok := p.hooks.Table(layer); ok {
		p.trace.keep(peName(layer), table)
	}
	x = m.dropout(x, p.batch)
	norm := torchpe.Norm{Gain: b.norm1W.In(s), Bias: b.norm1B.In(s), Eps: layerNormEps}
	if b.outW != nil && m.Encoding.Sites()&^pe.AtEmbed == 0 && !m.usesWeights(layer, p) {
		a := torchpe.SelfAttention{
			QKVWeight: b.qkvW.In(s), QKVBias: optional(s, b.qkvB),
			OutWeight: b.outW.In(s), OutBias: optional(s, b.outB),
			Mask: p.mask, Rows: p.rowsOf(layer), Heads: m.Config.Heads, Scale: m.scale() / m.attention.Temperature,
		}
		if m.readsOnly(layer, p) {
			a.Read = m.readTokens(x, p.batch)
		}
		x = torchpe.AttentionBlock(x, a, norm)
	} else {
		a := m.attend(s, layer, x, p)
		if b.outW != nil {
			a = torchpe.Linear(a, b.outW.In(s), optional(s, b.outB))
		}
		x = torchpe.AddLayerNorm(m.readOnlyTokens(layer, x, p), a, norm)
	}
	norm = torchpe.Norm{Gain: b.norm2W.In(s), Bias: b.norm2B.In(s), Eps: layerNormEps}
	if m.addedBefore(layer+1, p) {
		norm.Table, _ = p.hooks.Table(layer + 1)
	}
	return torchpe.MLPBlock(x, torchpe.MLP{InWeight: b.mlpInW.In(s), InBias: b.mlpInB.In(s),
		OutWeight: b.mlpOutW.In(s), OutBias: b.mlpOutB.In(s)}, norm)
}

// addedBefore reports whether the previous block's layer norm adds this layer's PE table, which saves
// one pass over memory. It does not where its own result is traced.
func (m *Model) addedBefore(layer int, p pass) bool {
	return layer > 0 && layer < len(m.blocks) && p.hooks.AddsTable(layer) && !p.trace.wants(hiddenName(layer-1))
}

// optional returns a parameter as a tensor of s; the zero Tensor for none.
func optional(s *torchpe.Scope, p *torchpe.Param) torchpe.Tensor {
	if p == nil {
		return torchpe.Tensor{}
	}
	return p.In(s)
}

// scale returns the factor of q k^T.
func (m *Model) scale() float64 { return m.attention.LogitScale(m.Config.DModel / m.Config.Heads) }

// attend returns the merged heads [E,B,N,D] of one layer's attention, before the output projection;
// only the tokens that are read, [E,B,M,D], where readsOnly.
func (m *Model) attend(s *torchpe.Scope, layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	b, heads := &m.blocks[layer], m.Config.Heads
	attn := pe.Attn{Layer: layer, X: x, Scale: m.scale()}
	attn.Project = func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
		return torchpe.ProjectQKV(y, b.qkvW.In(s), optional(s, b.qkvB), heads)
	}
	if p.shares(layer) {
		attn.Q, attn.K, attn.V = torchpe.ProjectRows(p.rows, b.qkvW.In(s), optional(s, b.qkvB), heads)
	} else {
		attn.Q, attn.K, attn.V = attn.Project(x)
	}
	attn.Q, attn.K, attn.V = p.hooks.QKV(attn)
	q, k, v := attn.Q, attn.K, attn.V
	if bias, ok := m.fusedBias(attn, p); ok {
		scale := attn.Scale / m.attention.Temperature
		if !bias.Defined() && m.readsOnly(layer, p) { // a mask has a row for every query
			q = splitHeads(m.readOut(mergeHeads(q), p.batch), heads)
			return mergeHeads(torchpe.Attention(q, k, v, bias, scale))
		}
		return m.readOnlyTokens(layer, mergeHeads(torchpe.Attention(q, k, v, bias, scale)), p)
	}
	logits := p.hooks.Logits(attn, torchpe.AttentionLogits(q, k, attn.Scale))
	if m.attention.Temperature != 1 {
		logits = logits.MulScalar(1 / m.attention.Temperature)
	}
	if p.mask.Defined() {
		logits = logits.Add(p.mask)
	}
	weights := logits.Softmax(-1)
	p.trace.keep(attentionName(layer), weights)
	weights = m.dropout(weights, p.batch)
	out := p.hooks.Output(attn, weights, torchpe.AttentionValues(weights, v))
	return m.readOnlyTokens(layer, mergeHeads(out), p)
}

// fusedBias returns what is added to the logits of a layer's attention, or the zero Tensor for nothing.
// ok is false where the encoding, dropout or the trace needs logits or weights as tensors.
func (m *Model) fusedBias(a pe.Attn, p pass) (bias torchpe.Tensor, ok bool) {
	if m.usesWeights(a.Layer, p) {
		return torchpe.Tensor{}, false
	}
	switch m.Encoding.Sites() & (pe.AtLogits | pe.AtOutput) {
	case 0:
		return p.mask, true
	case pe.AtLogits:
		h, adds := p.hooks.(pe.Adding)
		if !adds || m.attention.Temperature != 1 || m.Config.Device != torchpe.CPU {
			return torchpe.Tensor{}, false
		}
		if bias = h.Bias(a); p.mask.Defined() {
			bias = bias.Add(p.mask)
		}
		return bias, true
	}
	return torchpe.Tensor{}, false
}

// usesWeights reports whether dropout or the trace uses the weights of a layer's attention.
func (m *Model) usesWeights(layer int, p pass) bool {
	return p.batch.Training && m.Config.Dropout > 0 || p.trace.wants(attentionName(layer))
}

// readsOnly reports whether a layer computes only the tokens that are read. The last layer does, unless
// its output is traced: after attention each token is computed alone.
func (m *Model) readsOnly(layer int, p pass) bool {
	return layer == len(m.blocks)-1 && !p.trace.wants(hiddenName(layer))
}

// readOnlyTokens returns the tokens of x [E,B,N,D] that a layer's output needs.
func (m *Model) readOnlyTokens(layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	if !m.readsOnly(layer, p) {
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

// readOut returns the tokens of x [E,B,N,D] that are read, [E,B,M,D]; M is 1 except for ReadTokens.
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

// readTokens returns the indices of the tokens of x [E,B,N,D] that are read, [E,B,M]; the zero
// Tensor for all.
func (m *Model) readTokens(x torchpe.Tensor, batch Input) torchpe.Tensor {
	s, shape := x.Scope(), x.Shape()
	switch m.Config.ReadOut {
	case LastToken:
		last := float64(shape[2] - 1)
		return torchpe.Full(s, last, torchpe.Int64, m.Config.Device, shape[0], shape[1], 1)
	case ProbeToken:
		return batch.Probe.In(s).Unsqueeze(-1)
	}
	if batch.Read.Defined() {
		return batch.Read.In(s)
	}
	return torchpe.Tensor{}
}
