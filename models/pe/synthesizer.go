// synthesizer: logits that are made without comparing queries and keys (Tay et al. 2021, "Synthesizer: Rethinking Self-Attention in Transformer
// Models", section 3). Positions enter through the fixed column of each key.
//
//	dense:     logits_i = W_2 ReLU(W_1 x_i + b_1) + b_2      one number for each of N columns
//	random:    logits = R                                    a trained N x N matrix for each head
//	factorised: logits = R_1 R_2^T                           of rank k
//
// in place of q k^T / sqrt(Dh), own to each layer. The dense form has W for each head and reads the block's input; --synthesizer-input query
// reads each head's queries by weights that the heads share, as a public reimplementation does. Tables start as N(0, 1), as there; the
// factorised ones so that their product has that deviation.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var (
	synthesizerForm = Option{Name: "synthesizer", Default: "dense", Check: oneOf("dense", "random", "factorised"),
		Help: "where synthesizer takes its logits from: a network of the token, a matrix, or the product of two thin ones"}
	synthesizerInput = Option{Name: "synthesizer-input", Default: "block", Check: oneOf("block", "query"),
		Help: "what the network of synthesizer reads: the block's input, with weights for each head, or queries, with shared weights"}
	synthesizerWidth = Option{Name: "synthesizer-width", Default: "32", Check: whole(1, 1<<16),
		Help: "hidden units of synthesizer's network, or the rank k of its factorised matrix"}
)

func init() {
	Register(Scheme{
		Name:    "synthesizer",
		Summary: "logits from each token alone, or from a trained matrix, in place of products of queries and keys",
		Title:   "Synthesizer: Rethinking Self-Attention in Transformer Models", Year: 2021,
		Reference: "Tay et al. 2021, arXiv 2005.00743",
		Formula: "dense: logits_i = W_2 ReLU(W_1 x_i + b_1) + b_2;  random: logits = R in R^{N x N};\n" +
			"factorised: logits = R_1 R_2^T,  R_1, R_2 in R^{N x k}",
		Parameters: "L H (D h + h + h N + N) with h hidden units (dense; without H and with Dh for D where queries are read);\n" +
			"L H N^2 (random); 2 L H N k (factorised)",
		Criteria: Criteria{DataDriven: true, ParameterEfficient: true, Parallelizable: true, Printed: true},
		Options:  []Option{synthesizerForm, synthesizerInput, synthesizerWidth},
		New:      newSynthesizer,
	})
}

type synthesizer struct {
	None
	tokens      int
	matrix      *torchpe.Param // [E,L,H,N,N]; nil unless random
	left, right *torchpe.Param // [E,L,H,N,k]; nil unless factorised
	inW, outW   *torchpe.Param // [E,L,G,h,I], [E,L,G,N,h] for G = H heads that read I = D numbers, or one that reads Dh; nil unless dense
	inB, outB   *torchpe.Param // [E,L,G,h], [E,L,G,N]
	queries     bool
}

func newSynthesizer(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n := c.Positions.Tokens()
	y := &synthesizer{tokens: n, queries: c.Options.Text(synthesizerInput.Name) == "query"}
	switch c.Options.Text(synthesizerForm.Name) {
	case "random":
		y.matrix = ps.Add("pe.matrix", true, torchpe.Normal(0, 1), c.Layers, c.Heads, n, n)
	case "factorised":
		rank := c.Options.Int(synthesizerWidth.Name)
		draw := torchpe.Normal(0, math.Pow(float64(rank), -0.25))
		y.left = ps.Add("pe.left", true, draw, c.Layers, c.Heads, n, rank)
		y.right = ps.Add("pe.right", true, draw, c.Layers, c.Heads, n, rank)
	default:
		networks, reads, h := c.Heads, c.DModel, c.Options.Int(synthesizerWidth.Name)
		if y.queries {
			networks, reads = 1, c.HeadWidth()
		}
		y.inW = ps.Add("pe.in.weight", true, torchpe.FanIn(reads), c.Layers, networks, h, reads)
		y.inB = ps.Add("pe.in.bias", true, torchpe.FanIn(reads), c.Layers, networks, h)
		y.outW = ps.Add("pe.out.weight", true, torchpe.FanIn(h), c.Layers, networks, n, h)
		y.outB = ps.Add("pe.out.bias", true, torchpe.FanIn(h), c.Layers, networks, n)
	}
	return y, nil
}

func (y *synthesizer) Sites() Site { return AtLogits }

func (y *synthesizer) Attention() Attention {
	a := PlainAttention
	a.Replaces = true
	return a
}

func (y *synthesizer) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, y.tokens)
	rows := func(p *torchpe.Param, dim int, index []int) torchpe.Tensor { return rowsAt(s, p.In(s), dim, index) }
	switch {
	case y.matrix != nil:
		m := rows(y.matrix, 3, p.Index)
		return synthesizerHooks{logits: rowsAt(s, m, 4, p.Index)}
	case y.left != nil:
		return synthesizerHooks{logits: rows(y.left, 3, p.Index).MatMul(rows(y.right, 3, p.Index).Transpose(3, 4))}
	}
	return denseHooks{
		inW: y.inW.In(s), inB: y.inB.In(s), outW: rows(y.outW, 3, p.Index), outB: rows(y.outB, 3, p.Index), queries: y.queries,
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

func (h denseHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	inW, inB, outW, outB := h.inW.Select(1, a.Layer), h.inB.Select(1, a.Layer), h.outW.Select(1, a.Layer), h.outB.Select(1, a.Layer)
	if h.queries { // one network for all heads
		hidden := torchpe.Linear(a.Q, inW.Squeeze(1), inB.Squeeze(1)).ReLU()
		return torchpe.Linear(hidden, outW.Squeeze(1), outB.Squeeze(1))
	}
	e, b, n, d := a.X.Size(0), a.X.Size(1), a.X.Size(2), a.X.Size(3)
	networks, width := inW.Size(1), inW.Size(2)
	hidden := torchpe.Linear(a.X, inW.Reshape(e, networks*width, d), inB.Reshape(e, networks*width)).ReLU()
	byNetwork := hidden.Reshape(e, b, n, networks, width).Permute(0, 1, 3, 2, 4)
	return byHead(byNetwork, outW).Add(outB.Unsqueeze(1).Unsqueeze(3))
}
