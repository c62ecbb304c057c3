package analysis

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"torchpe/internal/metrics"
)

// BlockRank are the sizes of a block's table.
type BlockRank struct {
	Block         int    `json:"block"`
	Frobenius     Number `json:"frobenius"`      // root of the sum of squares
	MeanRowNorm   Number `json:"mean_row_norm"`  // mean length of a token's row
	EffectiveRank Number `json:"effective_rank"` // exp of the entropy of the singular values
}

// Rank are the sizes of a model's tables.
type Rank struct {
	Subject
	Tokens        int         `json:"tokens"`
	Dim           int         `json:"dim"`
	Frobenius     Number      `json:"frobenius"`      // mean over blocks, as the next two
	MeanRowNorm   Number      `json:"mean_row_norm"`  //
	EffectiveRank Number      `json:"effective_rank"` //
	Blocks        []BlockRank `json:"blocks"`
}

// Ranks measures the tables of models.
func Ranks(models []*Model) ([]Rank, error) {
	var out []Rank
	for _, m := range models {
		one := Rank{Subject: m.Subject, Tokens: m.Tables[0].Tokens, Dim: m.Tables[0].Dim}
		for _, t := range m.Tables {
			rank, err := metrics.EffectiveRank(t.Values, t.Tokens, t.Dim)
			if err != nil {
				return nil, fmt.Errorf("%s: table %d: %w", m.Source, t.Block, err)
			}
			b := BlockRank{Block: t.Block, EffectiveRank: Number(rank)}
			all := 0.0
			for i := range t.Tokens {
				length := floats.Norm(t.Values[i*t.Dim:(i+1)*t.Dim], 2)
				b.MeanRowNorm += Number(length / float64(t.Tokens))
				all = math.Hypot(all, length)
			}
			b.Frobenius = Number(all)
			one.Blocks = append(one.Blocks, b)
		}
		one.Frobenius = meanOf(one.Blocks, func(b BlockRank) Number { return b.Frobenius })
		one.MeanRowNorm = meanOf(one.Blocks, func(b BlockRank) Number { return b.MeanRowNorm })
		one.EffectiveRank = meanOf(one.Blocks, func(b BlockRank) Number { return b.EffectiveRank })
		out = append(out, one)
	}
	return out, nil
}
