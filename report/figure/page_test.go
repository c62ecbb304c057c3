package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
)

// alone is a page with one panel.
func alone(p Panel, width, height float64) Page {
	return Page{Width: width, Rows: []Row{{Height: height, Cells: []Cell{{Panel: p}}}}}
}

// smallPanels is every kind of panel with few numbers.
func smallPanels() []Panel {
	boxes := sigmaBoxes()
	boxes.Groups = []Group{boxes.Groups[1], boxes.Groups[11],
		{Label: "rope", Values: []float64{0.5, nan, 0.7, 0.65}}}
	scatter := sigmaScatter()
	scatter.Points = scatter.Points[:6]
	lines := logLines()
	strip := Strip{Groups: []int{0, 0, 1, 1, 1, 2}, GroupNames: networkNames[:3]}
	matrix := Matrix{Rows: 3, Columns: 3, Values: []float64{1, 0.5, -0.5, 0.5, 1, nan, -0.5, 0, 1},
		Scale: Diverging, BarLabel: "r",
		RowLabels: []string{"a", "b", "c"}, Groups: []int{0, 0, 1},
		GroupNames: []string{"left", "right"}}
	schematic := Schematic{Boxes: exampleSchematic.Boxes[:2]}
	return []Panel{lines, boxes, scatter, matrix, learnedMap("Map", 0.3), examplePuzzle,
		strip, schematic}
}

func smallPage() Page {
	p := Page{Width: PageWidth, Title: "All panels", Note: "Numbers are made up."}
	for i, panel := range smallPanels() {
		if i%3 == 0 {
			p.Rows = append(p.Rows, Row{Height: 2})
		}
		row := &p.Rows[len(p.Rows)-1]
		row.Cells = append(row.Cells, Cell{Panel: panel})
	}
	return p
}

func TestExamplePages(t *testing.T) {
	for name, p := range examplePages() {
		f := expect.Must(Compose(p))
		checkSVG(t, name, encode(f, "svg"))
		pdf := encode(f, "pdf")
		if name == "task" || name == "brain" { // poppler takes text at 45 degrees apart
			checkWords(t, name, pdf, float64(f.width), float64(f.height))
		}
		if len(pdf) > 700_000 {
			t.Errorf("%s: the PDF has %d bytes", name, len(pdf))
		}
	}
}

// A reader of the PDF finds title, labels, notes and letters, and the lines of a panel from the highest
// final accuracy to the lowest.
func TestPageText(t *testing.T) {
	s := sigmaScatter()
	s.Annotation = "ρ² = .92, slope −0.8"
	s.YLabel = "Accuracy (σ → ∞)"
	s.Points = append(s.Points, ScatterPoint{X: 0, Y: -0.5})
	pdf := encode(expect.Must(Compose(Page{Width: PageWidth, Title: "Learning σ", Rows: []Row{{Height: 2.5,
		Cells: []Cell{{Panel: s}, {Panel: trainingLines(5)}}}}})), "pdf")
	text := poppler(t, pdf, "pdftotext", "-layout", pdfFile, "-")
	expect.Contains(t, text, "Learning σ", "ρ² = .92, slope −0.8", "−0.5", "A ", "B\n",
		"Validation accuracy", "±1 SD of 15 seeds.", "Mean of n = 5 models; band: ±1 SD.")
	last := -1
	for _, label := range []string{"learn σ=0.2", "2d-fixed", "1d-fixed", "learn σ=1.0", "nope",
		"learn σ=2.0", "chance"} {
		at := strings.Index(text, label)
		if at <= last {
			t.Errorf("%q is missing, or not in the order of the final accuracies:\n%s", label, text)
		}
		last = at
	}
	if len(pdf) > 60_000 {
		t.Errorf("the PDF has %d bytes, want at most 60,000", len(pdf))
	}
}

func TestLetters(t *testing.T) {
	for k, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 27: "AB", 52: "BA"} {
		expect.Equal(t, fmt.Sprint("panel ", k), Letter(k), want)
	}
	svg := svgOf(alone(examplePuzzle, 2, 1.5))
	expect.Equal(t, "a panel alone has a letter", strings.Contains(svg, ">A<"), false)
}

