// Package document writes the items of a report, figures and tables, to a directory: each figure as
// PDF, SVG and PNG with its numbers as CSV, each table as CSV, LaTeX, Markdown, HTML and JSON, and
// index.html with all of them. Files of an earlier report that the new one lacks are removed.
package document

import (
	"fmt"
	"path/filepath"
	"strings"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Item is one table or figure of a report, with the numbers that it shows.
type Item struct {
	ID      string // of its files: fig2, table_a3
	Section string
	Title   string
	Caption string
	Figure  *figure.Figure // nil for a table
	Panels  []figure.Row   // its panels, line by line
	Groups  []string       // names of the legend below them; none where empty
	Undrawn error          // why a figure could not be drawn; its numbers are written all the same
	Tables  []Named        // the table itself, or a figure's numbers
	Missing []page.Result
}

// Named is a table with the name of its files.
type Named struct {
	Name string
	table.Table
}

// Compose draws the item's Panels on a page, a panel a line where they have no room beside each other.
// Undrawn says why where that fails too.
func (item *Item) Compose(on figure.Page) {
	on.Rows = item.Panels
	if item.Figure, item.Undrawn = figure.Compose(on); item.Undrawn == nil {
		return
	}
	on.Rows = nil
	for _, row := range item.Panels {
		for _, cell := range row.Cells {
			on.Rows = append(on.Rows, figure.Row{Height: row.Height, Cells: []figure.Cell{cell}})
		}
	}
	if one, err := figure.Compose(on); err == nil {
		item.Figure, item.Panels, item.Undrawn = one, on.Rows, nil
	}
}

// figureFormats are the formats of each figure; the page shows the SVG.
var figureFormats = []string{"pdf", "svg", "png"}

// Written says what a report has.
type Written struct {
	Index           string // the page
	Figures, Tables int
	Notes           []string
}

// Document is a report that is being written.
type Document struct {
	page.Page
	Panels          bool // write each panel by itself too, as wide as a column where it fits: fig2_b.pdf
	Figures, Tables int  // that were written

	files      *directory
	missing    []page.Result // of items that have nothing else
	emptyItems int           // such items
}

// Open starts a report in a directory. It refuses one that holds something else with an error that
// matches fs.ErrExist.
func Open(dir, title string) (*Document, error) {
	files, err := openDirectory(dir)
	return &Document{Page: page.Page{Title: title}, files: files}, err
}

// File returns the path for a file of the report.
func (d *Document) File(name string) string { return d.files.file(name) }

// Section returns the section of that title, the last one of the page or a new one.
func (d *Document) Section(title string) *page.Section {
	if n := len(d.Sections); n > 0 && d.Sections[n-1].Title == title {
		return &d.Sections[n-1]
	}
	id := strings.ToLower(strings.ReplaceAll(title, " ", "-"))
	d.Sections = append(d.Sections, page.Section{ID: id, Title: title})
	return &d.Sections[len(d.Sections)-1]
}

// Add writes the files of an item, adds it to its section, and returns the names of the files.
func (d *Document) Add(item Item) (files []string, err error) {
	if item.Figure == nil && item.Tables == nil {
		d.emptyItems++
		for _, m := range item.Missing {
			m.What = item.Title + ": " + m.What
			d.missing = append(d.missing, m)
		}
		return nil, nil
	}
	to := d.Section(item.Section)
	switch {
	case item.Figure != nil:
		err = d.addFigure(item, to, &files)
	case item.Undrawn != nil:
		err = d.addUndrawn(item, to, &files)
	default:
		for _, t := range item.Tables {
			t.Note = strings.TrimSpace(item.Caption + " " + t.Note)
			if err = d.addTable(item.Title, t, to, &files); err != nil {
				break
			}
		}
	}
	if item.Missing != nil {
		to.Items = append(to.Items, page.Missing{Results: item.Missing,
			Title: fmt.Sprintf("%s that these runs lack for it", wording.Count(len(item.Missing), "result"))})
	}
	return files, err
}

func (d *Document) addFigure(item Item, to *page.Section, files *[]string) error {
	d.Figures++
	var links []page.Link
	add := func(name string) {
		*files = append(*files, name)
		links = append(links, page.Link{Label: strings.TrimPrefix(name, item.ID), Href: name})
	}
	for _, format := range figureFormats {
		name := item.ID + "." + format
		if err := item.Figure.Save(d.File(name), format); err != nil {
			return err
		}
		add(name)
	}
	var svg strings.Builder
	if err := item.Figure.Encode(&svg, "svg"); err != nil {
		return err
	}
	numbers, err := d.addNumbers(item, files)
	if err != nil {
		return err
	}
	links = append(links, numbers...)
	to.Items = append(to.Items, page.Figure{Title: item.Title, Caption: item.Caption,
		SVG: []byte(svg.String()), Links: links})
	if !d.Panels {
		return nil
	}
	return d.addPanels(item, files)
}

// addUndrawn says why a figure is not there, with links to its numbers.
func (d *Document) addUndrawn(item Item, to *page.Section, files *[]string) error {
	links, err := d.addNumbers(item, files)
	to.Items = append(to.Items, page.List{Title: item.Title,
		Entries: []string{fmt.Sprintf("Not drawn: %v", item.Undrawn)}, Links: links})
	return err
}

// addNumbers writes the numbers of a figure.
func (d *Document) addNumbers(item Item, files *[]string) (links []page.Link, err error) {
	for _, t := range item.Tables {
		name := t.Name + ".csv"
		if err := atomicfile.Write(d.File(name), t.CSV); err != nil {
			return nil, err
		}
		*files = append(*files, name)
		links = append(links, page.Link{Label: strings.TrimPrefix(name, item.ID), Href: name})
	}
	return links, nil
}

func (d *Document) addTable(title string, t Named, to *page.Section, files *[]string) error {
	d.Tables++
	if err := t.Save(d.files.root, t.Name); err != nil {
		return err
	}
	var links []page.Link
	for _, format := range table.Formats() {
		name := t.Name + "." + format
		d.File(name)
		*files = append(*files, name)
		links = append(links, page.Link{Label: "." + format, Href: name})
	}
	var html strings.Builder
	if err := t.HTML(&html); err != nil {
		return err
	}
	to.Items = append(to.Items, page.TableItem{Title: title, HTML: html.String(), Links: links})
	return nil
}

// addPanels writes each panel of a figure by itself, named by its letter.
func (d *Document) addPanels(item Item, files *[]string) error {
	k := 0
	for _, row := range item.Panels {
		for _, cell := range row.Cells {
			page := figure.Page{Width: figure.ColumnWidth, GroupNames: item.Groups,
				Rows: []figure.Row{{Height: row.Height, Cells: []figure.Cell{{Panel: cell.Panel}}}}}
			alone, err := figure.Compose(page)
			if err != nil { // its labels need more room
				page.Width = figure.PageWidth
				if alone, err = figure.Compose(page); err != nil {
					return err
				}
			}
			for _, format := range figureFormats {
				name := fmt.Sprintf("%s_%s.%s", item.ID, strings.ToLower(figure.Letter(k)), format)
				if err := alone.Save(d.File(name), format); err != nil {
					return err
				}
				*files = append(*files, name)
			}
			k++
		}
	}
	return nil
}

// Finish lists what was left out, closes the report, and says what it has.
func (d *Document) Finish(leftOut []string) (Written, error) {
	if leftOut != nil {
		to := d.Section("Left out")
		to.Items = append(to.Items, page.List{Entries: leftOut})
	}
	return Written{Index: filepath.Join(d.files.root, "index.html"), Figures: d.Figures,
		Tables: d.Tables, Notes: leftOut}, d.Close()
}

// Close writes index.html, with what no item could be made of folded away at its end, and removes
// files of an earlier report.
func (d *Document) Close() error {
	if d.emptyItems > 0 {
		to := d.Section("Not made")
		if d.missing == nil {
			to.Items = append(to.Items, page.Text{Paragraphs: []string{wording.Count(d.emptyItems, "item") +
				" of the report: no runs to make them from."}})
		} else {
			to.Items = append(to.Items, page.Missing{Results: d.missing, Title: fmt.Sprintf(
				"Figures and tables that these runs cannot make (%d), and the commands that can", d.emptyItems)})
		}
	}
	if err := d.Save(d.File("index.html")); err != nil {
		return err
	}
	return d.files.close()
}
