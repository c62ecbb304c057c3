package pe

import "torchpe/torchpe"

// Polar returns what pope's hooks make of queries and keys [E,B,H,N,Dh].
func Polar(h Hooks, q, k torchpe.Tensor) (qOut, kOut torchpe.Tensor) {
	p := h.(*popeHooks)
	return p.q.polar(q), p.k.polar(k)
}