func TestPageErrors(t *testing.T) {
	puzzle := Cell{Panel: examplePuzzle}
	rows := func(cells ...Cell) []Row { return []Row{{Height: 1.5, Cells: cells}} }
	long := strings.Repeat("long ", 40)
	for want, p := range map[string]Page{
		"no panels":         {Width: 3, Rows: []Row{{Height: 1}}},
		"title or note":     {Width: 3, Title: long, Rows: rows(puzzle)},
		"control character": {Width: 3, Title: "a\nb", Rows: rows(puzzle)},
		"out of its panel":  {Width: 3, Rows: rows(Cell{Panel: Puzzle{Title: long}})},
		"are left for the panel": {Width: 3,
			Rows: []Row{{Height: 0.15, Cells: []Cell{{Panel: schemeBoxes()}}}}},
		"panel C: only": {Width: 3,
			Rows: rows(puzzle, puzzle, Cell{Panel: examplePuzzle, Weight: 0.01})},
		"are too little for a puz": {Width: 3, Rows: []Row{{Height: 0.4, Cells: []Cell{puzzle}}}},
	} {
		expect.Error(t, expect.ErrorOf(Compose(p)), want)
	}
}

func TestPanelErrors(t *testing.T) {
	inf := math.Inf(1)
	line := func(change func(*Lines)) Lines {
		l := Lines{Series: []LineSeries{{Label: "a", X: []float64{1, 2},
			Values: [][]float64{{1, 2}}}}}
		change(&l)
		return l
	}
	for _, c := range []struct {
		want string
		p    Panel
	}{
		{"no lines", Lines{}},
		{`two lines are labelled "a"`,
			line(func(l *Lines) { l.Series = append(l.Series, l.Series[0]) })},
		{"no label", line(func(l *Lines) { l.Series[0].Label = "" })},
		{"finite", line(func(l *Lines) { l.Series[0].X[0] = nan })},
		{"is +Inf", line(func(l *Lines) { l.Series[0].Values[0][1] = inf })},
		{"all its values are NaN", line(
			func(l *Lines) { l.Series[0].Values[0] = []float64{nan, nan} })},
		{"all its values are NaN", line(func(l *Lines) { l.Series[0].Values = nil })},
		{"has no label: name it", line(func(l *Lines) { l.References = []Reference{{Y: 1}} })},
		{"no groups", Boxes{}},
		{"two groups", Boxes{Groups: []Group{{Label: "a", Values: []float64{1}},
			{Label: "a", Values: []float64{1}}}}},
		{"has no values", Boxes{Groups: []Group{{Label: "a", Values: []float64{nan}}}}},
		{"is -Inf", Boxes{Groups: []Group{{Label: "a", Values: []float64{-inf}}}}},
		{"no points", Scatter{}},
		{"leave points without numbers out", Scatter{Points: []ScatterPoint{{X: nan}}}},
		{"is +Inf", Matrix{Rows: 1, Columns: 1, Values: []float64{inf}}},
		{"2 names for 3 groups", Matrix{Rows: 1, Columns: 1, Values: []float64{1}, Groups: []int{2},
			GroupNames: []string{"a", "b"}}},
		{"in group -1", Map{XY: make([][2]float64, 1), Groups: []int{-1}}},
		{"coordinate of token 0 is NaN", Map{XY: [][2]float64{{0, nan}}}},
		{"legend leaves too little", Strip{Groups: upTo(1000), GroupNames: numbered(1000)}},
		{"in too wide for their panel",
			Schematic{Boxes: []SchematicBox{{Text: strings.Repeat("m", 40)},
				{Text: strings.Repeat("m", 40)}}}},
		{"in of height", Schematic{Boxes: []SchematicBox{{Text: strings.Repeat("a\n", 30)}}}},
	} {
		expect.Error(t, expect.ErrorOf(Compose(alone(c.p, ColumnWidth, 2))), c.want)
	}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("name ", i)
	}
	return out
}

func slowBoxes(n int) []SchematicBox {
	out := make([]SchematicBox, n)
	for i := range out {
		out[i].Text = "slow"
	}
	return out
}

// asMap is a map with the strip's groups.
func (s Strip) asMap() Map {
	return Map{XY: make([][2]float64, len(s.Groups)), Groups: s.Groups, GroupNames: s.GroupNames}
}

