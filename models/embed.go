package models

import (
	"torchpe/models/arch"
	"torchpe/torchpe"
)

// The input of the first block.

// input returns the tokens of a batch as x [E,B,N,D]. If the pass shares rows, it sets p.rows, and
// x already includes what the encoding adds.
func (m *Model) input(s *torchpe.Scope, p *pass) torchpe.Tensor {
	if !p.skip.sharesRows {
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
	if m.Config.TokenInput == arch.Scalar {
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

// kinds returns the number of symbols, or for Scalar 2: masked and visible.
func (m *Model) kinds() int {
	if m.Config.TokenInput == arch.Scalar {
		return 2
	}
	return m.Config.Symbols
}

// embed returns the tokens of a batch as x [E,B,N,D].
func (m *Model) embed(s *torchpe.Scope, batch Input) torchpe.Tensor {
	switch m.Config.TokenInput {
	case arch.Scalar:
		return m.embedValues(s, batch.Values.In(s), batch.Masked.In(s))
	case arch.OneHot:
		return torchpe.Linear(m.oneHot(s, batch.Symbols.In(s), 1), m.embedW.In(s), m.embedB.In(s))
	}
	weight := m.embedW.In(s).Transpose(1, 2).Contiguous()
	return torchpe.Linear(m.oneHot(s, batch.Symbols.In(s), 0), weight, torchpe.Tensor{})
}

// oneHot returns symbols [E,B,N] as one-hot vectors [E,B,N,S-first]; symbols below first are all
// zero. The vectors are rows of a table, which needs one kernel on a GPU instead of four.
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
	return torchpe.Linear(torchpe.Stack(-1, channels...), torchpe.Cat(-1, columns...), torchpe.Tensor{})
}

// seen returns 1 - masked.
func seen(masked torchpe.Tensor) torchpe.Tensor { return masked.MulScalar(-1).AddScalar(1) }
