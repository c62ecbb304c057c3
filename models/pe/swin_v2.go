// swin-v2: attention by cosines, with a small network of the offset between two cells of a grid
// (Liu et al. 2022, "Swin Transformer V2", sections 3.2 and 3.3).
//
//	logits_ij = exp(min(tau_h, ln 100)) cos(q_i, k_j) + 16 sigmoid(W_2 ReLU(W_1 c + b_1))_h
//	c = sign(t) log2(|t| + 1) / log2(8),  t = 8 (y-y', x-x') / (R-1, C-1) on a grid of R x C
//
// The paper writes c = sign(x) log(1 + |x|) of offsets in cells; scale and base are those of the
// published code. The window is the whole grid. A network that was trained on another grid reads
// offsets as parts of that one (--swin-v2-pretrained), so that they exceed 8 here; without it they are
// parts of the present grid. Cosines are made of q and k before the logits: q is divided by its length
// and multiplied by exp(tau) over the scale of the logits. Layers have their own tau and network. tau
// starts at ln 10 and weights as N(0, 0.02^2), as in the published code; b_1, which that code starts at
// zero (where ReLU has its kink for an offset of zero), as in torch.nn.Linear. The keys of that code
// have no bias.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var (
	swinV2Width = Option{Name: "swin-v2-width", Default: "512", Check: whole(1, 1<<16),
		Help: "width of the network of swin-v2"}
	swinV2Pretrained = Option{Name: "swin-v2-pretrained", Default: "0", Check: orWord(gridSize, "0"),
		Help: "grid RxC that the network of swin-v2 was trained on; 0 for the present one"}
)

func init() {
	Register(Scheme{
		Name:         "swin-v2",
		Needs:        NeedsGrid,
		Extrapolates: Always,
		Options:      []Option{swinV2Width, swinV2Pretrained},
		New:          newSwinV2,
	})
}

type swinV2 struct {
	coordinates *torchpe.Param // [E,(2R-1)(2C-1),2]: c
	inW, inB    *torchpe.Param // [E,L,width,2], [E,L,width]
	outW        *torchpe.Param // [E,L,H,width]
	tau         *torchpe.Param // [E,L,H]
	window      window
	None
}

func newSwinV2(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	w := windowOf(c.Positions)
	trained := w
	if v := c.Options.Text(swinV2Pretrained.Name); v != "0" {
		trained.rows, trained.columns, _ = parseGrid(v) // which Build has checked
	}
	width := c.Options.Int(swinV2Width.Name)
	return &swinV2{
		coordinates: ps.Add("pe.coordinates", false, computed(func(i int) float64 {
			offset, steps := i/2/(2*w.columns-1)-w.rows+1, trained.rows-1
			if i%2 == 1 {
				offset, steps = i/2%(2*w.columns-1)-w.columns+1, trained.columns-1
			}
			t := 8 * float64(offset) / float64(max(steps, 1))
			return math.Copysign(math.Log2(math.Abs(t)+1)/3, t)
		}), w.offsets(), 2),
		inW:    ps.Add("pe.in.weight", true, torchpe.Normal(0, 0.02), c.Layers, width, 2),
		inB:    ps.Add("pe.in.bias", true, torchpe.FanIn(2), c.Layers, width),
		outW:   ps.Add("pe.out.weight", true, torchpe.Normal(0, 0.02), c.Layers, c.Heads, width),
		tau:    ps.Add("pe.tau", true, torchpe.Constant(math.Log(10)), c.Layers, c.Heads),
		window: w,
	}, nil
}

func (w *swinV2) Sites() Site { return AtQK | AtLogits }

func (w *swinV2) Begin(s *torchpe.Scope, p Positions) Hooks {
	w.window.check("swin-v2", p)
	shape := w.inW.Shape
	e, layers, width, heads := shape[0], shape[1], shape[2], w.outW.Shape[2]
	offsets := w.window.offsets()
	// each layer's network is a member
	x := w.coordinates.In(s).Unsqueeze(1).Expand(e, layers, offsets, 2).
		Reshape(e*layers, offsets, 2)
	x = torchpe.Linear(x, w.inW.In(s).Reshape(e*layers, width, 2),
		w.inB.In(s).Reshape(e*layers, width)).ReLU()
	x = torchpe.Linear(x, w.outW.In(s).Reshape(e*layers, heads, width), torchpe.Tensor{}).
		Sigmoid().MulScalar(16).Reshape(e, layers, offsets, heads)
	tau := w.tau.In(s)
	return swinV2Hooks{
		biasHooks: biasHooks{bias: biasOf(s, x, pairs(p.Cells, w.window.row), p.Tokens())},
		scales:    tau.Clamp(-math.MaxFloat32, math.Log(100)).Exp().Reshape(e, layers, heads, 1, 1),
	}
}

type swinV2Hooks struct {
	biasHooks
	scales torchpe.Tensor // [E,L,H,1,1]
}

func (h swinV2Hooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	scale := layerOf(h.scales, a.Layer).MulScalar(1 / a.Scale)
	return unit(a.Q).Mul(scale), unit(a.K), a.V
}

// unit returns vectors of the last axis divided by their lengths, or by 1e-12 where they are shorter.
func unit(x torchpe.Tensor) torchpe.Tensor {
	return x.Div(x.Square().SumKeep(-1).Clamp(1e-24, math.MaxFloat32).Sqrt())
}
