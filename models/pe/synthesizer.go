// synthesizer: logits that are made without comparing queries and keys (Tay et al. 2021,
// "Synthesizer: Rethinking Self-Attention in Transformer Models", section 3). Positions enter
// through the fixed column of each key.
//
//	dense:     logits_i = W_2 ReLU(W_1 x_i + b_1) + b_2      one number for each of N columns
//	random:    logits = R                                    a trained N x N matrix for each head
//	factorised: logits = R_1 R_2^T                           of rank k
//	factorised-dense: logits_ij = A_i[p] B_i[r]
//	    A_i = W_A x_i + b_A in R^a,  B_i = W_B x_i + b_B in R^b,  a b = N
//
// in place of q k^T / sqrt(Dh), own to each layer. The dense form has W for each head and reads the
// block's input; --synthesizer-input query reads each head's queries by weights that the heads
// share, as a public reimplementation does. Tables start as N(0, 1), as there; the factorised ones
// so that their product has that deviation.
//
// The factorised dense form multiplies two tilings of short vectors, C = H_A(A) * H_B(B). In column
// j it takes p = floor(j/b) and r = j mod b, so that all columns differ, as the paper wants of the
// two tilings together. The form factorised-dense-tiled takes p = j mod a and r = j mod b: each
// vector "simply duplicated", as the paper has it and a public reimplementation does; columns then
// repeat after the least common multiple of a and b. factorised-dense:4 says a, by default the
// largest divisor of N up to its root. Reading queries it has weights that the heads share, as the
// dense form does.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	synthesizerForm = Option{Name: "synthesizer", Default: "dense", Check: func(v string) error {
		_, _, err := synthesizerForms(v)
		return err
	}, Help: "source of the logits of synthesizer: dense, a network of the token; random, a matrix; " +
		"factorised, the product of two thin ones; factorised-dense (or factorised-dense:4), " +
		"products of two short vectors of the token, the first of length 4; " +
		"factorised-dense-tiled, both repeated"}
	synthesizerInput = Option{Name: "synthesizer-input", Default: "block",
		Check: oneOf("block", "query"),
		Help: "input of the network of synthesizer: the block's, with weights for each head, or queries, " +
			"with shared weights"}
	synthesizerWidth = Option{Name: "synthesizer-width", Default: "32", Check: whole(1, 1<<16),
		Help: "hidden units of synthesizer's network, or the rank k of its factorised matrix"}
)

func init() {
	Register(Scheme{
		Name:    "synthesizer",
		Options: []Option{synthesizerForm, synthesizerInput, synthesizerWidth},
		New:     newSynthesizer,
	})
}

// synthesizerForms parses --synthesizer: the form, and the length a of the first vector of those
// that are factorised dense, 0 for the default.
func synthesizerForms(text string) (form string, a int, err error) {
	form, length, given := strings.Cut(text, ":")
	if given {
		if a, err = strconv.Atoi(length); err != nil || a < 1 ||
			!strings.HasPrefix(form, "factorised-dense") {
			return "", 0, fmt.Errorf("%q: a whole number from 1 follows factorised-dense: "+
				"or factorised-dense-tiled: alone", text)
		}
	}
	return form, a, oneOf("dense", "random", "factorised", "factorised-dense",
		"factorised-dense-tiled")(form)
}

type synthesizer struct {
	atLogits
	tokens      int
	matrix      *torchpe.Param // [E,L,H,N,N]; nil unless random
	left, right *torchpe.Param // [E,L,H,N,k]; nil unless factorised
	// Of G = H networks that read I = D numbers, or one that reads Dh; nil unless dense.
	inW, outW *torchpe.Param // [E,L,G,h,I], [E,L,G,N,h]
	inB, outB *torchpe.Param // [E,L,G,h], [E,L,G,N]
	aW, bW    *torchpe.Param // [E,L,G,a,I], [E,L,G,b,I]; nil unless factorised dense
	aB, bB    *torchpe.Param // [E,L,G,a], [E,L,G,b]
	cross     bool
	queries   bool
}

func newSynthesizer(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n := c.Positions.Tokens()
	y := &synthesizer{tokens: n, queries: c.Options.Text(synthesizerInput.Name) == "query"}
	form, a, err := synthesizerForms(c.Options.Text(synthesizerForm.Name))
	if err != nil {
		return nil, err
	}
	switch form {
	case "random":
		y.matrix = ps.Add("pe.matrix", true, torchpe.Normal(0, 1), c.Layers, c.Heads, n, n)
	case "factorised":
		rank := c.Options.Int(synthesizerWidth.Name)
		draw := torchpe.Normal(0, math.Pow(float64(rank), -0.25))
		y.left = ps.Add("pe.left", true, draw, c.Layers, c.Heads, n, rank)
		y.right = ps.Add("pe.right", true, draw, c.Layers, c.Heads, n, rank)
	case "factorised-dense", "factorised-dense-tiled":
		if a, err = factorOf(n, a); err != nil {
			return nil, err
		}
		networks, reads := y.networks(c)
		y.cross = form == "factorised-dense"
		y.aW, y.aB = addLinear(ps, "pe.a.", reads, c.Layers, networks, a)
		y.bW, y.bB = addLinear(ps, "pe.b.", reads, c.Layers, networks, n/a)
	default:
		networks, reads := y.networks(c)
		h := c.Options.Int(synthesizerWidth.Name)
		y.inW, y.inB = addLinear(ps, "pe.in.", reads, c.Layers, networks, h)
		y.outW, y.outB = addLinear(ps, "pe.out.", h, c.Layers, networks, n)
	}
	return y, nil
}

