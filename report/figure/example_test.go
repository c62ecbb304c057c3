package figure_test

import (
	"fmt"

	"torchpe/report/figure"
)

// Two encodings, one with two members, in one column of a paper.
func ExampleAccuracyCurves() {
	curves := []figure.Curve{
		{Label: "learn σ=0.2", Epochs: []int{4, 8, 12, 24}, Values: [][]float64{{0.185, 0.796, 0.981, 0.991}, {0.241, 0.741, 0.972, 0.981}}},
		{Label: "learn σ=2.0", Epochs: []int{4, 8, 12, 24}, Values: [][]float64{{0.194, 0.241, 0.213, 0.204}}},
	}
	f, err := figure.AccuracyCurves(curves, figure.DefaultAccuracyOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Save("/dev/null", "pdf"))
	// Output: <nil>
}

// Two panels side by side, in the width of a page.
func ExampleCompose() {
	boxes := figure.Boxes{XLabel: "Initial SD σ", YLabel: "Accuracy", References: []figure.Reference{{Label: "chance", Y: 0.25}}}
	for _, sigma := range []string{"0.2", "2.0"} {
		boxes.Groups = append(boxes.Groups, figure.Group{Label: sigma, ColorOf: "learn σ=" + sigma, Values: []float64{0.9, 0.8, 0.85, 0.87, 0.93}})
	}
	puzzle := figure.Puzzle{Title: "Puzzle", Cells: [16]int{1, 2, 0, 4, 5: 3, 8: 2, 10: figure.Probe, 15: 1}, Answer: 4}
	f, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{
		{Height: 2, Cells: []figure.Cell{{Panel: puzzle}, {Panel: boxes, Weight: 2}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Save("/dev/null", "pdf"))
	// Output: <nil>
}
