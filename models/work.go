package models

import (
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Work holds the least that a training step computes and moves.
type Work struct {
	Operations float64 // of products, two a multiplication
	Bytes      float64 // read from memory and written, caches left out
}

// StepWork returns the work of a training step of all members on the CPU, by the shape of the model:
// batch samples of so many tokens, `read` of them predicted. It leaves out what an encoding computes
// between the maps, and always counts Adam as the optimizer.
func (m *Model) StepWork(s *torchpe.Scope, batch, tokens, read int) Work {
	c := m.Config
	D, F := float64(c.DModel), float64(c.DModel*c.FFMultiple)
	all, asked := float64(batch*tokens), float64(batch*read)
	// Of each weight the value is read twice, the gradient is read and written; then Adam reads the
	// gradient, and reads and writes the weight and two moments.
	numbers := 11 * float64(m.Params.Count())
	embedded, mapped := all, all // rows that are embedded, and mapped in the first block
	skip := m.shortcutsOf(m.emptyPass(s, batch, tokens))
	if skip.sharesRows {
		embedded = float64(m.kinds() * tokens)
		mapped = embedded
		if c.TokenInput == arch.Scalar {
			mapped++ // the slope of values
		}
		numbers += 8 * all * D // tokens are copied from rows as x, q, k and v, and gradients added to rows
	}
	products := asked * D * float64(c.Classes) // multiplications of the forward pass
	for layer := range c.Layers {
		// Rows that are mapped to queries, rows that are mapped to keys and values, tokens that attend,
		// and tokens after that.
		queries, keys, attend, out := all, all, all, all
		attention, sites := m.attention[layer], m.Encoding.Sites(layer)
		form, folds := skip.layers[layer].attention, skip.layers[layer].folds
		if layer == 0 {
			queries, keys = mapped, mapped
		}
		if layer == c.Layers-1 {
			out = asked
			if form != byWeights && sites&pe.AtLogits == 0 && m.sights[layer] == (pe.Sight{}) {
				attend = asked
			}
			if attend == asked && form == fusedBlock {
				queries = asked
			}
		}
		maps := queries + 2*keys // each of D^2 multiplications
		switch {
		case folds && layer == 0 && attend == all:
			maps = queries + keys + 2*D
		case folds: // queries to keys in one map, values to the output in another
			maps = queries + out + 2*D
		case attention.OutputProjection:
			maps += out
		}
		products += maps*D*D + 2*attend*float64(tokens)*D + 2*out*D*F
		// A row of a map is read twice, its result is written and its gradient read twice, and the
		// input's gradient is written. Attention passes over queries, keys, values and results three
		// times, and keeps its weights. The MLP keeps its hidden layer and both slopes, each layer norm
		// its rows.
		numbers += 6*maps*D + 6*(attend+all)*D + 2*attend*float64(tokens*c.Heads) + out*(13*D+4*F)
	}
	// Two products of the backward pass follow each one; the embedding's input has no gradient.
	operations := 6*products + 4*embedded*D*float64(m.channels())
	bytes := 4.0
	if c.DType == torchpe.Float64 {
		bytes = 8
	}
	members := float64(len(c.Seeds))
	return Work{members * operations, members * numbers * bytes}
}

// emptyPass returns a pass over a training batch without content.
func (m *Model) emptyPass(s *torchpe.Scope, batch, tokens int) pass {
	p := pass{hooks: pe.Identity{}, batch: Input{Training: true,
		Symbols: torchpe.Full(s, 0, torchpe.Int64, torchpe.CPU, 1, batch, tokens)}}
	if m.Encoding.Draw().Range == 0 {
		p.hooks = m.Encoding.Begin(s, m.Config.Positions)
	}
	return p
}

// channels returns the width of what is mapped to a token's embedding.
func (m *Model) channels() int {
	switch {
	case m.Config.TokenInput == arch.OneHot:
		return m.Config.Symbols - 1
	case m.Config.TokenInput == arch.Embedding:
		return m.Config.Symbols
	case m.maskToken != nil:
		return 3 // a value, whether it is visible, whether it is masked
	}
	return 2
}
