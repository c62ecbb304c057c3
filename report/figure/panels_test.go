package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// sigmaBoxes imitates validation accuracy after training for 20 initial SDs with 15 seeds each.
func sigmaBoxes() Boxes {
	rnd := rand.New(rand.NewPCG(5, 6))
	b := Boxes{XLabel: "Initial SD σ", YLabel: "Validation accuracy",
		References: []Reference{{"chance", 0.25}, {"2d-fixed", 0.96}}}
	for i := 1; i <= 20; i++ {
		sigma := float64(i) / 10
		g := Group{Label: fmt.Sprintf("%.1f", sigma), ColorOf: fmt.Sprintf("learn σ=%.1f", sigma)}
		middle := 0.25 + 0.73/(1+math.Exp((sigma-1.1)/0.22))
		for range 15 {
			g.Values = append(g.Values, min(max(middle+0.06*rnd.NormFloat64(), 0), 1))
		}
		b.Groups = append(b.Groups, g)
	}
	return b
}

// schemeBoxes imitates test accuracy of eight schemes, with their accuracy in training.
func schemeBoxes() Boxes {
	rnd := rand.New(rand.NewPCG(7, 8))
	b := Boxes{YLabel: "Accuracy", References: []Reference{{"chance", 0.25}}, Beside: []string{"training accuracy"}}
	for i, label := range []string{"2d-fixed", "learn σ=0.2", "1d-fixed", "relative", "rope",
		"c-nope", "random", "nope"} {
		g := Group{Label: label, Beside: []float64{0.98}}
		for range 15 {
			g.Values = append(g.Values, min(1, 0.98-0.09*float64(i)+0.03*rnd.NormFloat64()))
		}
		b.Groups = append(b.Groups, g)
	}
	return b
}

// sigmaScatter sets one measure of each initial SD against another.
func sigmaScatter() Scatter {
	rnd := rand.New(rand.NewPCG(9, 10))
	s := Scatter{XLabel: "Procrustes distance to the 2D arrangement", YLabel: "Validation accuracy",
		Annotation: "Spearman ρ = −.96, p < .001, n = 20 σ levels", Note: "±1 SD of 15 seeds"}
	for i := 1; i <= 20; i++ {
		sigma := float64(i) / 10
		x := 0.1 + 0.8/(1+math.Exp((1.0-sigma)/0.3)) + 0.02*rnd.NormFloat64()
		label := fmt.Sprintf("%.1f", sigma)
		s.Points = append(s.Points, ScatterPoint{Label: label, ColorOf: "learn σ=" + label,
			X: x, Y: 1.05 - 0.8*x + 0.02*rnd.NormFloat64(), XErr: 0.02, YErr: 0.03 + 0.02*sigma})
	}
	return s
}

var networkNames = []string{"Visual1", "Visual2", "Somatomotor", "Cingulo-Opercular",
	"Dorsal-attention", "Language", "Frontoparietal",
	"Auditory", "Default", "Posterior-Multimodal", "Ventral-Multimodal", "Orbito-Affective"}

// parcels imitates the sizes of the twelve networks among 360 parcels.
func parcels() []int {
	var groups []int
	for k, n := range []int{6, 54, 39, 56, 23, 23, 50, 15, 77, 7, 4, 6} {
		for range n {
			groups = append(groups, k)
		}
	}
	return groups
}

// connectivity imitates correlations of 360 parcels in twelve networks.
func connectivity() Matrix {
	rnd := rand.New(rand.NewPCG(11, 12))
	groups := parcels()
	n := len(groups)
	m := Matrix{Rows: n, Columns: n, Values: make([]float64, n*n), Scale: Diverging,
		BarLabel: "Correlation r", XLabel: "Parcel", YLabel: "Parcel",
		Groups: groups, GroupNames: networkNames}
	for i := range n {
		for j := range i + 1 {
			v := 0.15 * rnd.NormFloat64()
			if groups[i] == groups[j] {
				v += 0.5
			} else if (groups[i]+groups[j])%5 == 0 {
				v -= 0.2
			}
			m.Values[i*n+j], m.Values[j*n+i] = v, v
		}
	}
	return m
}

// attention imitates attention among the 16 cells of a puzzle: along rows, columns or nowhere.
func attention(title string, kind int) Matrix {
	rnd := rand.New(rand.NewPCG(13, uint64(kind)))
	m := Matrix{Title: title, Rows: 16, Columns: 16, XLabel: "Key cell", YLabel: "Query cell",
		BarLabel: "Attention", Max: 0.3}
	for i := range 16 {
		m.RowLabels = append(m.RowLabels, fmt.Sprint(i+1))
		for j := range 16 {
			v := 0.02 + 0.02*rnd.Float64()
			if kind == 0 && i/4 == j/4 || kind == 1 && i%4 == j%4 ||
				kind == 2 && (i/4 == j/4 || i%4 == j%4) {
				v = 0.2 + 0.05*rnd.NormFloat64()
			}
			m.Values = append(m.Values, v)
		}
	}
	m.ColumnLabels = m.RowLabels
	return m
}

