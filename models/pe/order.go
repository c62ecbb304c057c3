package pe

import (
	"slices"

	"torchpe/torchpe"
)

// order sorts tokens by their places.
type order struct {
	// [N] tokens by place, and where each is in that order; zero Tensors where they are in order
	from, at torchpe.Tensor
}

func orderOf(s *torchpe.Scope, dev torchpe.Device, index []int) order {
	if slices.IsSorted(index) {
		return order{}
	}
	n := len(index)
	from, at := make([]int, n), make([]int, n)
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(a, b int) int { return index[a] - index[b] })
	for i, token := range from {
		at[token] = i
	}
	return order{indexTensor(s, dev, from, n), indexTensor(s, dev, at, n)}
}

// sorted returns x with axis dim, of tokens, in the order of their places.
func (o order) sorted(x torchpe.Tensor, dim int) torchpe.Tensor {
	if !o.from.Defined() {
		return x
	}
	return x.IndexSelect(dim, o.from)
}

// back undoes sorted.
func (o order) back(x torchpe.Tensor, dim int) torchpe.Tensor {
	if !o.at.Defined() {
		return x
	}
	return x.IndexSelect(dim, o.at)
}
