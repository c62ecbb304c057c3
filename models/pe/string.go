// string: queries and keys turned by the exponential of circulant matrices of the tokens' coordinates
// (Schenck et al. 2025, "Learning the RoPEs: Better 2D and 3D Position Encodings with STRING":
// Circulant-STRING). From the formula: no numbers of other code were at hand.
//
//	q_i <- R(r_i) q_i,  k_j <- R(r_j) k_j,  R(r) = exp(sum_a L_a r_a),  L_a = C_a - C_a^T
//
// with C_a circulant, C[i,j] = c_(i-j mod Dh) for each axis a of the coordinates r. All L_a have the same
// eigenvectors, so that R(r)^T R(r') depends on r' - r alone: in the basis of cosines and sines of f = 1,
// 2, .. periods, R turns each pair by the angle 2 sum_a r_a sum_m c_am sin(2 pi f m / Dh), and leaves the
// constant (and for an even Dh the alternating) vector. Each layer and head has its own c, which start as
// N(0, 0.02^2).

package pe

import (
	"math"
	"slices"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "string",
		Needs:        NeedsPoints,
		MinHeadWidth: 3,
		Extrapolates: Always,
		New:          newString,
	})
}

type circulant struct {
	None
	c    *torchpe.Param // [E,L,H,A,Dh]
	axes int
}

func newString(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	axes := len(c.Positions.coordinates("string", 0)[0])
	return &circulant{axes: axes, c: ps.Add("pe.c", true, torchpe.Normal(0, 0.02), c.Layers,
		c.Heads, axes, c.HeadWidth())}, nil
}

func (c *circulant) Sites() Site { return AtQK }

// fourier returns the orthonormal basis of cosines, then sines, then the vectors that do not turn, a
// row each [d,d]; and 2 sin(2 pi f m / d) for m and f [d,P].
func fourier(d int) (basis, angles []float64) {
	pairs := (d - 1) / 2
	basis = make([]float64, d*d)
	for f := 1; f <= pairs; f++ {
		for m := range d {
			sin, cos := math.Sincos(2 * math.Pi * float64(f*m%d) / float64(d))
			norm := math.Sqrt(2 / float64(d))
			basis[(f-1)*d+m], basis[(pairs+f-1)*d+m] = norm*cos, norm*sin
		}
	}
	norm := 1 / math.Sqrt(float64(d))
	for m := range d {
		basis[2*pairs*d+m] = norm
		if d%2 == 0 {
			basis[(d-1)*d+m] = norm * float64(1-m%2*2)
		}
		for f := 1; f <= pairs; f++ {
			angles = append(angles, 2*math.Sin(2*math.Pi*float64(f*m%d)/float64(d)))
		}
	}
	return basis, angles
}

func (c *circulant) Begin(s *torchpe.Scope, p Positions) Hooks {
	w := c.c.In(s)
	d, n := w.Size(4), p.Tokens()
	basis, sines := fourier(d)
	at := numbers(s, w, slices.Concat(p.coordinates("string", c.axes)...), n, c.axes)
	angles := at.MatMul(w.MatMul(numbers(s, w, sines, d, (d-1)/2))) // [E,L,H,N,P]
	return circulantHooks{basis: numbers(s, w, basis, d, d), cos: angles.Cos(), sin: angles.Sin()}
}

type circulantHooks struct {
	Identity
	basis    torchpe.Tensor // [Dh,Dh]
	cos, sin torchpe.Tensor // [E,L,H,N,P]
}

func (h circulantHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	cos, sin := layerOf(h.cos, a.Layer), layerOf(h.sin, a.Layer)
	pairs := cos.Size(4)
	turned := func(x torchpe.Tensor) torchpe.Tensor {
		x = x.MatMul(h.basis.Transpose(0, 1))
		even, odd := x.Narrow(4, 0, pairs), x.Narrow(4, pairs, pairs)
		x = torchpe.Cat(4, even.Mul(cos).Sub(odd.Mul(sin)), even.Mul(sin).Add(odd.Mul(cos)),
			x.Narrow(4, 2*pairs, x.Size(4)-2*pairs))
		return x.MatMul(h.basis)
	}
	return turned(a.Q), turned(a.K), a.V
}
