// forgetting: gates that each token draws from its own input. The logit of a pair is lowered by the
// logarithms of the gates between key and query (Lin et al. 2025, "Forgetting Transformer: Softmax
// Attention with a Forget Gate", section 3; data-dependent ALiBi in x-transformers).
//
//	f_t = sigmoid(w_h x_t + b_h),  logits_ij = q_i k_j / sqrt(Dh) + sum_{l=j+1..i} ln f_l
//
// The gate of the query counts, that of the key does not. A gate that is the same for all tokens gives
// ALiBi with the slope -ln f. In both directions (x-transformers) keys after the query count other
// gates, those of i+1..j. --forgetting-scale multiplies the logarithms; a window leaves out keys
// further back than so many tokens (flash-linear-attention). Layers have their own w and b. w starts as
// in torch.nn.Linear, b at --forgetting-bias: 0 as in the authors' code (whose fgate_bias_init, which sets
// it, is for gates that no token draws), 5 in x-transformers, where gates start close to 1.

package pe

import (
	"torchpe/torchpe"
)

// unseen is added to the logits of keys that a window leaves out: their weight is 0 in float32.
const unseen = -1e30

var (
	forgettingDirection = Option{Name: "forgetting-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help: "whether tokens of forgetting see only those before them, or those after them too " +
			"by gates of their own"}
	forgettingScale = Option{Name: "forgetting-scale", Default: "1", Check: positive,
		Help: "factor of the logarithms of the gates of forgetting"}
	forgettingBias = Option{Name: "forgetting-bias", Default: "0",
		Check: number(0, 50),
		Help:  "initial bias of the gates of forgetting: above 0 they start nearer to 1"}
	forgettingWindow = Option{Name: "forgetting-window", Default: "0", Check: whole(0, 1<<30),
		Help: "tokens that a query of forgetting sees, itself among them; 0 for all"}
)

func init() {
	Register(Scheme{
		Name:         "forgetting",
		Extrapolates: Always,
		Options: []Option{forgettingDirection, forgettingScale, forgettingBias,
			forgettingWindow},
		New: newForgetting,
	})
}

type forgetting struct {
	atLogits
	gates  gates
	causal bool
	scale  float64
	window int
}

// gates are linear maps of the tokens, one for each layer and gate.
type gates struct{ w, b *torchpe.Param } // [E,L,G,D], [E,L,G]

func (c Config) addGates(ps *torchpe.ParamSet, name string, number int, bias float64) gates {
	return gates{ps.Add(name+"weight", true, torchpe.FanIn(c.DModel), c.Layers, number, c.DModel),
		ps.Add(name+"bias", true, torchpe.Constant(bias), c.Layers, number)}
}

// of returns w x + b of a layer's tokens [E,B,G,N].
func (g gates) of(a Attn) torchpe.Tensor {
	s := a.X.Scope()
	y := torchpe.Linear(a.X, g.w.In(s).Select(1, a.Layer), g.b.In(s).Select(1, a.Layer))
	return y.Transpose(2, 3)
}

// logSigmoid returns ln sigmoid(x).
func logSigmoid(x torchpe.Tensor) torchpe.Tensor { return x.Neg().Softplus().Neg() }

func newForgetting(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	f := &forgetting{
		causal: c.Options.Text(forgettingDirection.Name) == "causal",
		scale:  c.Options.Float(forgettingScale.Name), window: c.Options.Int(forgettingWindow.Name),
	}
	number := c.Heads
	if !f.causal {
		number *= 2
	}
	f.gates = c.addGates(ps, "pe.", number, c.Options.Float(forgettingBias.Name))
	return f, nil
}

func (f *forgetting) Attention() Attention { return attentionWithMask(f.causal) }

func (f *forgetting) Begin(s *torchpe.Scope, p Positions) Hooks {
	like := f.gates.b.In(s)
	h := &forgettingHooks{gates: f.gates, scale: f.scale, causal: f.causal,
		order: orderOf(s, like.Device(), p.Index)}
	if !f.causal {
		h.before = pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j < i) })
		h.after = pairTensor(s, like, p.Index, func(i, j int) float64 { return oneIf(j > i) })
	}
	if f.window > 0 {
		h.outside = pairTensor(s, like, p.Index, func(i, j int) float64 {
			return unseen * oneIf(max(i-j, j-i) >= f.window)
		})
	}
	return h
}

type forgettingHooks struct {
	Identity
	gates         gates
	order         order
	scale         float64
	causal        bool
	before, after torchpe.Tensor // [N,N] 1 where the key is before or after the query; zero if causal
	outside       torchpe.Tensor // [N,N] what hides keys outside the window; zero for none
}

// sums returns the sums of ln f up to and with each token [E,B,G,N].
func (h *forgettingHooks) sums(a Attn) torchpe.Tensor {
	logs := logSigmoid(h.gates.of(a)).MulScalar(h.scale)
	return h.order.back(h.order.sorted(logs, 3).Cumsum(3), 3)
}

// differences returns c_i - c_j of sums c [E,B,H,N], for queries i and keys j.
func differences(c torchpe.Tensor) torchpe.Tensor { return c.Unsqueeze(4).Sub(c.Unsqueeze(3)) }

func (h *forgettingHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}

func (h *forgettingHooks) Bias(a Attn) torchpe.Tensor {
	sums := h.sums(a)
	var bias torchpe.Tensor
	if h.causal {
		bias = differences(sums)
	} else {
		heads := sums.Size(2) / 2
		back, ahead := sums.Narrow(2, 0, heads), sums.Narrow(2, heads, heads)
		bias = differences(back).Mul(h.before).Sub(differences(ahead).Mul(h.after))
	}
	if h.outside.Defined() {
		bias = bias.Add(h.outside)
	}
	return bias
}
