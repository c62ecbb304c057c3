package main

import (
	"os"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/analysis"
)

// analyzeProcrustesFlags holds the flags of "torchpe analyze procrustes".
type analyzeProcrustesFlags struct {
	tableFlags
	reference string
}

func newAnalyzeProcrustesCommand() *cobra.Command {
	var f analyzeProcrustesFlags
	cmd := &cobra.Command{
		Use:   "procrustes RUN... | --table FILE[:tensor]",
		Short: "How far encodings are from a reference that may be turned and mirrored",
		Long: `Distances of a table A from a reference B [tokens,dimensions]:

  raw           min over orthogonal R of |A R - B|, Frobenius norm (paper figure 3D). It grows
                with the norm of A whatever its shape
  norm-matched  the same after A was scaled to the norm of B
  disparity     that of scipy.spatial.procrustes, 0 to 1: both centred and scaled to norm 1,
                A turned, mirrored and scaled to fit, sum of squared differences

--reference 2d-fixed (default) and 1d-fixed are the sinusoidal tables of the same shape; from which
position they count, and which half of 2d-fixed encodes the row, makes no difference to any of the
three. The reference may also be a run (its member of the same seed, else its first) or
FILE[:tensor], with one table for all blocks or one for each. Where both have names of tokens, rows
are paired by name; else in order. Where the reference has fewer columns, such as coordinates of a
layout, both are compared in those dimensions, about their means: A by its first principal axes.
--table and --reference also take what "torchpe analyze map --out map.csv" wrote, whose members are
a stack of tables.

JSON: {reference, models: [{source, member, seed, pe, reference: {source, member, seed, pe},
tokens, dim, raw, norm_matched, disparity, blocks: [{block, raw, norm_matched, disparity}]}]};
those of a model are means over its blocks.`,
		Example: `  torchpe analyze procrustes runs/lst_learn-0.2_code_seed1 runs/lst_learn-2_code_seed1
  torchpe analyze procrustes runs/lst_learn-0.2_code_seed1 --reference runs/lst_2d-fixed_code_seed1
  torchpe analyze procrustes --table mine.npy --reference theirs.safetensors:pos_embed --json`,
		RunE: f.run,
	}
	f.add(cmd, analysis.All)
	cmd.Flags().StringVar(&f.reference, "reference", analysis.Fixed2D, "2d-fixed, 1d-fixed, a run or FILE[:tensor]")
	return cmd
}

// isRegular reports whether a path is that of a file.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (f *analyzeProcrustesFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if len(args) == 2 && isRegular(args[0]) && isRegular(args[1]) {
		return usagef("%s and %s are files, not runs: --table %s --reference %s", args[0], args[1],
			wording.Quote(args[0]), wording.Quote(args[1]))
	}
	models, err := f.models(args, notes)
	if err != nil {
		return err
	}
	s, err := f.selection(args)
	if err != nil {
		return usageError{err}
	}
	results, said, err := analysis.Procrustes(models, f.reference, s)
	if err != nil {
		return usageError{err}
	}
	note(notes, said)
	if f.json {
		return printJSON(out, struct {
			Reference string                      `json:"reference"`
			Models    []analysis.ProcrustesResult `json:"models"`
		}{f.reference, results})
	}
	var rows [][]string
	for _, r := range results {
		for _, b := range r.Blocks {
			rows = append(rows, row(subject(r.Subject), b.Block, b.Raw, b.NormMatched, b.Disparity))
		}
		if len(r.Blocks) > 1 {
			rows = append(rows, row(subject(r.Subject), "mean", r.Raw, r.NormMatched, r.Disparity))
		}
	}
	printModels(out, row(subjectHead, "block", "raw", "norm-matched", "disparity"), rows)
	return nil
}
