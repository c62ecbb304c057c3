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
