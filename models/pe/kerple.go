// kerple: a trained kernel of the distance between two tokens, subtracted from the logits of each head (Chi et al. 2022, "KERPLE: Kernelized Relative
// Positional Embedding for Length Extrapolation": the two kernels of its experiments).
//
//	log:   logits_ij = q_i k_j / sqrt(Dh) - p log(1 + a |i-j|),  a, p > 0
//	power: logits_ij = q_i k_j / sqrt(Dh) - a |i-j|^p,           a > 0, 0 < p <= 2
//
// Layers share a and p. They start as U(0, 1) and U(0, 2), as in the published code, which also raises them to 0.01 (and lowers the power to 2)
// before each pass. Here what is trained stays as it is and the kernel takes the number that is raised, with the same gradient. Both kernels are
// symmetric; the paper's models are causal.

package pe

import (
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

const kerpleLeast = 0.01

var (
	kerpleKernel = Option{Name: "kerple", Default: "log", Check: oneOf("log", "power"),
		Help: "kernel of kerple: p log(1 + a d) or a d^p of the distance d"}
	kerpleDirection = Option{Name: "kerple-direction", Default: "causal", Check: oneOf("causal", "bidirectional"),
		Help: "whether tokens of kerple see only those before them"}
)

func init() {
	Register(Scheme{
		Name:    "kerple",
		Summary: "trained logarithm or power of the distance, for each head, off the logits",
		Title:   "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation", Year: 2022,
		Reference: "Chi et al. 2022, arXiv 2205.09921",
		Formula: "log: logits_ij = q_i k_j / sqrt(Dh) - p_h log(1 + a_h |i-j|);\n" +
			"power: logits_ij = q_i k_j / sqrt(Dh) - a_h |i-j|^(p_h),  0 < p_h <= 2",
		Parameters: "2 H",
		Criteria: Criteria{Inductive: true, DataDriven: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true,
			Interpretable: true},
		Extrapolates: Always,
		Options:      []Option{kerpleKernel, kerpleDirection},
		New:          newKERPLE,
	})
}

type kerple struct {
	None
	a, p          *torchpe.Param // [E,H]
	power, causal bool
}

func newKERPLE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	below := func(high float64) torchpe.Init {
		return func(_ int, rng *rand.Rand, out []float64) {
			for i := range out {
				out[i] = high * rng.Float64()
			}
		}
	}
	return &kerple{
		a: ps.Add("pe.a", true, below(1), c.Heads), p: ps.Add("pe.p", true, below(2), c.Heads),
		power: c.Options.Text(kerpleKernel.Name) == "power", causal: c.Options.Text(kerpleDirection.Name) == "causal",
	}, nil
}

func (k *kerple) Sites() Site { return AtLogits }

func (k *kerple) Attention() Attention { return asked(k.causal) }

func (k *kerple) Begin(s *torchpe.Scope, p Positions) Hooks {
	within := func(x *torchpe.Param, high float64) torchpe.Tensor { // [E,1,H,1,1]
		t := x.In(s)
		t = t.Add(t.Clamp(kerpleLeast, high).Sub(t).Detach())
		return t.Reshape(t.Size(0), 1, t.Size(1), 1, 1)
	}
	if !k.power {
		a := within(k.a, math.MaxFloat32)
		distances := pairTensor(s, a, p.Index, func(i, j int) float64 { return math.Abs(float64(i - j)) })
		return biasHooks{bias: within(k.p, math.MaxFloat32).Mul(a.Mul(distances).Log1p()).Neg()}
	}
	// d^p as exp(p log d), which has a gradient at d = 0 too: there it is put to zero.
	power := within(k.p, 2)
	logs := pairTensor(s, power, p.Index, func(i, j int) float64 { return math.Log(math.Max(1, math.Abs(float64(i-j)))) })
	apart := pairTensor(s, power, p.Index, func(i, j int) float64 { return oneIf(i != j) })
	return biasHooks{bias: within(k.a, math.MaxFloat32).Mul(power.Mul(logs).Exp().Mul(apart)).Neg()}
}
