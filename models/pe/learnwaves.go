// learn-waves: sinusoids whose wavelengths are learned ("Learned Wavelength Selection" of the notes
// on learned PEs).
//
//	P[p,2k] = sin(p w_k),  P[p,2k+1] = cos(p w_k),  w_k = 10000^(-f_k/(D/2))
//	f in R^{D/2} trained, f_0 ~ N(0, 1)
//
// The last column is a sine where D is odd. f plays the role of the index k: f_k = k are the
// sinusoids of 1d-fixed. Each block has its own f where each adds a PE.

package pe

import (
	"math"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "learn-waves",
		Extrapolates: Always,
		Options:      []Option{placement, sinusoidBase},
		New:          newWaves,
	})
}

type waves struct {
	atEmbed
	index *torchpe.Param // [E,T,D/2], rounded up, f
	base  float64
	width int
}

func newWaves(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	return &waves{
		index: ps.Add("pe.index", true, torchpe.Normal(0, 1), tablesFor(c), (c.DModel+1)/2),
		base:  c.Options.Float(sinusoidBase.Name), width: c.DModel,
	}, nil
}

func (w *waves) Begin(s *torchpe.Scope, p Positions) Hooks {
	f := w.index.In(s)
	e, tables, half := f.Size(0), f.Size(1), f.Size(2)
	frequency := f.MulScalar(-math.Log(w.base) / (float64(w.width) / 2)).Exp().Unsqueeze(2)
	angles := frequency.Mul(places(s, f, p.Index)) // [E,T,N,D/2]
	table := torchpe.Stack(-1, angles.Sin(), angles.Cos())
	return &tableHooks{tables: table.Reshape(e, tables, p.Tokens(), 2*half).Narrow(-1, 0, w.width)}
}
