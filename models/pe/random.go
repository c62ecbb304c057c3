// random: two things of one name. The paper cites Ruoss et al. 2023 (randomised positions); the published code adds a table
// that is drawn once and never trained.
//
//	frozen: x <- x + P_l,  P_l ~ N(0, 1) drawn once a block
//	ruoss:  x <- x + S(p),  p sorted distinct positions drawn from 0..max-1 for each sample, S the 1-D sinusoid
//
// Drawn positions can take the place of 0..N-1 in other schemes too (--random-base): S(p) is a row of a learned table of max rows (as
// in the code of McLeish et al. 2024, which starts it as N(0, 1)), or queries and keys are rotated by them (rope of base 10000). Schemes that need
// no more than an order are all open to it in principle; these are the three that public code has.

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
	randomBase = Option{Name: "random-base", Default: "sinusoid", Check: oneOf("sinusoid", "learn", "rope"),
		Help: "with --random ruoss: the scheme that the drawn positions go into"}
)

func init() {
	Register(Scheme{
		Name:    "random",
		Summary: "frozen random table, or sinusoids of sorted random positions",
		Title:   "Randomized Positional Encodings Boost Length Generalization of Transformers", Year: 2023,
		Reference: "Ruoss et al. 2023, arXiv 2305.16843",
		Formula: "frozen: x <- x + P_l,  P_l ~ N(0, 1) drawn once a block\n" +
			"ruoss:  x <- x + S(p),  p sorted distinct positions drawn from 0..max-1 for each sample, S the 1-D sinusoid,\n" +
			"        or rows of a learned table, or angles of rope",
		Parameters:   "none; max D with --random-base learn, L times with a table each block",
		Criteria:     Criteria{ParameterEfficient: true, Parallelizable: true},
		Extrapolates: func(o Options) bool { return o.Text(randomKind.Name) == "ruoss" },
		Options:      []Option{placement, randomKind, randomMax, randomBase},
		New:          newRandom,
	})
}

func newRandom(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, base := c.Positions.Tokens(), c.Options.Text(randomBase.Name)
	if c.Options.Text(randomKind.Name) == "frozen" {
		if base != "sinusoid" {
			return nil, fmt.Errorf("random: --random-base %s needs --random ruoss; a frozen table has no positions", base)
		}
		return &learned{table: ps.Add("pe.table", false, torchpe.Normal(0, 1), tablesFor(c), n, c.DModel)}, nil
	}
	max := c.Options.Int(randomMax.Name)
	r := randomised{max: max, each: tablesFor(c) > 1}
	switch {
	case max < n:
		return nil, fmt.Errorf("random: --random-max %d is less than the %d tokens", max, n)
	case base == "learn":
		return &randomisedTable{r, ps.Add("pe.rows", true, torchpe.Normal(0, 1), tablesFor(c), max, c.DModel)}, nil
	case base == "rope" && c.HeadWidth()%2 != 0:
		return nil, fmt.Errorf("random: the head width %d = %d/%d is odd; --random-base rope turns pairs", c.HeadWidth(), c.DModel, c.Heads)
	case base == "rope":
		return &randomisedAngles{r, c.HeadWidth()}, nil
	case c.DModel%2 != 0:
		return nil, fmt.Errorf("random: d_model %d is odd; sines and cosines come in pairs", c.DModel)
	}
	return &randomisedWaves{r, c.DModel}, nil
}

// randomised is what takes positions that are drawn for each sample.
type randomised struct {
	None
	max  int
	each bool
}

func (r *randomised) Sites() Site { return AtEmbed }

func (r *randomised) MaxPosition() int { return r.max }

// drawn returns each token's position [E,B,N], which must have been drawn.
func (r *randomised) drawn(s *torchpe.Scope, p Positions) torchpe.Tensor {
	if !p.Drawn.Defined() {
		panic(&torchpe.Error{Op: "random", Msg: "no positions were drawn for this batch (Positions.Drawn)"})
	}
	return rowsAt(s, p.Drawn.In(s), 2, p.Index)
}

// angles returns those of a sinusoid of the given width at the drawn positions, [E,B,N,width/2].
func (r *randomised) angles(s *torchpe.Scope, p Positions, width int) torchpe.Tensor {
	frequencies := make([]float64, width/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/float64(width))
	}
	drawn := r.drawn(s, p)
	f := torchpe.Of(s, torchpe.CPU, frequencies, len(frequencies)).To(drawn.DType(), drawn.Device())
	return drawn.Unsqueeze(-1).Mul(f)
}

type randomisedWaves struct {
	randomised
	width int
}

func (r *randomisedWaves) Begin(s *torchpe.Scope, p Positions) Hooks {
	angles := r.angles(s, p, r.width)
	shape := angles.Shape()
	shape[3] = r.width
	return &randomisedHooks{tables: []torchpe.Tensor{torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(shape...)}, each: r.each}
}

type randomisedTable struct {
	randomised
	rows *torchpe.Param // [E,T,max,D]
}

func (r *randomisedTable) Begin(s *torchpe.Scope, p Positions) Hooks {
	drawn, rows := r.drawn(s, p), r.rows.In(s)
	at, d := drawn.Shape(), r.rows.Shape[3]
	index := drawn.To(torchpe.Int64, drawn.Device()).Reshape(at[0], at[1]*at[2], 1).Expand(at[0], at[1]*at[2], d)
	h := &randomisedHooks{each: r.each}
	for layer := range r.rows.Shape[1] {
		h.tables = append(h.tables, rows.Select(1, layer).Gather(1, index).Reshape(at[0], at[1], at[2], d))
	}
	return h
}

type randomisedAngles struct {
	randomised
	headWidth int
}

func (r *randomisedAngles) Sites() Site { return AtQK }

func (r *randomisedAngles) Begin(s *torchpe.Scope, p Positions) Hooks {
	angles := r.angles(s, p, r.headWidth).Unsqueeze(2) // [E,B,1,N,Dh/2]
	return &randomisedTurns{cos: angles.Cos(), sin: angles.Sin()}
}

type randomisedTurns struct {
	Identity
	cos, sin torchpe.Tensor // [E,B,1,N,Dh/2]
}

func (h *randomisedTurns) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return torchpe.RotatePairs(a.Q, h.cos, h.sin, false), torchpe.RotatePairs(a.K, h.cos, h.sin, false), a.V
}

type randomisedHooks struct {
	Identity
	tables []torchpe.Tensor // [E,B,N,D], one or one for each layer
	each   bool
}

func (h *randomisedHooks) Table(layer int) (torchpe.Tensor, bool) {
	if layer > 0 && !h.each {
		return torchpe.Tensor{}, false
	}
	return h.tables[min(layer, len(h.tables)-1)], true
}

func (h *randomisedHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if t, ok := h.Table(layer); ok {
		return x.Add(t)
	}
	return x
}
