// axial: a learned absolute PE of two factors, for long lines (Ho et al. 2019, arXiv 1912.12180;
// Kitaev et al. 2020, "Reformer", section 5 and its code). With F places along the fast axis, place
// p lies at (floor(p/F), p mod F):
//
//	slow-first  P[p] = [A[floor(p/F)] | B[p mod F]]   (Reformer)
//	fast-first  P[p] = [B[p mod F] | A[floor(p/F)]]   (tutorial of Foumani et al., NeurIPS 2025)
//	sum         P[p] = A[floor(p/F)] + B[p mod F]     (lucidrains' variant; both of width D)
//
// A and B start as N(0, sigma^2). F is a setting; without it, it is the smallest whole number whose
// square is at least N.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var (
	axialJoin = Option{Name: "axial-join", Default: "slow-first",
		Check: oneOf("slow-first", "fast-first", "sum"),
		Help:  "how axial joins its factors: side by side in this order, or added"}
	axialFast = Option{Name: "axial-fast", Default: "0", Check: whole(0, 1<<20),
		Help: "places along the fast axis of axial; 0 for the square root of the tokens, " +
			"rounded up"}
	axialWidth = Option{Name: "axial-width", Default: "0", Check: whole(0, 1<<20),
		Help: "dimensions of axial's first factor; 0 for half of d_model"}
)

func init() {
	Register(Scheme{
		Name: "axial", Learned: true,
		Options: []Option{placement, axialJoin, axialFast, axialWidth},
		New:     newAxial,
	})
}

type axial struct {
	atEmbed
	slow, fast *torchpe.Param // [E,T,ceil(N/F),d], [E,T,F,d]
	tokens     int
	join       string
}

func newAxial(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, f, first := c.Positions.Tokens(), c.Options.Int(axialFast.Name),
		c.Options.Int(axialWidth.Name)
	for f == 0 || c.Options.Int(axialFast.Name) == 0 && f*f < n {
		f++
	}
	a := &axial{tokens: n, join: c.Options.Text(axialJoin.Name)}
	slow, fast := c.DModel, c.DModel
	if a.join != "sum" {
		if first == 0 {
			first = c.DModel / 2
		}
		if first < 1 || first >= c.DModel {
			return nil, fmt.Errorf("axial: --axial-width %d of d_model %d leaves nothing for one "+
				"of the two factors; take 1 to %d", first, c.DModel, c.DModel-1)
		}
		slow, fast = first, c.DModel-first
		if a.join == "fast-first" {
			slow, fast = fast, slow
		}
	} else if first != 0 {
		return nil, fmt.Errorf("axial: --axial-width %d has no meaning with --axial-join sum, "+
			"where both factors have d_model %d", first, c.DModel)
	}
	var err error
	if a.slow, err = c.addLearned(ps, "pe.slow", (n+f-1)/f, slow); err != nil {
		return nil, err
	}
	a.fast, err = c.addLearned(ps, "pe.fast", f, fast)
	return a, err
}

func (a *axial) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, a.tokens)
	f := a.fast.Shape[2]
	slow, fast := make([]int, p.Tokens()), make([]int, p.Tokens())
	for i, at := range p.Index {
		slow[i], fast[i] = at/f, at%f
	}
	ofSlow, ofFast := rowsAt(s, a.slow.In(s), 2, slow), rowsAt(s, a.fast.In(s), 2, fast)
	switch a.join {
	case "slow-first":
		return &tableHooks{tables: torchpe.Cat(-1, ofSlow, ofFast)}
	case "fast-first":
		return &tableHooks{tables: torchpe.Cat(-1, ofFast, ofSlow)}
	}
	return &tableHooks{tables: ofSlow.Add(ofFast)}
}
