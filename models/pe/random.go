// random: two encodings of one name. The paper cites Ruoss et al. 2023 (randomised positions); the
// published code adds a table that is drawn once and never trained.
//
//	frozen: x <- x + P_l,  P_l ~ N(0, 1) drawn once a block
//	ruoss:  x <- x + S(p),  p sorted distinct positions of 0..max-1 drawn for each sample,
//	                        S the 1-D sinusoid
//
// Drawn positions can be those of other schemes too (--random-base): S(p) is a row of a learned table
// of max rows (as in the code of McLeish et al. 2024, which starts it as N(0, 1)), or queries and keys
// are rotated by p (rope of base 10000). Schemes of distances have distances drawn, and not positions:
// two tokens d apart are as if r_d apart, 0 = r_0 < r_1 < ... < max, for transformer-xl in both
// directions and for the sided form of alibi.
//
// The published code draws once for each batch, in attention once for each layer; here each sample
// has its own draw, and its layers share it.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	randomKind = Option{Name: "random", Text: "ruoss", Code: "frozen",
		Check: oneOf("ruoss", "frozen"),
		Help:  "form of random: sorted random positions in a sinusoid, or a frozen N(0,1) table"}
	// larger ones are not exact in float32
	randomMax = Option{Name: "random-max", Text: "2048", Code: "2048", Check: whole(1, 1<<24),
		Help: "number of positions that --random ruoss draws from"}
	randomBase = Option{Name: "random-base", Default: "sinusoid", Check: oneOf("sinusoid", "learn",
		"rope", "transformer-xl", "alibi"),
		Help: "with --random ruoss: the scheme that the drawn positions go into"}
)

func init() {
	Register(Scheme{
		Name:         "random",
		Extrapolates: func(o Options) bool { return o.Text(randomKind.Name) == "ruoss" },
		Options:      []Option{placement, randomKind, randomMax, randomBase},
		New:          newRandom,
	})
}

func newRandom(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, base := c.Positions.Tokens(), c.Options.Text(randomBase.Name)
	if c.Options.Text(randomKind.Name) == "frozen" {
		if base != "sinusoid" {
			return nil, fmt.Errorf("random: --random-base %s needs --random ruoss; "+
				"a frozen table has no positions", base)
		}
		table := ps.Add("pe.table", false, torchpe.Normal(0, 1), tablesFor(c), n, c.DModel)
		return &learned{table: table}, nil
	}
	max := c.Options.Int(randomMax.Name)
	drawn := drawnPositions{max: max, repeat: tablesFor(c) > 1}
	switch {
	case max < n:
		return nil, fmt.Errorf("random: --random-max %d is less than the %d tokens", max, n)
	case base == "learn":
		rows := ps.Add("pe.rows", true, torchpe.Normal(0, 1), tablesFor(c), max, c.DModel)
		return &drawnTable{drawn, rows}, nil
	case base == "rope" && c.HeadWidth()%2 != 0:
		return nil, c.oddHead()
	case base == "rope":
		return &drawnAngles{drawn, c.HeadWidth()}, nil
	case base == "transformer-xl" && c.DModel%2 != 0:
		return nil, c.oddWidth()
	case base == "transformer-xl":
		x := &drawnXL{drawn, transformerXL{sign: 1}, c.DModel}
		x.addMappedKeys(c, ps)
		return x, nil
	case base == "alibi":
		return &drawnALiBi{drawn, addSlopes(c, ps)}, nil
	}
	return &drawnSinusoid{drawn, c.DModel}, nil
}

// drawnPositions is embedded by encodings of positions that are drawn for each sample.
type drawnPositions struct {
	atEmbed
	max    int
	repeat bool // in every block
}

func (r *drawnPositions) Draw() Draw { return Draw{Range: r.max} }

// draws returns what was drawn for the batch, [E,B,places].
func (r *drawnPositions) draws(s *torchpe.Scope, p Positions) torchpe.Tensor {
	if !p.Drawn.Defined() {
		panic(&torchpe.Error{Op: "random",
			Msg: "no positions were drawn for this batch (Positions.Drawn)"})
	}
	return p.Drawn.In(s)
}

// of returns each token's position [E,B,N].
func (r *drawnPositions) of(s *torchpe.Scope, p Positions) torchpe.Tensor {
	return rowsAt(s, r.draws(s, p), 2, p.Index)
}

// angles returns those of a sinusoid of the given width at the drawn positions, [E,B,N,width/2],
// rounded up.
func (r *drawnPositions) angles(s *torchpe.Scope, p Positions, width int) torchpe.Tensor {
	return sinusoidAngles(s, r.of(s, p), width)
}

// sinusoidAngles returns the angles of a sinusoid of the given width at positions [...]:
// [...,width/2], rounded up.
func sinusoidAngles(s *torchpe.Scope, positions torchpe.Tensor, width int) torchpe.Tensor {
	frequencies := make([]float64, (width+1)/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/float64(width))
	}
	return positions.Unsqueeze(-1).Mul(numbers(s, positions, frequencies, len(frequencies)))
}

