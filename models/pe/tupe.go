// tupe: positions and contents are untied; positions have queries and keys of their own, and what
// these make of each other is added to the logits (Ke et al. 2021, "Rethinking Positional Encoding
// in Language Pre-training", equations 7 to 10).
//
//	logits_ij = (x_i W_Q)(x_j W_K) / sqrt(2 Dh) + (p_i U_Q)(p_j U_K) / sqrt(2 Dh)
//	            [+ b_bucket(j-i) in TUPE-R]
//
// The positions' part is computed once, for all layers. The paper counts N D + 2 D^2 parameters;
// the published code has a layer norm on p and biases in U too (--tupe-projection normed).
//
// Pairs with a class token get two trained numbers for each head instead: theta_1 for others to the
// class, theta_2 for the class to all. The code takes them from two rows of p, theta_1 = p_1 U_Q
// U_K p_1, theta_2 = p_0 U_Q U_K p_0, and gives the n tokens rows 1..n. The tasks of this program
// have no class token; --tupe-class-token first takes the first place for one.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	tupeProjection = Option{Name: "tupe-projection", Text: "plain", Code: "normed",
		Check: oneOf("plain", "normed"),
		Help:  "how tupe projects positions: two matrices, or also a layer norm before and biases"}
	tupeBuckets = Option{Name: "tupe-buckets", Default: "none", Check: func(v string) error {
		_, _, err := tupeRelative(v)
		return err
	}, Help: "relative part of tupe: none (TUPE-A), or number of buckets / largest distance as " +
		"in 32/128 (TUPE-R)"}
	tupeClass = Option{Name: "tupe-class-token", Default: "none", Check: oneOf("none", "first"),
		Help: "which token of tupe is the class token, whose place does not matter"}
)

func init() {
	Register(Scheme{
		Name:    "tupe",
		Options: []Option{tupeProjection, tupeBuckets, tupeClass},
		New:     newTUPE,
	})
}

// tupeRelative parses --tupe-buckets.
func tupeRelative(text string) (b buckets, relative bool, err error) {
	if text == "none" {
		return b, false, nil
	}
	number, most, found := strings.Cut(text, "/")
	b.bidirectional = true
	if b.number, err = strconv.Atoi(number); err == nil && found {
		if b.most, err = strconv.Atoi(most); err == nil {
			return b, true, b.check()
		}
	}
	return b, false, fmt.Errorf("%q is neither none nor two whole numbers as in 32/128", text)
}

const tupeEpsilon = 1e-5 // of the layer norm

type tupe struct {
	atLogits
	table        *torchpe.Param // [E,R,D]
	gain, shift  *torchpe.Param // [E,D] of the layer norm; nil where plain
	queryW, keyW *torchpe.Param // [E,D,D]
	queryB, keyB *torchpe.Param // [E,D]; nil where plain
	relative     *torchpe.Param // [E,1,buckets,H] of TUPE-R; else nil
	buckets      buckets
	class        bool
	heads, rows  int
	scale        float64
}

func newTUPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	d := c.DModel
	t := &tupe{
		class: c.Options.Text(tupeClass.Name) == "first", heads: c.Heads,
		rows: c.Positions.Tokens(), scale: 1 / math.Sqrt(2*float64(c.HeadWidth())),
	}
	if t.class {
		t.rows++
	}
	t.table = ps.Add("pe.table", true, torchpe.Normal(0, 0.02), t.rows, d) // as in BERT
	t.queryW, t.keyW = ps.Add("pe.query.weight", true, torchpe.Xavier(d, d), d, d),
		ps.Add("pe.key.weight", true, torchpe.Xavier(d, d), d, d)
	if c.Options.Text(tupeProjection.Name) == "normed" {
		t.gain, t.shift = ps.Add("pe.norm.weight", true, torchpe.Constant(1), d),
			ps.Add("pe.norm.bias", true, torchpe.Constant(0), d)
		t.queryB, t.keyB = ps.Add("pe.query.bias", true, torchpe.FanIn(d), d),
			ps.Add("pe.key.bias", true, torchpe.FanIn(d), d)
	}
	b, relative, err := tupeRelative(c.Options.Text(tupeBuckets.Name))
	if relative {
		t.buckets = b
		rows := b.number
		if t.class {
			rows++ // others to the class; the class to others has the bucket of no offset
		}
		t.relative = ps.Add("pe.relative", true, torchpe.Normal(0, 0.02), 1, rows, c.Heads)
	}
	return t, err
}

func (t *tupe) Attention() Attention { return attentionWithScale(t.scale) }

func (t *tupe) Begin(s *torchpe.Scope, p Positions) Hooks {
	rows := p.Index
	if t.class {
		rows = []int{0, 1}
		for _, at := range p.Index {
			rows = append(rows, at+1)
		}
	}
	x := rowsAt(s, t.table.In(s), 1, rows)
	if t.gain != nil {
		x = torchpe.AddLayerNorm(x, torchpe.Tensor{}, torchpe.Norm{Gain: optional(s, t.gain),
			Bias: optional(s, t.shift), Eps: tupeEpsilon})
	}
	q := splitRows(torchpe.Linear(x, t.queryW.In(s), optional(s, t.queryB)), t.heads) // [E,H,R,Dh]
	k := splitRows(torchpe.Linear(x, t.keyW.In(s), optional(s, t.keyB)), t.heads)
	scores := q.MatMul(k.Transpose(2, 3)).MulScalar(t.scale)
	if t.class {
		scores = t.untied(s, scores, p)
	}
	bias := scores.Unsqueeze(1) // [E,1,H,N,N]
	if t.relative != nil {
		bias = bias.Add(biasOf(s, t.relative.In(s), pairs(p.Index, t.bucket), p.Tokens()))
	}
	return biasHooks{bias: bias}
}

// untied takes the scores [E,H,2+N,2+N] of the two rows for the class token and those of all
// tokens, and puts the former's in the place of those with the class token.
func (t *tupe) untied(s *torchpe.Scope, scores torchpe.Tensor, p Positions) torchpe.Tensor {
	toOthers := scores.Narrow(2, 0, 1).Narrow(3, 0, 1) // [E,H,1,1]
	toClass := scores.Narrow(2, 1, 1).Narrow(3, 1, 1)
	n := p.Tokens()
	marks := func(f func(i, j int) bool) torchpe.Tensor {
		return pairTensor(s, scores, p.Index, func(i, j int) float64 { return oneIf(f(i, j)) })
	}
	others := scores.Narrow(2, 2, n).Narrow(3, 2, n).Mul(marks(func(i, j int) bool {
		return i != 0 && j != 0
	}))
	fromClass := toOthers.Mul(marks(func(i, _ int) bool { return i == 0 }))
	return others.Add(fromClass).Add(toClass.Mul(marks(func(i, j int) bool {
		return i != 0 && j == 0
	})))
}

// bucket returns the row of TUPE-R's table for the places of a query and a key.
func (t *tupe) bucket(i, j int) int {
	switch {
	case t.class && i == 0:
		return t.buckets.number / 2 // of no pair of others
	case t.class && j == 0:
		return t.buckets.number
	}
	return t.buckets.of(j - i)
}