// learnedMap imitates learned positions of the 16 cells, brought to the plane.
func learnedMap(title string, noise float64) Map {
	rnd := rand.New(rand.NewPCG(15, 16))
	m := Map{Title: title, XLabel: "Dimension 1", YLabel: "Dimension 2", Edges: GridEdges(4, 4),
		GroupNames: []string{"Row 1", "Row 2", "Row 3", "Row 4"}}
	for i := range 16 {
		m.XY = append(m.XY, [2]float64{float64(i%4) + noise*rnd.NormFloat64(),
			-float64(i/4) + noise*rnd.NormFloat64()})
		m.Groups = append(m.Groups, i/4)
		m.Labels = append(m.Labels, fmt.Sprint(i+1))
	}
	return m
}

// brainMap imitates learned positions of 360 parcels.
func brainMap() Map {
	rnd := rand.New(rand.NewPCG(17, 18))
	m := Map{Groups: parcels(), GroupNames: networkNames, XLabel: "Dimension 1",
		YLabel: "Dimension 2"}
	for _, k := range m.Groups {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 12)
		m.XY = append(m.XY, [2]float64{3*cos + 0.5*rnd.NormFloat64(),
			2*sin + 0.5*rnd.NormFloat64()})
	}
	return m
}

// logLines is a loss against a learning rate on a logarithmic axis.
func logLines() Lines {
	l := Lines{XLabel: "Learning rate", YLabel: "Test loss", LogX: true, Band: BandMinMax,
		Markers: true}
	for k, label := range []string{"2d-fixed", "nope", "rope"} {
		s := LineSeries{Label: label, Values: make([][]float64, 3)}
		for e := -5.; e <= -1; e += 0.5 {
			s.X = append(s.X, math.Pow(10, e))
			for m := range s.Values {
				s.Values[m] = append(s.Values[m],
					math.Pow(10, 0.3*(e+3)*(e+3)-1.5+0.4*float64(k))*(1+0.2*float64(m)))
			}
		}
		l.Series = append(l.Series, s)
	}
	return l
}

var examplePuzzle = Puzzle{Title: "Puzzle",
	Cells: [16]int{1, 0, 3, 4, 0, 4, 1, 0, 2, 0, Probe, 3, 0, 3, 0, 1}, Answer: 4}

var exampleSchematic = Schematic{Boxes: []SchematicBox{{Text: "Puzzle\n(16 tokens)"},
	{Text: "Symbol embedding"},
	{Text: "Positional encoding", Emphasis: true}, {Text: "4 transformer blocks"},
	{Text: "Read-out\nof the probe"}}}

// examplePages are pages with every kind of panel, in the sizes of a paper.
func examplePages() map[string]Page {
	strip := Strip{Title: "Networks of the parcels", Groups: parcels(), GroupNames: networkNames}
	return map[string]Page{
		"task": {Width: PageWidth, Title: "The Latin square task",
			Note: "Numbers are made up. Symbols differ in shape and colour.", Rows: []Row{
				{Height: 1.6, Cells: []Cell{{Panel: examplePuzzle, Weight: 0.2},
					{Panel: exampleSchematic, Weight: 0.8}}},
				{Height: 2.4, Cells: []Cell{{Panel: trainingLines(15), Weight: 1.2},
					{Panel: sigmaScatter()}}},
			}},
		"comparison": {Width: PageWidth, Rows: []Row{
			{Height: 2.3, Cells: []Cell{{Panel: sigmaBoxes()}}},
			{Height: 2.3, Cells: []Cell{{Panel: schemeBoxes(), Weight: 1.3}, {Panel: logLines()}}},
		}},
		"attention": {Width: PageWidth, Rows: []Row{
			{Height: 1.35, Cells: []Cell{{Panel: attention("2d-fixed", 2)},
				{Panel: attention("learn σ=0.2", 0)}, {Panel: attention("learn σ=2.0", 1)},
				{Panel: attention("nope", 3)}}},
			{Height: 2.2, Cells: []Cell{{Panel: learnedMap("learn σ=0.2", 0.12)},
				{Panel: learnedMap("learn σ=2.0", 0.9)}}},
		}},
		"brain": {Width: PageWidth, Rows: []Row{
			{Height: 3, Cells: []Cell{{Panel: connectivity(), Weight: 1.4},
				{Panel: examplePuzzle, Weight: 0.6}}},
			{Height: 2.6, Cells: []Cell{{Panel: brainMap()}, {Panel: strip}}},
		}},
		"column": {Width: ColumnWidth, Rows: []Row{
			{Height: 2.1, Cells: []Cell{{Panel: sigmaBoxes()}}},
			{Height: 2.4, Cells: []Cell{{Panel: schemeBoxes()}}},
		}},
	}
}
