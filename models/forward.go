package models

import (
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Input is one batch.
type Input struct {
	Symbols torchpe.Tensor // int64 [E,B,N]
	Probe   torchpe.Tensor // int64 [E,B], the probe's token; used by ReadOut ProbeToken

	Values torchpe.Tensor // [E,B,N], for TokenInput Scalar, instead of Symbols
	Masked torchpe.Tensor // [E,B,N], 1 for masked tokens, else 0
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
	skip  shortcuts
	masks []torchpe.Tensor // [L] of [N,N], added to the logits; the zero Tensor for none
	// The distinct inputs of the first block, if rows are shared: one for each symbol at each position.
	// Scalar has two at each position, masked and visible; the value of a visible token is added.
	rows  torchpe.TokenRows
	trace *Trace
}

// rowsOf returns the rows from which a layer's input was taken. Only the first layer has some.
func (p pass) rowsOf(layer int) torchpe.TokenRows {
	if layer > 0 {
		return torchpe.TokenRows{}
	}
	return p.rows
}

// Forward returns the logits [E,B,C] of a batch; with ReadTokens [E,B,M,C], or for one class the
// predicted values [E,B,M]. trace, which may be nil, keeps the intermediates that it asks for.
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
	p.skip = m.shortcutsOf(p)
	x := m.input(s, &p)
	p.masks = m.masks(s, x, batch.Positions.Index)
	for layer := range m.blocks {
		if batch.Training || trace != nil {
			x = m.block(s, layer, x, p)
			trace.keep(hiddenName(layer), x)
			continue
		}
		x = s.Do(func(c *torchpe.Scope) torchpe.Tensor { return m.block(c, layer, x.In(c), p) })
	}
	if !p.skip.layers[len(m.blocks)-1].readsOnly {
		x = m.readOut(x, batch)
	}
	logits := torchpe.Linear(x, m.headW.In(s), m.headB.In(s))
	switch {
	case m.Config.ReadOut != arch.ReadTokens:
		logits = logits.Squeeze(2)
	case m.Config.Classes == 1:
		logits = logits.Squeeze(3)
	}
	trace.keep("logits", logits)
	return logits
}

// block returns the output of a layer for its input x [E,B,N,D]: [E,B,N,D], or [E,B,M,D] if it
// computes only the tokens that are read.
func (m *Model) block(s *torchpe.Scope, layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	b, skip := &m.blocks[layer], p.skip.layers[layer]
	if !skip.hasTable && !p.rowsOf(layer).All.Defined() {
		x = p.hooks.Embed(layer, x)
	}
	if table, ok := p.hooks.Table(layer); ok {
		p.trace.keep(peName(layer), table)
	}
	x = m.dropout(x, p.batch)
	norm := torchpe.Norm{Gain: b.norm1W.In(s), Bias: b.norm1B.In(s), Eps: layerNormEps}
	if skip.attention == fusedBlock {
		x = m.attentionBlock(s, layer, x, p, norm)
	} else {
		a := m.attend(s, layer, x, p)
		if b.outW != nil {
			a = torchpe.Linear(a, b.outW.In(s), b.outB.OrNone(s))
		}
		x = torchpe.AddLayerNorm(m.readOnlyTokens(layer, x, p), a, norm)
	}
	norm = torchpe.Norm{Gain: b.norm2W.In(s), Bias: b.norm2B.In(s), Eps: layerNormEps}
	if layer+1 < len(m.blocks) && p.skip.layers[layer+1].hasTable {
		norm.Table, _ = p.hooks.Table(layer + 1)
	}
	return torchpe.MLPBlock(x, torchpe.MLP{InWeight: b.mlpInW.In(s), InBias: b.mlpInB.In(s),
		OutWeight: b.mlpOutW.In(s), OutBias: b.mlpOutB.In(s)}, norm)
}

