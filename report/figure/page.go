package figure

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Page is a figure of one or more panels.
type Page struct {
	Width      float64  // inches: ColumnWidth or PageWidth, or another width
	Title      string   // above the panels; may be empty
	GroupNames []string // legend below the panels, for panels with HideNames; may be empty
	Note       string   // below the panels, wrapped into lines; may be empty
	Rows       []Row    // from top to bottom
}

// Row holds panels side by side.
type Row struct {
	Height float64 // inches, including titles and notes of the panels
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
	noteLead  vg.Length = smallSize * leading   // height of a line of a note
)

// Compose returns a figure of panels on a page. If there are several panels, each has a letter
// (A, B, C ...) at its upper left. The note of a panel (n, the meaning of a band, missing values) is
// printed below it. The height of the page follows from its rows, title and note.
//
// Compose returns an error that names the panel for bad numbers and for text that does not fit. Tick labels
// that do not fit are rotated or left out. The figure keeps the given slices, so they must not change before it
// is saved.
func Compose(p Page) (*Figure, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	width := vg.Length(p.Width) * vg.Inch
	f := &Figure{width: width, height: p.height(width)}
	c := draw.NewCanvas(newMeasure(), f.width, f.height)
	all := p.layout(c)
	if err := p.paint(c, all); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	f.draw = func(c draw.Canvas) { _ = p.paint(c, all) } // succeeded on the measure above
	return f, nil
}

func (p Page) check() error {
	k := 0
	for _, r := range p.Rows {
		for _, cell := range r.Cells {
			if err := cell.Panel.check(); err != nil {
				return fmt.Errorf("panel %s: %w", Letter(k), err)
			}
			k++
		}
	}
	if k == 0 {
		return errors.New("the page has no panels: give it at least one")
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
	return vg.Length(len(noteText.wrap(note, width)))*noteLead + 2*margin
}

// legend returns the legend of the page. It has at most six rows.
func (p Page) legend(width vg.Length) legend {
	const maxRows = 6
	every := make([]int, len(p.GroupNames))
	for i := range every {
		every[i] = i
	}
	names, _ := grouping{of: every, names: p.GroupNames}.legend(width)
	for names.height(width) > maxRows*legendLead {
		names = names.withoutLast()
	}
	return names
}

// placed is a panel with its place on the page.
type placed struct {
	Panel
	letter      string // "" if it stands alone
	head        bool   // the panels of its row have letters or titles
	note        string
	whole, body vg.Rectangle // the cell, and what letter, title and note leave of it
}

// layout places the panels of the page.
func (p Page) layout(c draw.Canvas) (all []placed) {
	inner := inset(c)
	if p.Title != "" {
		inner.Max.Y -= titleSize*leading + margin
	}
	panels := 0
	for _, r := range p.Rows {
		panels += len(r.Cells)
	}
	for _, r := range p.Rows {
		row := inner.Rectangle
		row.Min.Y = row.Max.Y - vg.Length(r.Height)*vg.Inch
		cells := r.split(row)
		head := panels > 1
		for i := range cells {
			if panels > 1 {
				cells[i].letter = Letter(len(all) + i)
			}
			head = head || cells[i].heading() != ""
		}
		arrange(cells, head)
		all = append(all, cells...)
		inner.Max.Y = row.Min.Y - rowGap
	}
	return all
}

// split divides the width of a row by the weights of its cells.
func (r Row) split(row vg.Rectangle) (cells []placed) {
	weight := func(c Cell) float64 { return cmp.Or(c.Weight, 1) }
	sum := 0.0
	for _, cell := range r.Cells {
		sum += weight(cell)
	}
	free := row.Size().X - columnGap*vg.Length(len(r.Cells)-1)
	for _, cell := range r.Cells {
		whole := row
		whole.Max.X = row.Min.X + free*vg.Length(weight(cell)/sum)
		cells = append(cells, placed{Panel: cell.Panel, whole: whole})
		row.Min.X = whole.Max.X + columnGap
	}
	return cells
}

// arrange finds the notes of the panels of a row, and the areas that are left for them. Titles and notes
// have the same height in all cells, so that axes align.
func arrange(cells []placed, head bool) {
	top := vg.Length(0)
	if head {
		top = headLead
	}
	// notes can grow as panels shrink, so repeat until they fit
	for foot, need := vg.Length(-1), vg.Length(0); need > foot; {
		foot, need = need, 0
		for i := range cells {
			p := &cells[i]
			p.head, p.body = head, p.whole
			p.body.Min.Y, p.body.Max.Y = p.whole.Min.Y+foot, p.whole.Max.Y-top
			if c := (draw.Canvas{Canvas: newMeasure(), Rectangle: p.body}); checkSpace(c) == nil {
				p.note, _ = p.draw(c) // paint returns the error
			}
			if lines := len(noteText.wrap(p.note, p.whole.Size().X)); lines > 0 {
				need = max(need, vg.Length(lines)*noteLead+noteGap)
			}
		}
	}
	evenMatrices(cells)
}

// checkSpace returns an error for an area that is too small for any panel.
func checkSpace(c draw.Canvas) error {
	if size := c.Size(); size.X < 20 || size.Y < 12 || math.IsNaN(float64(size.X)) {
		return fmt.Errorf("only %.1f x %.1f in are left for the panel: widen the page or make "+
			"the row higher", float64(size.X/vg.Inch), float64(size.Y/vg.Inch))
	}
	return nil
}

// paint draws the page. If c draws on a measure, it returns an error for text that does not fit.
func (p Page) paint(c draw.Canvas, panels []placed) error {
	paintBackground(c)
	inner := inset(c)
	texts, _ := c.Canvas.(*measure)
	if p.Title != "" {
		titleText.left(inner, inner.Min.X,
			inner.Max.Y-titleSize*leading/2, p.Title)
	}
	drawNote(inner, p.Note)
	width := inner.Size().X
	names := p.legend(width)
	names.drawRows(inner, inner.Min.X, inner.Min.Y+noteHeight(p.Note, width)+names.height(width), width)
	if err := texts.take(c.Rectangle); err != nil {
		return fmt.Errorf("title or note of the page: %w", err)
	}
	for k, panel := range panels {
		err := panel.paint(c)
		if err == nil {
			err = texts.take(panel.whole)
		}
		if err != nil {
			return fmt.Errorf("panel %s: %w", Letter(k), err)
		}
	}
	return nil
}

// paint draws the panel with its letter, title and note.
func (p placed) paint(c draw.Canvas) error {
	if p.head {
		y := p.whole.Max.Y - titleSize*leading/2
		w := titleText.in(black)
		w.left(c, p.whole.Min.X, y, p.letter)
		x := p.whole.Min.X
		if p.letter != "" {
			x += w.width(p.letter) + 6
		}
		headText.left(c, x, y, p.heading())
	}
	c.Rectangle = p.body
	err := checkSpace(c)
	if err == nil {
		_, err = p.draw(c)
	}
	if lines := len(noteText.wrap(p.note, p.whole.Size().X)); lines > 0 {
		c.Rectangle = p.whole
		c.Min.Y = p.body.Min.Y - noteGap - vg.Length(lines)*noteLead
		drawNote(c, p.note)
	}
	return err
}
