package stats

import (
	"fmt"
	"math"
	"slices"

	"torchpe/internal/wording"
)

// ResidualSD returns the standard deviation of the residuals of x [group][block] after subtracting
// the means of groups and of blocks, and its degrees of freedom: the error of a two-way analysis of
// variance without interaction.
func ResidualSD(x [][]float64) (sd, df float64, err error) {
	if len(x) < 2 {
		return 0, 0, fmt.Errorf("%s: at least two are needed", wording.Count(len(x), "group"))
	}
	n := len(x[0])
	blocks := make([]float64, n) // sums of each block
	var rows [][]float64
	for i, group := range x {
		if len(group) != n {
			return 0, 0, fmt.Errorf("group 1 has %s but group %d has %d",
				wording.Count(n, "number"), i+1, len(group))
		}
		if err := check(fmt.Sprintf("group %d", i+1), group, 2); err != nil {
			return 0, 0, err
		}
		row := slices.Clone(group)
		mean := Mean(row)
		for j := range row {
			row[j] -= mean
			blocks[j] += row[j]
		}
		rows = append(rows, row)
	}
	sum := 0.0
	for _, row := range rows {
		for j, v := range row {
			rest := v - blocks[j]/float64(len(x))
			sum += rest * rest
		}
	}
	df = float64((len(x) - 1) * (n - 1))
	return math.Sqrt(sum / df), df, nil
}
