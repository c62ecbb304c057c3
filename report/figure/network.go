package figure

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Network holds a matrix over the nodes of a network, such as weights or correlations, and the time
// series of the nodes.
type Network struct {
	Matrix      []float64 // [nodes,nodes], row-major
	MatrixLabel string    // label of the colour bar
	Row, Column string    // labels of the axes of the matrix
	Labels      []int     // module of each node, from 0; nodes of a module must lie side by side
	Names       []string  // names of the nodes
	Series      []float32 // [frames,nodes]
	FrameLabel  string    // label of the time axis
	Note        string
}

// maxSeries limits the series shown. Evenly spaced nodes are chosen.
const maxSeries = 24

// NetworkSeries returns a figure of the matrix as a heat map, with a bar in the colours of the modules,
// beside the series of the nodes in the same colours (paper, Figure 5A). The figure is PageWidth wide
// and 3 inches high. The colours of the heat map are symmetric around 0.
func NetworkSeries(n Network) (*Figure, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("network figure: %w", err)
	}
	c := draw.NewCanvas(newMeasure(), 0.47*PageWidth*vg.Inch, 3*vg.Inch)
	if err := n.matrix().draw(c); err != nil {
		return nil, fmt.Errorf("network figure: %w", err)
	}
	return &Figure{width: PageWidth * vg.Inch, height: 3 * vg.Inch, draw: n.draw}, nil
}

func (n Network) check() error {
	nodes := len(n.Labels)
	switch {
	case nodes < 2:
		return fmt.Errorf("%d nodes: at least two are needed", nodes)
	case len(n.Matrix) != nodes*nodes || len(n.Names) != nodes:
		return fmt.Errorf("%d nodes with a matrix of %d numbers and %d names", nodes, len(n.Matrix),
			len(n.Names))
	case len(n.Series)%nodes != 0 || len(n.Series) < 2*nodes:
		return fmt.Errorf("%d numbers are no series of at least two frames of %d nodes",
			len(n.Series), nodes)
	}
	if err := checkTexts(append([]string{n.MatrixLabel, n.Row, n.Column, n.FrameLabel, n.Note},
		n.Names...)...); err != nil {
		return err
	}
	seen := map[int]bool{}
	for i, l := range n.Labels {
		if l < 0 {
			return fmt.Errorf("node %d has module %d: modules count from 0", i, l)
		}
		if seen[l] && l != n.Labels[i-1] {
			return fmt.Errorf("the nodes of module %d do not lie side by side: order them first", l)
		}
		seen[l] = true
	}
	if err := (grouping{of: n.Labels}).check(); err != nil {
		return err
	}
	for _, v := range n.Matrix {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("the matrix has a number that is not finite")
		}
	}
	for _, v := range n.Series {
		if v-v != 0 {
			return errors.New("the series have a number that is not finite")
		}
	}
	return nil
}

func (n Network) draw(c draw.Canvas) {
	paintBackground(c)
	inner := inset(c)
	drawNote(inner, n.Note)
	panel := cropNote(inner, n.Note)
	middle := panel.Min.X + 0.47*panel.Size().X
	_ = n.matrix().draw(draw.Crop(panel, 0, middle-panel.Max.X, 0, 0)) // checked by NetworkSeries
	n.drawSeries(draw.Crop(panel, middle-panel.Min.X+14, 0, 0, 0))
}

// matrix returns the left panel.
func (n Network) matrix() Matrix {
	nodes := len(n.Labels)
	return Matrix{Rows: nodes, Columns: nodes, Values: n.Matrix, Scale: Diverging,
		BarLabel: n.MatrixLabel, XLabel: n.Column, YLabel: n.Row, Groups: n.Labels}
}

// drawSeries draws the series of up to maxSeries nodes above each other, centred on their means and on a
// common scale.
func (n Network) drawSeries(c draw.Canvas) {
	nodes := len(n.Labels)
	shown := min(nodes, maxSeries)
	frames := len(n.Series) / nodes
	means, amplitude := make([]float64, nodes), 0.0
	for i, v := range n.Series {
		means[i%nodes] += float64(v) / float64(frames)
	}
	for i, v := range n.Series {
		amplitude = max(amplitude, math.Abs(float64(v)-means[i%nodes]))
	}
	p := newPlot()
	p.X.Label.Text = n.FrameLabel
	p.X.Min, p.X.Max = 0, float64(frames-1)
	p.X.Tick.Marker = integerTicks(0, frames-1, 6)
	p.Y.Min, p.Y.Max = -float64(shown)+0.3, 0.7
	p.Y.Width = 0
	p.Y.Tick.Length = 0
	colors := grouping{of: n.Labels}.colors()
	var ticks plot.ConstantTicks
	for k := range shown {
		node := k * nodes / shown
		ticks = append(ticks, plot.Tick{Value: -float64(k), Label: n.Names[node]})
		points := make(plotter.XYs, frames)
		for f := range points {
			points[f] = plotter.XY{X: float64(f), Y: -float64(k)}
			if amplitude > 0 {
				points[f].Y += 0.7 * (float64(n.Series[f*nodes+node]) - means[node]) / amplitude
			}
		}
		if line, err := plotter.NewLine(points); err == nil { // check has excluded errors
			line.LineStyle = draw.LineStyle{Color: colors[n.Labels[node]], Width: 0.6}
			p.Add(line)
		}
	}
	p.Y.Tick.Marker = ticks
	p.Draw(c)
}
