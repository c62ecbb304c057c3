package pe

import "torchpe/torchpe"

// GrapeFrequency returns grape-m's frequencies [E,L,H or 1,1,Dh/2].
func GrapeFrequency(e Encoding, s *torchpe.Scope) torchpe.Tensor { return e.(*grapeM).frequency(s) }

// GrapePhase returns the phases [E,B,N,H or 1] of grape-m's contextual hooks.
func GrapePhase(h Hooks, a Attn) torchpe.Tensor { return h.(*contextualHooks).phase(a) }
