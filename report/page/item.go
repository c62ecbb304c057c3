package page

import (
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

func (f Figure) view() (item, error) {
	if strings.TrimSpace(f.Title) == "" {
		return item{}, errors.New("a figure has no title")
	}
	img, err := inline(f.SVG)
	if err != nil {
		return item{}, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	links, err := viewLinks(f.Links)
	if err != nil {
		return item{}, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	return item{Kind: "figure", Title: f.Title, Image: img, Paragraphs: paragraphs(f.Caption),
		Links: links}, nil
}

func (t TableItem) view() (item, error) {
	if strings.TrimSpace(t.Title) == "" {
		return item{}, errors.New("a table has no title")
	}
	caption, err := checkTable(t.HTML)
	if err != nil {
		return item{}, fmt.Errorf("table %q: %w", t.Title, err)
	}
	links, err := viewLinks(t.Links)
	if err != nil {
		return item{}, fmt.Errorf("table %q: %w", t.Title, err)
	}
	same := strings.Join(strings.Fields(caption), " ") == strings.Join(strings.Fields(t.Title), " ")
	return item{Kind: "table", Title: t.Title, Table: template.HTML(t.HTML), Captioned: same,
		Links: links}, nil
}

func (t Text) view() (item, error) {
	if len(t.Paragraphs) == 0 {
		return item{}, errors.New("a text has no paragraphs")
	}
	return item{Kind: "text", Title: t.Title, Paragraphs: t.Paragraphs}, nil
}

func (l List) view() (item, error) {
	if len(l.Entries) == 0 {
		return item{}, errors.New("a list has no entries")
	}
	links, err := viewLinks(l.Links)
	if err != nil {
		return item{}, fmt.Errorf("list %q: %w", l.Title, err)
	}
	return item{Kind: "list", Title: l.Title, Paragraphs: l.Entries, Links: links}, nil
}

func (m Missing) view() (item, error) {
	if strings.TrimSpace(m.Title) == "" || len(m.Results) == 0 {
		return item{}, fmt.Errorf("missing %q with %d results: give both", m.Title, len(m.Results))
	}
	it := item{Kind: "missing", Title: m.Title}
	for _, r := range m.Results {
		if strings.TrimSpace(r.What) == "" || strings.TrimSpace(r.Command) == "" {
			return item{}, fmt.Errorf("missing %q, command %q: give both", r.What, r.Command)
		}
		own := result{What: r.What}
		for _, w := range words.FindAllStringSubmatch(strings.TrimSpace(r.Command), -1) {
			own.Command = append(own.Command, word{w[1], w[2]})
		}
		it.Results = append(it.Results, own)
	}
	return it, nil
}

var words = regexp.MustCompile(`(\s*)(\S+)`)

func viewLinks(links []Link) (out []link, err error) {
	for _, l := range links {
		if strings.TrimSpace(l.Label) == "" {
			return nil, fmt.Errorf("the link to %q has no label", l.Href)
		}
		href, err := escapeHref(l.Href)
		if err != nil {
			return nil, err
		}
		out = append(out, link{l.Label, href})
	}
	return out, nil
}

// escapeHref returns the URL of a file whose path from the page is href.
func escapeHref(href string) (string, error) {
	first, _, _ := strings.Cut(href, "/")
	switch {
	case href == "" || path.Clean(href) == ".":
		return "", errors.New("a link leads nowhere")
	case path.IsAbs(href), strings.Contains(href, `\`):
		return "", fmt.Errorf("link %q: want a relative path with slashes, so that the folder "+
			"can be moved", href)
	case strings.Contains(first, ":"):
		return "", fmt.Errorf("link %q has a scheme or drive: want a relative path", href)
	case strings.ContainsFunc(href, unicode.IsControl):
		return "", fmt.Errorf("link %q has a control character", href)
	}
	return (&url.URL{Path: href}).EscapedPath(), nil
}
