// learn-fourier: learned Fourier features of coordinates, through an MLP (Li et al. 2021,
// "Learnable Fourier features for multi-dimensional spatial positional encoding", equations 1-4).
//
//	r_x = [cos(x W_r^T) | sin(x W_r^T)] / sqrt(F),  W_r in R^{F/2 x M}
//	P(x) = GELU(r_x W_1^T + b_1) W_2^T + b_2
//
// The coordinates of a token are split into G groups, in their order, which share all weights; each
// gives D/G dimensions. GELU is the exact one. W_r starts as N(0, gamma^-2) in the paper; the
// public code (willGuimont) takes gamma^-2 for the standard deviation. W_1, b_1, W_2, b_2 start as
// in torch.nn.Linear. Coordinates are as given: cells {row, column}, points, or the line.

package pe

import (
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

var (
	fourierGamma = Option{Name: "fourier-gamma", Default: "2", Check: number(1e-6, 1e6),
		Help: "gamma of learn-fourier: the smaller, the finer the initial waves"}
	fourierSpread = Option{Name: "fourier-spread", Text: "variance", Code: "deviation",
		Check: oneOf("variance", "deviation"),
		Help: "whether gamma^-2 is the variance or the standard deviation of the initial waves of " +
			"learn-fourier"}
	fourierFeatures = Option{Name: "fourier-features", Default: "0", Check: whole(0, 1<<16),
		Help: "F, the features of learn-fourier, an even number; 0 for d_model"}
	fourierHidden = Option{Name: "fourier-hidden", Default: "32", Check: whole(1, 1<<16),
		Help: "hidden units of the MLP of learn-fourier"}
	fourierGroups = Option{Name: "fourier-groups", Default: "1", Check: whole(1, 1<<10),
		Help: "G, the groups into which learn-fourier splits the coordinates"}
)

func init() {
	Register(Scheme{
		Name:         "learn-fourier",
		Needs:        NeedsPoints,
		Extrapolates: Always,
		Options: []Option{fourierGamma, fourierSpread, fourierFeatures, fourierHidden,
			fourierGroups},
		New: newLearnFourier,
	})
}

type learnFourier struct {
	atEmbed
	waves            *torchpe.Param // [E,F/2,M/G]
	in, inB          *torchpe.Param // [E,H',F], [E,H']
	out, outB        *torchpe.Param // [E,D/G,H'], [E,D/G]
	groups, features int
	dims             int // M
}

func newLearnFourier(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	points := c.Positions.coordinates("learn-fourier", 0)
	l := &learnFourier{groups: c.Options.Int(fourierGroups.Name),
		features: c.Options.Int(fourierFeatures.Name), dims: len(points[0])}
	if l.features == 0 {
		l.features = c.DModel
	}
	switch {
	case l.features%2 != 0:
		return nil, fmt.Errorf("learn-fourier: %d features are an odd number; cosines and sines "+
			"come in pairs: set --fourier-features", l.features)
	case l.dims%l.groups != 0 || c.DModel%l.groups != 0:
		return nil, fmt.Errorf("learn-fourier: --fourier-groups %d does not divide both the %d "+
			"coordinates of a token and d_model %d", l.groups, l.dims, c.DModel)
	}
	gamma, f, hidden := c.Options.Float(fourierGamma.Name), l.features,
		c.Options.Int(fourierHidden.Name)
	deviation := 1 / gamma
	if c.Options.Text(fourierSpread.Name) == "deviation" {
		deviation /= gamma
	}
	l.waves = ps.Add("pe.waves", true, torchpe.Normal(0, deviation), f/2, l.dims/l.groups)
	l.in, l.inB = addLinear(ps, "pe.in.", f, hidden)
	l.out, l.outB = addLinear(ps, "pe.out.", hidden, c.DModel/l.groups)
	return l, nil
}

func (l *learnFourier) Begin(s *torchpe.Scope, p Positions) Hooks {
	flat := slices.Concat(p.coordinates("learn-fourier", l.dims)...)
	w, n := l.waves.In(s), p.Tokens()
	members := l.waves.Shape[0]
	x := numbers(s, w, flat, 1, n*l.groups, l.dims/l.groups)
	angles := x.MatMul(w.Transpose(1, 2)) // [E,N G,F/2]
	r := torchpe.Cat(-1, angles.Cos(), angles.Sin()).MulScalar(1 / math.Sqrt(float64(l.features)))
	hidden := torchpe.LinearGELU(r, l.in.In(s), l.inB.In(s))
	y := torchpe.Linear(hidden, l.out.In(s), l.outB.In(s)) // [E,N G,D/G]
	return &tableHooks{tables: y.Reshape(members, 1, n, l.groups*l.outB.Shape[1])}
}
