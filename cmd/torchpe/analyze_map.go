package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/internal/nearest"
	"torchpe/report/analysis"
)

// analyzeMapFlags are the flags of "torchpe analyze map".
type analyzeMapFlags struct {
	tableFlags
	outFlags
	method, distance, modules string
	dims                      int
}

func newAnalyzeMapCommand() *cobra.Command {
	var f analyzeMapFlags
	cmd := &cobra.Command{
		Use:   "map RUN | --table FILE[:tensor]",
		Short: "Coordinates of the tokens: principal components or multidimensional scaling",
		Long: `A map of the tokens in few dimensions, for a scatter plot:

  pca  principal components of the table, with the share of variance that each explains
  mds  classical multidimensional scaling of the distances (Torgerson 1952), with Kruskal's
       stress-1, sqrt(sum (d - d')^2 / sum d^2): 0 where the map has the distances exactly

Each axis is turned so that its largest coordinate is positive. Tokens carry the modules that
a run keeps, or those of --modules.

JSON: {source, member, seed, pe, block, method, distance (mds), explained (pca), stress (mds),
tokens, modules, coordinates: [[x1, x2...] of each token]}. --out writes token, module, x1, x2...`,
		Example: `  torchpe analyze map runs/lst_learn-0.2_code_seed1 --modules rows
  torchpe analyze map runs/nmar --method mds --distance sign-aligned --out map.csv
  torchpe analyze map --table table.csv --dims 3 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAnalyzeMap(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, f)
		},
	}
	f.tableFlags.add(cmd, 0, 0)
	fl := cmd.Flags()
	fl.StringVar(&f.method, "method", analysis.PCA, "pca or mds")
	fl.StringVar(&f.distance, "distance", "euclidean", "of mds, "+distanceHelp())
	fl.IntVar(&f.dims, "dims", 2, "dimensions")
	fl.StringVar(&f.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps, if any)")
	f.outFlags.add(cmd, "write the coordinates to this .csv file")
	return cmd
}

func runAnalyzeMap(out, notes io.Writer, args []string, f analyzeMapFlags) error {
	distance, err := parseDistance(f.distance)
	if err != nil {
		return err
	}
	if f.method != analysis.PCA && f.method != analysis.MDS {
		return usagef("--method %q is unknown; there are pca and mds%s", f.method, nearest.Hint(f.method, []string{analysis.PCA, analysis.MDS}))
	}
	if err := f.check(".csv"); err != nil {
		return err
	}
	m, err := f.one(args, notes)
	if err != nil {
		return err
	}
	result, err := analysis.Coordinates(m, analysis.MapOptions{Method: f.method, Distance: distance, Dims: f.dims, Modules: f.modules})
	if err != nil {
		return usageError{err}
	}
	if f.out != "" {
		body, err := result.CSV()
		if err == nil {
			err = f.write(body)
		}
		if err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(out, result)
	}
	return printMap(out, result, f.out)
}

func printMap(out io.Writer, m analysis.Map, file string) error {
	how := fmt.Sprintf("pca of %s, block %d; variance explained", m.Source, m.Block)
	if m.Method == analysis.PCA {
		for _, e := range m.Explained {
			how += fmt.Sprintf(" %.1f %%", 100*float64(e))
		}
	} else {
		how = fmt.Sprintf("mds of %s, block %d, %s distances; stress %s", m.Source, m.Block, m.Distance, m.Stress)
	}
	if file != "" {
		_, err := fmt.Fprintf(out, "%s: %s\n", how, file)
		return err
	}
	head := []string{"token"}
	if m.Modules != nil {
		head = append(head, "module")
	}
	for i := range m.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", i+1))
	}
	var rows [][]string
	for i, at := range m.Coordinates {
		cells := []string{m.Tokens[i]}
		if m.Modules != nil {
			cells = append(cells, m.Modules[i])
		}
		for _, v := range at {
			cells = append(cells, v.String())
		}
		rows = append(rows, cells)
	}
	if err := printTable(out, head, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, how)
	return err
}
