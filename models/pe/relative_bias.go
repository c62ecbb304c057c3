// relative-bias: a trained number for each offset between two tokens, added to the logits, own to
// each head and layer (the notes' "learned bias matrices"; Liu et al. 2021, Swin, for one axis).
//
//	softmax((q k^T + B) / sqrt(Dh)) v
//	B_ij = b_{i-j} of 2N-1 numbers, or any N x N matrix (--relative-bias full)
//
// The notes' formula divides B by sqrt(Dh) and its code, like Swin's, does not
// (--relative-bias-scaled false). It starts as N(0, 0.02^2), as in Swin.

package pe

import "torchpe/torchpe"

var (
	relativeBiasForm = Option{Name: "relative-bias", Default: "offset",
		Check: oneOf("offset", "full"),
		Help:  "one number for each offset i-j, or for each pair of places"}
	relativeBiasScaled = Option{Name: "relative-bias-scaled", Default: "true", Check: yesNo,
		Help: "whether the bias of relative-bias is divided by sqrt(Dh) as the logits are"}
)

func init() {
	Register(Scheme{
		Name:    "relative-bias",
		Options: []Option{relativeBiasForm, relativeBiasScaled},
		New:     newRelativeBias,
	})
}

type relativeBias struct {
	atLogits
	bias   *torchpe.Param // [E,L,H,2N-1] or [E,L,H,N*N]
	tokens int
	full   bool
	scaled bool
}

func newRelativeBias(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n := c.Positions.Tokens()
	r := &relativeBias{tokens: n, full: c.Options.Text(relativeBiasForm.Name) == "full",
		scaled: c.Options.Bool(relativeBiasScaled.Name)}
	numbers := 2*n - 1
	if r.full {
		numbers = n * n
	}
	r.bias = ps.Add("pe.bias", true, torchpe.Normal(0, 0.02), c.Layers, c.Heads, numbers)
	return r, nil
}

func (r *relativeBias) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, r.tokens)
	n := p.Tokens()
	index := pairs(p.Index, func(i, j int) int {
		if r.full {
			return i*r.tokens + j
		}
		return i - j + r.tokens - 1
	})
	b := r.bias.In(s) // [E,L,H,...]
	shape := b.Shape()
	b = b.IndexSelect(-1, indexTensor(s, b.Device(), index, len(index))).
		Reshape(shape[0], shape[1], shape[2], n, n)
	return &relativeBiasHooks{bias: b, scaled: r.scaled}
}

type relativeBiasHooks struct {
	Identity
	bias   torchpe.Tensor // [E,L,H,N,N]
	scaled bool
}

func (h *relativeBiasHooks) Bias(a Attn) torchpe.Tensor {
	bias := layerOf(h.bias, a.Layer)
	if h.scaled {
		bias = bias.MulScalar(a.Scale)
	}
	return bias
}

func (h *relativeBiasHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}
