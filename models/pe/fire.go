// fire: a small network of the distance between two tokens, as a part of how far the query is from
// the start, added to the logits (Li et al. 2024, "Functional Interpolation for Relative Positions
// Improves Long Context Transformers", equations 6 and 7).
//
//	logits_ij = q_i k_j / sqrt(Dh) + b_h(i, j)
//	b(i, j) = MLP( psi(i-j) / psi(max(i, L)) ),  psi(x) = ln(|c x| + 1)
//
// MLP: 1 -> width -> H with ReLU; c and the threshold L = L_0 m are trained through c and m. The
// query's place i is counted from 0, and 1e-6 is added below the fraction, as in public code. The
// paper is causal; in both directions a key after the query gets the mirrored value. Each layer has
// its own network (--fire-shared: one for all, the paper's FIRE-S).

package pe

import "torchpe/torchpe"

const fireEpsilon = 1e-6

var (
	fireDirection = Option{Name: "fire-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of fire see only those before them"}
	fireWidth = Option{Name: "fire-width", Default: "32", Check: whole(1, 1<<16),
		Help: "width of the network of fire"}
	fireThreshold = Option{Name: "fire-threshold", Default: "512", Check: number(1, 1<<40),
		Help: "initial threshold L_0 of fire: queries at smaller places are normalised alike"}
	fireShared = Option{Name: "fire-shared", Default: "false", Check: yesNo,
		Help: "one network of fire for all layers"}
)

func init() {
	Register(Scheme{
		Name:         "fire",
		Extrapolates: Always,
		Options:      []Option{fireDirection, fireWidth, fireThreshold, fireShared},
		New:          newFIRE,
	})
}

type fire struct {
	atLogits
	c, multiplier  *torchpe.Param // [E,T]
	inW, outW      *torchpe.Param // [E,T,width,1], [E,T,H,width]
	inB, outB      *torchpe.Param // [E,T,width], [E,T,H]
	threshold      float64
	causal         bool
	tables, hidden int // T and width
	// As in DAPE: LeakyReLU of this slope below 0, and keys after the query at the distance 0.
	slope float64
	cut   bool
}

func newFIRE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	f := &fire{
		threshold: c.Options.Float(fireThreshold.Name),
		causal:    c.Options.Text(fireDirection.Name) == "causal",
		tables:    c.Layers, hidden: c.Options.Int(fireWidth.Name),
	}
	if c.Options.Bool(fireShared.Name) {
		f.tables = 1
	}
	t, w := f.tables, f.hidden
	f.c = ps.Add("pe.c", true, torchpe.Constant(0.1), t)
	f.multiplier = ps.Add("pe.multiplier", true, torchpe.Constant(1), t)
	f.inW, f.inB = addLinear(ps, "pe.in.", 1, t, w)
	f.outW, f.outB = addLinear(ps, "pe.out.", w, t, c.Heads)
	return f, nil
}

func (f *fire) Attention() Attention { return attentionWithMask(f.causal) }

func (f *fire) Begin(s *torchpe.Scope, p Positions) Hooks {
	c, n := f.c.In(s), p.Tokens()
	e := c.Size(0)
	c = c.Reshape(e, f.tables, 1, 1)
	psi := func(x torchpe.Tensor) torchpe.Tensor { return c.Mul(x).Abs().Log1p() }
	start := f.multiplier.In(s).MulScalar(f.threshold).Abs().Reshape(e, f.tables, 1, 1)
	whole := psi(start.Maximum(places(s, c, p.Index))).AddScalar(fireEpsilon) // [E,T,N,1]
	distances := pairTensor(s, c, p.Index, func(i, j int) float64 {
		if f.cut {
			return float64(max(i-j, 0))
		}
		return float64(i - j)
	})
	x := psi(distances).Div(whole).Reshape(e*f.tables, n*n, 1) // each network is a member
	layer := func(x torchpe.Tensor, w, b *torchpe.Param) torchpe.Tensor {
		out, in := w.Shape[2], w.Shape[3]
		return torchpe.Linear(x,
			w.In(s).Reshape(e*f.tables, out, in), b.In(s).Reshape(e*f.tables, out))
	}
	y := layer(leakyReLU(layer(x, f.inW, f.inB), f.slope), f.outW, f.outB) // [E*T,N*N,H]
	return biasHooks{bias: y.Transpose(1, 2).Contiguous().Reshape(e, f.tables, y.Size(2), n, n)}
}

// leakyReLU returns x where it is positive, else slope x.
func leakyReLU(x torchpe.Tensor, slope float64) torchpe.Tensor {
	if slope == 0 {
		return x.ReLU()
	}
	return x.Maximum(x.MulScalar(slope))
}
