// nope: no positional encoding at all; bidirectional attention then sees a set of tokens. It is
// None itself.

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:         "nope",
		Extrapolates: Always,
		New:          func(Config, *torchpe.ParamSet) (Encoding, error) { return None{}, nil },
	})
}
