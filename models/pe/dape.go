// dape: a small network that mixes the logits of all heads with a bias for each pair of tokens (Zheng
// et al. 2024, "DAPE: Data-Adaptive Positional Encoding for Length Extrapolation", section 3; V2 from
// "DAPE V2: Process Attention Score as Feature Map for Length Extrapolation").
//
//	logits <- S + B + f([S; B]),  S = q k^T / sqrt(Dh) of all heads, B the bias of alibi, kerple or fire
//	V1: f(z) = W_2 LeakyReLU(W_1 z + b_1) + b_2 for the 2H numbers z of one pair
//	V2: the same with convolutions over k keys beside each other, of [S; B] without keys after the query
//
// The slope of LeakyReLU below 0 is 0.01. Biases of keys after the query are those of the distance 0.
// V1 reads their logits too, which are masked afterwards; V2 reads zeros there, as beyond the ends. fire
// has the width of f, one network for each layer, LeakyReLU, and by default the threshold 256: half of
// 512, as in the published code. kerple's numbers serve all layers. f starts as torch.nn.Linear does.

package pe

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

const (
	dapeSlope     = 0.01
	dapeThreshold = "256"
)

var (
	dapeBase = Option{Name: "dape", Default: "kerple", Check: dapeBases,
		Help: "bias that dape adapts: alibi, kerple, fire, or fire:L with the initial threshold L"}
	dapeWidth = Option{Name: "dape-width", Default: "32", Check: whole(1, 1<<16),
		Help: "width of the network of dape"}
	dapeKernel = Option{Name: "dape-kernel", Default: "1", Check: whole(1, 1<<12),
		Help: "keys beside each other that the network of dape reads, an odd number; " +
			"1 for V1, more for V2"}
)

func init() {
	Register(Scheme{
		Name:         "dape",
		Extrapolates: Always,
		Options:      []Option{dapeBase, dapeWidth, dapeKernel},
		New:          newDAPE,
	})
}

// dapeBases checks the name of a bias.
func dapeBases(v string) error {
	if threshold, ok := strings.CutPrefix(v, "fire:"); ok {
		if err := fireThreshold.Check(threshold); err != nil {
			return fmt.Errorf("%q: the threshold %w", v, err)
		}
		return nil
	}
	return oneOf("alibi", "kerple", "fire", "fire:L")(v)
}

type dape struct {
	atLogits
	base     Encoding
	inW, inB *torchpe.Param // [E,L,k,width,2H], [E,L,width]
	outW     *torchpe.Param // [E,L,k,H,width]
	outB     *torchpe.Param // [E,L,H]
}

func newDAPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	width, kernel := c.Options.Int(dapeWidth.Name), c.Options.Int(dapeKernel.Name)
	if kernel%2 == 0 {
		return nil, fmt.Errorf("dape: --dape-kernel %d is even; a key has as many on both sides",
			kernel)
	}
	d := &dape{}
	var err error
	if d.base, err = dapeBaseOf(c, ps); err != nil {
		return nil, err
	}
	weight := func(name string, in, out int) *torchpe.Param {
		return ps.Add(name, true, torchpe.FanIn(in*kernel), c.Layers, kernel, out, in)
	}
	bias := func(name string, in, out int) *torchpe.Param {
		return ps.Add(name, true, torchpe.FanIn(in*kernel), c.Layers, out)
	}
	h := c.Heads
	d.inW, d.inB = weight("pe.mix.in.weight", 2*h, width), bias("pe.mix.in.bias", 2*h, width)
	d.outW, d.outB = weight("pe.mix.out.weight", width, h), bias("pe.mix.out.bias", width, h)
	return d, nil
}

// dapeBaseOf makes the encoding whose bias is adapted.
func dapeBaseOf(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	name, threshold, ok := strings.Cut(c.Options.Text(dapeBase.Name), ":")
	if !ok {
		threshold = dapeThreshold
	}
	scheme, err := Find(name)
	if err != nil {
		return nil, err
	}
	given := Options{}
	if name == "fire" {
		given = Options{fireThreshold.Name: threshold, fireWidth.Name: strconv.Itoa(
			c.Options.Int(dapeWidth.Name))}
	}
	resolved, err := scheme.Resolve("code", given)
	if err != nil {
		return nil, err
	}
	c.Options = maps.Clone(resolved)
	base, err := scheme.Build(c, ps)
	if f, ok := base.(*fire); ok {
		f.slope, f.cut = dapeSlope, true
	}
	return base, err
}

func (d *dape) Attention() Attention { return d.base.Attention() }

func (d *dape) Begin(s *torchpe.Scope, p Positions) Hooks {
	h := &dapeHooks{inW: d.inW.In(s), inB: d.inB.In(s), outW: d.outW.In(s), outB: d.outB.In(s)}
	zero := h.inB.MulScalar(0).Sum() // of the model's dtype and device
	n := p.Tokens()
	zeros := zero.Reshape(1, 1, 1, 1, 1).Expand(d.inW.Shape[0], 1, d.outB.Shape[2], n, n)
	for layer := range d.inW.Shape[1] {
		h.bias = append(h.bias, d.base.Begin(s, p).Logits(Attn{Layer: layer}, zeros))
	}
	if d.inW.Shape[2] > 1 {
		h.seen = pairTensor(s, h.inW, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
		h.order = orderOf(s, h.inW.Device(), p.Index)
	}
	return h
}

type dapeHooks struct {
	Identity
	bias      []torchpe.Tensor // of each layer, [E,1,H,N,N]
	inW, outW torchpe.Tensor
	inB, outB torchpe.Tensor
	seen      torchpe.Tensor // [N,N] 1 where the key is not after the query; zero for V1
	order     order
}

func (h *dapeHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	bias := h.bias[a.Layer]
	sum := logits.Add(bias)
	z := torchpe.Cat(2, logits, bias.Expand(logits.Shape()...)) // [E,B,2H,N,N]
	if h.seen.Defined() {
		z = h.order.sorted(z.Mul(h.seen), 4)
	}
	hidden := leakyReLU(h.layer(z, h.inW, h.inB, a.Layer), dapeSlope)
	return sum.Add(h.order.back(h.layer(hidden, h.outW, h.outB, a.Layer), 4))
}

// layer applies w [E,L,k,out,in] over k keys beside each other to x [E,B,in,N,N]: [E,B,out,N,N].
func (h *dapeHooks) layer(x, w, b torchpe.Tensor, layer int) (y torchpe.Tensor) {
	shape := x.Shape()
	e, samples, in, n := shape[0], shape[1], shape[2], shape[3]
	taps, out := w.Size(2), w.Size(3)
	if taps > 1 {
		x = x.Pad(4, taps/2, taps/2, 0)
	}
	for t := range taps {
		seen := x.Narrow(4, t, n).Reshape(e, samples, in, n*n)
		part := w.Select(1, layer).Select(1, t).Unsqueeze(1).MatMul(seen)
		if t == 0 {
			y = part
		} else {
			y = y.Add(part)
		}
	}
	return y.Reshape(e, samples, out, n, n).Add(b.Select(1, layer).Reshape(e, 1, out, 1, 1))
}
