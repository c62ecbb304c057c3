// Tables of drawn positions: drawn for each sample in training (cape), or for each batch (random).

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

// The default limits are those of the example for images in the README of gcambara/cape, whose code
// by default draws nothing and does not subtract the mean; with 0, 0 and 1 nothing is drawn. 1d
// uses the coordinate of points in one dimension, else places.
var _ = Register(Scheme{Name: "cape", Extrapolates: Always, New: newCAPE},
	option("cape", "1d", oneOf("1d", "2d"),
		"positions of cape: places on the line, or rows and columns of a grid"),
	option("cape-global", "0.5", between(0, 1e6),
		"largest shift of all positions of a sample in training: in places, in 2d in halves "+
			"of the grid"),
	option("cape-local", "0.5", between(0, 1e6),
		"largest shift of a token's position in training, in places or steps of the grid"),
	option("cape-scaling", "1.4", between(1, 1e6),
		"largest factor of the positions of a sample in training; the smallest is its inverse"),
	option("cape-centred", "true", yesNo, "whether the mean of the positions of cape is subtracted in 1d"),
	option("cape-frequency", "1", positive, "factor f of the frequencies of cape in 1d"),
	option("cape-content", "true", yesNo,
		"whether the tokens' vectors are multiplied by sqrt(D) before cape is added"))

// capeLimits are the limits of the random changes of cape.
type capeLimits struct{ global, local, scaling float64 }

func newCAPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	table := func(axes int, frequency, phase func(i int) float64) (f, p *torchpe.Param) {
		return ps.Add("pe.frequencies", false, computed(frequency), axes, c.DModel),
			ps.Add("pe.phases", false, computed(phase), c.DModel)
	}
	var frequencies, phases *torchpe.Param // [E,A,D] for A axes, [E,D]
	grid, content, d, half := window{}, 1.0, c.DModel, c.DModel/2
	if c.yes("cape-content") {
		content = math.Sqrt(float64(d))
	}
	if c.is("cape", "1d") {
		if _, ok := c.Positions.Coordinates(1); !ok {
			return nil, fmt.Errorf("cape: --cape 1d needs one coordinate per token, but the tokens "+
				"lie on %v", c.Positions)
		}
		f := c.float("cape-frequency")
		frequencies, phases = table(1, func(i int) float64 {
			return f * math.Pow(10000, -2*float64(i/2)/float64(d))
		}, func(i int) float64 { return math.Pi / 2 * float64(i%2) })
	} else {
		if err := c.Positions.provide(NeedsGrid); err != nil {
			return nil, fmt.Errorf("cape: --cape 2d: %w", err)
		}
		if d%2 != 0 || half < 2 {
			return nil, fmt.Errorf("cape: --cape 2d: d_model %d is not an even number of at least 4", d)
		}
		grid = windowOf(c.Positions)
		frequencies, phases = table(2, func(i int) float64 {
			k := float64(i % half)
			rho := math.Pow(10, k/float64(half-1))
			if i < d {
				return math.Pi * rho * math.Cos(k)
			}
			return math.Pi * rho * math.Sin(k)
		}, func(i int) float64 { return math.Pi / 2 * oneIf(i < half) })
	}
	limits := capeLimits{c.float("cape-global"), c.float("cape-local"), c.float("cape-scaling")}
	centred := c.yes("cape-centred")
	return encoding{AtEmbed, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		flat, steps := capePositions(p, grid, centred)
		f, axes := frequencies.In(s), len(steps)
		h := &capeHooks{limits: limits, content: content, frequencies: f, phases: phases.In(s),
			at: numbers(s, f, flat, 1, 1, p.Tokens(), axes), steps: numbers(s, f, steps, axes)}
		h.table = h.of(h.at.Expand(f.Size(0), 1, p.Tokens(), axes)).Squeeze(1)
		h.draws = p.Training && (limits.global > 0 || limits.local > 0 || limits.scaling > 1)
		return h
	}}, nil
}

// capePositions returns the tokens' coordinates [N,A], token by token, and the step of each axis:
// on the line, or with a grid from -1 to 1 over its rows and columns.
func capePositions(p Positions, grid window, centred bool) (flat, steps []float64) {
	if grid.rows == 0 {
		mean := 0.0
		for _, point := range p.coordinates("cape", 1) {
			flat = append(flat, point[0])
			mean += point[0] / float64(p.Tokens())
		}
		for i := range flat {
			if centred {
				flat[i] -= mean
			}
		}
		return flat, []float64{1}
	}
	grid.check("cape", p)
	for _, n := range []int{grid.rows, grid.columns} {
		steps = append(steps, 2/float64(max(n-1, 1)))
	}
	for _, cell := range p.Cells {
		flat = append(flat, -1+steps[0]*float64(cell[0]), -1+steps[1]*float64(cell[1]))
	}
	return flat, steps
}

