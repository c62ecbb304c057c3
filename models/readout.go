package models

import (
	"torchpe/models/arch"
	"torchpe/torchpe"
)

// The tokens that are read from the last block.

// readOnlyTokens returns the tokens of x [E,B,N,D] that a layer's output needs.
func (m *Model) readOnlyTokens(layer int, x torchpe.Tensor, p pass) torchpe.Tensor {
	if !p.skip.layers[layer].readsOnly {
		return x
	}
	return m.readOut(x, p.batch)
}

// readOut returns the tokens of x [E,B,N,D] that are read, [E,B,M,D]; M is 1 except for ReadTokens.
func (m *Model) readOut(x torchpe.Tensor, batch Input) torchpe.Tensor {
	shape := x.Shape()
	if m.Config.ReadOut == arch.LastToken {
		return x.Narrow(2, shape[2]-1, 1)
	}
	index := m.readTokens(x, batch)
	if !index.Defined() {
		return x
	}
	return x.Gather(2, index.Unsqueeze(-1).Expand(shape[0], shape[1], index.Size(2), shape[3]))
}

// readTokens returns the indices [E,B,M] of the tokens of x [E,B,N,D] that are read, or the zero
// Tensor for all.
func (m *Model) readTokens(x torchpe.Tensor, batch Input) torchpe.Tensor {
	s, shape := x.Scope(), x.Shape()
	switch m.Config.ReadOut {
	case arch.LastToken:
		last := float64(shape[2] - 1)
		return torchpe.Full(s, last, torchpe.Int64, m.Config.Device, shape[0], shape[1], 1)
	case arch.ProbeToken:
		return batch.Probe.In(s).Unsqueeze(-1)
	}
	if batch.Read.Defined() {
		return batch.Read.In(s)
	}
	return torchpe.Tensor{}
}
