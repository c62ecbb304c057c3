package paper

import (
	"fmt"
	"regexp"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/item"
)

// draft is an item being made.
type draft struct {
	item.Draft
	study  *Study
	groups []cohort.Group
	texts  map[string]string // sentences of the caption on the panels that are drawn, by name
}

// draft makes an item but for its drawing.
func (s *Study) draft(it spec) (*draft, error) {
	d := &draft{Draft: item.Draft{Item: document.Item{ID: it.id, Section: it.section, Title: it.title},
		Marks: true, Measure: s.value}, study: s, texts: map[string]string{}}
	for _, note := range it.lacks {
		note(d)
	}
	if it.of != nil {
		d.groups = it.of(s)
	}
	if it.of == nil || len(d.groups) > 0 && (it.only == nil || it.only(d)) {
		if err := d.fill(it); err != nil {
			return nil, fmt.Errorf("%s: %w", it.id, err)
		}
	}
	if it.none != nil && d.Rows == nil {
		d.Caption, d.Tables = "", nil
		it.none(d)
	}
	return d, nil
}

// fill adds tables, panels and caption.
func (d *draft) fill(it spec) error {
	for _, add := range it.tables {
		add(d)
	}
	for _, r := range it.rows {
		var panels []figure.Panel
		for _, draw := range r.panels {
			drawn, err := draw(d)
			if err != nil {
				return err
			}
			panels = append(panels, drawn...)
		}
		if r.most > 0 {
			d.Grid(r.height, r.most, panels)
		} else {
			d.Row(r.height, panels...)
		}
	}
	d.Caption = it.caption
	if it.make != nil {
		if err := it.make(d); err != nil {
			return err
		}
	}
	d.Caption = strings.TrimSpace(d.expand(d.Caption))
	return nil
}

var inBraces = regexp.MustCompile(`\{[^{}]+\}`)

// expand puts texts in place of their names in braces: words, or texts of panels, which are empty where the
// panel is not drawn.
func (d *draft) expand(caption string) string {
	return inBraces.ReplaceAllStringFunc(caption, func(braced string) string {
		name := braced[1 : len(braced)-1]
		if word := words[name]; word != nil {
			return word(d)
		}
		return d.texts[name]
	})
}

// items makes all items that the study can feed.
func (s *Study) items() (out []document.Item, err error) {
	for _, it := range specs() {
		d, err := s.draft(it)
		if err != nil {
			return nil, err
		}
		out = append(out, d.Finish())
	}
	return out, nil
}
