// learn: a learned absolute PE, the subject of the paper (appendix A.1 and section 2 of "Learning
// positional encodings in transformers depends on initialization"; Gehring et al. 2017, Devlin et
// al. 2019 for the scheme).
//
//	x <- x + P,  P in R^{N x D} trained, P_0 ~ N(0, sigma^2)
//
// sigma is the standard deviation; other starts are Init's. In the code's reading each block owns a
// P that is added at its input.

package pe

import (
	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name: "learn", Learned: true,
		Options: []Option{placement},
		New:     newLearned,
	})
}

type learned struct {
	atEmbed
	table *torchpe.Param // [E,T,N,D]
}

func newLearned(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	start, err := c.start(c.Positions.Tokens(), c.DModel, true)
	if err != nil {
		return nil, err
	}
	return &learned{table: ps.Add("pe.table", true, start, tablesFor(c), c.Positions.Tokens(),
		c.DModel)}, nil
}

func (l *learned) Begin(s *torchpe.Scope, p Positions) Hooks {
	return &tableHooks{tables: rowsAt(s, l.table.In(s), 2, p.Index)}
}
