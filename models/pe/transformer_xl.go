// transformer-xl: relative attention by sinusoids of the distance, which each layer maps to keys of
// its own (Dai et al. 2019, section 3.3).
//
//	logits_ij = [ (q_i + u) k_j + (q_i + v) (W_R R_{i-j}) ] / sqrt(Dh)
//
// R_t = [sin(t c_k) | cos(t c_k)], c_k = 10000^(-2k/D), or a trained table; W_R in R^{D x D} for
// each layer, u and v for each head, shared by layers as in the published code. The paper is
// causal, where i-j >= 0; --xl-direction bidirectional takes offsets of both signs (mirrored: j-i,
// as in DeepMind's code, which does not scale either: --xl-scaled false).
//
// --xl-keys free is the code's other form (Al-Rfou's): logits_ij = [(q_i + u) k_j + q_i r_{i-j} +
// b_{i-j}] / sqrt(Dh) with trained vectors r and numbers b for each distance, head and layer. The
// segment memory of the paper is no encoding: to attend to m tokens before is to have them.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	xlDirection = Option{Name: "xl-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional", "mirrored"),
		Help: "whether tokens of transformer-xl see only those before them; mirrored is both " +
			"ways with distances j-i for i-j"}
	xlTable = Option{Name: "xl-table", Default: "sinusoid", Check: oneOf("sinusoid", "learned"),
		Help: "vectors of distances of transformer-xl before they are mapped"}
	xlKeys = Option{Name: "xl-keys", Default: "mapped", Check: oneOf("mapped", "free"),
		Help: "keys of distances of transformer-xl: mapped from one table, or trained for each " +
			"head and layer with a number each"}
	xlScaled = Option{Name: "xl-scaled", Default: "true", Check: yesNo,
		Help: "whether transformer-xl divides its logits by sqrt(Dh)"}
)

func init() {
	Register(Scheme{
		Name: "transformer-xl",
		Extrapolates: func(o Options) bool {
			return o.Text(xlTable.Name) == "sinusoid" && o.Text(xlKeys.Name) == "mapped"
		},
		Options: []Option{xlDirection, xlTable, xlKeys, xlScaled},
		New:     newTransformerXL,
	})
}

type transformerXL struct {
	atLogits
	table, keys    *torchpe.Param // [E,R,D], [E,L,D,D]; nil with free keys
	vectors, terms *torchpe.Param // [E,L,R,H,Dh], [E,L,R,H]; nil with mapped keys
	u, v           *torchpe.Param // [E,H,Dh]; v nil with free keys
	causal         bool
	sign, tokens   int
	scale          float64
}

func newTransformerXL(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, d, dh, free := c.Positions.Tokens(), c.DModel, c.HeadWidth(),
		c.Options.Text(xlKeys.Name) == "free"
	x := &transformerXL{causal: c.Options.Text(xlDirection.Name) == "causal", sign: 1, tokens: n}
	switch {
	case free && c.Options.Text(xlTable.Name) != "sinusoid":
		return nil, fmt.Errorf("transformer-xl: --xl-table learned needs --xl-keys mapped; " +
			"free keys have no table to map")
	case !free && d%2 != 0:
		return nil, c.oddWidth()
	}
	if c.Options.Text(xlDirection.Name) == "mirrored" {
		x.sign = -1
	}
	if !c.Options.Bool(xlScaled.Name) {
		x.scale = 1
	}
	rows, first := n, 0
	if !x.causal {
		rows, first = 2*n-1, -(n - 1)
	}
	if free {
		x.u = ps.Add("pe.u", true, xlStart, c.Heads, dh)
		x.vectors = ps.Add("pe.vectors", true, xlStart, c.Layers, rows, c.Heads, dh)
		x.terms = ps.Add("pe.terms", true, xlStart, c.Layers, rows, c.Heads)
		return x, nil
	}
	x.addMappedKeys(c, ps)
	if c.Options.Text(xlTable.Name) == "learned" {
		x.table = ps.Add("pe.table", true, torchpe.Normal(0, 1), rows, d)
		return x, nil
	}
	x.table = ps.Add("pe.table", false, computed(func(i int) float64 {
		angle := float64(first+i/d) * math.Pow(10000, -2*float64(i%d%(d/2))/float64(d))
		if i%d < d/2 {
			return math.Sin(angle)
		}
		return math.Cos(angle)
	}), rows, d)
	return x, nil
}

