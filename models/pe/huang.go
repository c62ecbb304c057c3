// huang: the four ways in which Huang et al. 2020 have the offset between two tokens act on their
// logit (section 3, equations 5 to 12).
//
//	1: logits_ij = q_i k_j w_{min(|j-i|,k)} / sqrt(Dh)           scalars, blind to direction
//	2: logits_ij = q_i k_j w_{clip(j-i,-k,k)} / sqrt(Dh)         scalars
//	3: logits_ij = sum_d q_id k_jd w_{clip(j-i),d} / sqrt(Dh)    vectors
//	4: logits_ij = (q_i k_j + q_i a_ij + k_j a_ij) / sqrt(Dh)    vectors a_ij = w_{clip(j-i)}
//
// Offsets up to k are told apart: k+1 numbers in method 1, 2k+1 in the others (the tutorial's
// slides stop at k-1). The table is shared by heads and own to each layer. Methods 1 to 3 start as
// N(0, 1), as in the tutorial's code, method 4 as relative does. Method 3 needs a tensor
// [E,B,H,N,N,Dh]: they cannot be factored.

package pe

import "torchpe/torchpe"

var (
	huangMethod = Option{Name: "huang-method", Default: "4", Check: oneOf("1", "2", "3", "4"),
		Help: "which of the methods of Huang et al. 2020"}
	huangClip = Option{Name: "huang-clip", Default: "16", Check: whole(1, 1<<20),
		Help: "largest offset that huang tells apart"}
)

func init() {
	Register(Scheme{
		Name:         "huang",
		Extrapolates: Always,
		Options:      []Option{huangMethod, huangClip},
		New:          newHuang,
	})
}

type huang struct {
	atLogits
	table  *torchpe.Param // [E,L,R,1] or [E,L,R,Dh]
	method string
	clip   int
}

func newHuang(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	h := &huang{method: c.Options.Text(huangMethod.Name), clip: c.Options.Int(huangClip.Name)}
	rows, width, init := 2*h.clip+1, 1, torchpe.Normal(0, 1)
	switch h.method {
	case "1":
		rows = h.clip + 1
	case "3":
		width = c.HeadWidth()
	case "4":
		width = c.HeadWidth()
		init = torchpe.Xavier(width, rows)
	}
	h.table = ps.Add("pe.table", true, init, c.Layers, rows, width)
	return h, nil
}

// row returns the table's row for the places of a query and a key.
func (h *huang) row(i, j int) int {
	if h.method == "1" {
		return min(max(i-j, j-i), h.clip)
	}
	return max(-h.clip, min(h.clip, j-i)) + h.clip
}

func (h *huang) Begin(s *torchpe.Scope, p Positions) Hooks {
	n, table := p.Tokens(), h.table.In(s)
	index := pairs(p.Index, h.row)
	hooks := &huangHooks{method: h.method, table: table}
	switch h.method {
	case "1", "2":
		hooks.factors = biasOf(s, table, index, n) // [E,L,1,N,N]
	case "3":
		rows := table.IndexSelect(2, indexTensor(s, table.Device(), index, n*n)) // [E,L,N*N,Dh]
		e, layers, dh := table.Size(0), table.Size(1), table.Size(3)
		hooks.factors = rows.AddScalar(-1).Reshape(e, layers, 1, n, n, dh)
	case "4":
		hooks.index = indexTensor(s, table.Device(), index, n, n)
	}
	return hooks
}

type huangHooks struct {
	Identity
	method string
	table  torchpe.Tensor // [E,L,R,Dh]
	// [E,L,1,N,N], for method 3 [E,L,1,N,N,Dh] less one: what is added to the plain product
	factors torchpe.Tensor
	index   torchpe.Tensor // [N,N] row for query i and key j
}

func (h *huangHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	switch h.method {
	case "3":
		weighed := a.Q.Unsqueeze(4).Mul(layerOf(h.factors, a.Layer)) // [E,B,H,N,N,Dh]
		return logits.Add(weighed.Mul(a.K.Unsqueeze(3)).Sum(-1).MulScalar(a.Scale))
	case "4":
		table := h.table.Select(1, a.Layer)
		byQuery := gatherPairs(torchpe.Linear(a.Q, table, torchpe.Tensor{}), h.index)
		byKey := gatherPairs(torchpe.Linear(a.K, table, torchpe.Tensor{}), h.index.Transpose(0, 1))
		byKey = byKey.Transpose(3, 4)
		return logits.Add(byQuery.Add(byKey).MulScalar(a.Scale))
	}
	return logits.Mul(layerOf(h.factors, a.Layer))
}
