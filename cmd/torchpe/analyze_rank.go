package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/analysis"
)

// analyzeRankFlags holds the flags of "torchpe analyze rank".
type analyzeRankFlags struct {
	tableFlags
	outFlags
	overTraining bool
}

func newAnalyzeRankCommand() *cobra.Command {
	var f analyzeRankFlags
	cmd := &cobra.Command{
		Use:   "rank RUN... | --table FILE[:tensor]",
		Short: "Norm and effective rank of encodings",
		Long: `Sizes of a table [tokens,dimensions]:

  Frobenius       root of the sum of squares; at the start about sigma * sqrt(tokens * dimensions)
  row norm        mean length of a token's row
  effective rank  exp of the entropy of the singular values, normalised to sum 1 (Roy and
                  Vetterli 2007): how many dimensions are used, 1 to min(tokens, dimensions)

--over-training lists the Frobenius norm and the effective rank that a run recorded as it was
trained (metrics.jsonl), means over its blocks; --out writes them to a .csv file.

JSON: {models: [{source, member, seed, pe, tokens, dim, frobenius, mean_row_norm,
effective_rank, blocks: [{block, frobenius, mean_row_norm, effective_rank}]}]}; those of a model
are means over its blocks. With --over-training: {models: [{source, member, seed, pe, records:
[{step, epoch, frobenius, effective_rank}]}], notes}.`,
		Example: `  torchpe analyze rank runs/lst_learn-0.2_code_seed1 runs/lst_learn-2_code_seed1
  torchpe analyze rank runs/lst_learn-0.2_code_seed1 --over-training --out course.csv
  torchpe analyze rank --table vit.npz:pos_embed --positions 1:197 --json`,
		RunE: f.run,
	}
	f.tableFlags.add(cmd, analysis.All)
	cmd.Flags().BoolVar(&f.overTraining, "over-training", false,
		"list norm and effective rank by step, as a run recorded them")
	f.outFlags.add(cmd, "with --over-training, write the records to this .csv file")
	return cmd
}

func (f *analyzeRankFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.overTraining {
		return f.runOverTraining(out, notes, args)
	}
	if f.out != "" {
		return usagef("--out writes what --over-training lists: give that, too, or redirect --json")
	}
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
	printModels(out, row(subjectHead, "block", "Frobenius", "row norm", "effective rank"), rows)
	return nil
}

// runOverTraining lists what runs recorded.
func (f *analyzeRankFlags) runOverTraining(out, notes io.Writer, args []string) error {
	s, err := f.selection(args)
	switch {
	case err != nil:
		return usageError{err}
	case len(f.tables) > 0 || s.Block != analysis.All || f.positions != "":
		return usagef("--over-training lists what runs recorded, means over the blocks of whole " +
			"tables: give it without --table, --block and --positions")
	case len(args) == 0:
		return usagef("no run is named: give the directory of one or more")
	}
	if err := f.check(".csv"); err != nil {
		return err
	}
	courses, said, err := analysis.Courses(args, f.member)
	if err != nil {
		return usageError{err}
	}
	note(notes, said)
	if f.out != "" {
		body, err := analysis.CoursesCSV(courses)
		if err == nil {
			err = f.write(body)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return printJSON(out, struct {
			Models []analysis.Course `json:"models"`
			Notes  []string          `json:"notes,omitempty"`
		}{courses, said})
	case f.out != "":
		fmt.Fprintf(out, "norm and effective rank over training of %s: %s\n",
			wording.Count(len(courses), "model"), f.out)
		return nil
	}
	var rows [][]string
	for _, c := range courses {
		for _, r := range c.Records {
			rows = append(rows, row(subject(c.Subject), r.Step, r.Epoch, r.Frobenius, r.EffectiveRank))
		}
	}
	printModels(out, row(subjectHead, "step", "epoch", "Frobenius", "effective rank"), rows)
	return nil
}
