package models

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// BenchmarkStep is a training step of 128 puzzles in float32, for the presets lst (d_model 160) and
// quick (64).
func BenchmarkStep(b *testing.B) {
	for _, d := range []int{160, 64} {
		for _, scheme := range []string{"learn", "relative", "rope", "2d-fixed", "nope"} {
			b.Run(fmt.Sprintf("%s/d%d", scheme, d), func(b *testing.B) { benchmarkStep(b, d, scheme) })
		}
	}
}

func benchmarkStep(b *testing.B, d int, name string) {
	scheme, _ := pe.Find(name)
	options, err := scheme.Resolve("code", nil)
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(Config{
		Positions: pe.Grid(4, 4), Symbols: 6, Classes: 4, Layers: 4, Heads: 1, DModel: d, FFMultiple: 4,
		TokenInput: OneHot, EmbeddingInit: LikeLinear, ReadOut: LastToken, PE: name, PEOptions: options,
		Sigma: []float64{0.2}, Seeds: []uint64{1}, DType: torchpe.Float32, Device: torchpe.CPU,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	optimizer, err := torchpe.NewOptimizer(torchpe.Adam, m.Params)
	if err != nil {
		b.Fatal(err)
	}
	defer optimizer.Close()
	const batch = 128
	rng := rand.New(rand.NewPCG(1, 2))
	symbols, target := make([]int64, batch*16), make([]int64, batch)
	for i := range symbols {
		symbols[i] = rng.Int64N(6)
	}
	for i := range target {
		target[i] = rng.Int64N(4)
	}
	set := torchpe.StepSettings{LR: []float64{1e-4}, WeightDecay: []float64{0}, Active: []bool{true}}
	i := 0
	for b.Loop() {
		s := torchpe.NewScope()
		s.Seed([]uint64{1}, i)
		i++
		optimizer.ZeroGrad()
		in := Input{Symbols: torchpe.Of(s, torchpe.CPU, symbols, 1, batch, 16),
			Positions: m.Config.Positions, Training: true}
		torchpe.CrossEntropy(m.Forward(s, in, nil), torchpe.Of(s, torchpe.CPU, target, 1, batch)).Sum().Backward()
		if err := optimizer.Step(set); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
