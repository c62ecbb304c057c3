// learn-waves: sinusoids whose wavelengths are learned ("Learned Wavelength Selection" of the notes on learned PEs).
//
//	P[p,2k] = sin(p w_k),  P[p,2k+1] = cos(p w_k),  w_k = 10000^(-f_k/(D/2)),  f in R^{D/2} trained, f_0 ~ N(0, 1)
//
// f plays the role of the index k: f_k = k are the sinusoids of 1d-fixed. Each block has its own f where each adds a PE.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:    "learn-waves",
		Summary: "sinusoids with learned wavelengths",
		Title:   "Learned Positional Encodings in Transformers (notes)", Year: 2025,
		Reference:    "notes on learned positional encodings, \"Learned Wavelength Selection\"",
		Formula:      "P[p,2k] = sin(p w_k),  P[p,2k+1] = cos(p w_k),  w_k = 10000^(-f_k/(D/2)),  f_0 ~ N(0, 1),  x <- x + P",
		Parameters:   "D/2, L times with a table each block",
		Criteria:     Criteria{Inductive: true, DataDriven: true, ParameterEfficient: true, Parallelizable: true, Interpretable: true},
		Extrapolates: Always,
		Options:      []Option{placement, sinusoidBase},
		New:          newWaves,
	})
}

type waves struct {
	None
	index *torchpe.Param // [E,T,D/2], f
	base  float64
}

func newWaves(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("learn-waves: d_model %d is odd; sines and cosines come in pairs", c.DModel)
	}
	return &waves{
		index: ps.Add("pe.index", true, torchpe.Normal(0, 1), tablesFor(c), c.DModel/2),
		base:  c.Options.Float(sinusoidBase.Name),
	}, nil
}

func (w *waves) Sites() Site { return AtEmbed }

func (w *waves) Begin(s *torchpe.Scope, p Positions) Hooks {
	f := w.index.In(s)
	places := make([]float64, p.Tokens())
	for i, at := range p.Index {
		places[i] = float64(at)
	}
	shape := w.index.Shape // [E,T,D/2]
	frequency := f.MulScalar(-math.Log(w.base) / float64(shape[2])).Exp().Unsqueeze(2)
	angles := frequency.Mul(torchpe.Of(s, torchpe.CPU, places, len(places), 1).To(f.DType(), f.Device())) // [E,T,N,D/2]
	table := torchpe.Stack(-1, angles.Sin(), angles.Cos()).Reshape(shape[0], shape[1], len(places), 2*shape[2])
	return &tableHooks{tables: table, each: shape[1] > 1}
}
