package paper

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"torchpe/internal/atomicfile"
	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
	"torchpe/report/page"
)

// Written lists what a report contains and lacks.
type Written struct {
	document.Written
	Missing []MissingItem
}

// MissingItem is something that an item of the report lacks.
type MissingItem struct {
	Item string `json:"item"`
	page.Result
}

// Write makes the report of a study in dir: each figure as PDF, SVG and PNG with its numbers as CSV, each table
// as CSV, LaTeX, Markdown, HTML and JSON, index.html with all of it, and report.json, which lists what exists
// and what is missing.
func (s *Study) Write(dir string) (w Written, err error) {
	to, err := document.Open(dir, "Learning positional encodings") // first, because it may fail
	if err != nil {
		return w, err
	}
	to.Subtitle = fmt.Sprintf("Made from %s. The paper: Ito et al., %s, arXiv 2406.08272.",
		wording.Count(s.ShownRuns(), "run"), paper.Title)
	items, err := item.Add(to, specs(), s.draft)
	if err != nil {
		return w, err
	}
	var listed []listedItem
	for _, it := range items {
		listed = append(listed, listedItem{ID: it.ID, Title: it.Title, Caption: it.Caption, Files: it.Files})
		for _, m := range it.Missing {
			w.Missing = append(w.Missing, MissingItem{Item: it.ID, Result: m})
		}
	}
	s.addAbsent(to)
	s.addRuns(to, dir)
	if err := saveJSON(to.File("report.json"), reportJSON{Items: listed, Missing: w.Missing,
		Notes: s.Notes}); err != nil {
		return w, err
	}
	w.Written, err = to.Finish(s.Notes)
	return w, err
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

// addRuns lists the runs shown, with links to their directories relative to that of the page.
func (s *Study) addRuns(d *document.Document, dir string) {
	for _, part := range []struct {
		title  string
		models []cohort.Model
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
		list.Entries = []string{fmt.Sprintf("%s of %s.", wording.Count(len(part.models), "model"),
			wording.Count(len(seen), "run"))}
		to := d.Section("Runs")
		to.Items = append(to.Items, list)
	}
}

// relative returns the path with slashes from one directory to another.
func relative(from, to string) (string, error) {
	a, errA := filepath.Abs(from)
	b, errB := filepath.Abs(to)
	if err := errors.Join(errA, errB); err != nil {
		return "", err
	}
	path, err := filepath.Rel(a, b)
	return filepath.ToSlash(path) + "/", err
}

func saveJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}
