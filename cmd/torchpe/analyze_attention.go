package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/report/analysis"
)

// analyzeAttentionFlags holds the flags of "torchpe analyze attention".
type analyzeAttentionFlags struct {
	reference, pooling string
	member             int
	json               bool
	header             text.Choice
}

func newAnalyzeAttentionCommand() *cobra.Command {
	var f analyzeAttentionFlags
	cmd := &cobra.Command{
		Use:   "attention RUN|FILE[:tensor]... --reference RUN|FILE[:tensor]",
		Short: "How alike attention maps, of runs or arrays, are to those of a reference",
		Long: `Cosine, and Jensen-Shannon divergence in bits (0 to 1, mean over the rows' distributions), of
attention maps. Those of a run are on the validation puzzles, or of masked prediction the mean
over test frames, and are held against the reference's member of the same seed (else its first,
which a note says).

An array FILE[:tensor] has shape [tokens,tokens], [examples,tokens,tokens],
[layers,examples,tokens,tokens] or [layers,examples,heads,tokens,tokens]. Its rows, the last axis,
must be distributions: at least 0, with a sum of 1 within 0.001.

The paper does not say how maps were pooled; --pooling:

  each     each layer's map of each puzzle (example) with its counterpart, then the mean (default)
  layers   the mean over layers first, then each puzzle
  puzzles  the mean over puzzles first, then each layer
  all      all maps as one vector

The cosine of a map is that of all its heads as one vector. The numbers of a layer are those of that
layer alone, pooled in the same way, and those of an example likewise.

JSON: {pooling, models: [{source, member, seed, pe, reference: {source, member, seed, pe},
same_seed, examples, heads, cosine, jsd, layers: [{layer, cosine, jsd}], by_example: [{example,
cosine, jsd}]}], notes}.`,
		Example: `  torchpe analyze attention runs/lst_learn-0.2_code_seed1 --reference runs/lst_2d-fixed_code_seed1
  torchpe analyze attention runs --reference runs/lst_2d-fixed_code_seed1 --pooling layers --json
  torchpe analyze attention mine.npy --reference theirs.safetensors:attention`,
		Args: cobra.ArbitraryArgs,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.reference, "reference", "", "run or FILE[:tensor] to compare with (required)")
	fl.StringVar(&f.pooling, "pooling", string(metrics.EachMap), "each, layers, puzzles or all")
	fl.IntVar(&f.member, "member", analysis.All, "member of the runs, from 0; -1 = all")
	headerFlag(fl, &f.header)
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	return cmd
}

func (f *analyzeAttentionFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	pooling, err := metrics.ParsePooling(f.pooling)
	switch {
	case err != nil:
		return usagef("--%w", err)
	case len(args) == 0:
		return usagef("no run is named: give the directory of one or more, or arrays FILE[:tensor]")
	case f.reference == "":
		return usagef("--reference is missing: name the run or array to compare with")
	case f.member < analysis.All:
		return usagef("--member %d: want a number from 0, or -1 for all", f.member)
	}
	models, said, err := analysis.AttentionModels(args, f.member, f.header)
	if err != nil {
		return usageError{err}
	}
	results, more, err := analysis.Attentions(models, f.reference, pooling, f.header)
	if err != nil {
		return usageError{err}
	}
	said = append(said, more...)
	note(notes, said)
	if f.json {
		return printJSON(out, struct {
			Pooling metrics.Pooling            `json:"pooling"`
			Models  []analysis.AttentionResult `json:"models"`
			Notes   []string                   `json:"notes,omitempty"`
		}{pooling, results, said})
	}
	printAttention(out, pooling, results)
	return nil
}

func printAttention(out io.Writer, pooling metrics.Pooling, results []analysis.AttentionResult) {
	head := row(subjectHead, "layer", "cosine", "JSD (bits)")
	seeded := slices.ContainsFunc(results, func(r analysis.AttentionResult) bool { return r.Reference.Seed != nil })
	if seeded {
		head = slices.Insert(head, len(subjectHead), "reference's seed")
	}
	var rows [][]string
	for _, r := range results {
		first := subject(r.Subject)
		if seeded {
			first = append(first, subject(r.Reference)[seedColumn])
		}
		for _, l := range r.Layers {
			rows = append(rows, row(first, l.Layer, l.Cosine, l.JSD))
		}
		rows = append(rows, row(first, pooling, r.Cosine, r.JSD))
	}
	printModels(out, head, rows)
}
