// What tests of single schemes read of them.

package pe

import (
	"torchpe/internal/layers"
	"torchpe/torchpe"
)

// CAPETable returns what cape adds at p for given draws: shifts of a sample [E,B,1,A] and of tokens
// [E,B,N,A], and logarithms of its factor [E,B,1,1].
func CAPETable(s *torchpe.Scope, e Encoding, p Positions, global, local, scale torchpe.Tensor) torchpe.Tensor {
	h := e.Begin(s, p).(*capeHooks)
	return h.of(h.moved(global, local, scale))
}

// CAPEUniform returns numbers that cape draws, [E,B,N,1] of U(-limit, limit).
func CAPEUniform(s *torchpe.Scope, e Encoding, p Positions, samples int, limit float64) torchpe.Tensor {
	return e.Begin(s, p).(*capeHooks).uniform(samples, p.Tokens(), 1, limit)
}

// DeBERTaBucket is debertaBucket.
var DeBERTaBucket = debertaBucket

// DINOv3Drawn returns rope-dinov3's hooks for draws [E,5] of the coordinates.
func DINOv3Drawn(e Encoding, s *torchpe.Scope, p Positions, draws torchpe.Tensor) Hooks {
	return e.(*dino).drawn(s, p, draws)
}

// RotationOf returns the cosines and sines [E,1,1,N,P] of hooks that turn pairs.
func RotationOf(h Hooks) (cos, sin torchpe.Tensor) {
	r := h.(*rotaryHooks)
	return r.q.cos, r.q.sin
}

// FoPEFrequencies returns the frequencies that fope sums.
func FoPEFrequencies(c Config) []float64 { return fopeFrequencies(c) }

// GrapeFrequency returns grape-m's frequencies [E,L,H or 1,1,Dh/2].
func GrapeFrequency(logs torchpe.Tensor, factor float64) torchpe.Tensor {
	return grapeFrequency(logs, factor)
}

// GrapePhase returns the phases [E,B,N,H or 1] of grape-m's contextual hooks.
func GrapePhase(h Hooks, a Attn) torchpe.Tensor { return h.(*contextualHooks).phase(a) }

// SetDegrees gives graphormer degrees of nodes that its graph need not have.
func SetDegrees(e Encoding, in, out []int) {
	g := e.(*graphormer)
	g.graph.in, g.graph.out = in, out
}

// LieRETurns returns the matrices of liere's hooks, [E,1,H or 1,Dh/g,N,g,g].
func LieRETurns(h Hooks) torchpe.Tensor { return h.(*liereHooks).turns }

// Polar returns what pope's hooks make of queries and keys [E,B,H,N,Dh].
func Polar(h Hooks, q, k torchpe.Tensor) (qOut, kOut torchpe.Tensor) {
	p := h.(*popeHooks)
	return p.q.polar(q), p.k.polar(k)
}

// MixedStart returns the frequencies [2,H,pairs] with which mixed rotations start, for a draw from
// U(0, 1) for each head.
func MixedStart(draws []float64, base float64, pairs int) []float64 {
	out := make([]float64, 2*len(draws)*pairs)
	mixedStart(out, base, pairs, func() float64 {
		u := draws[0]
		draws = draws[1:]
		return u
	})
	return out
}

// FlowBiases returns the biases [E,3,L,H,N,Dh] of floater's hooks.
func FlowBiases(h Hooks) torchpe.Tensor { return h.(*floaterHooks).biases }

// GivenBiases is floater with biases [N,3,D] of its one block that are given in place of a path's.
func GivenBiases(e Encoding, values []float64) Encoding {
	return given{Encoding: e, heads: e.(*floater).heads, d: e.(*floater).d, values: values}
}

type given struct {
	Encoding
	heads, d int
	values   []float64
}

func (g given) Begin(s *torchpe.Scope, p Positions) Hooks {
	all := torchpe.Of(s, torchpe.CPU, g.values, 1, p.Tokens(), 3, 1, g.heads, g.d/g.heads)
	return &floaterHooks{biases: all.Permute(0, 2, 3, 4, 1, 5)}
}

// StackForTest stacks up to three encodings as schemes called one, two, three.
func StackForTest(parts []Encoding) (Encoding, error) {
	var all Scheme
	for i, encoding := range parts {
		name := []string{"one", "two", "three"}[i]
		all.parts = append(all.parts, part{label: name, Scheme: Scheme{
			Name: name,
			New:  func(Config, *torchpe.ParamSet) (Encoding, error) { return encoding, nil },
		}})
	}
	all.layers, _ = layers.Parse("one")
	c := Config{Members: 1, Layers: 1, Heads: 1, DModel: 4, Positions: Line(2)}
	return newStack(all, c, torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU))
}
