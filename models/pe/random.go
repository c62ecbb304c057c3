// random: two things of one name. The paper cites Ruoss et al. 2023 (randomised positions); the published code adds a table
// that is drawn once and never trained.
//
//	frozen: x <- x + P_l,  P_l ~ N(0, 1) drawn once a block
//	ruoss:  x <- x + S(p),  p sorted distinct positions drawn from 0..max-1 for each sample, S the 1-D sinusoid

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	randomKind = Option{Name: "random", Text: "ruoss", Code: "frozen", Check: oneOf("ruoss", "frozen"),
		Help: "what random means: sorted random positions in a sinusoid, or a frozen N(0,1) table"}
	randomMax = Option{Name: "random-max", Text: "2048", Code: "2048", Check: whole(1, 1<<24), // larger ones are not exact in float32
		Help: "number of positions that --random ruoss draws from"}
)

func init() {
	Register(Scheme{
		Name:    "random",
		Summary: "frozen random table, or sinusoids of sorted random positions",
		Title:   "Randomized Positional Encodings Boost Length Generalization of Transformers", Year: 2023,
		Reference: "Ruoss et al. 2023, arXiv 2305.16843",
		Formula: "frozen: x <- x + P_l,  P_l ~ N(0, 1) drawn once a block\n" +
			"ruoss:  x <- x + S(p),  p sorted distinct positions drawn from 0..max-1 for each sample, S the 1-D sinusoid",
		Parameters:   "none",
		Criteria:     Criteria{ParameterEfficient: true, Parallelizable: true},
		Extrapolates: func(o Options) bool { return o.Text(randomKind.Name) == "ruoss" },
		Options:      []Option{placement, randomKind, randomMax},
		New:          newRandom,
	})
}

func newRandom(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n := c.Positions.Tokens()
	if c.Options.Text(randomKind.Name) == "frozen" {
		return &learned{table: ps.Add("pe.table", false, torchpe.Normal(0, 1), tablesFor(c), n, c.DModel)}, nil
	}
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("random: d_model %d is odd; sines and cosines come in pairs", c.DModel)
	}
	max := c.Options.Int(randomMax.Name)
	if max < n {
		return nil, fmt.Errorf("random: --random-max %d is less than the %d tokens", max, n)
	}
	return &randomised{max: max, width: c.DModel, each: tablesFor(c) > 1}, nil
}

type randomised struct {
	None
	max, width int
	each       bool
}

func (r *randomised) Sites() Site { return AtEmbed }

func (r *randomised) MaxPosition() int { return r.max }

func (r *randomised) Begin(s *torchpe.Scope, p Positions) Hooks {
	frequencies := make([]float64, r.width/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/float64(r.width))
	}
	if !p.Drawn.Defined() {
		panic(&torchpe.Error{Op: "random", Msg: "no positions were drawn for this batch (Positions.Drawn)"})
	}
	drawn := rowsAt(s, p.Drawn.In(s), 2, p.Index)
	f := torchpe.Of(s, torchpe.CPU, frequencies, len(frequencies)).To(drawn.DType(), drawn.Device())
	angles := drawn.Unsqueeze(-1).Mul(f) // [E,B,N,D/2]
	shape := append(drawn.Shape(), r.width)
	return &randomisedHooks{table: torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(shape...), each: r.each}
}

type randomisedHooks struct {
	Identity
	table torchpe.Tensor // [E,B,N,D]
	each  bool
}

func (h *randomisedHooks) Table(layer int) (torchpe.Tensor, bool) {
	return h.table, layer == 0 || h.each
}

func (h *randomisedHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if layer > 0 && !h.each {
		return x
	}
	return x.Add(h.table)
}
