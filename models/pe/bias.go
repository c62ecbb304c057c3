// Biases of the logits, and values of pairs of tokens.

package pe

import (
	"math"

	"torchpe/torchpe"
)

// biasHooks add a bias to the logits.
type biasHooks struct {
	Identity
	bias func(a Attn) torchpe.Tensor // broadcasts to the logits [E,B,H,N,N]
}

// layerBias returns hooks that add a table [E,T,H,N,N]: T = 1 if all layers share it, else one
// table per layer.
func layerBias(tables torchpe.Tensor) biasHooks {
	return biasHooks{bias: func(a Attn) torchpe.Tensor { return layerOf(tables, a.Layer) }}
}

func (h biasHooks) Bias(a Attn) torchpe.Tensor { return h.bias(a) }

func (h biasHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor { return logits.Add(h.Bias(a)) }

// layerOf returns the part of tables [E,T,...] for a layer as [E,1,...], which broadcasts over the batch.
func layerOf(tables torchpe.Tensor, layer int) torchpe.Tensor {
	return tables.Narrow(1, min(layer, tables.Size(1)-1), 1)
}

// perHead reshapes numbers of each head [E,H] to [E,1,H,1,1].
func perHead(x torchpe.Tensor) torchpe.Tensor { return x.Reshape(x.Size(0), 1, x.Size(1), 1, 1) }

// distance returns the distance of the key's place j from the query's i: |i-j|, or with a causal
// mask 0 for the keys that it hides.
func distance(causal bool) func(i, j int) float64 {
	return func(i, j int) float64 {
		if causal {
			return float64(max(i-j, 0))
		}
		return math.Abs(float64(i - j))
	}
}

// attentionWithMask returns plain attention, with a causal mask or without.
func attentionWithMask(causal bool) Attention {
	a := PlainAttention
	a.Causal = causal
	return a
}

// attentionWithScale returns plain attention with logits scale q k^T; 0 stands for 1/sqrt(Dh).
func attentionWithScale(scale float64) Attention {
	a := PlainAttention
	a.Scale = scale
	return a
}

// Sight says which keys a query sees, by their places on the line.
type Sight struct {
	Causal bool // no key after its own place
	Window int  // only places less than this away; 0 for all
}

// Mask returns the addend of logits, [N,N] of like's dtype on its device: 0 if the token at the
// place index[i] sees the one at index[j], else -inf.
func (t Sight) Mask(s *torchpe.Scope, like torchpe.Tensor, index []int) torchpe.Tensor {
	return pairTensor(s, like, index, func(i, j int) float64 {
		isFar := t.Window > 0 && max(i-j, j-i) >= t.Window
		if isFar || t.Causal && j > i {
			return math.Inf(-1)
		}
		return 0
	})
}

// pairs returns f(i, j) for the place i of each query and the place j of each key, row by row [N*N].
func pairs[P, T any](index []P, f func(i, j P) T) []T {
	all := make([]T, 0, len(index)*len(index))
	for _, i := range index {
		for _, j := range index {
			all = append(all, f(i, j))
		}
	}
	return all
}

// pairTensor returns f(i, j) as pairs does, as a tensor [N,N] of like's dtype on its device.
func pairTensor(s *torchpe.Scope, like torchpe.Tensor, index []int,
	f func(i, j int) float64) torchpe.Tensor {
	return numbers(s, like, pairs(index, f), len(index), len(index))
}

// pairIndex returns f(i, j) as pairs does, as an index tensor [N,N] on like's device.
func pairIndex(s *torchpe.Scope, like torchpe.Tensor, index []int,
	f func(i, j int) int) torchpe.Tensor {
	return indexTensor(s, like.Device(), pairs(index, f), len(index), len(index))
}

// numbers returns a tensor of values with like's dtype and device.
func numbers(s *torchpe.Scope, like torchpe.Tensor, values []float64, shape ...int) torchpe.Tensor {
	return torchpe.Of(s, torchpe.CPU, values, shape...).To(like.DType(), like.Device())
}

// places returns the places of tokens as numbers [N,1].
func places(s *torchpe.Scope, like torchpe.Tensor, index []int) torchpe.Tensor {
	values := make([]float64, len(index))
	for i, at := range index {
		values[i] = float64(at)
	}
	return numbers(s, like, values, len(index), 1)
}

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// biasOf returns rows of tables [E,T,R,H] as biases [E,T,H,N,N]; index [N*N] is the row of each
// pair of tokens.
func biasOf(s *torchpe.Scope, tables torchpe.Tensor, index []int, n int) torchpe.Tensor {
	shape := tables.Shape()
	at := indexTensor(s, tables.Device(), index, n*n)
	rows := tables.Transpose(2, 3).Contiguous().IndexSelect(3, at) // [E,T,H,N*N]
	return rows.Reshape(shape[0], shape[1], shape[3], n, n)
}

// gatherPairs picks numbers of the last axis of x [E,B,H,N,R] by index [N,N]: [E,B,H,N,N].
func gatherPairs(x, index torchpe.Tensor) torchpe.Tensor {
	shape := x.Shape()
	return x.Gather(-1, index.Expand(shape[0], shape[1], shape[2], shape[3], index.Size(1)))
}

// byHead returns x table^T for each head: x [E,B,H,N,Dh], table [E,H,R,Dh] -> [E,B,H,N,R].
func byHead(x, table torchpe.Tensor) torchpe.Tensor {
	e, b, h, n, dh := x.Size(0), x.Size(1), x.Size(2), x.Size(3), x.Size(4)
	rows := x.Permute(0, 2, 1, 3, 4).Reshape(e, h, b*n, dh).MatMul(table.Transpose(2, 3))
	return rows.Reshape(e, h, b, n, table.Size(2)).Permute(0, 2, 1, 3, 4)
}

// splitRows splits vectors [E,R,D] into heads [E,H,R,Dh].
func splitRows(rows torchpe.Tensor, heads int) torchpe.Tensor {
	e, r, d := rows.Size(0), rows.Size(1), rows.Size(2)
	return rows.Reshape(e, r, heads, d/heads).Transpose(1, 2)
}