type drawnSinusoid struct {
	drawnPositions
	width int
}

func (r *drawnSinusoid) Begin(s *torchpe.Scope, p Positions) Hooks {
	angles := r.angles(s, p, r.width)
	shape := angles.Shape()
	shape[3] *= 2
	table := torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(shape...).Narrow(-1, 0, r.width)
	return &drawnTableHooks{tables: []torchpe.Tensor{table}, repeat: r.repeat}
}

type drawnTable struct {
	drawnPositions
	rows *torchpe.Param // [E,T,max,D]
}

func (r *drawnTable) Begin(s *torchpe.Scope, p Positions) Hooks {
	drawn, rows := r.of(s, p), r.rows.In(s)
	e, b, n, d := drawn.Size(0), drawn.Size(1), drawn.Size(2), r.rows.Shape[3]
	index := drawn.To(torchpe.Int64, drawn.Device()).Reshape(e, b*n, 1).Expand(e, b*n, d)
	h := &drawnTableHooks{repeat: r.repeat}
	for layer := range r.rows.Shape[1] {
		table := rows.Select(1, layer).Gather(1, index)
		h.tables = append(h.tables, table.Reshape(e, b, n, d))
	}
	return h
}

type drawnAngles struct {
	drawnPositions
	headWidth int
}

func (r *drawnAngles) Sites() Site { return AtQK }

func (r *drawnAngles) Begin(s *torchpe.Scope, p Positions) Hooks {
	angles := r.angles(s, p, r.headWidth).Unsqueeze(2) // [E,B,1,N,Dh/2]
	t := rotation{angles.Cos(), angles.Sin()}
	return &rotaryHooks{q: t, k: t, width: r.headWidth}
}

type drawnTableHooks struct {
	Identity
	tables []torchpe.Tensor // [E,B,N,D], one or one for each layer
	repeat bool             // in every block
}

func (h *drawnTableHooks) Table(layer int) (torchpe.Tensor, bool) {
	if layer > 0 && !h.repeat {
		return torchpe.Tensor{}, false
	}
	return h.tables[min(layer, len(h.tables)-1)], true
}

func (h *drawnTableHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if t, ok := h.Table(layer); ok {
		return x.Add(t)
	}
	return x
}

// distances returns the drawn distance of tokens that are |offset| apart, [E,B,R] for R offsets.
func (r *drawnPositions) distances(s *torchpe.Scope, p Positions, offsets []int) torchpe.Tensor {
	apart := make([]int, len(offsets))
	for i, offset := range offsets {
		apart[i] = max(offset, -offset)
	}
	return rowsAt(s, r.draws(s, p), 2, apart)
}

// drawnXL is transformer-xl with drawn distances.
type drawnXL struct {
	drawnPositions
	transformerXL
	width int
}

func (x *drawnXL) Sites() Site { return AtLogits }

func (x *drawnXL) Attention() Attention { return PlainAttention }

func (x *drawnXL) Draw() Draw { return Draw{Range: x.max, Distances: true} }

func (x *drawnXL) Begin(s *torchpe.Scope, p Positions) Hooks {
	drawn := x.draws(s, p)
	x.tokens = drawn.Size(2)
	offsets, signs := make([]int, 2*x.tokens-1), make([]float64, 2*x.tokens-1)
	for i := range offsets {
		offsets[i], signs[i] = i-x.tokens+1, math.Copysign(1, float64(i-x.tokens+1))
	}
	signed := x.distances(s, p, offsets).Mul(numbers(s, drawn, signs, len(signs)))
	angles := sinusoidAngles(s, signed, x.width) // [E,B,R,D/2]
	h := x.hooks(s, p)
	h.table = torchpe.Cat(-1, angles.Sin(), angles.Cos())
	return h
}

// drawnALiBi is the sided form of alibi with drawn distances.
type drawnALiBi struct {
	drawnPositions
	slopes *torchpe.Param // [E,H]
}

func (a *drawnALiBi) Sites() Site { return AtLogits }

func (a *drawnALiBi) Draw() Draw { return Draw{Range: a.max, Distances: true} }

func (a *drawnALiBi) Begin(s *torchpe.Scope, p Positions) Hooks {
	slopes, n := a.slopes.In(s), p.Tokens()
	offset := func(i, j int) int { return i - j }
	distances := a.distances(s, p, pairs(p.Index, offset)) // [E,B,N*N]
	distances = distances.Reshape(distances.Size(0), distances.Size(1), 1, n, n)
	half := pairTensor(s, slopes, p.Index, func(i, j int) float64 { return oneIf(j < i) / 2 })
	slope := slopes.Reshape(slopes.Size(0), 1, slopes.Size(1), 1, 1)
	return addedLogits{addend: half.Sub(distances).Mul(slope)}
}

// addedLogits adds the same to the logits of all layers.
type addedLogits struct {
	Identity
	addend torchpe.Tensor // [E,B,H,N,N]
}

func (h addedLogits) Bias(Attn) torchpe.Tensor { return h.addend }

func (h addedLogits) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}
