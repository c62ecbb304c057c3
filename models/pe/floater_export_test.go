package pe

import "torchpe/torchpe"

// FlowBiases returns the biases [E,3,L,H,N,Dh] of floater's hooks.
func FlowBiases(h Hooks) torchpe.Tensor { return h.(*floaterHooks).biases }

// GivenBiases is floater with biases [N,3,D] of its one block that are given in place of a path's.
func GivenBiases(e Encoding, values []float64) Encoding {
	return given{Encoding: e, heads: e.(*floater).heads, d: e.(*floater).d, values: values}
}

type given struct {
	Encoding
	heads, d int
	values   []float64
}

func (g given) Begin(s *torchpe.Scope, p Positions) Hooks {
	all := torchpe.Of(s, torchpe.CPU, g.values, 1, p.Tokens(), 3, 1, g.heads, g.d/g.heads)
	return &floaterHooks{biases: all.Permute(0, 2, 3, 4, 1, 5)}
}
