// nope: no positional encoding at all; bidirectional attention then sees a set of tokens. It is None itself.

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:      "nope",
		Summary:   "no positional encoding",
		Reference: "Kazemnejad et al. 2023, arXiv 2305.19466",
		New:       func(Config, *torchpe.ParamSet) (Encoding, error) { return None{}, nil },
	})
}
