package pe

import (
	"math/rand/v2"

	"torchpe/torchpe"
)

// tableHooks add rows of a table to the input of blocks: what all absolute encodings have in common.
type tableHooks struct {
	Identity
	tables  torchpe.Tensor // [E,T,N,D]: T = 1, or one for each layer
	each    bool           // one table for each layer; else one, for the first
	shared  bool           // with each: all layers add the one table
	dropout float64        // on the sum, also at evaluation

	rows []torchpe.Tensor // the tables [E,N,D], since the first was asked for
}

func (h *tableHooks) Table(layer int) (torchpe.Tensor, bool) {
	if layer > 0 && !h.each {
		return torchpe.Tensor{}, false
	}
	if h.shared {
		layer = 0
	}
	if h.rows == nil {
		h.rows = h.tables.Unbind(1)
	}
	return h.rows[layer], true
}

func (h *tableHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	t, ok := h.Table(layer)
	if !ok {
		return x
	}
	return x.Add(t.Unsqueeze(1)).Dropout(h.dropout) // [E,1,N,D] over the batch
}

// computed is the Init of a table that is not drawn: f returns its elements in row-major order.
func computed(f func(i int) float64) torchpe.Init {
	return func(_ int, _ *rand.Rand, out []float64) {
		for i := range out {
			out[i] = f(i)
		}
	}
}
