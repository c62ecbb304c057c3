package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/internal/plural"
	"torchpe/report/analysis"
)

// mostShown is the largest matrix that is printed as a table.
const mostShown = 20

func newAnalyzeDistancesCommand() *cobra.Command {
	var f tableFlags
	var o outFlags
	var distance string
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

JSON: {source, member, seed, pe, block, distance, tokens, distances: [[...]], notes}; notes say why
a distance has no value.`,
		Example: `  torchpe analyze distances runs/lst_learn-0.2_code_seed1
  torchpe analyze distances runs/fmri --block 1 --out distances.csv
  torchpe analyze distances --table bert.safetensors:embeddings.position_embeddings.weight --distance cosine --out d.npy`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAnalyzeDistances(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, f, o, distance)
		},
	}
	f.add(cmd, 0, 0)
	cmd.Flags().StringVar(&distance, "distance", "euclidean", distanceHelp())
	o.add(cmd, "write the matrix to this .csv or .npy file")
	return cmd
}

func runAnalyzeDistances(out, notes io.Writer, args []string, f tableFlags, o outFlags, distance string) error {
	kind, err := parseDistance(distance)
	if err != nil {
		return err
	}
	if err := o.check(".csv", ".npy"); err != nil {
		return err
	}
	m, err := f.one(args, notes)
	if err != nil {
		return err
	}
	if n := m.Tables[0].Tokens; n > mostShown && o.out == "" && !f.json {
		return usagef("%s: %d tokens make a table too large to read: use --out FILE.csv, --json "+
			"or --positions", m.Source, n)
	}
	d, err := analysis.Between(m, kind)
	if err != nil {
		return usageError{err}
	}
	if err := note(notes, d.Notes); err != nil {
		return err
	}
	if o.out != "" {
		if err := analysis.Save(o.out, d.Table()); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return printJSON(out, d)
	case o.out != "":
		_, err := fmt.Fprintf(out, "%s distances between %s of %s, block %d: %s\n", kind,
			plural.Of(len(d.Tokens), "token"), d.Source, d.Block, o.out)
		return err
	}
	var rows [][]string
	for i, values := range d.Distances {
		cells := []string{d.Tokens[i]}
		for _, v := range values {
			cells = append(cells, v.String())
		}
		rows = append(rows, cells)
	}
	return printTable(out, row([]string{kind.String()}, anyOf(d.Tokens)...), rows)
}

// anyOf returns the elements as values of any type.
func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
