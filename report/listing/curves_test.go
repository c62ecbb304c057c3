package listing

import (
	"strings"
	"testing"

	"torchpe/report/figure"
)

// A curve that cannot be drawn leaves its place to the reason, and the page goes on.
func TestUndrawableCurve(t *testing.T) {
	line := figure.LineSeries{Label: strings.Repeat("long ", 90), X: []float64{1, 2}, Values: [][]float64{{1, 2}}}
	short := figure.LineSeries{Label: "short", X: line.X, Values: line.Values}
	made := composeLines(column{Name: "loss", measure: "loss"}, []figure.LineSeries{line, short})
	if len(made) != 2 || made[0].Undrawn == nil || made[0].Figure != nil || made[1].Figure == nil {
		t.Errorf("%+v", made)
	}
}
