// tener: attention that knows direction and distance through sinusoids of the offset (Yan et al.
// 2019, "TENER", equations 17 to 19).
//
//	logits_ij = q_i k_j + q_i P_{i-j} + u k_j + v P_{i-j}
//
// P_t has sin(t c_k) and cos(t c_k) in turn, c_k = 10000^(-2k/Dh); sines tell left from right. u
// and v are trained for each head and layer. There is no division by sqrt(Dh) (--tener-scaled true
// for one).
//
// The published code looks up P_{j-i}, has all sines before all cosines with c_k =
// 10000^(-k/(Dh/2-1)), and adds k_j P_{i-j}, which the paper does not have: --tener-offset j-i
// --tener-frequencies code --tener-key-term true.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	tenerOffset = Option{Name: "tener-offset", Default: "i-j", Check: oneOf("i-j", "j-i"),
		Help: "offset whose sinusoids tener looks up: from key to query, or from query to key as " +
			"in its code"}
	tenerFrequencies = Option{Name: "tener-frequencies", Default: "paper",
		Check: oneOf("paper", "code"),
		Help:  "sinusoids of tener: sines and cosines in turn, or as in its code"}
	tenerKeyTerm = Option{Name: "tener-key-term", Default: "false", Check: yesNo,
		Help: "the further term k_j P_{i-j} of tener's code"}
	tenerScaled = Option{Name: "tener-scaled", Default: "false", Check: yesNo,
		Help: "whether tener divides its logits by sqrt(Dh)"}
)

func init() {
	Register(Scheme{
		Name:         "tener",
		MinHeadWidth: 2,
		Extrapolates: Always,
		Options:      []Option{tenerOffset, tenerFrequencies, tenerKeyTerm, tenerScaled},
		New:          newTENER,
	})
}

type tener struct {
	atLogits
	sinusoids *torchpe.Param // [E,2N-1,Dh] of offsets -(N-1)..N-1
	u, v      *torchpe.Param // [E,L,H,Dh]
	forward   bool           // the offset is j-i
	keyTerm   bool
	scale     float64
	tokens    int
}

func newTENER(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, n := c.HeadWidth(), c.Positions.Tokens()
	inCode := c.Options.Text(tenerFrequencies.Name) == "code"
	switch {
	case dh%2 != 0:
		return nil, fmt.Errorf("tener: the head width %d = %d/%d is odd; sines and cosines come "+
			"in pairs", dh, c.DModel, c.Heads)
	case inCode && dh < 4:
		return nil, fmt.Errorf("tener: the head width %d = %d/%d is less than 4, "+
			"which --tener-frequencies code divides by Dh/2-1", dh, c.DModel, c.Heads)
	}
	t := &tener{
		forward: c.Options.Text(tenerOffset.Name) == "j-i",
		keyTerm: c.Options.Bool(tenerKeyTerm.Name), scale: 1, tokens: n,
	}
	if c.Options.Bool(tenerScaled.Name) {
		t.scale = 0
	}
	t.sinusoids = ps.Add("pe.sinusoids", false, computed(func(i int) float64 {
		offset, d := float64(i/dh-(n-1)), i%dh
		pair, cosine, rate := d/2, d%2 == 1, -2/float64(dh)
		if inCode {
			pair, cosine, rate = d%(dh/2), d >= dh/2, -1/float64(dh/2-1)
		}
		angle := offset * math.Pow(10000, rate*float64(pair))
		if cosine {
			return math.Cos(angle)
		}
		return math.Sin(angle)
	}), 2*n-1, dh)
	// Xavier's, as in the published code
	draw := torchpe.Normal(0, math.Sqrt(2/float64(c.Heads+dh)))
	t.u, t.v = ps.Add("pe.u", true, draw, c.Layers, c.Heads, dh),
		ps.Add("pe.v", true, draw, c.Layers, c.Heads, dh)
	return t, nil
}

func (t *tener) Attention() Attention { return attentionWithScale(t.scale) }

func (t *tener) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, t.tokens)
	h := &tenerHooks{sinusoids: t.sinusoids.In(s)}
	h.u, h.v = t.u.In(s).Unsqueeze(3), t.v.In(s).Unsqueeze(3)
	rows := func(sign int) torchpe.Tensor {
		return pairIndex(s, h.u, p.Index, func(i, j int) int { return sign*(i-j) + t.tokens - 1 })
	}
	if h.index = rows(1); t.forward {
		h.index = rows(-1)
	}
	if t.keyTerm {
		h.keyIndex = rows(1).Transpose(0, 1)
	}
	return h
}

type tenerHooks struct {
	Identity
	sinusoids torchpe.Tensor // [E,2N-1,Dh]
	u, v      torchpe.Tensor // [E,L,H,1,Dh]
	// [N,N] row for query i and key j, and for key j and query i in the key term
	index, keyIndex torchpe.Tensor
}

func (h *tenerHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}

func (h *tenerHooks) Bias(a Attn) torchpe.Tensor {
	u, v := layerOf(h.u, a.Layer), layerOf(h.v, a.Layer) // [E,1,H,1,Dh]
	// (q+v) P
	added := gatherPairs(torchpe.Linear(a.Q.Add(v), h.sinusoids, torchpe.Tensor{}), h.index)
	// u k_j
	added = added.Add(a.K.Mul(u).Sum(-1).Unsqueeze(3))
	if h.keyIndex.Defined() {
		byKey := torchpe.Linear(a.K, h.sinusoids, torchpe.Tensor{})
		added = added.Add(gatherPairs(byKey, h.keyIndex).Transpose(3, 4))
	}
	return added.MulScalar(a.Scale)
}
