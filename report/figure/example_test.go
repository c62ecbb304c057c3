package figure_test

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"torchpe/internal/expect"
	"torchpe/report/figure"
)

// Two panels side by side, in the width of a page.
func ExampleCompose() {
	boxes := figure.Boxes{YLabel: "Accuracy",
		References: []figure.Reference{{Label: "chance", Y: 0.25}}}
	for _, sigma := range []string{"0.2", "2.0"} {
		boxes.Groups = append(boxes.Groups, figure.Group{
			Label: sigma, ColorOf: "learn σ=" + sigma,
			Values: []float64{0.9, 0.8, 0.85, 0.87, 0.93},
		})
	}
	puzzle := figure.Puzzle{Title: "Puzzle",
		Cells: [16]int{1, 2, 0, 4, 5: 3, 8: 2, 10: figure.Probe, 15: 1}, Answer: 4}
	f, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{
		{Height: 2, Cells: []figure.Cell{{Panel: puzzle}, {Panel: boxes, Weight: 2}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Encode(io.Discard, "pdf"))
	// Output: <nil>
}

// drawn draws a panel of one column's width and compares it with a file in testdata. It returns
// that file's path.
func drawn(file string, height float64, p figure.Panel) string {
	f, err := figure.Compose(figure.Page{
		Width: figure.ColumnWidth, Rows: []figure.Row{{Height: height,
			Cells: []figure.Cell{{Panel: p}}}},
	})
	if err != nil {
		return err.Error()
	}
	var svg bytes.Buffer
	if err := f.Encode(&svg, "svg"); err != nil {
		return err.Error()
	}
	if err := expect.CompareGolden(file, svg.Bytes()); err != nil {
		return err.Error()
	}
	return "testdata/" + file
}

// Two encodings with two and three members, one of which has no value at epoch 8.
func ExampleLines() {
	epochs := []float64{4, 8, 12, 16, 20, 24}
	fmt.Println(drawn("lines.svg", 1.8, figure.Lines{
		XLabel: "Epoch", YLabel: "Accuracy", YMax: 1, Band: figure.BandMinMax, Markers: true,
		References: []figure.Reference{{Label: "chance", Y: 0.25}},
		Series: []figure.LineSeries{
			{Label: "learn σ=0.2", X: epochs, Values: [][]float64{
				{0.19, 0.8, 0.97, 0.98, 0.99, 0.99}, {0.24, 0.6, 0.88, 0.95, 0.97, 0.98},
				{0.21, math.NaN(), 0.9, 0.96, 0.98, 0.97}}},
			{Label: "nope", X: epochs, Values: [][]float64{
				{0.19, 0.24, 0.3, 0.33, 0.36, 0.35}, {0.25, 0.3, 0.35, 0.41, 0.42, 0.44}}},
		},
	}))
	// Output: testdata/lines.svg
}

// Three groups of models. One model that did not fit its training data is hollow, signs beside the
// boxes show two other means, and a grey band what chance gives the last.
func ExampleBoxes() {
	fmt.Println(drawn("boxes.svg", 1.8, figure.Boxes{
		YLabel: "Validation accuracy", References: []figure.Reference{{Label: "chance", Y: 0.25}},
		HollowNote: "hollow: not fitted", Beside: []string{"training accuracy", "IID accuracy"},
		Groups: []figure.Group{
			{Label: "0.2", ColorOf: "learn σ=0.2",
				Values: []float64{0.93, 0.95, 0.97, 0.9, 0.96, 0.98}, Beside: []float64{1, 0.99}},
			{Label: "1.0", ColorOf: "learn σ=1.0",
				Values: []float64{0.7, 0.52, 0.81, 0.75, 0.68, 0.25}, Beside: []float64{0.96, 0.9},
				Hollow: []bool{5: true}},
			{Label: "rope", Values: []float64{0.5, 0.7, 0.65}, Beside: []float64{0.99, 0.85},
				Chance: &figure.Chance{Low: 0.2, High: 0.31, P: 0.001}},
		},
	}))
	// Output: testdata/boxes.svg
}

// Two points have room for their labels; three crowd, and the note names them.
func ExampleScatter() {
	point := func(label string, x, y float64) figure.ScatterPoint {
		return figure.ScatterPoint{Label: label, X: x, Y: y, XErr: 0.02, YErr: 0.03}
	}
	fmt.Println(drawn("scatter.svg", 2, figure.Scatter{
		XLabel: "Procrustes distance", YLabel: "Accuracy", Annotation: "Spearman ρ = −.90, n = 5",
		Note: "Error bars: ±1 SD of 3 seeds",
		Points: []figure.ScatterPoint{
			point("learn σ=0.2", 0.2, 0.97), point("learn σ=1.0", 0.55, 0.7),
			point("learn σ=1.8", 0.89, 0.27), point("learn σ=1.9", 0.9, 0.26),
			point("learn σ=2.0", 0.91, 0.25),
		},
	}))
	// Output: testdata/scatter.svg
}

// Correlations of three parcels in two networks. One is missing.
func ExampleMatrix() {
	fmt.Println(drawn("matrix.svg", 1.5, figure.Matrix{
		Rows: 3, Columns: 3, Values: []float64{1, 0.5, -0.5, 0.5, 1, math.NaN(), -0.5, 0, 1},
		Scale: figure.Diverging, BarLabel: "Correlation r", RowLabels: []string{"a", "b", "c"},
		ColumnLabels: []string{"a", "b", "c"},
		Groups:       []int{0, 0, 1}, GroupNames: []string{"left", "right"},
	}))
	// Output: testdata/matrix.svg
}

// The learned positions of six cells in two rows. Cells 3 and 6 lie together, so labels stand
// beside dots.
func ExampleMap() {
	fmt.Println(drawn("map.svg", 1.6, figure.Map{
		XLabel: "Dimension 1", YLabel: "Dimension 2", Note: "n = 1 model",
		XY:     [][2]float64{{0, 0.9}, {1.1, 1}, {2, 0.52}, {0.1, 0}, {1, 0.1}, {2.01, 0.5}},
		Groups: []int{0, 0, 0, 1, 1, 1}, GroupNames: []string{"Row 1", "Row 2"},
		Labels: []string{"1", "2", "3", "4", "5", "6"}, Edges: figure.GridEdges(2, 3),
	}))
	// Output: testdata/map.svg
}

// A puzzle of the Latin square task with its answer.
func ExamplePuzzle() {
	fmt.Println(drawn("puzzle.svg", 1.5, figure.Puzzle{
		Cells: [16]int{1, 0, 3, 4, 0, 4, 1, 0, 2, 0, figure.Probe, 3, 0, 3, 0, 1}, Answer: 4,
	}))
	// Output: testdata/puzzle.svg
}

// The networks of ten parcels.
func ExampleStrip() {
	fmt.Println(drawn("strip.svg", 0.7, figure.Strip{
		Groups:     []int{0, 0, 0, 1, 1, 1, 1, 2, 2, 2},
		GroupNames: []string{"Visual1", "Default", "Auditory"},
	}))
	// Output: testdata/strip.svg
}

// The steps of a model. The step that the figure is about is coloured.
func ExampleSchematic() {
	fmt.Println(drawn("schematic.svg", 0.8, figure.Schematic{Boxes: []figure.SchematicBox{
		{Text: "16 cells"}, {Text: "+ PE, N(0, σ²)", Emphasis: true}, {Text: "4 blocks"},
		{Text: "symbol"},
	}}))
	// Output: testdata/schematic.svg
}
