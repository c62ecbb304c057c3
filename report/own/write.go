package own

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Write makes the report in dir: the files of figures and tables, and index.html. With panels each
// panel gets files of its own, too.
func (s *Study) Write(dir string, panels bool) (document.Written, error) {
	if len(s.groups) == 0 {
		return document.Written{}, fmt.Errorf("nothing to report: %s", strings.Join(s.Notes, "; "))
	}
	d, err := document.Open(dir, "Masked prediction: what the positions learned") // before the work
	if err != nil {
		return document.Written{}, err
	}
	d.Panels = panels
	n := 0
	for _, g := range s.groups {
		n += len(g.models)
	}
	d.Subtitle = fmt.Sprintf("%s of %s, by torchpe.", wording.Count(n, "model"), wording.Count(s.Runs, "run"))
	about := d.Section("Data")
	about.Items = append(about.Items, page.List{Entries: s.data()})
	if err := s.explore(d); err != nil {
		return document.Written{}, err
	}
	items, err := s.items()
	if err != nil {
		return document.Written{}, err
	}
	for _, item := range items {
		if item.Figure == nil && item.Tables == nil && item.Undrawn == nil {
			continue
		}
		if _, err := d.Add(item); err != nil {
			return document.Written{}, fmt.Errorf("%s: %w", item.ID, err)
		}
	}
	return d.Finish(s.Notes)
}

func (s *Study) items() ([]document.Item, error) {
	course, err := s.errors()
	if err != nil {
		return nil, err
	}
	bySubject, err := s.subjects()
	if err != nil {
		return nil, err
	}
	positions, err := s.positions()
	if err != nil {
		return nil, err
	}
	scores, err := s.scores()
	if err != nil {
		return nil, err
	}
	attention, err := s.attention()
	if err != nil {
		return nil, err
	}
	if bySubject.Panels == nil {
		s.note("No errors by subject: fewer than two test subjects are known, or runs are of an earlier version")
	}
	if scores.Panels == nil {
		s.note("No modularity: no modules are known; train with --modules FILE")
	}
	return slices.Concat([]document.Item{course, s.errorTable(), bySubject}, positions,
		[]document.Item{scores, attention, s.runTable()}), nil
}

// data describes the data in sentences.
func (s *Study) data() []string {
	d := s.groups[0].models[0].Run.Result.Data
	if d == nil {
		return []string{"The runs do not say what data they had."}
	}
	out := []string{
		fmt.Sprintf("%d samples of %s; %s of %s.", d.Frames, wording.Count(d.Tokens, "token"),
			wording.Count(d.Runs, "file"),
			wording.Count(d.Subjects, "subject")),
		fmt.Sprintf("Held out: %s; %d of %d held-out samples measured.", d.Split, d.MeasuredFrames, d.TestFrames)}
	if d.TestSubjects != nil {
		out = append(out, "Held-out subjects: "+wording.List(12, d.TestSubjects)+".")
	}
	if d.Modules > 0 {
		out = append(out, fmt.Sprintf("%s, %s.", wording.Count(d.Modules, "module"), d.ModulesFrom))
	}
	out = append(out, d.Notes...)
	for i, text := range out {
		out[i] = paths.ReplaceAllString(text, "$1")
	}
	return out
}

// paths match paths of files; their last part is the file's name.
var paths = regexp.MustCompile(`(?:[^\s/"]*/)+([^\s/"]+\.\w+)`)

// runTable lists the models with short names of their runs.
func (s *Study) runTable() document.Item {
	t := table.Table{Title: "Models", Columns: []table.Column{{Heading: "encoding", Name: "encoding"},
		{Heading: "run", Name: "run"}, {Heading: "seed", Name: "seed"}, {Heading: "steps", Name: "steps"},
		{Heading: "status", Name: "status"}}}
	for _, g := range s.groups {
		for _, m := range g.models {
			t.Rows = append(t.Rows, table.Row{table.Text(g.label), table.Text(shortPath(m.Run.Name)),
				table.Text(strconv.FormatUint(m.Member.Seed, 10)), table.Count(m.Result.Steps),
				table.Text(m.Result.Status)})
		}
	}
	return document.Item{ID: "models", Section: runsSection, Title: t.Title,
		Tables: []document.Named{{Name: "models", Table: t}}}
}

// shortPath keeps the last two parts of a path.
func shortPath(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) <= 2 {
		return path
	}
	return "…/" + strings.Join(parts[len(parts)-2:], "/")
}

// grid puts panels of tokens in rows of two.
func grid(panels []figure.Panel) (rows []figure.Row) {
	for part := range slices.Chunk(panels, 2) {
		var cells []figure.Cell
		for _, p := range part {
			cells = append(cells, figure.Cell{Panel: p})
		}
		rows = append(rows, figure.Row{Height: mapHeight, Cells: cells})
	}
	return rows
}

// compose makes the figure of an item's panels, one below the other where they have no room side by
// side. Where that fails too, the item says why, and so do the study's notes.
func (s *Study) compose(item *document.Item) {
	if item.Panels == nil {
		return
	}
	item.Compose(figure.Page{Width: figure.PageWidth, GroupNames: item.Groups})
	if item.Undrawn != nil {
		s.note("%s: not drawn: %v", item.Title, item.Undrawn)
	}
}
