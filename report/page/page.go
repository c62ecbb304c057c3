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
	"slices"
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

// Item is a Figure, TableItem, Text, List or Missing. Its kind is the class of its element.
type Item interface{ kind() string }

func (Figure) kind() string    { return "figure" }
func (TableItem) kind() string { return "table" }
func (Text) kind() string      { return "text" }
func (List) kind() string      { return "list" }
func (Missing) kind() string   { return "missing" }

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

// Result is a missing result and the command that produces it, which may be empty.
type Result struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// Link leads to a file beside the page. Href is its path relative to the page, unescaped and with slashes.
type Link struct {
	Label, Href string
}

// write writes p to w.
func (p Page) write(w io.Writer) error {
	return render(w, layout, struct {
		Page
		CSS template.CSS
		JS  template.JS
	}{p, template.CSS(styleSheet), template.JS(script)})
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

var (
	//go:embed page.html
	layoutSource string
	//go:embed page.css
	styleSheet string
	//go:embed page.js
	script string

	layout = template.Must(template.New("page").Funcs(template.FuncMap{
		"kind": Item.kind, "next": func(i int) int { return i + 1 }, "pixels": pixels, "source": source,
		"paragraphs": paragraphs, "table": element, "captioned": captioned, "words": words, "href": href,
	}).Parse(layoutSource))
)

// pixels returns a length on the page. CSS has 96 pixels an inch. A paper's 7-point labels are too small
// on a screen, so figures are shown 1.3 times as large.
func pixels(points float64) int { return int(math.Round(1.3 * 96 / 72 * points)) }

// source embeds an SVG as an image. Unlike an SVG in the page, its IDs and styles cannot clash with
// others, and it cannot run scripts or load files.
func source(svg []byte) template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg))
}

// element returns a table as an element.
func element(t table.Table) (template.HTML, error) {
	var b strings.Builder
	err := t.HTML(&b)
	return template.HTML(b.String()), err
}

// captioned reports whether the table's caption repeats the title of its item.
func captioned(t TableItem) bool {
	return slices.Equal(strings.Fields(t.Table.Title), strings.Fields(t.Title))
}

// words splits a command. Each word is its second part, after the space before it.
func words(command string) [][]string {
	return word.FindAllStringSubmatch(strings.TrimSpace(command), -1)
}

var word = regexp.MustCompile(`(\s*)(\S+)`)

// href returns the URL of a path, which never has a scheme or a host.
func href(path string) string { return (&url.URL{Path: path}).String() }

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
