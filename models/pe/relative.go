// relative: learned vectors for the offset between two tokens, in two readings.
//
//	shaw (text; Shaw et al. 2018, equations 3-5): bidirectional, offsets clipped to +-k
//	    logits_ij = (q_i k_j + q_i aK_{clip(j-i)}) / sqrt(Dh)
//	    out_i = sum_j w_ij (v_j + aV_{clip(j-i)})
//	skew (published code; Huang et al. 2018, "Music Transformer"): causal, no value term and no
//	output projection
//	    logits_ij = (q_i k_j + q_i Er_{N-1-(i-j)}) / sqrt(Dh) for j <= i
//
// Tables are shared by the heads and own to each layer.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var (
	relativeKind = Option{Name: "relative", Text: "shaw", Code: "skew",
		Check: oneOf("shaw", "skew"),
		Help: "reading of relative: bidirectional and clipped, or skewed and causal without " +
			"output projection"}
	relativeClip = Option{Name: "relative-clip", Text: "16", Code: "16", Check: whole(1, 1<<20),
		Help: "largest offset that --relative shaw tells apart"}
	relativeValues = Option{Name: "relative-values", Text: "false", Code: "false",
		Check: oneOf("true", "false"),
		Help:  "with --relative shaw: offsets also act on the values"}
)

func init() {
	Register(Scheme{
		Name:         "relative",
		Extrapolates: func(o Options) bool { return o.Text(relativeKind.Name) == "shaw" },
		Options:      []Option{relativeKind, relativeClip, relativeValues, attentionInit},
		New:          newRelative,
	})
}

type relative struct {
	None
	keys, values *torchpe.Param // [E,L,R,Dh]; values nil where there is no value term
	skew         bool
	clip         int
	linearInit   bool
}

func newRelative(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	r := &relative{
		skew: c.Options.Text(relativeKind.Name) == "skew", clip: c.Options.Int(relativeClip.Name),
		linearInit: c.Options.Text(attentionInit.Name) == "linear",
	}
	dh := c.HeadWidth()
	values := c.Options.Bool(relativeValues.Name)
	if r.skew {
		if values {
			return nil, fmt.Errorf("relative: --relative-values needs --relative shaw; " +
				"the skewed reading has no value term")
		}
		r.keys = ps.Add("pe.keys", true, torchpe.Normal(0, 1), c.Layers, c.Positions.Tokens(), dh)
		return r, nil
	}
	rows := 2*r.clip + 1
	r.keys = ps.Add("pe.keys", true, torchpe.Xavier(dh, rows), c.Layers, rows, dh)
	if values {
		r.values = ps.Add("pe.values", true, torchpe.Xavier(dh, rows), c.Layers, rows, dh)
	}
	return r, nil
}

func (r *relative) Sites() Site {
	if r.values != nil {
		return AtLogits | AtOutput
	}
	return AtLogits
}

func (r *relative) Attention() Attention {
	return Attention{Causal: r.skew, Temperature: 1, Bias: true, OutputProjection: !r.skew,
		LinearInit: r.linearInit}
}

// row returns the table's row for the offset of a key at position j seen from a query at position
// i.
func (r *relative) row(i, j int) int {
	if r.skew {
		last := r.keys.Shape[2] - 1  // offset 0, however many tokens there are in this batch
		return min(last-(i-j), last) // keys after the query are masked
	}
	return max(-r.clip, min(r.clip, j-i)) + r.clip
}

func (r *relative) Begin(s *torchpe.Scope, p Positions) Hooks {
	if r.skew {
		checkPlaces(p.Index, r.keys.Shape[2])
	}
	keys := r.keys.In(s)
	h := &relativeHooks{keys: keys, index: pairIndex(s, keys, p.Index, r.row)}
	if r.values != nil {
		h.values = r.values.In(s)
		h.buckets = h.index.OneHot(r.values.Shape[2], keys.DType()) // [N,N,R]
	}
	return h
}

type relativeHooks struct {
	Identity
	keys, values torchpe.Tensor // [E,L,R,Dh]
	index        torchpe.Tensor // [N,N] row for query i and key j
	buckets      torchpe.Tensor // [N,N,R] the same as one-hot
}

func (h *relativeHooks) Bias(a Attn) torchpe.Tensor {
	byRow := torchpe.Linear(a.Q, h.keys.Select(1, a.Layer).MulScalar(a.Scale), torchpe.Tensor{}) // [E,B,H,N,R]
	return gatherPairs(byRow, h.index)
}

func (h *relativeHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}

func (h *relativeHooks) Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor {
	if !h.values.Defined() {
		return out
	}
	w := weights.Shape() // [E,B,H,N,N]
	rows, n := w[0]*w[1]*w[2], w[3]
	byQuery := weights.Permute(3, 0, 1, 2, 4).Reshape(n, rows, n) // [N,E*B*H,N]
	// [E,B,H,N,R]
	sums := byQuery.MatMul(h.buckets).Reshape(n, w[0], w[1], w[2], -1).Permute(1, 2, 3, 0, 4)
	return out.Add(torchpe.Linear(sums, h.values.Select(1, a.Layer).Transpose(1, 2).Contiguous(),
		torchpe.Tensor{}))
}
