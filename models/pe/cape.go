// cape: sinusoids of positions that are shifted and scaled at random in training (Likhomanenko et al.
// 2021, "CAPE: Encoding Relative Positions with Continuous Augmented Positional Embeddings").
//
//	1d: p = t - mean t,  E[c] = sin(p f 10000^(-2 floor(c/2)/D) + (pi/2) (c mod 2))
//	2d: x, y in [-1, 1] over the rows and columns of the grid,  a_c = pi rho_c (cos(c) x + sin(c) y),
//	    rho_c = 10^(c/(D/2-1)) for c < D/2,  E = [cos a | sin a]
//	in training: p <- (p + Delta + delta) lambda,  x <- sqrt(D) x + E
//
// For each sample Delta ~ U(-G, G) on each axis and ln lambda ~ U(-ln S, ln S); for each token delta ~
// U(-l, l) on each axis, in 2d times the step of the grid. 1d reads the one coordinate of points where
// there is one, else places. The limits are by default those of the example for images in the README of
// gcambara/cape, whose code draws nothing and takes no mean off unless told to; with 0, 0 and 1 nothing
// is drawn. The draws are sums of random bits.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	capeForm = Option{Name: "cape", Default: "1d", Check: oneOf("1d", "2d"),
		Help: "positions of cape: places on the line, or rows and columns of a grid"}
	capeGlobal = Option{Name: "cape-global", Default: "0.5", Check: number(0, 1e6),
		Help: "largest shift of all positions of a sample in training: in places, in 2d in halves " +
			"of the grid"}
	capeLocal = Option{Name: "cape-local", Default: "0.5", Check: number(0, 1e6),
		Help: "largest shift of a token's position in training, in places or steps of the grid"}
	capeScaling = Option{Name: "cape-scaling", Default: "1.4", Check: number(1, 1e6),
		Help: "largest factor of the positions of a sample in training; its inverse is the least"}
	capeCentred = Option{Name: "cape-centred", Default: "true", Check: yesNo,
		Help: "whether the mean is taken off the positions of cape in 1d"}
	capeFrequency = Option{Name: "cape-frequency", Default: "1", Check: positive,
		Help: "factor f of the frequencies of cape in 1d"}
	capeContent = Option{Name: "cape-content", Default: "true", Check: yesNo,
		Help: "whether the tokens' vectors are multiplied by sqrt(D) before cape is added"}
)

func init() {
	Register(Scheme{
		Name:         "cape",
		Extrapolates: Always,
		Options: []Option{capeForm, capeGlobal, capeLocal, capeScaling, capeCentred, capeFrequency,
			capeContent},
		New: newCAPE,
	})
}

type cape struct {
	atEmbed
	frequencies            *torchpe.Param // [E,A,D] for A axes
	phases                 *torchpe.Param // [E,D]
	window                 window         // in 2d; no rows in 1d
	global, local, scaling float64
	centred                bool
	content                float64 // factor of the tokens' vectors
}

func newCAPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	e := &cape{
		global: c.Options.Float(capeGlobal.Name), local: c.Options.Float(capeLocal.Name),
		scaling: c.Options.Float(capeScaling.Name), centred: c.Options.Bool(capeCentred.Name),
		content: 1,
	}
	if c.Options.Bool(capeContent.Name) {
		e.content = math.Sqrt(float64(c.DModel))
	}
	d := c.DModel
	if c.Options.Text(capeForm.Name) == "1d" {
		if _, ok := c.Positions.Coordinates(1); !ok {
			return nil, fmt.Errorf("cape: --cape 1d needs one coordinate a token, and the tokens "+
				"lie on %v", c.Positions)
		}
		f := c.Options.Float(capeFrequency.Name)
		e.frequencies = ps.Add("pe.frequencies", false, computed(func(i int) float64 {
			return f * math.Pow(10000, -2*float64(i/2)/float64(d))
		}), 1, d)
		e.phases = ps.Add("pe.phases", false, computed(func(i int) float64 {
			return math.Pi / 2 * float64(i%2)
		}), d)
		return e, nil
	}
	if err := c.Positions.provide(NeedsGrid); err != nil {
		return nil, fmt.Errorf("cape: --cape 2d: %w", err)
	}
	half := d / 2
	if d%2 != 0 || half < 2 {
		return nil, fmt.Errorf("cape: --cape 2d: d_model %d is not an even number from 4 on", d)
	}
	e.window = windowOf(c.Positions)
	e.frequencies = ps.Add("pe.frequencies", false, computed(func(i int) float64 {
		k := float64(i % half)
		rho := math.Pow(10, k/float64(half-1))
		if i < d {
			return math.Pi * rho * math.Cos(k)
		}
		return math.Pi * rho * math.Sin(k)
	}), 2, d)
	e.phases = ps.Add("pe.phases", false, computed(func(i int) float64 {
		return math.Pi / 2 * oneIf(i < half)
	}), d)
	return e, nil
}

