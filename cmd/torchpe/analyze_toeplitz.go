package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/report/analysis"
)

// analyzeToeplitzFlags holds the flags of "torchpe analyze toeplitz".
type analyzeToeplitzFlags struct {
	tableFlags
	projections analysis.ProjectionFiles
	shuffles    analysis.Shuffles
}

func newAnalyzeToeplitzCommand() *cobra.Command {
	var f analyzeToeplitzFlags
	cmd := &cobra.Command{
		Use:   "toeplitz RUN... | --table FILE[:tensor]",
		Short: "Whether an encoding depends on the differences of positions alone",
		Long: `Toeplitzness of Wennberg and Henter 2021 (arXiv 2106.01950, sections 3.1 and 3.2, appendix B):
the share of variance of a matrix's elements that the best Toeplitz matrix explains,

  R^2 = 1 - RSS / TSS,

1 where elements depend on the difference of their indices alone. The best Toeplitz matrix has
the mean of each diagonal. It is taken of

  R^2            E E^T, the inner products of the table E
  R^2 centred    the same with the mean row taken off E
  R^2 attention  E Wq Wk^T E^T of each head, the positional part of attention scores: with the
                 weights of a run's checkpoint, or those of --query and --key

Shuffled is the mean of the same over random orders of the tokens, and p the share of orders that
reach R^2. It is not 0: each row meets itself on the diagonal, which alone makes a random table
of n tokens and d dimensions about d/(d+n) Toeplitz. An R^2 says something above that.

--words adds the mean of word embeddings to each row of E in the scores, which are then those
of the paper's appendix C but for a constant. Only --positions that a model was trained on
say something: most BERTs saw few texts beyond 0:128.

JSON: {models: [{source, member, seed, pe, positions, dim, r2, r2_shuffled, r2_centred, attention,
attention_shuffled, blocks: [{block, r2, r2_shuffled, p, r2_centred, attention: [of each head],
attention_shuffled}]}]}; those of a model are means over its blocks.`,
		Example: `  torchpe analyze toeplitz runs/nmar_1d-fixed_code_seed1
  torchpe analyze toeplitz --table model.safetensors:embeddings.position_embeddings.weight --positions 0:128
  torchpe analyze toeplitz --table m.safetensors:embeddings.position_embeddings.weight --heads 12 \
      --query m.safetensors:encoder.layer.0.attention.self.query.weight \
      --key m.safetensors:encoder.layer.0.attention.self.key.weight \
      --words m.safetensors:embeddings.word_embeddings.weight`,
		RunE: f.run,
	}
	f.add(cmd, analysis.All)
	fl, p := cmd.Flags(), &f.projections
	fl.StringVar(&p.Query, "query", "", "FILE[:tensor], weights of the queries [outputs,inputs]")
	fl.StringVar(&p.Key, "key", "", "FILE[:tensor], weights of the keys [outputs,inputs]")
	fl.IntVar(&p.Heads, "heads", 1, "heads that the outputs of --query and --key are split into")
	fl.BoolVar(&p.InOut, "in-out", false, "the weights are [inputs,outputs], as in E W (TensorFlow)")
	fl.StringVar(&p.Words, "words", "", "FILE[:tensor], word embeddings [words,dimensions], whose "+
		"mean is added to each row in the scores")
	fl.IntVar(&f.shuffles.Count, "shuffles", 100, "random orders of the tokens to hold R^2 against; 0 = none")
	fl.Uint64Var(&f.shuffles.Seed, "seed", 0, "seed of the random orders")
	return cmd
}

func (f *analyzeToeplitzFlags) run(cmd *cobra.Command, args []string) error {
	out, notes, p := cmd.OutOrStdout(), cmd.ErrOrStderr(), f.projections
	if f.shuffles.Count < 0 {
		return usagef("--shuffles %d: want 0 or more", f.shuffles.Count)
	}
	if p.Heads < 1 {
		return usagef("--heads %d: want at least 1", p.Heads)
	}
	if (p.Heads > 1 || p.InOut) && !p.Given() {
		return usagef("--heads and --in-out say how to read --query and --key: give these, too")
	}
	models, err := f.models(args, notes)
	if err != nil {
		return err
	}
	p.Header = f.header
	results, said, err := analysis.Toeplitzness(models, p, f.shuffles)
	if err != nil {
		return usageError{err}
	}
	note(notes, said)
	if f.json {
		return printJSON(out, struct {
			Models []analysis.Toeplitz `json:"models"`
		}{results})
	}
	var rows [][]string
	for _, r := range results {
		for _, b := range r.Blocks {
			rows = append(rows, row(subject(r.Subject), b.Block, b.R2, b.R2Shuffled, b.P,
				b.R2Centred, byHead(b.Attention), b.AttentionShuffled))
		}
		if len(r.Blocks) > 1 {
			rows = append(rows, row(subject(r.Subject), "mean", r.R2, r.R2Shuffled, "–",
				r.R2Centred, r.Attention, r.AttentionShuffled))
		}
	}
	printModels(out, row(subjectHead, "block", "R²", "shuffled", "p", "R² centred",
		"R² attention, by head", "shuffled"), rows)
	return nil
}

// byHead shows a number a head; of many heads their range.
func byHead(heads []analysis.Number) string {
	const most = 4
	if len(heads) == 0 {
		return analysis.None.String()
	}
	if len(heads) > most {
		return fmt.Sprintf("%s to %s", slices.Min(heads), slices.Max(heads))
	}
	var parts []string
	for _, h := range heads {
		parts = append(parts, h.String())
	}
	return strings.Join(parts, " ")
}
