// path: keys on their way to a query are multiplied by a Householder-like matrix of each token that
// they pass (Yang et al. 2025, "PaTH Attention: Position Encoding via Accumulating Householder
// Transformations", section 3).
//
//	logits_ij = q_i^T H_i H_{i-1} .. H_{j+1} k_j / sqrt(Dh),  H_t = I - beta_t w_t w_t^T
//	w_t = V U x_t of length 1 for each head,  beta_t = 2 sigmoid(u_h x_t + c_h)
//
// so that the matrix of the query is applied and that of the key is not, and for j = i it is q k. U
// maps to --path-rank numbers (0: one map from x to w). With --path-forget the sum of ln
// sigmoid(f_h x_l + g_h) over l = j+1..i, times 1/sqrt(Dh) too, is added, as in the reference code of
// flash-linear-attention; the stack path+forgetting adds it without that factor. The convolution over
// three tokens that the published code applies to w is left out. Layers have their own maps, which start
// as in torch.nn.Linear; c and g start at 0.
//
// The products are not made: with D_ts = w_t w_s for s before t, P_it = q_i w_t for t up to i and K_tj =
// w_t k_j for j before t, logits are q k - P (I + beta D)^-1 beta K (Yang et al. 2024, "Parallelizing
// Linear Transformers with the Delta Rule over Sequence Length").

package pe

import (
	"slices"

	"torchpe/torchpe"
)

var (
	pathRank = Option{Name: "path-rank", Default: "32", Check: whole(0, 1<<16),
		Help: "numbers that the directions of path are made of; 0 for those of the token itself"}
	pathForget = Option{Name: "path-forget", Default: "false", Check: yesNo,
		Help: "whether path adds the logarithms of forget gates, times 1/sqrt(Dh)"}
)

func init() {
	Register(Scheme{
		Name:         "path",
		Extrapolates: Always,
		Options:      []Option{pathRank, pathForget},
		New:          newPath,
	})
}

type path struct {
	atLogits
	up, down     *torchpe.Param // [E,L,D,r], [E,L,r,D]; down is nil and r = D for rank 0
	beta, forget gates
	forgets      bool
}

func newPath(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	p := &path{forgets: c.Options.Bool(pathForget.Name)}
	in := c.DModel
	if rank := c.Options.Int(pathRank.Name); rank > 0 {
		p.down = ps.Add("pe.down", true, torchpe.FanIn(in), c.Layers, rank, in)
		in = rank
	}
	p.up = ps.Add("pe.up", true, torchpe.FanIn(in), c.Layers, c.DModel, in)
	p.beta = c.addGates(ps, "pe.beta.", c.Heads, 0)
	if p.forgets {
		p.forget = c.addGates(ps, "pe.forget.", c.Heads, 0)
	}
	return p, nil
}

func (p *path) Attention() Attention { return attentionWithMask(true) }

func (p *path) Begin(s *torchpe.Scope, at Positions) Hooks {
	h := &pathHooks{path: p, order: orderOf(s, p.up.In(s).Device(), at.Index)}
	like := p.up.In(s)
	mask := func(f func(i, j int) bool) torchpe.Tensor {
		return pairTensor(s, like, at.Index, func(i, j int) float64 { return oneIf(f(i, j)) })
	}
	h.before = mask(func(i, j int) bool { return j < i })
	h.upTo = mask(func(i, j int) bool { return j <= i })
	h.one = mask(func(i, j int) bool { return j == i })
	for size := 1; size <= slices.Max(at.Index); size *= 2 {
		h.joins = append(h.joins, mask(func(i, j int) bool {
			return j < i && i/size != j/size && i/(2*size) == j/(2*size)
		}))
	}
	return h
}

type pathHooks struct {
	Identity
	path              *path
	order             order
	before, upTo, one torchpe.Tensor // [N,N] 1 where the key is before the query, or not after it, or it
	// [N,N] 1 where a key is in the first half of a block of places and the query in the second, for
	// blocks of 2, 4, .. places
	joins []torchpe.Tensor
}

// directions returns w [E,B,H,N,Dh] of a layer's tokens.
func (h *pathHooks) directions(a Attn) torchpe.Tensor {
	s, x := a.X.Scope(), a.X
	if h.path.down != nil {
		x = torchpe.Linear(x, h.path.down.In(s).Select(1, a.Layer), torchpe.Tensor{})
	}
	w := torchpe.Linear(x, h.path.up.In(s).Select(1, a.Layer), torchpe.Tensor{})
	shape := a.Q.Shape()
	w = w.Reshape(shape[0], shape[1], shape[3], shape[2], shape[4]).Permute(0, 1, 3, 2, 4)
	return unit(w)
}

// inverse returns (I + m)^-1 for m [E,B,H,N,N] that is 0 but where the key is before the query: of
// blocks twice as large from their two halves,
//
//	[A 0]^-1   [   A^-1        0 ]
//	[C B]    = [-B^-1 C A^-1  B^-1]
func (h *pathHooks) inverse(m torchpe.Tensor) torchpe.Tensor {
	x := h.one.Expand(m.Shape()...)
	for i, join := range h.joins {
		c := m.Mul(join)
		if i > 0 {
			c = x.MatMul(c).MatMul(x)
		}
		x = x.Sub(c)
	}
	return x
}

func (h *pathHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	w := h.directions(a)
	beta := h.path.beta.of(a).Sigmoid().MulScalar(2).Unsqueeze(4) // [E,B,H,N,1]
	between := torchpe.AttentionLogits(w, w, 1).Mul(h.before).Mul(beta)
	passed := torchpe.AttentionLogits(w, a.K, 1).Mul(h.before).Mul(beta)
	left := torchpe.AttentionLogits(a.Q, w, a.Scale).Mul(h.upTo)
	logits = logits.Sub(left.MatMul(h.inverse(between).MatMul(passed)))
	if h.path.forgets {
		logs := logSigmoid(h.path.forget.of(a))
		sums := h.order.back(h.order.sorted(logs, 3).Cumsum(3), 3)
		logits = logits.Add(differences(sums).MulScalar(a.Scale))
	}
	return logits
}