type capeHooks struct {
	Identity
	limits              capeLimits
	content             float64        // factor of the tokens' vectors
	frequencies, phases torchpe.Tensor // [E,A,D], [E,D]
	at, steps           torchpe.Tensor // [1,1,N,A], [A]
	draws               bool
	table               torchpe.Tensor // [E,N,D]; [E,B,N,D] after positions were drawn
}

// of returns the embedding E of positions [E,B,N,A]: [E,B,N,D].
func (h *capeHooks) of(p torchpe.Tensor) torchpe.Tensor {
	phases := h.phases.Unsqueeze(1).Unsqueeze(1)
	return p.MatMul(h.frequencies.Unsqueeze(1)).Add(phases).Sin()
}

// moved returns the positions [E,B,N,A] with shifts [E,B,1,A] and [E,B,N,A], scaled by the
// exponential of [E,B,1,1].
func (h *capeHooks) moved(global, local, scale torchpe.Tensor) torchpe.Tensor {
	return h.at.Add(global).Add(local).Mul(scale.Exp())
}

// uniform draws [E,B,tokens,axes] numbers of U(-limit, limit) anew for each step.
func (h *capeHooks) uniform(samples, tokens, axes int, limit float64) torchpe.Tensor {
	like := h.frequencies
	u := uniform(h.at.Scope(), like, like.Size(0), samples, tokens, axes) // in [0, 1 - 2^-24]
	return u.MulScalar(2).AddScalar(math.Ldexp(1, -uniformBits) - 1).MulScalar(limit)
}

func (h *capeHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if layer > 0 {
		return x
	}
	if h.draws {
		samples, tokens, axes := x.Size(1), h.at.Size(2), h.at.Size(3)
		h.table = h.of(h.moved(
			h.uniform(samples, 1, axes, h.limits.global),
			h.uniform(samples, tokens, axes, h.limits.local).Mul(h.steps),
			h.uniform(samples, 1, 1, math.Log(h.limits.scaling))))
	}
	table := h.table
	if len(table.Shape()) == 3 {
		table = table.Unsqueeze(1)
	}
	return x.MulScalar(h.content).Add(table)
}

func (h *capeHooks) Table(layer int) (torchpe.Tensor, bool) { return h.table, layer == 0 }

// The paper cites Ruoss et al. (randomised positions); its published code adds a table that is
// drawn once and never trained. Drawn positions are used in a sinusoid, in a learned table of
// random-max rows (as in the code of McLeish et al. 2024, which starts it as N(0, 1)), or in rope
// with base 10000. For schemes of distances, distances are drawn: transformer-xl in both
// directions, and the sided form of alibi. The published code draws once for each batch, in
// attention once for each layer; here each sample has its own draw, shared by its layers.
var _ = Register(Scheme{Name: "random", New: newRandom,
	Extrapolates: func(o Options) bool { return o["random"] == "ruoss" }}, placement,
	option("random", "frozen", oneOf("ruoss", "frozen"),
		"form of random: sorted random positions in a sinusoid, or a frozen N(0,1) table").inText("ruoss"),
	option("random-max", "2048", whole(1, 1<<24), // larger numbers are not exact in float32
		"number of positions from which --random ruoss draws"),
	option("random-base", "sinusoid", oneOf("sinusoid", "learn", "rope", "transformer-xl", "alibi"),
		"with --random ruoss: the scheme that uses the drawn positions"))

// drawing is an encoding of positions that are drawn for each sample.
type drawing struct {
	encoding
	draw Draw
}

func (d drawing) Draw() Draw { return d.draw }

func newRandom(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, most, base := c.Positions.Tokens(), c.int("random-max"), c.text("random-base")
	switch {
	case c.is("random", "frozen") && base != "sinusoid":
		return nil, fmt.Errorf("random: --random-base %s needs --random ruoss; "+
			"a frozen table has no positions", base)
	case c.is("random", "frozen"):
		return byIndex(ps.Add("pe.table", false, torchpe.Normal(0, 1), tablesFor(c), n, c.DModel), false), nil
	case most < n:
		return nil, fmt.Errorf("random: --random-max %d is less than the %d tokens", most, n)
	case base == "rope" && c.HeadWidth()%2 != 0:
		return nil, c.oddHead()
	case base == "transformer-xl" && c.DModel%2 != 0:
		return nil, c.oddWidth()
	}
	d := drawing{encoding{AtEmbed, PlainAttention, nil}, Draw{Range: most}}
	switch base {
	case "sinusoid":
		d.begin = c.drawnSinusoid()
	case "learn":
		d.begin = c.drawnRows(ps, most)
	case "rope":
		d.sites = AtQK
		d.begin = func(s *torchpe.Scope, p Positions) Hooks {
			angles := sinusoidAngles(s, drawnPlaces(s, p), c.HeadWidth()).Unsqueeze(2) // [E,B,1,N,Dh/2]
			t := rotation{angles.Cos(), angles.Sin()}
			return &rotaryHooks{q: t, k: t, width: c.HeadWidth()}
		}
	case "transformer-xl":
		d.sites, d.draw.Distances = AtLogits, true
		d.begin = drawnXL(addMappedXL(c, ps), c.DModel)
	case "alibi":
		d.sites, d.draw.Distances = AtLogits, true
		d.begin = drawnALiBi(addSlopes(c, ps))
	}
	return d, nil
}

