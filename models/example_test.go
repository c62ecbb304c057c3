package models_test

import (
	"fmt"

	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// An ensemble of two models, which differ in seed and sigma, answers a batch of one puzzle.
func ExampleNew() {
	scheme, err := pe.Find("learn")
	if err != nil {
		fmt.Println(err)
		return
	}
	options, err := scheme.Resolve("code", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := models.New(models.Config{
		Transformer: arch.Transformer{
			Layers: 2, Heads: 1, DModel: 32, FFMultiple: 4,
			TokenInput: arch.OneHot, EmbeddingInit: arch.LikeLinear, ReadOut: arch.LastToken,
		},
		Positions: pe.Grid(4, 4), Symbols: 6, Classes: 4,
		PE: "learn", PEOptions: options, Sigma: []float64{0.2, 2},
		Seeds: []uint64{1, 2}, DType: torchpe.Float32, Device: torchpe.CPU,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	puzzle := []int64{ // 0 blank, 1 to 4 symbols, 5 the probe
		1, 2, 3, 4,
		0, 0, 0, 1,
		0, 5, 0, 2,
		2, 0, 0, 3,
	}
	batch := models.Input{
		Symbols:   torchpe.Of(s, torchpe.CPU, append(puzzle, puzzle...), 2, 1, 16), // [E,B,N]
		Positions: m.Config.Positions,
	}
	logits := m.Forward(s, batch, nil)
	fmt.Println(logits.Shape(), "of", m.Params.Count(), "parameters each")
	// Output:
	// [2 1 4] of 26756 parameters each
}
