// cope: contextual position encoding. A query counts the keys back to itself that it attends to,
// and a trained vector for that count acts on its logit (Golovneva et al. 2024, equations 3 to 5).
//
//	g_ij = sigmoid(q_i k_j / sqrt(Dh)),  p_ij = min(sum_{t=j..i} g_it, P-1)
//	logits_ij = q_i k_j / sqrt(Dh) + q_i e[p_ij],  e between whole numbers by linear interpolation
//
// Without a causal mask the sum runs to the end. The published code divides q_i e by sqrt(Dh) too
// unless told otherwise. P vectors of the head width serve all heads; each layer has its own
// (--cope-shared: all have the same). The published code starts them at zero; here they start as
// N(0, 0.02^2). In a stack the gates see what schemes before it added to the logits.

package pe

import "torchpe/torchpe"

var (
	copeDirection = Option{Name: "cope-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of cope see only those before them"}
	copePositions = Option{Name: "cope-positions", Default: "64", Check: whole(2, 1<<20),
		Help: "number P of counts that cope tells apart"}
	copeScaled = Option{Name: "cope-scaled", Text: "false", Code: "true", Check: yesNo,
		Help: "whether the addend of cope is divided by sqrt(Dh) as the logits are"}
	copeShared = Option{Name: "cope-shared", Default: "false", Check: yesNo,
		Help: "one table of cope for all layers"}
)

func init() {
	Register(Scheme{
		Name:         "cope",
		Extrapolates: Always,
		Options:      []Option{copeDirection, copePositions, copeScaled, copeShared},
		New:          newCoPE,
	})
}

type cope struct {
	atLogits
	table          *torchpe.Param // [E,T,P,Dh]
	causal, scaled bool
}

func newCoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	tables := c.Layers
	if c.Options.Bool(copeShared.Name) {
		tables = 1
	}
	return &cope{
		table: ps.Add("pe.table", true, torchpe.Normal(0, 0.02), tables,
			c.Options.Int(copePositions.Name), c.HeadWidth()),
		causal: c.Options.Text(copeDirection.Name) == "causal",
		scaled: c.Options.Bool(copeScaled.Name),
	}, nil
}

func (c *cope) Attention() Attention { return attentionWithMask(c.causal) }

func (c *cope) Begin(s *torchpe.Scope, p Positions) Hooks {
	h := &copeHooks{table: c.table.In(s), scaled: c.scaled}
	if c.causal {
		h.seen = pairTensor(s, h.table, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
	}
	h.order = orderOf(s, h.table.Device(), p.Index)
	return h
}

type copeHooks struct {
	Identity
	table  torchpe.Tensor // [E,T,P,Dh]
	seen   torchpe.Tensor // [N,N] 1 where a query sees a key; the zero Tensor where it sees all
	order  order
	scaled bool
}

// counts returns p [E,B,H,N,N].
func (h *copeHooks) counts(logits torchpe.Tensor) torchpe.Tensor {
	gates := logits.Sigmoid()
	if h.seen.Defined() {
		gates = gates.Mul(h.seen)
	}
	sums := h.order.back(h.order.sorted(gates, -1).Flip(-1).Cumsum(-1).Flip(-1), -1)
	return sums.Clamp(0, float64(h.table.Size(2)-1))
}

func (h *copeHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	counts := h.counts(logits)
	// [E,B,H,N,P]
	byCount := torchpe.Linear(a.Q, layerOf(h.table, a.Layer).Squeeze(1), torchpe.Tensor{})
	below := counts.Detach().Floor()
	part := counts.Sub(below)
	above := below.AddScalar(1).Clamp(0, float64(h.table.Size(2)-1))
	low, high := byCount.Gather(-1, below.To(torchpe.Int64, below.Device())),
		byCount.Gather(-1, above.To(torchpe.Int64, below.Device()))
	added := low.Add(part.Mul(high.Sub(low)))
	if h.scaled {
		added = added.MulScalar(a.Scale)
	}
	return logits.Add(added)
}