// positions returns the tokens' coordinates [N,A] one after the other, and the step of each axis.
func (e *cape) positions(p Positions) (flat, steps []float64) {
	if e.window.rows == 0 {
		mean := 0.0
		for _, point := range p.coordinates("cape", 1) {
			flat = append(flat, point[0])
			mean += point[0] / float64(p.Tokens())
		}
		for i := range flat {
			if e.centred {
				flat[i] -= mean
			}
		}
		return flat, []float64{1}
	}
	e.window.check("cape", p)
	for _, n := range []int{e.window.rows, e.window.columns} {
		steps = append(steps, 2/float64(max(n-1, 1)))
	}
	for _, cell := range p.Cells {
		flat = append(flat, -1+steps[0]*float64(cell[0]), -1+steps[1]*float64(cell[1]))
	}
	return flat, steps
}

func (e *cape) Begin(s *torchpe.Scope, p Positions) Hooks {
	flat, steps := e.positions(p)
	frequencies := e.frequencies.In(s)
	axes := len(steps)
	h := &capeHooks{cape: e, frequencies: frequencies, phases: e.phases.In(s),
		at:    numbers(s, frequencies, flat, 1, 1, p.Tokens(), axes),
		steps: numbers(s, frequencies, steps, axes)}
	h.table = h.of(h.at.Expand(frequencies.Size(0), 1, p.Tokens(), axes)).Squeeze(1)
	h.draws = p.Training && (e.global > 0 || e.local > 0 || e.scaling > 1)
	return h
}

type capeHooks struct {
	Identity
	cape                *cape
	frequencies, phases torchpe.Tensor // [E,A,D], [E,D]
	at, steps           torchpe.Tensor // [1,1,N,A], [A]
	draws               bool
	table               torchpe.Tensor // [E,N,D]; [E,B,N,D] once positions were drawn
}

// of returns E of positions [E,B,N,A]: [E,B,N,D].
func (h *capeHooks) of(p torchpe.Tensor) torchpe.Tensor {
	phases := h.phases.Unsqueeze(1).Unsqueeze(1)
	return p.MatMul(h.frequencies.Unsqueeze(1)).Add(phases).Sin()
}

// moved returns the positions [E,B,N,A] with shifts [E,B,1,A] and [E,B,N,A], scaled by the
// exponential of [E,B,1,1].
func (h *capeHooks) moved(global, local, scale torchpe.Tensor) torchpe.Tensor {
	return h.at.Add(global).Add(local).Mul(scale.Exp())
}

// uniform draws [E,B,tokens,axes] numbers of U(-limit, limit) anew for each step: sums of 24 random
// bits, of which dropout of one half makes 0 or 2.
func (h *capeHooks) uniform(samples, tokens, axes int, limit float64) torchpe.Tensor {
	const bits = 24
	weights := make([]float64, bits)
	for i := range weights {
		weights[i] = math.Ldexp(1, -i-1) // twice 1/2, 1/4, .. of the width 2, halved by dropout
	}
	s, like := h.at.Scope(), h.frequencies
	ones := torchpe.Full(s, 1, like.DType(), like.Device(),
		like.Size(0), samples, tokens, axes, bits).Dropout(0.5)
	unit := ones.Mul(numbers(s, like, weights, bits)).Sum(-1) // in [0, 2 - 2^-23]
	return unit.AddScalar(math.Ldexp(1, -bits) - 1).MulScalar(limit)
}

func (h *capeHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if layer > 0 {
		return x
	}
	if h.draws {
		samples, tokens, axes := x.Size(1), h.at.Size(2), h.at.Size(3)
		e := h.cape
		h.table = h.of(h.moved(
			h.uniform(samples, 1, axes, e.global),
			h.uniform(samples, tokens, axes, e.local).Mul(h.steps),
			h.uniform(samples, 1, 1, math.Log(e.scaling))))
	}
	table := h.table
	if len(table.Shape()) == 3 {
		table = table.Unsqueeze(1)
	}
	return x.MulScalar(h.cape.content).Add(table)
}

func (h *capeHooks) Table(layer int) (torchpe.Tensor, bool) { return h.table, layer == 0 }
