package paper

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/report/figure"
	"torchpe/report/internal/atomicfile"
	"torchpe/report/internal/outdir"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Written says what a report has.
type Written struct {
	Index   string // the page
	Figures int
	Tables  int
	Missing []MissingItem
	Notes   []string
}

// MissingItem is something that an item of the report lacks.
type MissingItem struct {
	Item    string `json:"item"`
	What    string `json:"what"`
	Command string `json:"command"`
}

// figureFormats are the formats of each figure; the page shows the SVG.
var figureFormats = []string{"pdf", "svg", "png"}

// Options are what a report may have besides.
type Options struct {
	Panels bool // each panel of a figure by itself, too, as wide as a column of a page where it fits: fig2_b.pdf
}

// Write makes the report of a study in dir: each figure as PDF, SVG and PNG with its numbers as CSV, each table as CSV, LaTeX,
// Markdown, HTML and JSON, index.html with all of it, and report.json, which says what there is and what is missing.
func (s *Study) Write(dir string, o Options) (Written, error) {
	to, err := outdir.Open(dir) // before the work
	if err != nil {
		return Written{}, err
	}
	items, err := s.Items()
	if err != nil {
		return Written{}, err
	}
	w := Written{Index: filepath.Join(dir, "index.html"), Notes: s.Notes}
	index := page.Page{Title: "Learning positional encodings", Subtitle: fmt.Sprintf("Made from %s. The paper: Ito et al., Learning positional encodings in transformers depends on initialization, arXiv 2406.08272.", plural(s.Runs, "run"))}
	var listed []listedItem
	for _, item := range items {
		entry, err := w.save(to, o, item, section(&index, item.Section))
		if err != nil {
			return w, fmt.Errorf("%s: %w", item.ID, err)
		}
		listed = append(listed, entry)
	}
	s.addRuns(&index, dir)
	s.addNotes(&index)
	if err := index.Save(to.File("index.html")); err != nil {
		return w, err
	}
	if err := saveJSON(to.File("report.json"), reportJSON{Items: listed, Missing: w.Missing, Notes: s.Notes}); err != nil {
		return w, err
	}
	return w, to.Close()
}

// reportJSON is the content of report.json.
type reportJSON struct {
	Items   []listedItem  `json:"items"`
	Missing []MissingItem `json:"missing"`
	Notes   []string      `json:"notes"`
}

type listedItem struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Caption string   `json:"caption"`
	Files   []string `json:"files"`
}

// section returns the section of that title, the last one of the page or a new one.
func section(p *page.Page, title string) *page.Section {
	if n := len(p.Sections); n > 0 && p.Sections[n-1].Title == title {
		return &p.Sections[n-1]
	}
	id := strings.ToLower(strings.ReplaceAll(title, " ", "-"))
	p.Sections = append(p.Sections, page.Section{ID: id, Title: title})
	return &p.Sections[len(p.Sections)-1]
}

