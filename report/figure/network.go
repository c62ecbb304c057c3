package figure

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Network is a matrix over the nodes of a network, such as its weights or correlations, with examples of the nodes' series.
type Network struct {
	Matrix      []float64 // [nodes,nodes], row-major
	MatrixLabel string    // what its numbers are
	Row, Column string    // what a row and a column are, for the axes
	Labels      []int     // module of each node, from 0; nodes of a module must lie side by side
	Names       []string  // of the nodes
	Series      []float32 // [frames,nodes]
	FrameLabel  string    // of the series' axis
	Note        string
}

// maxSeries is how many nodes' series are shown, evenly spaced.
const maxSeries = 24

// NetworkSeries draws the matrix as a heat map, with a bar along it in the colours of the modules, beside the series of its
// nodes in the same colours (paper, Figure 5A). It is as wide as a page and 3 inches high. The colours of the heat map are
// symmetric about 0.
func NetworkSeries(n Network) (*Figure, error) {
	if err := n.check(); err != nil {
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
		return fmt.Errorf("%d nodes with a matrix of %d numbers and %d names", nodes, len(n.Matrix), len(n.Names))
	case len(n.Series)%nodes != 0 || len(n.Series) < 2*nodes:
		return fmt.Errorf("%d numbers are no series of at least two frames of %d nodes", len(n.Series), nodes)
	}
	for _, text := range append([]string{n.MatrixLabel, n.Row, n.Column, n.FrameLabel, n.Note}, n.Names...) {
		if err := checkText(text); err != nil {
			return err
		}
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

// The ends of the diverging colours: blue and red that differ for every kind of colour vision (ColorBrewer's RdBu).
var (
	divergingLow  = rgb(0x2166ac)
	divergingHigh = rgb(0xb2182b)
)

// diverging is the colour of a value from -1 to 1.
func diverging(v float64) color.NRGBA {
	white := rgb(0xf7f7f7)
	if v < 0 {
		return mix(white, divergingLow, min(-v, 1))
	}
	return mix(white, divergingHigh, min(v, 1))
}

func (n Network) draw(c draw.Canvas) {
	paintBackground(c)
	inner := inset(c)
	drawNote(inner, n.Note)
	panel := cropNote(inner, n.Note)
	middle := panel.Min.X + 0.47*panel.Size().X
	n.drawMatrix(draw.Crop(panel, 0, middle-panel.Max.X, 0, 0))
	n.drawSeries(draw.Crop(panel, middle-panel.Min.X+14, 0, 0, 0))
}

// extreme is the largest absolute value of the matrix, at which its colours end; 1 for a matrix of zeros.
func (n Network) extreme() float64 {
	most := 0.0
	for _, v := range n.Matrix {
		most = max(most, math.Abs(v))
	}
	if most == 0 {
		return 1
	}
	return most
}

// drawMatrix draws the heat map with the bars of its modules and the scale of its colours.
func (n Network) drawMatrix(c draw.Canvas) {
	nodes, most := len(n.Labels), n.extreme()
	scale := newWriter(sans(smallSize), ink)
	const bar, gap = 4, 3
	ends := []string{fmt.Sprintf("%.2g", most), "0", strings.Replace(fmt.Sprintf("%.2g", -most), "-", "−", 1)}
	right := vg.Length(26) + labelSize*leading // colours, their numbers, what they are
	side := min(c.Size().X-right-bar-gap-labelSize*leading, c.Size().Y-bar-gap-labelSize*leading)
	x := c.Min.X + labelSize*leading + bar + gap
	y := c.Max.Y - side
	// Cells are drawn larger than a screen's pixels, so that viewers that smooth images leave them alone.
	zoom := max(1, 600/nodes)
	pixels := image.NewNRGBA(image.Rect(0, 0, nodes*zoom, nodes*zoom))
	for i := range nodes * zoom {
		for j := range nodes * zoom {
			pixels.SetNRGBA(j, i, diverging(n.Matrix[i/zoom*nodes+j/zoom]/most))
		}
	}
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + side, Y: y + side}}, pixels)
	for first := 0; first < nodes; {
		last := first
		for last < nodes && n.Labels[last] == n.Labels[first] {
			last++
		}
		from, to := side*vg.Length(first)/vg.Length(nodes), side*vg.Length(last)/vg.Length(nodes)
		fill(c, moduleColor(n.Labels[first]), x-gap-bar, y+side-to, x-gap, y+side-from)
		fill(c, moduleColor(n.Labels[first]), x+from, y-gap-bar, x+to, y-gap)
		first = last
	}
	label := newWriter(sans(labelSize), ink)
	label.left(c, x+side/2-label.width(n.Column)/2, y-gap-bar-labelSize*leading/2-1, n.Column)
	label.up(c, c.Min.X+labelSize/2, y+side/2-label.width(n.Row)/2, n.Row)

	const width, steps = 6, 64
	barX := x + side + 8
	for k := range steps {
		from, to := side*vg.Length(k)/steps, side*vg.Length(k+1)/steps
		fill(c, diverging(2*(float64(k)+0.5)/steps-1), barX, y+from, barX+width, y+to+0.1)
	}
	for k, text := range ends {
		at := y + side*vg.Length(2-k)/2
		scale.left(c, barX+width+3, min(max(at, y+smallSize/2), y+side-smallSize/2), text)
	}
	label.up(c, barX+width+3+scale.width(ends[2])+labelSize*0.8, y+side/2-label.width(n.MatrixLabel)/2, n.MatrixLabel)
}

// drawSeries draws the series of up to maxSeries nodes one above the other, each about its mean, all on one scale.
func (n Network) drawSeries(c draw.Canvas) {
	nodes := len(n.Labels)
	shown := min(nodes, maxSeries)
	frames := len(n.Series) / nodes
	means, most := make([]float64, nodes), 0.0
	for i, v := range n.Series {
		means[i%nodes] += float64(v) / float64(frames)
	}
	for i, v := range n.Series {
		most = max(most, math.Abs(float64(v)-means[i%nodes]))
	}
	p := newPlot()
	p.X.Label.Text = n.FrameLabel
	p.X.Min, p.X.Max = 0, float64(frames-1)
	p.X.Tick.Marker = integerTicks(0, frames-1, 6)
	p.Y.Min, p.Y.Max = -float64(shown)+0.3, 0.7
	p.Y.Width = 0
	p.Y.Tick.Length = 0
	var ticks plot.ConstantTicks
	for k := range shown {
		node := k * nodes / shown
		ticks = append(ticks, plot.Tick{Value: -float64(k), Label: n.Names[node]})
		points := make(plotter.XYs, frames)
		for f := range points {
			points[f] = plotter.XY{X: float64(f), Y: -float64(k)}
			if most > 0 {
				points[f].Y += 0.7 * (float64(n.Series[f*nodes+node]) - means[node]) / most
			}
		}
		if line, err := plotter.NewLine(points); err == nil { // it fails for what check refuses
			line.LineStyle = draw.LineStyle{Color: moduleColor(n.Labels[node]), Width: 0.6}
			p.Add(line)
		}
	}
	p.Y.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = -float64(shown)+0.3, 0.7
	p.Draw(c)
}
