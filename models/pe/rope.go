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
		Name:    "rope",
		Summary: "rotation of queries and keys by the token's place",
		Title:   "RoFormer: Enhanced Transformer with Rotary Position Embedding", Year: 2021,
		Reference: "Su et al. 2021, arXiv 2104.09864; Barbero et al. 2024, arXiv 2410.06205 " +
			"(--rope-proportion)",
		Differ: "pairs 2k and 2k+1 (RoFormer, LLaMA) or k and k+Dh/2 (Hugging Face): --rope-layout; " +
			"a part of the head (GPT-NeoX, the paper's code) or of the frequencies (p-RoPE) " +
			"alone: --rope-dims, --rope-proportion",
		Formula:    "(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/Dh);  k likewise",
		Parameters: "none",
		Criteria: Criteria{Inductive: true, ParameterEfficient: true,
			TranslationInvariant: true, Parallelizable: true, Printed: true},
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