// hostilePanels are panels of odd numbers and texts, drawn at random.
func hostilePanels(rnd *rand.Rand) []Panel {
	odd := []float64{0, 0, 1, -1, nan, 1e100, -1e100, 1e-300, 5e-324, 1e-9, 1e9, 1 + 1e-12, 0.25,
		123456.7}
	value := func() float64 { return odd[rnd.IntN(len(odd))] }
	if rnd.IntN(2) == 0 {
		value = func() float64 { return rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(12)-6)) }
	}
	values := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = value()
		}
		return out
	}
	texts := []string{"", "a", "σ=0.2", strings.Repeat("forty ", 6) + "char",
		strings.Repeat("m", 40), "<&>", "注意", "^", "a^b", "−1"}
	text := func() string { return texts[rnd.IntN(len(texts))] }
	n := 1 + rnd.IntN(6)
	if rnd.IntN(10) == 0 {
		n = 1000
	}
	logs := rnd.IntN(3) == 0
	lines := Lines{Title: text(), XLabel: text(), YLabel: text(), LogX: logs, Band: BandSD,
		References: []Reference{{"x" + text(), value()}}}
	boxes := Boxes{XLabel: text(), YLabel: text()}
	scatter := Scatter{Annotation: text(), Note: "SD"}
	where := Map{Edges: GridEdges(1, n), XLabel: text()}
	for i := range n {
		label := fmt.Sprint(i, text())
		lines.Series = append(lines.Series,
			LineSeries{Label: label, X: []float64{1, 2, 1e6},
				Values: [][]float64{values(3), values(3)}})
		boxes.Groups = append(boxes.Groups, Group{Label: label, Values: values(1 + rnd.IntN(8))})
		scatter.Points = append(scatter.Points,
			ScatterPoint{Label: text(), X: value(), Y: value(), XErr: math.Abs(value())})
		where.XY = append(where.XY, [2]float64{value(), value()})
		where.Labels = append(where.Labels, text())
	}
	matrix := Matrix{Rows: n, Columns: 3, Values: values(3 * n), BarLabel: text(), XLabel: text(),
		ColumnLabels: []string{text(), text(), text()}}
	diverging := Matrix{Rows: 1, Columns: n, Values: values(n), Scale: Diverging}
	strip := Strip{Groups: upTo(n), GroupNames: numbered(n)}
	schematic := Schematic{Boxes: slowBoxes(min(n, 9))}
	schematic.Boxes[0].Text = text()
	return []Panel{lines, boxes, scatter, where, matrix, diverging, strip, schematic}
}

// Whatever the input, there is a figure without a NaN in it, or an error that is not about
// overlapping ticks.
func TestHostilePanels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	drawn, refused := map[string]int{}, map[string]int{}
	for range 60 {
		for _, p := range hostilePanels(rnd) {
			kind := fmt.Sprintf("%T", p)
			f, err := Compose(alone(p, 2+4*rnd.Float64(), 1.5+2*rnd.Float64()))
			if err != nil {
				refused[kind]++
				if strings.Contains(err.Error(), "overlap") &&
					!strings.Contains(err.Error(), "forty") &&
					!strings.Contains(err.Error(), "mmmm") {
					t.Errorf("%s: %v", kind, err)
				}
				continue
			}
			drawn[kind]++
			checkSVG(t, kind, encode(f, "svg"))
			if drawn[kind] < 6 {
				encode(f, "pdf")
			}
		}
	}
	t.Logf("drawn %v, refused %v", drawn, refused)
	for kind := range refused {
		if drawn[kind] < 6 {
			t.Errorf("%s: only %d of 60 were drawn", kind, drawn[kind])
		}
	}
}

func TestMeasure(t *testing.T) {
	page := vg.Rectangle{Max: vg.Point{X: 100, Y: 100}}
	w := newWriter(sans(8), ink)
	width := w.width("text")
	for name, c := range map[string]struct {
		draw func(draw.Canvas)
		want string
	}{
		"apart": {func(c draw.Canvas) {
			w.left(c, 10, 10, "text")
			w.left(c, 10+width+1, 10, "text")
		}, ""},
		"lines": {func(c draw.Canvas) {
			w.left(c, 10, 10, "text")
			w.left(c, 10, 18, "text")
		}, ""},
		"on each other": {func(c draw.Canvas) {
			w.left(c, 10, 10, "text")
			w.left(c, 10+width-2, 12, "over")
		}, `texts "text" and "over" overlap`},
		"slanted apart": {func(c draw.Canvas) {
			w.slanted(c, 50, 60, "text")
			w.slanted(c, 62, 60, "over")
		}, ""},
		"slanted on": {func(c draw.Canvas) {
			w.slanted(c, 50, 60, "text")
			w.slanted(c, 54, 60, "over")
		}, "overlap"},
		"upright across": {func(c draw.Canvas) {
			w.up(c, 50, 40, "text")
			w.left(c, 45, 45, "over")
		}, "overlap"},
		"off the left": {func(c draw.Canvas) { w.left(c, -5, 10, "text") },
			`text "text" runs 5 pt out`},
		"off the top": {func(c draw.Canvas) { w.up(c, 50, 95, "text") }, "pt out"},
		"not finite": {func(c draw.Canvas) {
			c.StrokeLine2(referenceStyle, 1, 2, vg.Length(nan), 3)
		}, "not finite"},
		"moved": {func(c draw.Canvas) {
			c.Push()
			c.Translate(vg.Point{X: 300})
			w.left(c, -280, 10, "text")
			c.Pop()
			w.left(c, 50, 10, "over")
		}, ""},
	} {
		m := newMeasure()
		c.draw(draw.NewCanvas(m, 100, 100))
		if err := m.take(page); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
