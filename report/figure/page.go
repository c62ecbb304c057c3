package figure

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Page is a figure of one or more panels.
type Page struct {
	Width      float64  // inches: ColumnWidth or PageWidth, or anything from 1 to 20
	Title      string   // above the panels; may be empty
	GroupNames []string // legend below the panels, for panels with HideNames; may be empty
	Note       string   // below the panels, wrapped into lines; may be empty
	Rows       []Row    // from top to bottom
}

// Row holds panels side by side.
type Row struct {
	Height float64 // inches, including titles and notes of the panels: 0.3 to 20
	Cells  []Cell  // from left to right
}

// Cell is the place of a panel in its row.
type Cell struct {
	Panel  Panel
	Weight float64 // relative width within the row; 0 means 1
}

const (
	rowGap    vg.Length = 9
	columnGap vg.Length = 14
	noteGap   vg.Length = 5                     // above a panel's note
	headLead  vg.Length = titleSize*leading + 3 // height of a panel's letter and title
)

// Compose returns a figure of panels on a page. If there are several panels, each has a letter
// (A, B, C ...) at its upper left. The note of a panel (n, the meaning of a band, missing values) is
// printed below it. The height of the page follows from its rows, title and note.
//
// Compose returns an error that names the panel for bad numbers and for text that does not fit. Tick
// labels that do not fit are turned or left out. The figure keeps the given slices, so they must not
// change before it is saved.
func Compose(p Page) (*Figure, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	width := vg.Length(p.Width) * vg.Inch
	height := p.height(width)
	c := draw.NewCanvas(newMeasure(), width, height)
	if err := p.paint(c); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	return &Figure{width: width, height: height, draw: func(c draw.Canvas) {
		_ = p.paint(c) // succeeded on the measure above
	}}, nil
}

func (p Page) check() error {
	if !(p.Width >= 1 && p.Width <= 20) {
		return fmt.Errorf("page %g in wide: want 1 to 20 in", p.Width)
	}
	if len(p.Rows) == 0 {
		return errors.New("the page has no rows: give it at least one")
	}
	if err := checkTexts(append([]string{p.Title, p.Note}, p.GroupNames...)...); err != nil {
		return err
	}
	k := 0
	for i, r := range p.Rows {
		if !(r.Height >= 0.3 && r.Height <= 20) {
			return fmt.Errorf("row %d is %g in high: want 0.3 to 20 in", i+1, r.Height)
		}
		if len(r.Cells) == 0 {
			return fmt.Errorf("row %d has no cells: give it at least one or leave it out", i+1)
		}
		for _, cell := range r.Cells {
			name := Letter(k)
			k++
			if v := reflect.ValueOf(cell.Panel); !v.IsValid() ||
				v.Kind() == reflect.Pointer && v.IsNil() {
				return fmt.Errorf("panel %s is nil: leave its cell out", name)
			}
			if !(cell.Weight == 0 || cell.Weight >= 0.01 && cell.Weight <= 1000) {
				return fmt.Errorf("panel %s has weight %g: want 0.01 to 1000, or 0 for 1", name,
					cell.Weight)
			}
			if err := checkText(cell.Panel.heading()); err != nil {
				return fmt.Errorf("panel %s: %w", name, err)
			}
			if err := cell.Panel.check(); err != nil {
				return fmt.Errorf("panel %s: %w", name, err)
			}
		}
	}
	return nil
}

// Letter returns the letter of the k-th panel, from 0: A to Z, AA, AB ...
func Letter(k int) string {
	if k < 26 {
		return string(rune('A' + k))
	}
	return Letter(k/26-1) + string(rune('A'+k%26))
}

func (p Page) panels() (n int) {
	for _, r := range p.Rows {
		n += len(r.Cells)
	}
	return n
}

// height returns the height of the page.
func (p Page) height(width vg.Length) vg.Length {
	h := 2*margin + rowGap*vg.Length(len(p.Rows)-1)
	if p.Title != "" {
		h += titleSize*leading + margin
	}
	if height := p.legend(width - 2*margin).height(width - 2*margin); height > 0 {
		h += height + 2*margin
	}
	h += noteHeight(p.Note, width-2*margin)
	for _, r := range p.Rows {
		h += vg.Length(r.Height) * vg.Inch
	}
	return h
}

// noteHeight returns the height of a page's note.
func noteHeight(note string, width vg.Length) vg.Length {
	if note == "" {
		return 0
	}
	lines := newWriter(sans(smallSize), noteColor).wrap(note, width)
	return vg.Length(len(lines))*smallSize*leading + 2*margin
}

// legend returns the legend of the page. It has at most six rows.
func (p Page) legend(width vg.Length) legend {
	const maxRows = 6
	if len(p.GroupNames) == 0 {
		return nil
	}
	names, _ := grouping{of: allOf(len(p.GroupNames)), names: p.GroupNames}.legend(width)
	for len(names.rows(width)) > maxRows {
		names = names.withoutLast()
	}
	return names
}