// xlStart draws the starts as the published code does.
var xlStart = torchpe.Normal(0, 0.02)

// addMappedKeys adds the parameters of keys that are mapped from a table of distances.
func (x *transformerXL) addMappedKeys(c Config, ps *torchpe.ParamSet) {
	d := c.DModel
	x.u = ps.Add("pe.u", true, xlStart, c.Heads, c.HeadWidth())
	x.v = ps.Add("pe.v", true, xlStart, c.Heads, c.HeadWidth())
	x.keys = ps.Add("pe.keys", true, torchpe.Xavier(d, d), c.Layers, d, d)
}

func (x *transformerXL) Attention() Attention {
	a := attentionWithMask(x.causal)
	a.Scale = x.scale
	return a
}

// row returns the row of the distance from the key's place j to the query's i.
func (x *transformerXL) row(i, j int) int {
	if x.causal {
		return max(i-j, 0) // keys after the query are masked
	}
	return x.sign*(i-j) + x.tokens - 1
}

func (x *transformerXL) Begin(s *torchpe.Scope, p Positions) Hooks {
	return x.hooks(s, p)
}

func (x *transformerXL) hooks(s *torchpe.Scope, p Positions) *xlHooks {
	checkPlaces(p.Index, x.tokens)
	u := x.u.In(s)
	return &xlHooks{
		u: u.Unsqueeze(1).Unsqueeze(3), v: optional(s, x.v), table: optional(s, x.table),
		keys: optional(s, x.keys), vectors: optional(s, x.vectors), terms: optional(s, x.terms),
		index: pairIndex(s, u, p.Index, x.row),
	}
}

type xlHooks struct {
	Identity
	u              torchpe.Tensor // [E,1,H,1,Dh]
	v              torchpe.Tensor // [E,H,Dh]
	table, keys    torchpe.Tensor // [E,R,D] or [E,B,R,D], [E,L,D,D]
	vectors, terms torchpe.Tensor // [E,L,R,H,Dh], [E,L,R,H]
	index          torchpe.Tensor // [N,N] row for query i and key j
}

func (h *xlHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor { return logits.Add(h.Bias(a)) }

func (h *xlHooks) Bias(a Attn) torchpe.Tensor {
	var byDistance torchpe.Tensor // [E,B,H,N,R]
	if h.keys.Defined() {
		byDistance = h.mapped(a)
	} else {
		byDistance = byHead(a.Q, h.vectors.Select(1, a.Layer).Transpose(1, 2))
		terms := h.terms.Select(1, a.Layer).Transpose(1, 2) // [E,H,R]
		byDistance = byDistance.Add(terms.Unsqueeze(1).Unsqueeze(3))
	}
	content := a.K.Mul(h.u).Sum(-1).Unsqueeze(3) // u k_j [E,B,H,1,N]
	return gatherPairs(byDistance, h.index).Add(content).MulScalar(a.Scale)
}

// mapped returns (q_i + v) (W_R R_t) for each row t of the table, [E,B,H,N,R].
func (h *xlHooks) mapped(a Attn) torchpe.Tensor {
	q, heads := a.Q.Add(h.v.Unsqueeze(1).Unsqueeze(3)), a.Q.Size(2)
	shape := h.table.Shape()
	d := shape[len(shape)-1]
	rows := h.table.Reshape(shape[0], -1, d)
	keys := torchpe.Linear(rows, h.keys.Select(1, a.Layer), torchpe.Tensor{}) // [E,R,D]
	if len(shape) == 3 {
		return byHead(q, splitRows(keys, heads))
	}
	// a table for each sample: [E,B,H,R,Dh]
	keys = keys.Reshape(shape[0], shape[1], shape[2], heads, d/heads).Transpose(2, 3)
	return q.MatMul(keys.Transpose(3, 4))
}
