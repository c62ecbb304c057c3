package pe

import "torchpe/torchpe"

// CAPETable returns what cape adds at p for given draws: shifts of a sample [E,B,1,A] and of tokens
// [E,B,N,A], and logarithms of its factor [E,B,1,1].
func CAPETable(s *torchpe.Scope, e Encoding, p Positions,
	global, local, scale torchpe.Tensor) torchpe.Tensor {
	h := e.Begin(s, p).(*capeHooks)
	return h.of(h.moved(global, local, scale))
}

// CAPEUniform returns numbers that cape draws, [E,B,N,1] of U(-limit, limit).
func CAPEUniform(s *torchpe.Scope, e Encoding, p Positions, samples int,
	limit float64) torchpe.Tensor {
	return e.Begin(s, p).(*capeHooks).uniform(samples, p.Tokens(), 1, limit)
}