// attentionBlock returns the layer norm of the sum of x and its attention, with one operator.
func (m *Model) attentionBlock(s *torchpe.Scope, layer int, x torchpe.Tensor, p pass,
	norm torchpe.Norm) torchpe.Tensor {
	b, skip := &m.blocks[layer], p.skip.layers[layer]
	a := torchpe.SelfAttention{
		QKVWeight: b.qkvW.In(s), QKVBias: b.qkvB.OrNone(s),
		OutWeight: b.outW.In(s), OutBias: b.outB.OrNone(s),
		Mask: p.masks[layer], Rows: p.rowsOf(layer), Heads: m.Config.Heads,
		Scale: m.scale(layer) / m.attention[layer].Temperature, Folds: skip.folds,
	}
	if skip.readsOnly {
		a.Read = m.readTokens(x, p.batch)
	}
	return torchpe.AttentionBlock(x, a, norm)
}

// scale returns the factor of q k^T in a layer.
func (m *Model) scale(layer int) float64 {
	return m.attention[layer].LogitScale(m.Config.DModel / m.Config.Heads)
}

// masks returns each layer's addend of the logits, for tokens of x's type at these places.
func (m *Model) masks(s *torchpe.Scope, x torchpe.Tensor, index []int) []torchpe.Tensor {
	masks := make([]torchpe.Tensor, len(m.blocks))
	made := map[pe.Sight]torchpe.Tensor{}
	for layer := range masks {
		sight := m.sights[layer]
		if _, ok := made[sight]; !ok && sight != (pe.Sight{}) {
			made[sight] = sight.Mask(s, x, index)
		}
		masks[layer] = made[sight]
	}
	return masks
}

// attend returns the merged heads [E,B,N,D] of one layer's attention, before the output projection,
// or [E,B,M,D] if it computes only the tokens that are read.
func (m *Model) attend(s *torchpe.Scope, layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	b, heads := &m.blocks[layer], m.Config.Heads
	a := pe.Attn{Layer: layer, X: x, Scale: m.scale(layer)}
	a.Project = func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
		return torchpe.ProjectQKV(y, b.qkvW.In(s), b.qkvB.OrNone(s), heads)
	}
	if rows := p.rowsOf(layer); rows.All.Defined() {
		a.Q, a.K, a.V = torchpe.ProjectRows(rows, b.qkvW.In(s), b.qkvB.OrNone(s), heads)
	} else {
		a.Q, a.K, a.V = a.Project(x)
	}
	a.Q, a.K, a.V = p.hooks.QKV(a)
	if p.skip.layers[layer].attention == fused {
		return m.attendFused(a, p)
	}
	logits := p.hooks.Logits(a, torchpe.AttentionLogits(a.Q, a.K, a.Scale))
	if t := m.attention[layer].Temperature; t != 1 {
		logits = logits.MulScalar(1 / t)
	}
	if mask := p.masks[layer]; mask.Defined() {
		logits = logits.Add(mask)
	}
	weights := logits.Softmax(-1)
	p.trace.keep(attentionName(layer), weights)
	weights = m.dropout(weights, p.batch)
	out := p.hooks.Output(a, weights, torchpe.AttentionValues(weights, a.V))
	return m.readOnlyTokens(layer, mergeHeads(out), p)
}

// attendFused computes the same as attend without tensors of logits and weights.
func (m *Model) attendFused(a pe.Attn, p pass) torchpe.Tensor {
	mask := p.masks[a.Layer]
	bias, scale := mask, a.Scale/m.attention[a.Layer].Temperature
	if m.Encoding.Sites(a.Layer)&pe.AtLogits != 0 {
		if bias = p.hooks.(pe.Adding).Bias(a); mask.Defined() {
			bias = bias.Add(mask)
		}
	}
	if p.skip.layers[a.Layer].asksOnly {
		q := splitHeads(m.readOut(mergeHeads(a.Q), p.batch), m.Config.Heads)
		return mergeHeads(torchpe.Attention(q, a.K, a.V, bias, scale))
	}
	return m.readOnlyTokens(a.Layer, mergeHeads(torchpe.Attention(a.Q, a.K, a.V, bias, scale)), p)
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
