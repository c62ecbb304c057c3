package main

import (
	"io"

	"github.com/spf13/cobra"

	"torchpe/report/analysis"
	"torchpe/report/metrics"
)

// analyzeAttentionFlags are the flags of "torchpe analyze attention".
type analyzeAttentionFlags struct {
	reference, pooling string
	member             int
	json               bool
}

func newAnalyzeAttentionCommand() *cobra.Command {
	var f analyzeAttentionFlags
	cmd := &cobra.Command{
		Use:   "attention RUN... --reference RUN",
		Short: "How alike the attention of runs is to that of a reference run",
		Long: `Cosine, and Jensen-Shannon divergence in bits (0 to 1, mean over the rows' distributions), of
attention maps on the validation puzzles, or of masked prediction of their mean over test
frames, with those of the reference's member of the same seed (else its first, which a note
says). The paper does not say how maps were pooled; --pooling:

  each     each layer's map of each puzzle with its counterpart, then the mean (default)
  layers   the mean over layers first, then each puzzle
  puzzles  the mean over puzzles first, then each layer
  all      all maps as one vector

Each layer's own numbers are those of that layer alone, pooled in the same way.

JSON: {pooling, models: [{source, member, seed, pe, reference: {source, member, seed, pe},
same_seed, examples, heads, cosine, jsd, layers: [{layer, cosine, jsd}]}]}.`,
		Example: `  torchpe analyze attention runs/lst_learn-0.2_code_seed1 --reference runs/lst_2d-fixed_code_seed1
  torchpe analyze attention runs --reference runs/lst_2d-fixed_code_seed1 --pooling layers --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAnalyzeAttention(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.reference, "reference", "", "run to compare with (required)")
	fl.StringVar(&f.pooling, "pooling", string(metrics.EachMap), "each, layers, puzzles or all")
	fl.IntVar(&f.member, "member", analysis.All, "member of the runs, from 0; -1 = all")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	return cmd
}

func runAnalyzeAttention(out, notes io.Writer, args []string, f analyzeAttentionFlags) error {
	pooling, err := metrics.ParsePooling(f.pooling)
	switch {
	case err != nil:
		return usagef("--%w", err)
	case len(args) == 0:
		return usagef("no run is named: give the directory of one or more")
	case f.reference == "":
		return usagef("--reference is missing: name the run to compare with")
	case f.member < analysis.All:
		return usagef("--member %d: want a number from 0, or -1 for all", f.member)
	}
	models, said, err := analysis.Members(args, f.member)
	if err != nil {
		return usageError{err}
	}
	results, more, err := analysis.Attentions(models, f.reference, pooling)
	if err != nil {
		return usageError{err}
	}
	if err := note(notes, append(said, more...)); err != nil {
		return err
	}
	if f.json {
		return printJSON(out, struct {
			Pooling metrics.Pooling            `json:"pooling"`
			Models  []analysis.AttentionResult `json:"models"`
		}{pooling, results})
	}
	var rows [][]string
	for _, r := range results {
		for _, l := range r.Layers {
			rows = append(rows, row(subject(r.Subject), *r.Reference.Seed, l.Layer, l.Cosine, l.JSD))
		}
		rows = append(rows, row(subject(r.Subject), *r.Reference.Seed, pooling, r.Cosine, r.JSD))
	}
	return printModels(out, row(subjectHead, "reference's seed", "layer", "cosine", "JSD (bits)"), rows)
}
