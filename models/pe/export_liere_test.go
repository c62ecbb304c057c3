package pe

import "torchpe/torchpe"

// LieRETurns returns the matrices of liere's hooks, [E,1,H or 1,Dh/g,N,g,g].
func LieRETurns(h Hooks) torchpe.Tensor { return h.(*liereHooks).turns }
