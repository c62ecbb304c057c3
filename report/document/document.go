// Package document writes the figures and tables of a report to a directory. It writes each figure as
// PDF, SVG and PNG with its numbers as CSV, each table as CSV, LaTeX, Markdown, HTML and JSON, and an
// index.html of all of them. It removes files of an earlier report that the new one lacks.
package document

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Item is one table or figure of a report, with the numbers that it shows.
type Item struct {
	ID      string // name of its files, such as fig2 or table_a3
	Section string
	Title   string
	Lead    string // a sentence above the item; may be empty
	Caption string
	Figure  *figure.Figure // nil for a table
	Panels  []figure.Row   // panels of the figure, row by row
	Legend  []string       // names of the legend below the panels; may be empty
	Undrawn error          // error of drawing the figure; its numbers are still written
	Tables  []Named        // the tables, or the numbers of the figure
	Missing []page.Result  // results that the item needs and the runs lack
}

// Named is a table and the name of its files.
type Named struct {
	Name string
	table.Table
}

// Compose sets Figure to the Panels drawn on a page. If panels do not fit side by side, it draws one per
// row. If that fails too, it sets Undrawn to the error.
func (item *Item) Compose(on figure.Page) {
	on.Rows = item.Panels
	if item.Figure, item.Undrawn = figure.Compose(on); item.Undrawn == nil {
		return
	}
	on.Rows = item.stacked()
	if one, err := figure.Compose(on); err == nil {
		item.Figure, item.Panels, item.Undrawn = one, on.Rows, nil
	}
}

// stacked returns the panels, a row each.
func (item *Item) stacked() (rows []figure.Row) {
	for _, row := range item.Panels {
		for _, cell := range row.Cells {
			rows = append(rows, figure.Row{Height: row.Height, Cells: []figure.Cell{cell}})
		}
	}
	return rows
}

// Written summarises a written report.
type Written struct {
	Index           string // path of index.html
	Figures, Tables int
	Notes           []string
}

// Document is a report that is being written.
type Document struct {
	page.Page
	Figures, Tables int // number of figures and tables written

	files      *directory
	missing    []page.Result // missing results of empty items
	emptyItems int           // items without a figure or table
	undrawn    []string      // figures that could not be drawn, and why
}

// Open starts a report in a directory. It returns an error that matches fs.ErrExist if the directory holds
// something else.
func Open(dir, title string) (*Document, error) {
	files, err := openDirectory(dir)
	return &Document{Page: page.Page{Title: title}, files: files}, err
}

// File returns the path of a file of the report and records its name.
func (d *Document) File(name string) string { return d.files.file(name) }

// Section returns the last section of the page if it has this title, else a new section.
func (d *Document) Section(title string) *page.Section {
	if n := len(d.Sections); n > 0 && d.Sections[n-1].Title == title {
		return &d.Sections[n-1]
	}
	id := strings.ToLower(strings.ReplaceAll(title, " ", "-"))
	d.Sections = append(d.Sections, page.Section{ID: id, Title: title})
	return &d.Sections[len(d.Sections)-1]
}

// Add writes the files of an item and adds it to its section. It returns the names of the files.
func (d *Document) Add(item Item) (files []string, err error) {
	if item.Figure == nil && item.Tables == nil {
		if item.Missing != nil {
			d.emptyItems++
		}
		for _, m := range item.Missing {
			d.addMissing(item.Title, m)
		}
		return nil, nil
	}
	from, to := len(d.files.written), d.Section(item.Section)
	if item.Lead != "" {
		to.Items = append(to.Items, page.Text{Paragraphs: []string{item.Lead}})
	}
	if item.Figure != nil || item.Undrawn != nil {
		err = d.addFigure(item, to)
	} else {
		err = d.addTables(item, to)
	}
	if item.Missing != nil {
		to.Items = append(to.Items, page.Missing{Results: item.Missing,
			Title: fmt.Sprintf("%s missing from these runs", wording.Count(len(item.Missing), "result"))})
	}
	return slices.Clone(d.files.written[from:]), err
}

