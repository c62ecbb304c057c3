// What schemes that add numbers to the logits have in common.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

// biasHooks add a bias to the logits.
type biasHooks struct {
	Identity
	bias torchpe.Tensor // [E,T,H,N,N]: T = 1 where all layers share it, else one for each
}

func (h biasHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(layerOf(h.bias, a.Layer))
}

// layerOf returns what tables [E,T,...] hold for a layer, as [E,1,...] over the batch.
func layerOf(tables torchpe.Tensor, layer int) torchpe.Tensor {
	return tables.Narrow(1, min(layer, tables.Size(1)-1), 1)
}

// pairs returns f(i, j) for the place i of each query and the place j of each key, row after row [N*N].
func pairs[P, T any](index []P, f func(i, j P) T) []T {
	all := make([]T, 0, len(index)*len(index))
	for _, i := range index {
		for _, j := range index {
			all = append(all, f(i, j))
		}
	}
	return all
}

// pairTensor is pairs as numbers [N,N] of like's dtype, on its device.
func pairTensor(s *torchpe.Scope, like torchpe.Tensor, index []int, f func(i, j int) float64) torchpe.Tensor {
	return numbers(s, like, pairs(index, f), len(index), len(index))
}

// numbers is a tensor of like's dtype, on its device.
func numbers(s *torchpe.Scope, like torchpe.Tensor, values []float64, shape ...int) torchpe.Tensor {
	return torchpe.Of(s, torchpe.CPU, values, shape...).To(like.DType(), like.Device())
}

// oneIf is 1 where something is so, else 0.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// biasOf returns the rows of tables [E,T,R,H] that index [N*N] names for each pair of tokens, as biases [E,T,H,N,N].
func biasOf(s *torchpe.Scope, tables torchpe.Tensor, index []int, n int) torchpe.Tensor {
	shape := tables.Shape()
	rows := tables.Transpose(2, 3).Contiguous().IndexSelect(3, indexTensor(s, tables.Device(), index, n*n)) // [E,T,H,N*N]
	return rows.Reshape(shape[0], shape[1], shape[3], n, n)
}

// gatherPairs returns, for numbers x [E,B,H,N,R] of each query, those at the places index [N,N] of the last axis: [E,B,H,N,N].
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

// asked returns plain attention, with a causal mask or without.
func asked(causal bool) Attention {
	a := PlainAttention
	a.Causal = causal
	return a
}

// window is the grid that a table of offsets in two dimensions was built for.
type window struct{ rows, columns int }

func windowOf(p Positions) window {
	rows, columns := p.extent()
	return window{rows, columns}
}

// offsets is the number of different offsets between two cells.
func (w window) offsets() int { return (2*w.rows - 1) * (2*w.columns - 1) }

// row is the place of the offset from key to query among all, row after row.
func (w window) row(query, key [2]int) int {
	return (query[0]-key[0]+w.rows-1)*(2*w.columns-1) + query[1] - key[1] + w.columns - 1
}

// check panics with an *Error where a token lies on no cell, or on one outside.
func (w window) check(scheme string, p Positions) {
	if p.Cells == nil {
		panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("it needs tokens on a grid, and they lie on %v", p)})
	}
	for i, cell := range p.Cells {
		if cell[0] < 0 || cell[0] >= w.rows || cell[1] < 0 || cell[1] >= w.columns {
			panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("token %d lies on cell %v; the encoding was built for a grid of %d x %d", i, cell, w.rows, w.columns)})
		}
	}
}
