// nope: no positional encoding at all; bidirectional attention then sees a set of tokens. It is
// None itself.

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:      "nope",
		Summary:   "no positional encoding",
		Title:     "The Impact of Positional Encoding on Length Generalization in Transformers",
		Year:      2023,
		Reference: "Kazemnejad et al. 2023, arXiv 2305.19466",
		Formula:   "logits_ij = q_i k_j / sqrt(Dh)", Parameters: "none",
		Criteria: Criteria{Inductive: true, ParameterEfficient: true, Parallelizable: true,
			TranslationInvariant: true},
		Extrapolates: Always,
		New:          func(Config, *torchpe.ParamSet) (Encoding, error) { return None{}, nil },
	})
}
