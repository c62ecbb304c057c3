package pe

import "torchpe/torchpe"

// DINOv3Drawn returns rope-dinov3's hooks for draws [E,5] of the coordinates.
func DINOv3Drawn(e Encoding, s *torchpe.Scope, p Positions, draws torchpe.Tensor) Hooks {
	return e.(*dino).drawn(s, p, draws)
}

// RotationOf returns the cosines and sines [E,1,1,N,P] of hooks that turn pairs.
func RotationOf(h Hooks) (cos, sin torchpe.Tensor) {
	r := h.(*rotaryHooks)
	return r.q.cos, r.q.sin
}

// UniformForTest is uniform.
var UniformForTest = uniform
