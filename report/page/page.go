// Package page writes a report as one self-contained HTML page, which needs no network, server or
// JavaScript.
//
// A Page has sections, and a section has items: figures, tables, texts, lists, and missing results with
// the commands that produce them. Figures are embedded. Links are relative and lead to files beside the
// page. Texts may contain any characters. The same page always gives the same bytes.
//
// Explorer is a separate page for exploring the learned positions of tokens.
package page

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/url"
	"regexp"
	"strings"

	"torchpe/internal/atomicfile"
	"torchpe/report/table"
)

// Page is a report.
type Page struct {
	Title    string
	Subtitle string // may be empty
	Sections []Section
}

// Section is a part of a page. Its ID is unique and consists of lower-case letters, digits and -. Links
// to #id lead to the section, and links to #id-n to its item n.
type Section struct {
	ID, Title string
	Items     []Item
}

// Item is a Figure, TableItem, Text, List or Missing.
type Item interface {
	view() (item, error)
}

// Figure is a drawing with links to its files. Its title is also the alternative text of the image.
type Figure struct {
	Title         string
	Caption       string // below the figure, with empty lines between paragraphs; may be empty
	SVG           []byte
	Width, Height float64 // of the drawing, in points
	Links         []Link
}

// TableItem is a table. Its title is shown above it and in the navigation. A title of the table itself
// that is equal is not repeated.
type TableItem struct {
	Title string
	Table table.Table
	Links []Link
}

// Text is prose. A text without a title does not appear in the navigation.
type Text struct {
	Title      string
	Paragraphs []string
}

// List is a bullet list with links below it. A list without a title does not appear in the navigation.
type List struct {
	Title   string
	Entries []string
	Links   []Link
}

// Missing lists results that the report lacks, collapsed below its title. It does not appear in the
// navigation.
type Missing struct {
	Title   string
	Results []Result
}

// Result is a missing result and the command that produces it.
type Result struct {
	What, Command string
}

// Link leads to a file beside the page. Href is its path relative to the page, unescaped and with slashes.
type Link struct {
	Label, Href string
}

// write writes p to w.
func (p Page) write(w io.Writer) error {
	v, err := p.view()
	if err != nil {
		return fmt.Errorf("page %q: %w", p.Title, err)
	}
	return render(w, layout, v)
}

// render executes a template and writes its output to w, or nothing if it fails.
func render(w io.Writer, layout *template.Template, data any) error {
	var b bytes.Buffer
	if err := layout.Execute(&b, data); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// Save writes p to path, completely or not at all.
func (p Page) Save(path string) error {
	return atomicfile.Write(path, p.write)
}

// document, section, item, result, link and word are the data of the template.
type document struct {
	Title, Subtitle string
	CSS             template.CSS
	JS              template.JS
	Sections        []section
}

type section struct {
	ID, Title string
	Items     []item
}

type item struct {
	Kind, ID, Title string
	Paragraphs      []string // of a text, the entries of a list, the caption of a figure
	Image           image
	Table           template.HTML
	Captioned       bool     // the table's caption repeats the title
	Results         []result // missing results
	Links           []link
}

type result struct {
	What    string
	Command []word
}

type link struct{ Label, Href string }

// word is a word of a command and the space before it.
type word struct{ Space, Word string }

var (
	//go:embed page.html
	layoutSource string
	//go:embed page.css
	styleSheet string
	//go:embed page.js
	script string

	layout = template.Must(template.New("page").Parse(layoutSource))
)

// image is an embedded drawing with its size on the page in CSS pixels.
type image struct {
	Source        template.URL
	Width, Height int
}

func (p Page) view() (document, error) {
	d := document{Title: p.Title, Subtitle: p.Subtitle, CSS: template.CSS(styleSheet),
		JS: template.JS(script)}
	used := map[string]bool{}
	for _, s := range p.Sections {
		if used[s.ID] {
			return d, fmt.Errorf("two sections have the ID %q", s.ID)
		}
		used[s.ID] = true
		v := section{ID: s.ID, Title: s.Title}
		for j, it := range s.Items {
			iv, err := it.view()
			if err != nil {
				return d, fmt.Errorf("section %q: %w", s.Title, err)
			}
			iv.ID = fmt.Sprintf("%s-%d", s.ID, j+1)
			v.Items = append(v.Items, iv)
		}
		d.Sections = append(d.Sections, v)
	}
	return d, nil
}

// view embeds the SVG as an image. Unlike an SVG in the page, its IDs and styles cannot clash with
// others, and it cannot run scripts or load files.
func (f Figure) view() (item, error) {
	// CSS has 96 pixels an inch. A paper's 7-point labels are too small on a screen.
	const pixels = 1.3 * 96 / 72
	return item{Kind: "figure", Title: f.Title, Image: image{
		Source: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(f.SVG)),
		Width:  int(math.Round(pixels * f.Width)), Height: int(math.Round(pixels * f.Height)),
	}, Paragraphs: paragraphs(f.Caption), Links: viewLinks(f.Links)}, nil
}

func (t TableItem) view() (item, error) {
	var b strings.Builder
	if err := t.Table.HTML(&b); err != nil {
		return item{}, err
	}
	same := strings.Join(strings.Fields(t.Table.Title), " ") == strings.Join(strings.Fields(t.Title), " ")
	return item{Kind: "table", Title: t.Title, Table: template.HTML(b.String()), Captioned: same,
		Links: viewLinks(t.Links)}, nil
}

func (t Text) view() (item, error) {
	return item{Kind: "text", Title: t.Title, Paragraphs: t.Paragraphs}, nil
}

func (l List) view() (item, error) {
	return item{Kind: "list", Title: l.Title, Paragraphs: l.Entries, Links: viewLinks(l.Links)}, nil
}

func (m Missing) view() (item, error) {
	it := item{Kind: "missing", Title: m.Title}
	for _, r := range m.Results {
		own := result{What: r.What}
		for _, w := range words.FindAllStringSubmatch(strings.TrimSpace(r.Command), -1) {
			own.Command = append(own.Command, word{w[1], w[2]})
		}
		it.Results = append(it.Results, own)
	}
	return it, nil
}

var words = regexp.MustCompile(`(\s*)(\S+)`)

// viewLinks turns the paths of files into URLs. The URL of a path never has a scheme or a host.
func viewLinks(links []Link) (out []link) {
	for _, l := range links {
		out = append(out, link{l.Label, (&url.URL{Path: l.Href}).String()})
	}
	return out
}

// paragraphs splits prose at its empty lines.
func paragraphs(s string) (out []string) {
	for _, p := range emptyLines.Split(s, -1) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

var emptyLines = regexp.MustCompile(`\r?\n[ \t]*\r?\n`)
