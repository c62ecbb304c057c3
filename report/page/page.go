// Package page writes a report as one self-contained HTML page, which needs no network, server or
// JavaScript.
//
// A Page has sections, and a section has items: figures, tables, texts, lists, and missing results with
// the commands that produce them. Figures are embedded. Links are relative and lead to files beside the
// page. Texts may contain any characters. The same page always gives the same bytes. A page with an
// error (two sections with one ID, a link to another host) is not written.
//
// Explorer is a separate page for exploring the learned positions of tokens.
package page

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"torchpe/internal/atomicfile"
)

// Page is a report.
type Page struct {
	Title    string
	Subtitle string // may be empty
	Sections []Section
}

// Section is a part of a page. Its ID consists of lower-case letters, digits and -. Links to #id lead to
// the section, and links to #id-n to its item n.
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
	Title   string
	Caption string // below the figure, with empty lines between paragraphs; may be empty
	SVG     []byte
	Links   []Link
}

// TableItem is a table in the HTML of torchpe/report/table. Its title is shown above it and in the
// navigation. A caption equal to the title is not repeated.
type TableItem struct {
	Title, HTML string
	Links       []Link
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

// write checks p and writes it to w.
func (p Page) write(w io.Writer) error {
	v, err := p.view()
	if err != nil {
		return fmt.Errorf("page %q: %w", p.Title, err)
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, v); err != nil {
		return fmt.Errorf("page %q: %w", p.Title, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("page %q: %w", p.Title, err)
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

var sectionID = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (p Page) view() (document, error) {
	d := document{Title: p.Title, Subtitle: p.Subtitle, CSS: template.CSS(styleSheet),
		JS: template.JS(script)}
	if strings.TrimSpace(p.Title) == "" {
		return d, errors.New("no title")
	}
	used := map[string]bool{}
	take := func(id string) error {
		if used[id] {
			return fmt.Errorf("two parts have the ID %q", id)
		}
		used[id] = true
		return nil
	}
	for i, s := range p.Sections {
		v := section{ID: s.ID, Title: s.Title}
		if !sectionID.MatchString(s.ID) {
			return d, fmt.Errorf("section %d (%s): ID %q: want lower-case letters, digits and -",
				i+1, s.Title, s.ID)
		}
		if strings.TrimSpace(s.Title) == "" {
			return d, fmt.Errorf("section %q has no title", s.ID)
		}
		if err := take(s.ID); err != nil {
			return d, err
		}
		for j, it := range s.Items {
			if it == nil {
				return d, fmt.Errorf("section %q, item %d is nil", s.ID, j+1)
			}
			iv, err := it.view()
			if err != nil {
				return d, fmt.Errorf("section %q, item %d: %w", s.ID, j+1, err)
			}
			iv.ID = fmt.Sprintf("%s-%d", s.ID, j+1)
			if err := take(iv.ID); err != nil {
				return d, err
			}
			v.Items = append(v.Items, iv)
		}
		d.Sections = append(d.Sections, v)
	}
	return d, nil
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
