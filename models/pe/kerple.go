// kerple: a trained kernel of the distance between two tokens, subtracted from the logits of each
// head (Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length
// Extrapolation": the two kernels of its experiments).
//
//	log:   logits_ij = q_i k_j / sqrt(Dh) - p log(1 + a |i-j|),  a, p > 0
//	power: logits_ij = q_i k_j / sqrt(Dh) - a |i-j|^p,           a > 0, 0 < p <= 2
//
// Layers share a and p. They start as U(0, 1) and U(0, 2), as in the published code, which also
// raises them to 0.01 (and lowers the power to 2) before each pass. Here what is trained stays as
// it is and the kernel takes the number that is raised, with the same gradient. Both kernels are
// symmetric; the paper's models are causal.
//
// The code also leaves out a or p (each is then 1; --kerple-trained), and can multiply the logits by
// a kernel exp(-a' |i-j|^p') before it subtracts the other (--kerple-weights, with a', p' or both
// trained, which start as U(0, 1) and U(0, 2) too).

package pe

import (
	"math"
	"strings"

	"torchpe/torchpe"
)

const kerpleLeast = 0.01

var (
	kerpleKernel = Option{Name: "kerple", Default: "log", Check: oneOf("log", "power"),
		Help: "kernel of kerple: p log(1 + a d) or a d^p of the distance d"}
	kerpleDirection = Option{Name: "kerple-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of kerple see only those before them"}
	kerpleTrained = Option{Name: "kerple-trained", Default: "ap", Check: oneOf("ap", "a", "p"),
		Help: "numbers of the kernel of kerple that are trained; the other is 1"}
	kerpleWeights = Option{Name: "kerple-weights", Default: "none",
		Check: oneOf("none", "ap", "a", "p"),
		Help: "trained numbers of a second kernel of kerple, exp(-a d^p), which multiplies the " +
			"logits; none for no such kernel"}
)

func init() {
	Register(Scheme{
		Name:         "kerple",
		Extrapolates: Always,
		Options:      []Option{kerpleKernel, kerpleDirection, later(kerpleTrained), later(kerpleWeights)},
		New:          newKERPLE,
	})
}

type kerple struct {
	atLogits
	bias, weights kernelNumbers
	power, causal bool
	weighted      bool
}

// kernelNumbers are the trained numbers [E,H] of a kernel; nil stands for 1.
type kernelNumbers struct{ a, p *torchpe.Param }

func newKERPLE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	numbersOf := func(letters, prefix string) (k kernelNumbers) {
		if strings.Contains(letters, "a") {
			k.a = ps.Add(prefix+"a", true, uniformBelow(1), c.Heads)
		}
		if strings.Contains(letters, "p") {
			k.p = ps.Add(prefix+"p", true, uniformBelow(2), c.Heads)
		}
		return k
	}
	k := &kerple{
		bias:   numbersOf(c.Options.Text(kerpleTrained.Name), "pe."),
		power:  c.Options.Text(kerpleKernel.Name) == "power",
		causal: c.Options.Text(kerpleDirection.Name) == "causal",
	}
	if letters := c.Options.Text(kerpleWeights.Name); letters != "none" {
		k.weights, k.weighted = numbersOf(letters, "pe.weights-"), true
	}
	return k, nil
}

func (k *kerple) Attention() Attention { return attentionWithMask(k.causal) }

// distance returns that of the places of a query and a key; 0 for keys that are masked.
func (k *kerple) distance(i, j int) float64 {
	if k.causal {
		return float64(max(i-j, 0))
	}
	return math.Abs(float64(i - j))
}

func (k *kerple) Begin(s *torchpe.Scope, p Positions) Hooks {
	h := kerpleHooks{}
	if k.power {
		h.bias = k.powers(s, k.bias, p).Neg()
	} else {
		factor, inner := clampThrough(s, k.bias.p, math.MaxFloat32), clampThrough(s, k.bias.a, math.MaxFloat32)
		like := inner
		if !like.Defined() {
			like = factor
		}
		logs := times(inner, pairTensor(s, like, p.Index, k.distance)).Log1p()
		h.bias = times(factor, logs).Neg()
	}
	if k.weighted {
		h.weights = k.powers(s, k.weights, p).Neg().Exp()
	}
	return h
}

// powers returns a d^p of all pairs [E,1,H,N,N]: d^p as exp(p log d), which has a gradient at d = 0
// too, and is put to zero there.
func (k *kerple) powers(s *torchpe.Scope, n kernelNumbers, p Positions) torchpe.Tensor {
	power, factor := clampThrough(s, n.p, 2), clampThrough(s, n.a, math.MaxFloat32)
	like := power
	if !like.Defined() {
		like = factor
	}
	logs := pairTensor(s, like, p.Index, func(i, j int) float64 {
		return math.Log(max(1, k.distance(i, j)))
	})
	apart := pairTensor(s, like, p.Index, func(i, j int) float64 {
		return oneIf(k.distance(i, j) > 0)
	})
	return times(factor, times(power, logs).Exp().Mul(apart))
}

// clampThrough returns a trained number [E,1,H,1,1] clamped to [kerpleLeast, high], with the gradient
// of the unclamped one (straight-through). It returns the zero Tensor for none.
func clampThrough(s *torchpe.Scope, x *torchpe.Param, high float64) torchpe.Tensor {
	if x == nil {
		return torchpe.Tensor{}
	}
	t := x.In(s)
	t = t.Add(t.Clamp(kerpleLeast, high).Sub(t).Detach())
	return t.Reshape(t.Size(0), 1, t.Size(1), 1, 1)
}

// times returns factor x, or x where there is no factor.
func times(factor, x torchpe.Tensor) torchpe.Tensor {
	if !factor.Defined() {
		return x
	}
	return factor.Mul(x)
}

type kerpleHooks struct {
	Identity
	bias, weights torchpe.Tensor // [E,1,H,N,N]; weights may be the zero Tensor
}

func (h kerpleHooks) Logits(_ Attn, logits torchpe.Tensor) torchpe.Tensor {
	return times(h.weights, logits).Add(h.bias)
}
