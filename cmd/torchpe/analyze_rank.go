package main

import (
	"io"

	"github.com/spf13/cobra"

	"torchpe/report/analysis"
)

func newAnalyzeRankCommand() *cobra.Command {
	var f tableFlags
	cmd := &cobra.Command{
		Use:   "rank RUN... | --table FILE[:tensor]",
		Short: "Norm and effective rank of encodings",
		Long: `Sizes of a table [tokens,dimensions]:

  Frobenius       root of the sum of squares; at the start about sigma * sqrt(tokens * dimensions)
  row norm        mean length of a token's row
  effective rank  exp of the entropy of the singular values, normalised to sum 1 (Roy and
                  Vetterli 2007): how many dimensions are used, 1 to min(tokens, dimensions)

JSON: {models: [{source, member, seed, pe, tokens, dim, frobenius, mean_row_norm,
effective_rank, blocks: [{block, frobenius, mean_row_norm, effective_rank}]}]}; those of a model
are means over its blocks.`,
		Example: `  torchpe analyze rank runs/lst_learn-0.2_code_seed1 runs/lst_learn-2_code_seed1
  torchpe analyze rank --table vit.npz:pos_embed --positions 1:197 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAnalyzeRank(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, f)
		},
	}
	f.add(cmd, analysis.All, analysis.All)
	return cmd
}

func runAnalyzeRank(out, notes io.Writer, args []string, f tableFlags) error {
	models, err := f.models(args, notes)
	if err != nil {
		return err
	}
	results, err := analysis.Ranks(models)
	if err != nil {
		return usageError{err}
	}
	if f.json {
		return printJSON(out, struct {
			Models []analysis.Rank `json:"models"`
		}{results})
	}
	var rows [][]string
	for _, r := range results {
		for _, b := range r.Blocks {
			rows = append(rows, row(subject(r.Subject), b.Block, b.Frobenius, b.MeanRowNorm, b.EffectiveRank))
		}
		if len(r.Blocks) > 1 {
			rows = append(rows, row(subject(r.Subject), "mean", r.Frobenius, r.MeanRowNorm, r.EffectiveRank))
		}
	}
	return printModels(out, row(subjectHead, "block", "Frobenius", "row norm", "effective rank"), rows)
}
