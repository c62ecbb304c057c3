// dynamic-bias: a small network of the offset from key to query, added to the logits (Wang et al.
// 2022, "CrossFormer", section 3.3; over one dimension as in x-transformers).
//
//	logits_ij = q_i k_j / sqrt(Dh) + MLP_h(s(i-j)),  s(r) = r or sign(r) ln(|r| + 1)
//
// MLP: 1 -> width -> .. -> width -> H, depth times a linear map and SiLU, then a linear map. The
// logarithm of offsets is that of Swin Transformer V2. CrossFormer has offsets in two dimensions,
// ReLU and layer norms, without numbers to compare with; x-transformers' norm is left out too. One
// network serves all layers, as there. It starts as torch.nn.Linear does.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	dynamicDirection = Option{Name: "dynamic-bias-direction", Default: "bidirectional",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of dynamic-bias see only those before them"}
	dynamicOffsets = Option{Name: "dynamic-bias-offsets", Default: "linear",
		Check: oneOf("linear", "log"),
		Help:  "what the network of dynamic-bias reads: the offset r, or sign(r) ln(|r| + 1)"}
	dynamicWidth = Option{Name: "dynamic-bias-width", Default: "16", Check: whole(1, 1<<16),
		Help: "width of the network of dynamic-bias"}
	dynamicDepth = Option{Name: "dynamic-bias-depth", Default: "2", Check: whole(1, 64),
		Help: "hidden layers of the network of dynamic-bias"}
)

func init() {
	Register(Scheme{
		Name:         "dynamic-bias",
		Extrapolates: Always,
		Options:      []Option{dynamicDirection, dynamicOffsets, dynamicWidth, dynamicDepth},
		New:          newDynamicBias,
	})
}

type dynamicBias struct {
	atLogits
	layers      []linearMap // the last one to H numbers
	log, causal bool
}

// linearMap holds a weight [E,out,in] and bias [E,out].
type linearMap struct{ w, b *torchpe.Param }

// newLinearMap declares a linear map that starts as torch.nn.Linear does.
func newLinearMap(ps *torchpe.ParamSet, name string, in, out int) (l linearMap) {
	l.w, l.b = addLinear(ps, name, in, out)
	return l
}

func (l linearMap) of(x torchpe.Tensor) torchpe.Tensor {
	s := x.Scope()
	return torchpe.Linear(x, l.w.In(s), l.b.In(s))
}

func newDynamicBias(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	d := &dynamicBias{
		log:    c.Options.Text(dynamicOffsets.Name) == "log",
		causal: c.Options.Text(dynamicDirection.Name) == "causal",
	}
	in, width := 1, c.Options.Int(dynamicWidth.Name)
	for i := range c.Options.Int(dynamicDepth.Name) {
		d.layers = append(d.layers, newLinearMap(ps, fmt.Sprintf("pe.%d.", i), in, width))
		in = width
	}
	d.layers = append(d.layers, newLinearMap(ps, "pe.out.", in, c.Heads))
	return d, nil
}

func (d *dynamicBias) Attention() Attention { return attentionWithMask(d.causal) }

// Begin runs the network once for each offset that there is.
func (d *dynamicBias) Begin(s *torchpe.Scope, p Positions) Hooks {
	most := 0
	for _, i := range p.Index {
		most = max(most, i)
	}
	offsets := make([]float64, 2*most+1)
	for i := range offsets {
		if offsets[i] = float64(i - most); d.log {
			offsets[i] = math.Copysign(math.Log1p(math.Abs(offsets[i])), offsets[i])
		}
	}
	members, last := d.layers[0].w.Shape[0], len(d.layers)-1
	x := numbers(s, d.layers[0].w.In(s), offsets, 1, len(offsets), 1).
		Expand(members, len(offsets), 1)
	for i, layer := range d.layers {
		if x = layer.of(x); i < last {
			x = x.Mul(x.Sigmoid())
		}
	}
	index := pairs(p.Index, func(i, j int) int { return i - j + most })
	return biasHooks{bias: biasOf(s, x.Unsqueeze(1), index, p.Tokens())}
}
