package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

func newRank() Measure {
	return Measure{
		Use:   "rank RUN... | --table FILE[:tensor]",
		Short: "Norm and effective rank of encodings",
		Long: `Sizes of a table [tokens,dimensions]:

  Frobenius       root of the sum of squares; initially about sigma * sqrt(tokens * dimensions)
  row norm        mean length of a token's row
  effective rank  exp of the entropy of the singular values, normalised to sum 1 (Roy and
                  Vetterli 2007): how many dimensions are used, 1 to min(tokens, dimensions)

JSON: {models: [{source, member, seed, pe, tokens, dim, frobenius, mean_row_norm,
effective_rank, blocks: [{block, frobenius, mean_row_norm, effective_rank}]}], notes}; the numbers of a
model are means over its blocks. Notes say why a number has no value.`,
		Example: `  torchpe analyze rank runs/lst_learn-0.2_code_seed1 runs/lst_learn-2.0_code_seed1
  torchpe analyze rank --table vit.npz:pos_embed --positions 1:197 --json`,
		Block: All,
		run:   ranks,
	}
}

// ranks measures the sizes of tables.
func ranks(in *Input) (*Report, error) {
	models, err := in.models()
	if err != nil {
		return nil, err
	}
	numbers := blocks(column{key: "frobenius", heading: "Frobenius"},
		column{key: "mean_row_norm", heading: "row norm"},
		column{key: "effective_rank", heading: "effective rank"})
	found := make([]scores, len(models))
	for i, m := range models {
		found[i] = numbers.measure(m, func(_ int, t Table) ([]any, string) {
			norm, rows := 0.0, 0.0
			for row := range t.Tokens {
				length := floats.Norm(t.Row(row), 2)
				rows += length / float64(t.Tokens)
				norm = math.Hypot(norm, length)
			}
			rank, err := t.EffectiveRank()
			if err != nil {
				rank = math.NaN()
			}
			return []any{Number(norm), Number(rows), Number(rank)}, reason(err)
		})
		found[i].about = Object{{"tokens", m.Tables[0].Tokens}, {"dim", m.Tables[0].Dim}}
	}
	return numbers.report(nil, found), nil
}