// draws returns the positions drawn for the batch, [E,B,places].
func draws(s *torchpe.Scope, p Positions) torchpe.Tensor {
	if !p.Drawn.Defined() {
		panic(&torchpe.Error{Op: "random", Msg: "no positions were drawn for this batch (Positions.Drawn)"})
	}
	return p.Drawn.In(s)
}

// drawnPlaces returns each token's position [E,B,N].
func drawnPlaces(s *torchpe.Scope, p Positions) torchpe.Tensor {
	return rowsAt(s, draws(s, p), 2, p.Index)
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

func (c Config) drawnSinusoid() func(s *torchpe.Scope, p Positions) Hooks {
	repeat := tablesFor(c) > 1
	return func(s *torchpe.Scope, p Positions) Hooks {
		angles := sinusoidAngles(s, drawnPlaces(s, p), c.DModel)
		shape := angles.Shape()
		shape[3] *= 2
		table := torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(shape...).Narrow(-1, 0, c.DModel)
		return &drawnTableHooks{tables: []torchpe.Tensor{table}, repeat: repeat}
	}
}

// drawnRows has a table [E,T,most,D].
func (c Config) drawnRows(ps *torchpe.ParamSet, most int) func(s *torchpe.Scope, p Positions) Hooks {
	tables := tablesFor(c)
	all := ps.Add("pe.rows", true, torchpe.Normal(0, 1), tables, most, c.DModel)
	return func(s *torchpe.Scope, p Positions) Hooks {
		drawn, rows, d := drawnPlaces(s, p), all.In(s), c.DModel
		e, b, n := drawn.Size(0), drawn.Size(1), drawn.Size(2)
		index := drawn.To(torchpe.Int64, drawn.Device()).Reshape(e, b*n, 1).Expand(e, b*n, d)
		h := &drawnTableHooks{repeat: tables > 1}
		for layer := range tables {
			h.tables = append(h.tables, rows.Select(1, layer).Gather(1, index).Reshape(e, b, n, d))
		}
		return h
	}
}

type drawnTableHooks struct {
	Identity
	tables []torchpe.Tensor // [E,B,N,D], one, or one per layer
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

// drawnDistances returns the drawn distance of tokens that are |offset| apart, [E,B,R] for R
// offsets.
func drawnDistances(s *torchpe.Scope, p Positions, offsets []int) torchpe.Tensor {
	apart := make([]int, len(offsets))
	for i, offset := range offsets {
		apart[i] = max(offset, -offset)
	}
	return rowsAt(s, draws(s, p), 2, apart)
}

// drawnXL is transformer-xl with drawn distances.
func drawnXL(x mappedXL, width int) func(s *torchpe.Scope, p Positions) Hooks {
	return func(s *torchpe.Scope, p Positions) Hooks {
		drawn := draws(s, p)
		n := drawn.Size(2)
		checkPlaces(p.Index, n)
		offsets, signs := make([]int, 2*n-1), make([]float64, 2*n-1)
		for i := range offsets {
			offsets[i], signs[i] = i-n+1, math.Copysign(1, float64(i-n+1))
		}
		signed := drawnDistances(s, p, offsets).Mul(numbers(s, drawn, signs, len(signs)))
		angles := sinusoidAngles(s, signed, width) // [E,B,R,D/2]
		index := pairIndex(s, x.u.In(s), p.Index, func(i, j int) int { return i - j + n - 1 })
		return x.hooks(s, torchpe.Cat(-1, angles.Sin(), angles.Cos()), index)
	}
}

// drawnALiBi is the sided form of alibi with drawn distances.
func drawnALiBi(slopes *torchpe.Param) func(s *torchpe.Scope, p Positions) Hooks {
	return func(s *torchpe.Scope, p Positions) Hooks {
		ofHead, n := perHead(slopes.In(s)), p.Tokens()
		offset := func(i, j int) int { return i - j }
		distances := drawnDistances(s, p, pairs(p.Index, offset)) // [E,B,N*N]
		distances = distances.Reshape(distances.Size(0), distances.Size(1), 1, n, n)
		half := pairTensor(s, ofHead, p.Index, func(i, j int) float64 { return oneIf(j < i) / 2 })
		addend := half.Sub(distances).Mul(ofHead)
		return biasHooks{bias: func(Attn) torchpe.Tensor { return addend }}
	}
}
