package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/analysis"
)

// mostShown is the largest matrix that is printed as a table.
const mostShown = 20

// analyzeDistancesFlags holds the flags of "torchpe analyze distances".
type analyzeDistancesFlags struct {
	tableFlags
	outFlags
	distance string
}

func newAnalyzeDistancesCommand() *cobra.Command {
	var f analyzeDistancesFlags
	cmd := &cobra.Command{
		Use:   "distances RUN | --table FILE[:tensor]",
		Short: "The distances between the encodings of tokens",
		Long: `Distances between the rows a, b of a table:

  euclidean     |a - b|
  sign-aligned  min(|a - b|, |a + b|): Procrustes of two columns
  corr2         1 - corr(a,b)^2: scipy.spatial.procrustes of two columns
  cosine        1 - a.b / (|a| |b|)

The paper aligns the two by a Procrustes transform and does not say of which matrices; these
are its readings. Up to 20 tokens are printed; more go to --out or --json.

All members of a run are measured, each by itself; --member chooses one. --out m.csv has the names
of the tokens and holds one member; --out m.npy is [tokens,tokens], of several members
[members,tokens,tokens].

JSON: {models: [{source, member, seed, pe, block, distance, tokens, distances: [[...]]}], notes};
notes say why a distance has no value.`,
		Example: `  torchpe analyze distances runs/lst_learn-0.2_code_seed1
  torchpe analyze distances runs/fmri --block 1 --out distances.csv
  torchpe analyze distances --table bert.safetensors:embeddings.position_embeddings.weight \
    --distance cosine --out d.npy`,
		RunE: f.run,
	}
	f.tableFlags.add(cmd, 0)
	cmd.Flags().StringVar(&f.distance, "distance", "euclidean", distanceHelp())
	f.outFlags.add(cmd, "write the distances to this .csv or .npy file")
	return cmd
}

func (f *analyzeDistancesFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	kind, err := parseDistance(f.distance)
	if err != nil {
		return err
	}
	if err := f.check(".csv", ".npy"); err != nil {
		return err
	}
	models, err := f.membersOfOne(args, notes)
	if err != nil {
		return err
	}
	if n := models[0].Tables[0].Tokens; n > mostShown && f.out == "" && !f.json {
		return usagef("%s: %d tokens make a table too large to read: use --out FILE.csv, --json "+
			"or --positions", models[0].Source, n)
	}
	if len(models) > 1 && strings.EqualFold(filepath.Ext(f.out), ".csv") {
		return usagef("--out %s: a .csv holds one matrix, and %s has %d members: choose one with --member, or write "+
			".npy", f.out, models[0].Source, len(models))
	}
	var said []string
	all := make([]analysis.DistanceMatrix, len(models))
	for i, m := range models {
		if all[i], err = analysis.Between(m, kind); err != nil {
			return usageError{err}
		}
		said = append(said, all[i].Notes...)
	}
	note(notes, said)
	if f.out != "" {
		if err := analysis.Save(f.out, analysis.DistanceTable(all)); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(out, struct {
			Models []analysis.DistanceMatrix `json:"models"`
			Notes  []string                  `json:"notes,omitempty"`
		}{all, said})
	}
	for _, d := range all {
		printDistances(out, d, f.out)
	}
	return nil
}

// printDistances prints the distances of a model, or where they were written.
func printDistances(out io.Writer, d analysis.DistanceMatrix, file string) {
	source := d.Source
	if d.Member != nil {
		source += fmt.Sprintf(", member %d", *d.Member)
	}
	how := fmt.Sprintf("%s distances between %s of %s, block %d", d.Distance, wording.Count(len(d.Tokens), "token"),
		source, d.Block)
	if file != "" {
		fmt.Fprintf(out, "%s: %s\n", how, file)
		return
	}
	var rows [][]string
	for i, values := range d.Distances {
		cells := []string{d.Tokens[i]}
		for _, v := range values {
			cells = append(cells, v.String())
		}
		rows = append(rows, cells)
	}
	printTable(out, row([]string{d.Distance}, anyOf(d.Tokens)...), rows)
	fmt.Fprintln(out, how)
}

// anyOf returns the elements as values of any type.
func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