// addMissing notes what an item needs. A command that several need is listed once.
func (d *Document) addMissing(title string, m page.Result) {
	same := func(r page.Result) bool { return m.Command != "" && r.Command == m.Command }
	at := slices.IndexFunc(d.missing, same)
	if at < 0 {
		m.What = title + ": " + m.What
		d.missing = append(d.missing, m)
		return
	}
	first := &d.missing[at].What
	if titles, ok := strings.CutSuffix(*first, ": "+m.What); ok {
		*first = titles
	}
	*first += "; " + title + ": " + m.What
}

// addFigure writes a figure and its numbers, or only the numbers of a figure that could not be drawn.
func (d *Document) addFigure(item Item, to *page.Section) error {
	from := len(d.files.written)
	if item.Figure != nil {
		d.Figures++
		if err := d.save(item.Figure, item.ID); err != nil {
			return err
		}
	}
	for _, t := range item.Tables {
		if err := atomicfile.Write(d.File(t.Name+".csv"), t.CSV); err != nil {
			return err
		}
	}
	links := d.links(item.ID, from)
	if item.Figure == nil {
		to.Items = append(to.Items, page.List{Title: item.Title,
			Entries: []string{fmt.Sprintf("Not drawn: %v", item.Undrawn)}, Links: links})
		d.undrawn = append(d.undrawn, fmt.Sprintf("%s: not drawn: %v", item.Title, item.Undrawn))
		return nil
	}
	var svg bytes.Buffer
	if err := item.Figure.Encode(&svg, "svg"); err != nil {
		return err
	}
	width, height := item.Figure.Size()
	to.Items = append(to.Items, page.Figure{Title: item.Title, Caption: item.Caption,
		SVG: svg.Bytes(), Width: width, Height: height, Links: links})
	return nil
}

// save writes a figure in all formats.
func (d *Document) save(f *figure.Figure, name string) error {
	for _, ending := range []string{".pdf", ".svg", ".png"} {
		if err := f.Save(d.File(name + ending)); err != nil {
			return err
		}
	}
	return nil
}

// links returns links to the files written after the first ones, without the prefix of their names.
func (d *Document) links(prefix string, first int) (links []page.Link) {
	for _, name := range d.files.written[first:] {
		links = append(links, page.Link{Label: strings.TrimPrefix(name, prefix), Href: name})
	}
	return links
}

func (d *Document) addTables(item Item, to *page.Section) error {
	for _, t := range item.Tables {
		d.Tables++
		t.Note = strings.TrimSpace(item.Caption + " " + t.Note)
		from := len(d.files.written)
		if err := t.Save(d.files.root, t.Name); err != nil {
			return err
		}
		for _, format := range table.Formats() {
			d.File(t.Name + "." + format)
		}
		to.Items = append(to.Items,
			page.TableItem{Title: item.Title, Table: t.Table, Links: d.links(t.Name, from)})
	}
	return nil
}

// Finish adds a section that lists what was left out, closes the report and returns its summary, whose notes name
// the figures that could not be drawn, too.
func (d *Document) Finish(leftOut []string) (Written, error) {
	if leftOut != nil {
		to := d.Section("Left out")
		to.Items = append(to.Items, page.List{Entries: leftOut})
	}
	return Written{Index: filepath.Join(d.files.root, "index.html"), Figures: d.Figures,
		Tables: d.Tables, Notes: slices.Concat(leftOut, d.undrawn)}, d.Close()
}

// Close writes index.html, whose last section lists the items that could not be made, and removes files
// of the earlier report.
func (d *Document) Close() error {
	if d.emptyItems > 0 {
		to := d.Section("Not made")
		to.Items = append(to.Items, page.Missing{Results: d.missing, Title: fmt.Sprintf(
			"Figures and tables that these runs cannot make (%d), and the commands that can", d.emptyItems)})
	}
	if err := d.Save(d.File("index.html")); err != nil {
		return err
	}
	return d.files.close()
}
