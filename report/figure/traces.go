package figure

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Traces shows the time series of tokens above each other, each centred on its mean, on a common scale.
type Traces struct {
	Title, XLabel string
	Names         []string  // of the tokens, from top to bottom
	Groups        []int     // group of each token, from 0
	Values        []float32 // [frames,tokens]
}

// maxTraces limits the series shown. Evenly spaced tokens are chosen.
const maxTraces = 24

func (s Traces) heading() string { return s.Title }

func (s Traces) check() error {
	n := len(s.Names)
	switch {
	case n == 0 || len(s.Groups) != n:
		return fmt.Errorf("%d names and groups of %d tokens: give one each to at least one token", n, len(s.Groups))
	case len(s.Values)%n != 0 || len(s.Values) < 2*n:
		return fmt.Errorf("%d numbers are no series of at least two frames of %d tokens", len(s.Values), n)
	}
	for _, v := range s.Values {
		if v-v != 0 {
			return errors.New("the series have a number that is not finite")
		}
	}
	return grouping{of: s.Groups}.check()
}

func (s Traces) draw(c draw.Canvas) (note string, err error) {
	n := len(s.Names)
	shown, frames := min(n, maxTraces), len(s.Values)/n
	means, amplitude := make([]float64, n), 0.0
	for i, v := range s.Values {
		means[i%n] += float64(v) / float64(frames)
	}
	for i, v := range s.Values {
		amplitude = max(amplitude, math.Abs(float64(v)-means[i%n]))
	}
	p := newPlot()
	p.X.Label.Text = s.XLabel
	p.X.Min, p.X.Max = 0, float64(frames-1)
	p.X.Tick.Marker = niceTicks(0, float64(frames-1), 1, 6)
	p.Y.Min, p.Y.Max = -float64(shown)+0.3, 0.7
	p.Y.Width, p.Y.Tick.Length = 0, 0
	colors := grouping{of: s.Groups}.colors()
	var ticks plot.ConstantTicks
	for k := range shown {
		token := k * n / shown
		ticks = append(ticks, plot.Tick{Value: -float64(k), Label: s.Names[token]})
		points := make(plotter.XYs, frames)
		for f := range points {
			points[f] = plotter.XY{X: float64(f), Y: -float64(k)}
			if amplitude > 0 {
				points[f].Y += 0.7 * (float64(s.Values[f*n+token]) - means[token]) / amplitude
			}
		}
		line := &plotter.Line{XYs: points,
			LineStyle: draw.LineStyle{Color: colors[s.Groups[token]], Width: 0.6}}
		p.Add(line)
	}
	p.Y.Tick.Marker = ticks
	p.Draw(c)
	return "", nil
}
