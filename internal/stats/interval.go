package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // such as 0.95
}

// MeanInterval returns Student's confidence interval of the mean of x.
func MeanInterval(x []float64, level float64) (Interval, error) {
	if err := check("x", x, 2); err != nil {
		return Interval{}, err
	}
	return StudentInterval(Mean(x), SD(x)/math.Sqrt(float64(len(x))), float64(len(x)-1), level)
}

// WelchInterval returns Welch's confidence interval of the difference x - y of two means.
func WelchInterval(x, y Summary, level float64) (Interval, error) {
	test, err := WelchTFrom(x, y)
	if err != nil {
		return Interval{}, err
	}
	se := math.Hypot(x.SD/math.Sqrt(float64(x.N)), y.SD/math.Sqrt(float64(y.N)))
	return StudentInterval(x.Mean-y.Mean, se, test.DF, level)
}

// StudentInterval returns the confidence interval of Student's t with df degrees of freedom around a
// centre with standard error se.
func StudentInterval(centre, se, df, level float64) (Interval, error) {
	if !(level > 0 && level < 1) {
		return Interval{}, fmt.Errorf("level %g: want a number above 0 and below 1", level)
	}
	half := se * distuv.StudentsT{Sigma: 1, Nu: df}.Quantile((1+level)/2)
	return Interval{Low: centre - half, High: centre + half, Level: level}, nil
}

// Quantile returns the q-quantile of sorted numbers with linear interpolation, as numpy.quantile does.
// It returns NaN for no numbers and for a q outside 0 to 1.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
