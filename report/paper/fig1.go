package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/data/lst"
	"torchpe/internal/metrics"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// examplePuzzles holds one puzzle of the default set for each kind.
var examplePuzzles = []string{"4213134000510134", "0200542000341042", "5200042100100000"}

// fig1 shows the task, and the distances between cells in the task and in the fixed encodings.
func (d *draft) fig1() error {
	var examples []figure.Panel
	var flattened figure.Panel
	for i, digits := range examplePuzzles {
		g, err := lst.ParseGrid(digits)
		if err != nil {
			return err
		}
		p, err := lst.NewPuzzle(g)
		if err != nil {
			return err
		}
		shown := figure.Puzzle{Title: fmt.Sprintf("%d-vector", i+1), Answer: int(p.Answer)}
		for k, cell := range p.Cells.Tokens() {
			shown.Cells[k] = int(cell)
		}
		if i == 0 {
			flattened = figure.Strip{Title: "The first puzzle as 16 tokens, row by row",
				Groups: slices.Clone(shown.Cells[:]), GroupNames: tokenNames}
		}
		examples = append(examples, shown)
	}
	d.Row(2, examples...)
	d.Row(0.95, flattened)
	truth := trueDistances()
	distances := []figure.Panel{matrix("Ground truth", "Distance", truth)}
	t := table.Table{Title: "Distances between cells", Columns: []table.Column{{Heading: "of"}, {Heading: "cell"},
		{Heading: "cell", Name: "other"}, {Heading: "distance"}}}
	addMatrix(&t, "ground truth", truth)
	where := "on the grid"
	for _, label := range []string{"1d-fixed", "2d-fixed"} {
		tableOf(label, ", in a run that keeps its table")(d)
		g := groupNamed(mainGroups(d.study), label)
		if g == nil {
			continue
		}
		_, x, err := item.Learned(g[0].Models[0])
		if err != nil {
			return err
		}
		between := x.Distances(metrics.Euclidean)
		where = strings.TrimSuffix(where, " and in the fixed encodings") + " and in the fixed encodings"
		distances = append(distances, matrix(label, "Euclidean distance", between))
		addMatrix(&t, label, between)
	}
	d.Row(2.1, distances...)
	d.Caption = "A–C: puzzles of the three kinds, by the number of rows and columns that must be combined; " +
		"each symbol occurs once in each row and column. D: the input of a model, one token per cell. " +
		"Last: Euclidean distances between the 16 cells, in the order of the tokens, " + where + "."
	d.AddTable("", t)
	return nil
}

// tokenNames names the contents of a cell, in the order of its digits.
var tokenNames = []string{"blank", "circle", "square", "triangle", "cross", "in question"}

// trueDistances returns the distances between cells on the grid, in steps.
func trueDistances() []float64 {
	out := make([]float64, lst.Cells*lst.Cells)
	for i := range lst.Cells {
		for j := range lst.Cells {
			out[i*lst.Cells+j] = math.Hypot(float64(i/lst.Side-j/lst.Side), float64(i%lst.Side-j%lst.Side))
		}
	}
	return out
}

// matrix draws a matrix of values between cells.
func matrix(title, label string, values []float64) figure.Panel {
	return figure.Matrix{Title: title, Values: values, Rows: lst.Cells, Columns: lst.Cells,
		Scale: figure.Sequential, BarLabel: label, XLabel: "Cell", YLabel: "Cell"}
}

func addMatrix(t *table.Table, of string, values []float64) {
	for i, v := range values {
		t.Rows = append(t.Rows, table.Row{table.Text(of), table.Count(i / lst.Cells), table.Count(i % lst.Cells),
			table.Number(v)})
	}
}
