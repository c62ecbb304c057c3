package figure

import (
	"math"
	"math/rand/v2"
)

var nan = math.NaN()

// rise is a made-up learning curve: a logistic from chance to final, halfway there at epoch mid,
// steep within width epochs.
func rise(final, mid, width float64) func(epoch float64) float64 {
	return func(epoch float64) float64 {
		return 0.25 +
			(final-0.25)/(1+math.Exp((mid-epoch)/width))
	}
}

// trainingLines imitates the latin square task over 20 epochs, members per encoding, with
// reproducible noise.
func trainingLines(members int) Lines {
	shapes := []struct {
		label string
		mean  func(float64) float64
		noise float64
	}{
		{"learn σ=0.2", rise(0.98, 6.5, 1.4), 0.03},
		{"learn σ=1.0", rise(0.75, 12, 2.6), 0.05},
		{"learn σ=2.0", rise(0.25, 10, 1), 0.03},
		{"2d-fixed", rise(0.97, 5, 1.2), 0.03},
		{"1d-fixed", rise(0.70, 9, 2.2), 0.04},
		{"nope", rise(0.33, 7, 2), 0.025},
	}
	l := Lines{XLabel: "Epoch", YLabel: "Validation accuracy", Band: BandSD, YMin: 0, YMax: 1,
		References: []Reference{{"chance", 0.25}}}
	for i, s := range shapes {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		series := LineSeries{Label: s.label}
		for epoch := 1.; epoch <= 20; epoch++ {
			series.X = append(series.X, epoch)
		}
		for range members {
			offset := rnd.NormFloat64()
			var values []float64
			for _, epoch := range series.X {
				y := s.mean(epoch)
				damp := math.Sqrt(4 * y * (1 - y)) // spread shrinks towards 0 and 1
				y += s.noise * damp * (0.7*offset + 0.5*rnd.NormFloat64())
				// 108 validation puzzles
				values = append(values, math.Round(108*min(max(y, 0), 1))/108)
			}
			series.Values = append(series.Values, values)
		}
		l.Series = append(l.Series, series)
	}
	return l
}