// save writes an item's files and adds it to its section.
func (w *Written) save(files *outdir.Dir, o Options, item Item, to *page.Section) (listedItem, error) {
	entry := listedItem{ID: item.ID, Title: item.Title, Caption: item.Caption}
	var links []page.Link
	add := func(name string) {
		entry.Files = append(entry.Files, name)
		links = append(links, page.Link{Label: strings.TrimPrefix(name, item.ID), Href: name})
	}
	if item.Figure != nil {
		w.Figures++
		var svg strings.Builder
		for _, format := range figureFormats {
			name := item.ID + "." + format
			if err := item.Figure.Save(files.File(name), format); err != nil {
				return entry, err
			}
			add(name)
		}
		if err := item.Figure.Encode(&svg, "svg"); err != nil {
			return entry, err
		}
		for _, t := range item.Tables {
			name := t.Name + ".csv"
			if err := atomicfile.Write(files.File(name), t.CSV); err != nil {
				return entry, err
			}
			add(name)
		}
		if o.Panels {
			names, err := savePanels(files, item)
			if err != nil {
				return entry, err
			}
			entry.Files = append(entry.Files, names...)
		}
		to.Items = append(to.Items, page.Figure{Title: item.Title, Caption: item.Caption, SVG: []byte(svg.String()), Links: links})
	} else {
		for _, t := range item.Tables {
			w.Tables++
			t.Note = strings.TrimSpace(item.Caption + " " + t.Note)
			if err := t.Save(files.Root, t.Name); err != nil {
				return entry, err
			}
			for _, format := range table.Formats() {
				files.File(t.Name + "." + format)
				add(t.Name + "." + format)
			}
			var html strings.Builder
			if err := t.HTML(&html); err != nil {
				return entry, err
			}
			to.Items = append(to.Items, page.TableItem{Title: item.Title, HTML: html.String(), Links: links})
		}
	}
	if item.Figure == nil && item.Tables == nil {
		to.Items = append(to.Items, page.Text{Title: item.Title, Paragraphs: []string{"No runs to make it from."}})
	}
	for _, m := range item.Missing {
		w.Missing = append(w.Missing, MissingItem{Item: item.ID, What: m.What, Command: m.Command})
		to.Items = append(to.Items, page.Missing{What: m.What, Command: m.Command})
	}
	return entry, nil
}

// savePanels writes each panel of a figure by itself, named by its letter.
func savePanels(files *outdir.Dir, item Item) (names []string, err error) {
	k := 0
	for _, row := range item.Panels {
		for _, cell := range row.Cells {
			page := figure.Page{Width: figure.ColumnWidth, Rows: []figure.Row{{Height: row.Height, Cells: []figure.Cell{{Panel: cell.Panel}}}}}
			alone, err := figure.Compose(page)
			if err != nil { // its labels need more room
				page.Width = figure.PageWidth
				if alone, err = figure.Compose(page); err != nil {
					return nil, err
				}
			}
			for _, format := range figureFormats {
				name := fmt.Sprintf("%s_%s.%s", item.ID, strings.ToLower(figure.Letter(k)), format)
				if err := alone.Save(files.File(name), format); err != nil {
					return nil, err
				}
				names = append(names, name)
			}
			k++
		}
	}
	return names, nil
}

// addRuns lists the runs that are shown, with links to their directories from that of the page.
func (s *Study) addRuns(p *page.Page, dir string) {
	for _, part := range []struct {
		title  string
		models []Model
	}{{"On puzzles", s.LST}, {"On the simulated network", s.NMAR}, {"On fMRI", s.FMRI}} {
		if len(part.models) == 0 {
			continue
		}
		list := page.List{Title: part.title}
		seen := map[string]bool{}
		for _, m := range part.models {
			if seen[m.Run.Dir] {
				continue
			}
			seen[m.Run.Dir] = true
			if to, err := relative(dir, m.Run.Dir); err == nil { // none from one drive to another
				list.Links = append(list.Links, page.Link{Label: m.Run.Name, Href: to})
			}
		}
		slices.SortFunc(list.Links, func(a, b page.Link) int { return cmp.Compare(a.Label, b.Label) })
		list.Entries = []string{fmt.Sprintf("%s of %s.", plural(len(part.models), "model"), plural(len(seen), "run"))}
		to := section(p, "Runs")
		to.Items = append(to.Items, list)
	}
}

// relative is the path with slashes that leads from one directory to another.
func relative(from, to string) (string, error) {
	a, errA := filepath.Abs(from)
	b, errB := filepath.Abs(to)
	if err := errors.Join(errA, errB); err != nil {
		return "", err
	}
	path, err := filepath.Rel(a, b)
	return filepath.ToSlash(path) + "/", err
}

// addNotes adds what was left out.
func (s *Study) addNotes(p *page.Page) {
	if len(s.Notes) > 0 {
		to := section(p, "Left out")
		to.Items = append(to.Items, page.List{Entries: s.Notes})
	}
}

func saveJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}
