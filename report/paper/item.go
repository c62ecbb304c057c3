package paper

import (
	"fmt"

	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// The sections of a report.
const (
	puzzles   = "Latin-square puzzles"
	variants  = "Variants on puzzles"
	masked    = "Masked prediction"
	beyond    = "Beyond the paper"
	summaries = "Summary"
)

// maker makes an item of what a study has.
type maker struct {
	id, section, title string
	make               func(*Study, *draft) error
}

// makers lists all items in their order.
func makers() []maker {
	return []maker{
		{"summary", summaries, "What the paper says, and what these runs say", (*Study).summary},
		{"fig1", puzzles, "Figure 1: the task and its true positions", (*Study).fig1},
		{"fig2", puzzles, "Figure 2: learning and generalisation by initial σ", (*Study).fig2},
		{"fig3", puzzles, "Figure 3: attention and encodings near the ground truth", (*Study).fig3},
		{"table1", puzzles, "Table 1: accuracy of common encodings", (*Study).table1},
		{"table_a2", puzzles, "Table A2: accuracy by σ", (*Study).tableA2},
		{"table_a3", puzzles, "Table A3: attention near the ground truth by σ", (*Study).tableA3},
		{"fig_a10", puzzles, "Figure A10 (A9 in the first version): common encodings", (*Study).figA10},
		{"fig_a9", puzzles,
			"Figure A9 (A8 in the first version): attention by Jensen-Shannon divergence", (*Study).figA9},
		{"fig_a11", puzzles, "Figure A11 (A10 in the first version): robustness to noise", (*Study).figA11},
		{"fig_a7", variants, "Figure A7 (A6 in the first version): optimizer", (*Study).figA7},
		{"table_a4", variants, "Table A4: Adam and SGD", (*Study).tableA4},
		{"fig_a8", variants, "Figure A8 (A7 in the first version): weight decay", (*Study).figA8},
		{"table_a5", variants, "Table A5: weight decay, by σ", (*Study).tableA5},
		{"table_a6", variants, "Table A6: weight decay, common encodings", (*Study).tableA6},
		{"fig_a15", variants, "Figure A15 (A14 in the first version): several heads", (*Study).figA15},
		{"fig4", masked, "Figure 4 (A15 in the first version): simulated network", (*Study).fig4},
		{"nmar_error", masked, "Simulated network: test errors beside the printed one", (*Study).nmarError},
		{"fig5", masked, "Figure 5 (4 in the first version): human fMRI", (*Study).fig5},
		{"fig6", masked, "Figure 6 (5 in the first version): networks in learned encodings", (*Study).fig6},
		{"fig_a12", masked, "Figure A12 (A11 in the first version): training masks of 15 %",
			func(s *Study, d *draft) error { return s.maskLevel(d, "figA12", 0.15) }},
		{"fig_a13", masked, "Figure A13 (A12 in the first version): training masks of 75 %",
			func(s *Study, d *draft) error { return s.maskLevel(d, "figA13", 0.75) }},
		{"fig_a14", masked, "Figure A14 (A13 in the first version): training masks of 90 %",
			func(s *Study, d *draft) error { return s.maskLevel(d, "figA14", 0.9) }},
		{"equal_training", beyond, "Generalisation at equal training accuracy", (*Study).equalTraining},
		{"lazy", beyond, "How far learned encodings move: lazy and rich training", (*Study).lazy},
		{"ablation", beyond, "Which undocumented choice carries the effect", (*Study).ablation},
		{"iid_ood", beyond, "Held-out puzzles of the same kind, and of another", (*Study).iidOOD},
		{"conditions", beyond, "Accuracy by what a puzzle asks for", (*Study).conditions},
		{"maps", beyond, "Maps of the learned positions", (*Study).maps},
		{"course", beyond, "The course of learned encodings over training", (*Study).course},
		{"toeplitz", beyond, "Toeplitzness and effective rank", (*Study).toeplitz},
	}
}

// draft is an item being made.
type draft struct {
	document.Item
	page figure.Page
}

// Heights in inches of rows of square panels.
const (
	mapHeight   = 1.5 // four in a row
	plotHeight  = 2.2 // of an ordinary row
	planeHeight = 2.0 // maps of tokens
)

// row adds a line of panels; nil panels are left out, and a line of none is no line.
func (d *draft) row(height float64, panels ...figure.Panel) {
	var cells []figure.Cell
	for _, p := range panels {
		if p != nil {
			cells = append(cells, figure.Cell{Panel: p})
		}
	}
	if cells != nil {
		d.page.Rows = append(d.page.Rows, figure.Row{Height: height, Cells: cells})
	}
}

// grid adds panels in rows of the same length, or nearly, of at most most.
func (d *draft) grid(height float64, most int, panels []figure.Panel) {
	rows := (len(panels) + most - 1) / most
	for i := range rows {
		d.row(height, panels[i*len(panels)/rows:(i+1)*len(panels)/rows]...)
	}
}

// missing notes what cannot be shown and how to make it.
func (d *draft) missing(command, format string, args ...any) {
	m := page.Result{What: fmt.Sprintf(format, args...), Command: command}
	for _, other := range d.Missing {
		if other == m {
			return
		}
	}
	d.Missing = append(d.Missing, m)
}

// table adds a table under the item's own name, or that with a suffix.
func (d *draft) table(suffix string, t table.Table) {
	d.Tables = append(d.Tables, document.Named{Name: d.ID + suffix, Table: t})
}

// items makes everything that the study can feed.
func (s *Study) items() ([]document.Item, error) {
	var out []document.Item
	for _, m := range makers() {
		d := &draft{Item: document.Item{ID: m.id, Section: m.section, Title: m.title},
			page: figure.Page{Width: figure.PageWidth}}
		if err := m.make(s, d); err != nil {
			return nil, fmt.Errorf("%s: %w", m.id, err)
		}
		if len(d.page.Rows) > 0 {
			d.Panels = d.page.Rows
			d.Compose(d.page)
		}
		out = append(out, d.Item)
	}
	return out, nil
}
