// rope: rotary encoding (Su et al. 2021, RoFormer, section 3.2; appendix A.1 of the paper).
//
//	(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/r);  k likewise
//
// on the first r dimensions of queries and keys of every head, r = Dh unless --rope-dims says
// otherwise (GPT-NeoX). With --rope-layout half the pairs are (q_k, q_k+r/2), as in GPT-NeoX and
// Hugging Face's Llama: the same up to the order of dimensions. The published code's projections
// have no biases; its positions start at 0.
//
// --rope-proportion p is p-RoPE (Barbero et al. 2024, "Round and Round We Go!", section 6; Hugging
// Face's "proportional"): the fastest floor(p r/2) pairs are turned, as fast as without it, and the
// slower ones stay. With --rope-dims the turned pairs have frequencies over r; here over all.

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:         "rope",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeDims, later(ropeProportion),
			attentionBias, attentionInit},
		New: newRoPE,
	})
}

func newRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims, err := c.turnedDims()
	if err != nil {
		return nil, err
	}
	turn, err := c.proportion(plainTurn(c.Options.Float(ropeBase.Name), dims), dims)
	if err != nil {
		return nil, err
	}
	return newRotary(c, ps, dims, turn)
}
