package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/report/analysis"
	"torchpe/report/figure"
)

// analyzeMapFlags holds the flags of "torchpe analyze map".
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

All members of a run are mapped, each by itself; --member chooses one.

JSON: {models: [{source, member, seed, pe, block, method, distance (mds), explained (pca),
stress (mds), tokens, modules, coordinates: [[x1, x2...] of each token]}]}. --out map.csv writes
(member,) token, module, x1, x2..., which "torchpe analyze procrustes" reads; --out map.pdf, .svg
or .png draws the first two axes, a panel a member.`,
		Example: `  torchpe analyze map runs/lst_learn-0.2_code_seed1 --modules rows
  torchpe analyze map runs/nmar --method mds --distance sign-aligned --out map.csv
  torchpe analyze map runs/nmar --out map.pdf
  torchpe analyze map --table table.csv --dims 3 --json`,
		RunE: f.run,
	}
	f.tableFlags.add(cmd, 0)
	fl := cmd.Flags()
	f.method = analysis.PCA
	fl.Var(choice{&f.method, mapMethods}, "method", "pca or mds")
	fl.StringVar(&f.distance, "distance", "euclidean", "of mds, "+distanceHelp())
	fl.IntVar(&f.dims, "dims", 2, "dimensions")
	fl.StringVar(&f.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps, if any)")
	f.outFlags.add(cmd, "write the coordinates to this .csv file, or draw them as .pdf, .svg or .png")
	return cmd
}

// mapMethods are the values of --method.
var mapMethods = []string{analysis.PCA, analysis.MDS}

func (f *analyzeMapFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	distance, err := parseDistance(f.distance)
	if err != nil {
		return err
	}
	if err := f.check(".csv", ".pdf", ".svg", ".png"); err != nil {
		return err
	}
	models, err := f.membersOfOne(args, notes)
	if err != nil {
		return err
	}
	maps, err := analysis.Maps(models, analysis.MapOptions{Header: f.header, Method: f.method, Distance: distance,
		Dims: f.dims, Modules: f.modules})
	if err != nil {
		return usageError{err}
	}
	if f.out != "" {
		if err := f.save(maps); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(out, struct {
			Models []analysis.Map `json:"models"`
		}{maps})
	}
	for _, m := range maps {
		printMap(out, m, f.out)
	}
	return nil
}

// save writes --out: the coordinates as .csv, else a drawing.
func (f *analyzeMapFlags) save(maps []analysis.Map) error {
	if strings.EqualFold(filepath.Ext(f.out), ".csv") {
		body, err := analysis.MapsCSV(maps)
		if err != nil {
			return err
		}
		return f.write(body)
	}
	fig, err := drawMaps(maps)
	if err != nil {
		return usageError{err}
	}
	return fig.Save(f.out, "")
}

// mostNamed is the largest number of tokens whose names a drawing has.
const mostNamed = 64

// drawMaps draws the first two axes of maps, at most three in a row.
func drawMaps(maps []analysis.Map) (*figure.Figure, error) {
	const inRow = 3
	page := figure.Page{Width: figure.PageWidth}
	for i, m := range maps {
		if len(m.Coordinates[0]) < 2 {
			return nil, errors.New("--dims 1: a drawing has two axes: choose 2, or write .csv")
		}
		panel := figure.Map{Title: mapTitle(m), XLabel: mapAxis(m, 0), YLabel: mapAxis(m, 1)}
		for k, at := range m.Coordinates {
			panel.XY = append(panel.XY, [2]float64{float64(at[0]), float64(at[1])})
			if len(m.Tokens) <= mostNamed {
				panel.Labels = append(panel.Labels, m.Tokens[k])
			}
			if m.Modules == nil {
				continue
			}
			group := slices.Index(panel.GroupNames, m.Modules[k])
			if group < 0 {
				group = len(panel.GroupNames)
				panel.GroupNames = append(panel.GroupNames, m.Modules[k])
			}
			panel.Groups = append(panel.Groups, group)
		}
		if i%inRow == 0 {
			page.Rows = append(page.Rows, figure.Row{Height: 2.6})
		}
		r := &page.Rows[len(page.Rows)-1]
		r.Cells = append(r.Cells, figure.Cell{Panel: panel})
	}
	return figure.Compose(page)
}

// mapTitle names the encoding and the member of a map.
func mapTitle(m analysis.Map) string {
	title := cmp.Or(m.PE, filepath.Base(m.Source))
	if m.Seed != nil {
		title += fmt.Sprintf(", seed %d", *m.Seed)
	}
	return title
}

// mapAxis names an axis of a map, counted from 0.
func mapAxis(m analysis.Map, axis int) string {
	if m.Method == analysis.PCA {
		return fmt.Sprintf("PC %d (%.0f %%)", axis+1, 100*float64(m.Explained[axis]))
	}
	return fmt.Sprintf("MDS %d", axis+1)
}

func printMap(out io.Writer, m analysis.Map, file string) {
	source := m.Source
	if m.Member != nil {
		source += fmt.Sprintf(", member %d", *m.Member)
	}
	how := fmt.Sprintf("pca of %s, block %d; variance explained", source, m.Block)
	if m.Method == analysis.PCA {
		for _, e := range m.Explained {
			how += fmt.Sprintf(" %.1f %%", 100*float64(e))
		}
	} else {
		how = fmt.Sprintf("mds of %s, block %d, %s distances; stress %s", source, m.Block, m.Distance, m.Stress)
	}
	if file != "" {
		fmt.Fprintf(out, "%s: %s\n", how, file)
		return
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
	printTable(out, head, rows)
	fmt.Fprintln(out, how)
}