// networks returns how many networks there are and how many numbers each reads.
func (y *synthesizer) networks(c Config) (networks, reads int) {
	if y.queries {
		return 1, c.HeadWidth()
	}
	return c.Heads, c.DModel
}

// factorOf returns a, where a b = n.
func factorOf(n, a int) (int, error) {
	if a > 0 && n%a != 0 {
		return 0, fmt.Errorf("synthesizer: --synthesizer factorised-dense:%d: %d does not divide "+
			"%d tokens", a, a, n)
	}
	if a == 0 {
		a = largestDivisor(n)
	}
	return a, nil
}

func (y *synthesizer) Attention() Attention {
	a := PlainAttention
	a.Replaces = true
	return a
}

func (y *synthesizer) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, y.tokens)
	rows := func(p *torchpe.Param, dim int, index []int) torchpe.Tensor {
		return rowsAt(s, p.In(s), dim, index)
	}
	switch {
	case y.matrix != nil:
		m := rows(y.matrix, 3, p.Index)
		return synthesizerHooks{logits: rowsAt(s, m, 4, p.Index)}
	case y.left != nil:
		left, right := rows(y.left, 3, p.Index), rows(y.right, 3, p.Index)
		return synthesizerHooks{logits: left.MatMul(right.Transpose(3, 4))}
	case y.aW != nil:
		h := shortHooks{aW: y.aW.In(s), aB: y.aB.In(s), bW: y.bW.In(s), bB: y.bB.In(s),
			queries: y.queries}
		a, b := h.aB.Size(3), h.bB.Size(3)
		for _, j := range p.Index {
			if y.cross {
				h.ofA = append(h.ofA, j/b)
			} else {
				h.ofA = append(h.ofA, j%a)
			}
			h.ofB = append(h.ofB, j%b)
		}
		return h
	}
	return denseHooks{
		inW: y.inW.In(s), inB: y.inB.In(s), outW: rows(y.outW, 3, p.Index),
		outB: rows(y.outB, 3, p.Index), queries: y.queries,
	}
}

type synthesizerHooks struct {
	Identity
	logits torchpe.Tensor // [E,L,H,N,N]
}

func (h synthesizerHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return layerOf(h.logits, a.Layer).Expand(logits.Shape()...)
}

type denseHooks struct {
	Identity
	inW, outW torchpe.Tensor // [E,L,G,h,I], [E,L,G,N,h], columns in the tokens' order
	inB, outB torchpe.Tensor // [E,L,G,h], [E,L,G,N]
	queries   bool
}

func (h denseHooks) Logits(a Attn, _ torchpe.Tensor) torchpe.Tensor {
	inW, inB, outW, outB := h.inW.Select(1, a.Layer), h.inB.Select(1, a.Layer),
		h.outW.Select(1, a.Layer), h.outB.Select(1, a.Layer)
	hidden := readBy(a, inW, inB, h.queries).ReLU()
	if h.queries { // one network for all heads
		return torchpe.Linear(hidden, outW.Squeeze(1), outB.Squeeze(1))
	}
	return byHead(hidden, outW).Add(outB.Unsqueeze(1).Unsqueeze(3))
}

// readBy returns W x_i + b of each network [E,B,G,N,O], W [E,G,O,D] and b [E,G,O]; or W q_i + b of
// each head, where W is that of one network.
func readBy(a Attn, w, b torchpe.Tensor, queries bool) torchpe.Tensor {
	if queries {
		return torchpe.Linear(a.Q, w.Squeeze(1), b.Squeeze(1))
	}
	e, samples, n, d := a.X.Size(0), a.X.Size(1), a.X.Size(2), a.X.Size(3)
	networks, out := w.Size(1), w.Size(2)
	y := torchpe.Linear(a.X, w.Reshape(e, networks*out, d), b.Reshape(e, networks*out))
	return y.Reshape(e, samples, n, networks, out).Permute(0, 1, 3, 2, 4)
}

type shortHooks struct {
	Identity
	aW, bW   torchpe.Tensor // [E,L,G,a,I], [E,L,G,b,I]
	aB, bB   torchpe.Tensor // [E,L,G,a], [E,L,G,b]
	ofA, ofB []int          // [N] the entries of both vectors whose product is a token's column
	queries  bool
}

func (h shortHooks) Logits(a Attn, _ torchpe.Tensor) torchpe.Tensor {
	tiled := func(w, b torchpe.Tensor, of []int) torchpe.Tensor {
		short := readBy(a, w.Select(1, a.Layer), b.Select(1, a.Layer), h.queries)
		return short.IndexSelect(4, indexTensor(short.Scope(), short.Device(), of, len(of)))
	}
	return tiled(h.aW, h.aB, h.ofA).Mul(tiled(h.bW, h.bB, h.ofB))
}