// allOf returns 0 to n-1.
func allOf(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// paint draws the page. If c draws on a measure, it returns an error for text that does not fit.
func (p Page) paint(c draw.Canvas) error {
	paintBackground(c)
	inner := inset(c)
	m, _ := c.Canvas.(*measure)
	if p.Title != "" {
		newWriter(bold(sans(titleSize)), ink).left(inner, inner.Min.X,
			inner.Max.Y-titleSize*leading/2, p.Title)
		inner = draw.Crop(inner, 0, 0, 0, -titleSize*leading-margin)
	}
	drawNote(inner, p.Note)
	names, width := p.legend(inner.Size().X), inner.Size().X
	names.drawRows(inner, inner.Min.X,
		inner.Min.Y+noteHeight(p.Note, width)+names.height(width), width)
	if m != nil {
		if err := m.check(0, c.Rectangle); err != nil {
			return fmt.Errorf("title or note of the page: %w", err)
		}
	}
	k, top := 0, inner.Max.Y
	for _, r := range p.Rows {
		bottom := top - vg.Length(r.Height)*vg.Inch
		row := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: inner.Min.X, Y: bottom}, Max: vg.Point{X: inner.Max.X, Y: top}}}
		if err := p.paintRow(row, r, k); err != nil {
			return err
		}
		k += len(r.Cells)
		top = bottom - rowGap
	}
	return nil
}

// paintRow draws the cells of a row, whose first panel is the k-th of the page. Titles and notes have
// the same height in all cells, so that axes align.
func (p Page) paintRow(c draw.Canvas, r Row, k int) error {
	cells := r.split(c)
	head := p.panels() > 1
	for _, cell := range r.Cells {
		head = head || cell.Panel.heading() != ""
	}
	panels, notes, bodies := r.arrange(cells, head)
	m, _ := c.Canvas.(*measure)
	for i, whole := range cells {
		from := 0
		if m != nil {
			from = len(m.texts)
		}
		if head {
			drawHead(whole, p.letter(k+i), panels[i].heading())
		}
		err := checkSpace(bodies[i])
		if err == nil {
			err = panels[i].draw(bodies[i])
		}
		if lines := len(noteLines(whole, notes[i])); lines > 0 {
			foot := bodies[i].Min.Y - whole.Min.Y
			drawNote(draw.Crop(whole, 0, 0, foot-noteGap-vg.Length(lines)*smallSize*leading, 0),
				notes[i])
		}
		if err == nil && m != nil {
			err = m.check(from, whole.Rectangle)
		}
		if err != nil {
			return fmt.Errorf("panel %s: %w", Letter(k+i), err)
		}
	}
	return nil
}

// arrange returns the panels of the row, their notes and their areas. Matrices with the same axes get
// equal widths.
func (r Row) arrange(cells []draw.Canvas, head bool) (panels []Panel, notes []string,
	bodies []draw.Canvas) {
	top := vg.Length(0)
	if head {
		top = headLead
	}
	for _, cell := range r.Cells {
		panels = append(panels, cell.Panel)
	}
	notes, bodies = make([]string, len(cells)), make([]draw.Canvas, len(cells))
	// notes can grow as panels shrink, so repeat until they fit
	for foot, need := vg.Length(-1), vg.Length(0); need > foot; need = notesHeight(cells, notes) {
		foot = need
		for i, cell := range cells {
			bodies[i] = draw.Crop(cell, 0, 0, foot, -top)
			if checkSpace(bodies[i]) == nil {
				c := draw.Canvas{Canvas: newMeasure(), Rectangle: bodies[i].Rectangle}
				notes[i] = panels[i].note(c)
			}
		}
	}
	evenMatrices(panels, bodies)
	return panels, notes, bodies
}

// notesHeight returns the height of the notes below the panels.
func notesHeight(cells []draw.Canvas, notes []string) (foot vg.Length) {
	for i, note := range notes {
		if lines := len(noteLines(cells[i], note)); lines > 0 {
			foot = max(foot, vg.Length(lines)*smallSize*leading+noteGap)
		}
	}
	return foot
}

// checkSpace returns an error for an area that is too small for any panel.
func checkSpace(c draw.Canvas) error {
	if size := c.Size(); size.X < 20 || size.Y < 12 || math.IsNaN(float64(size.X)) {
		return fmt.Errorf("only %.1f x %.1f in are left for the panel: widen the page or make "+
			"the row higher", float64(size.X/vg.Inch), float64(size.Y/vg.Inch))
	}
	return nil
}

// letter returns the letter of the k-th panel, or "" on a page with one panel.
func (p Page) letter(k int) string {
	if p.panels() == 1 {
		return ""
	}
	return Letter(k)
}

// drawHead writes a panel's letter and title along its upper edge.
func drawHead(c draw.Canvas, letter, title string) {
	y := c.Max.Y - titleSize*leading/2
	w := newWriter(bold(sans(titleSize)), black)
	w.left(c, c.Min.X, y, letter)
	x := c.Min.X
	if letter != "" {
		x += w.width(letter) + 6
	}
	newWriter(bold(sans(labelSize)), ink).left(c, x, y, title)
}

// split divides a row's width by the weights.
func (r Row) split(c draw.Canvas) []draw.Canvas {
	weights, sum := make([]float64, len(r.Cells)), 0.0
	for i, cell := range r.Cells {
		if weights[i] = cell.Weight; weights[i] == 0 {
			weights[i] = 1
		}
		sum += weights[i]
	}
	free := c.Size().X - columnGap*vg.Length(len(r.Cells)-1)
	var cells []draw.Canvas
	x := c.Min.X
	for _, weight := range weights {
		width := free * vg.Length(weight/sum)
		cell := c
		cell.Min.X, cell.Max.X = x, x+width
		cells = append(cells, cell)
		x += width + columnGap
	}
	return cells
}
