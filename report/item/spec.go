package item

import (
	"fmt"
	"regexp"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
)

// Spec is an item of a report R as data, made in its drafts D. An item without groups has no figure or table,
// only a list of what it lacks.
type Spec[R any, D Drafted] struct {
	ID, Section, Title string

	Of      func(R) []cohort.Group // its groups; nil if it needs none
	Lacks   []func(D)              // note missing results
	Only    func(D) bool           // whether there is something to show; nil for groups of any kind
	Rows    []Row[D]
	Tables  []func(D)
	Caption string  // names in braces stand for words, such as {epochs}, or for texts of panels
	None    func(D) // notes what to make if the item has no panels; nil for nothing

	// Make adds what does not fit rows and tables; nil for nothing. It is always called for an item without
	// groups.
	Make func(D) error
}

// Row is a row of panels, or several rows.
type Row[D Drafted] struct {
	Height float64 // in inches
	Most   int     // panels per row, in rows of nearly the same length; 0: all in one row
	Panels []Panel[D]
}

// Panel draws panels of a draft.
type Panel[D Drafted] func(D) ([]figure.Panel, error)

// Words maps names in braces in captions to their texts.
type Words[D Drafted] map[string]func(D) string

// Drafted is a draft of a report, which embeds a Draft.
type Drafted interface{ base() *Draft }

func (d *Draft) base() *Draft { return d }

// Fill makes the item of a report in a draft, without drawing it.
func (it Spec[R, D]) Fill(r R, in D, words Words[D]) error {
	d := in.base()
	d.ID, d.Section, d.Title, d.Texts = it.ID, it.Section, it.Title, map[string]string{}
	for _, note := range it.Lacks {
		note(in)
	}
	if it.Of != nil {
		d.Groups = it.Of(r)
	}
	if it.Of == nil || len(d.Groups) > 0 && (it.Only == nil || it.Only(in)) {
		if err := it.show(in, words); err != nil {
			return fmt.Errorf("%s: %w", it.ID, err)
		}
	}
	if it.None != nil && d.Panels == nil {
		d.Caption, d.Tables = "", nil
		it.None(in)
	}
	return nil
}

// show adds tables, panels and caption.
func (it Spec[R, D]) show(in D, words Words[D]) error {
	d := in.base()
	for _, add := range it.Tables {
		add(in)
	}
	for _, r := range it.Rows {
		var panels []figure.Panel
		for _, draw := range r.Panels {
			drawn, err := draw(in)
			if err != nil {
				return err
			}
			panels = append(panels, drawn...)
		}
		if r.Most > 0 {
			d.Grid(r.Height, r.Most, panels)
		} else {
			d.Row(r.Height, panels...)
		}
	}
	d.Caption = it.Caption
	if it.Make != nil {
		if err := it.Make(in); err != nil {
			return err
		}
	}
	d.Caption = strings.TrimSpace(inBraces.ReplaceAllStringFunc(d.Caption, func(braced string) string {
		name := braced[1 : len(braced)-1]
		if word := words[name]; word != nil {
			return word(in)
		}
		return d.Texts[name] // empty if the panel is not drawn
	}))
	return nil
}

var inBraces = regexp.MustCompile(`\{[^{}]+\}`)

// Made is an item that was added to a document, with the names of its files.
type Made struct {
	document.Item
	Files []string
}

// Add makes the items of a report, each in its own draft, and adds them to a document.
func Add[R any, D Drafted](to *document.Document, specs []Spec[R, D],
	draft func(Spec[R, D]) (D, error)) (all []Made, err error) {
	for _, it := range specs {
		d, err := draft(it)
		if err != nil {
			return nil, err
		}
		made := Made{Item: d.base().Finish()}
		if made.Files, err = to.Add(made.Item); err != nil {
			return nil, fmt.Errorf("%s: %w", it.ID, err)
		}
		all = append(all, made)
	}
	return all, nil
}
