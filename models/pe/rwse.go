// rwse: the probabilities that a random walk on the graph is back where it began after so many steps
// (Dwivedi et al. 2022, "Graph Neural Networks with Learnable Structural and Positional
// Representations", section 3; Rampasek et al. 2022, "Recipe for a General, Powerful, Scalable Graph
// Transformer").
//
//	z_p = [(P^k)_pp k^(d/2)] for the steps k,  P = D^-1 A,  D the numbers of outgoing edges
//	x <- x + C z + c
//
// GraphGPS concatenates a linear map of z to the token's features: before a linear map that is the same
// as C z added to x. Its factor k^(d/2) for a space of d dimensions is 1 by default. The walk ends at a
// node without outgoing edges. Edges count alike: GraphGPS and PyTorch Geometric put weights, where there
// are some, into D alone, which is no walk. The graph is that of the positions; without one, neighbours
// on the grid or the line are joined.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	rwseSteps = Option{Name: "rwse-steps", Default: "1-20", Check: stepList,
		Help: "steps after which rwse looks where the walk is, as in 1-20 or 2,4,8"}
	rwseDimensions = Option{Name: "rwse-dimensions", Default: "0", Check: number(0, 64),
		Help: "dimensions d of the space for the factor k^(d/2) of rwse"}
)

func init() {
	Register(Scheme{
		Name:         "rwse",
		Needs:        NeedsGraph,
		Extrapolates: Always,
		Options:      []Option{rwseSteps, rwseDimensions},
		New:          newRWSE,
	})
}

// stepList checks a list of numbers of steps.
func stepList(v string) error {
	_, err := stepsOf(v)
	return err
}

// stepsOf reads a list of numbers of steps and ranges of them, in ascending order.
func stepsOf(v string) (steps []int, err error) {
	for _, part := range strings.Split(v, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of steps as in 1-20 or 2,4,8", v)
		}
		high, err := strconv.Atoi(last)
		if err != nil || low < 1 || high < low || high > 1<<12 ||
			len(steps) > 0 && low <= steps[len(steps)-1] {
			return nil, fmt.Errorf("%q is no list of steps from 1 to %d in ascending order", v, 1<<12)
		}
		for k := low; k <= high; k++ {
			steps = append(steps, k)
		}
	}
	return steps, nil
}

// mapped is a fixed table of numbers for each token, through a trained linear map.
type mapped struct {
	atEmbed
	features *torchpe.Param // [E,N,K]
	w, b     *torchpe.Param // [E,D,K], [E,D]
}

// newMapped declares the table, which fill makes [N][K] when it is asked for, and the map.
func newMapped(c Config, ps *torchpe.ParamSet, width int, fill func() [][]float64) *mapped {
	var table []float64 // the same for all members
	m := &mapped{features: ps.Add("pe.features", false,
		func(_ int, _ *rand.Rand, out []float64) {
			if table == nil {
				for _, row := range fill() {
					table = append(table, row...)
				}
			}
			copy(out, table)
		}, c.Positions.Tokens(), width)}
	m.w, m.b = addLinear(ps, "pe.", width, c.DModel)
	return m
}

func (m *mapped) Begin(s *torchpe.Scope, p Positions) Hooks {
	z := rowsAt(s, m.features.In(s), 1, p.Index)
	return &tableHooks{tables: torchpe.Linear(z, m.w.In(s), m.b.In(s)).Unsqueeze(1)}
}

func newRWSE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	steps, err := stepsOf(c.Options.Text(rwseSteps.Name))
	if err != nil {
		return nil, err
	}
	dims := c.Options.Float(rwseDimensions.Name)
	return newMapped(c, ps, len(steps), func() [][]float64 {
		rows, at := make([][]float64, c.Positions.Tokens()), 0
		w := walkOf(c.Positions.Neighbours(), false)
		for _, k := range steps {
			for ; at < k; at++ {
				w.step()
			}
			for i := range rows {
				rows[i] = append(rows[i], w.power[i][i]*math.Pow(float64(k), dims/2))
			}
		}
		return rows
	}), nil
}
