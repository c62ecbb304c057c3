package advice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Advice is the answer with the table of errors below it.
type Advice struct {
	Answer
	Errors json.RawMessage `json:"errors"` // the table
	Page   string          `json:"page"`   // index.html
	Notes  []string        `json:"notes"`
	Table  table.Table     `json:"-"`
	Legend string          `json:"-"` // of the table
}

// Write decides the answer, and writes the page with the answer, the table and the curves to dir.
func (s *Study) Write(dir string) (a Advice, err error) {
	if a.Answer, err = s.answer(); err != nil {
		return a, fmt.Errorf("%w%s", err, strings.Join(append([]string{""}, s.Notes...), "; "))
	}
	d, err := document.Open(dir, "Which encoding?")
	if err != nil {
		return a, err
	}
	n := len(s.Candidates[0].Errors)
	d.Subtitle = fmt.Sprintf("%s, %s each, after %s, by torchpe.", wording.Count(len(s.Candidates), "encoding"),
		wording.Count(n, "seed"), wording.Count(int(last(s.X)), s.unit))
	a.Table = s.table()
	a.Legend = fmt.Sprintf("Error: %s; mean ± SD of %s. From, to: the 95 %% interval of the difference from the "+
		"smallest, for all pairs of encodings at once, with the spread of seeds pooled. p: Welch's test of "+
		"only the two. Told apart: the interval excludes 0, and p < .05.", s.measure, wording.Count(n, "seed"))
	var errors bytes.Buffer
	if err := a.Table.JSON(&errors); err != nil {
		return a, err
	}
	a.Errors = errors.Bytes()
	if len(s.baselines) > 0 && s.baselines[0].Y < stats.Mean(s.Candidates[0].final()) {
		a.Text += fmt.Sprintf(" Without a model the error is smaller than with any encoding: %.3g (%s).",
			s.baselines[0].Y, s.baselines[0].Label)
	}
	section := d.Section("Answer")
	section.Items = append(section.Items, page.Text{Paragraphs: []string{a.Text}})
	curves := document.Item{ID: "curves", Section: "Curves", Title: "Held-out error during training",
		Panels: []figure.Row{{Height: 3, Cells: []figure.Cell{{Panel: s.curves()}}}},
		Caption: "Lines are means over seeds, bands reach from the smallest to the largest. Dashed: errors " +
			"without a model.",
		Tables: []document.Named{{Name: "curves", Table: s.numbers()}}}
	curves.Compose(figure.Page{Width: figure.PageWidth})
	for _, item := range []document.Item{{ID: "errors", Section: "Errors", Title: "Held-out error at the end",
		Caption: a.Legend,
		Tables:  []document.Named{{Name: "errors", Table: a.Table}}}, curves} {
		if _, err := d.Add(item); err != nil {
			return a, err
		}
	}
	written, err := d.Finish(s.Notes)
	a.Page, a.Notes = written.Index, written.Notes
	return a, err
}

// table lists the candidates and, below them, the errors without a model.
func (s *Study) table() table.Table {
	t := table.Table{Columns: []table.Column{{Heading: "encoding"}, {Heading: "n"},
		{Heading: "error", Decimals: 4}, {Heading: "above the smallest", Name: "behind", Decimals: 4},
		{Heading: "from", Name: "low", Decimals: 4}, {Heading: "to", Name: "high", Decimals: 4},
		{Heading: "p"}, {Heading: "told apart"}}}
	for i, c := range s.Candidates {
		row := table.Row{table.Text(c.Label), table.Count(len(c.Errors)), table.Mean(c.final()), {}, {}, {}, {}, {}}
		if d := s.differences[i]; i > 0 {
			row[3], row[4], row[5] = table.Number(d.Mean), table.Number(d.Interval.Low), table.Number(d.Interval.High)
			row[6] = table.P(d.P)
			row[7] = table.Text(map[bool]string{true: "yes", false: "no"}[d.Clear])
		}
		t.Rows = append(t.Rows, row)
	}
	for _, b := range s.baselines {
		t.Rows = append(t.Rows, table.Row{table.Text("without a model: " + b.Label), {}, table.Number(b.Y),
			{}, {}, {}, {}, {}})
	}
	return t
}

// curves draws the held-out errors during training.
func (s *Study) curves() figure.Lines {
	l := figure.Lines{XLabel: map[string]string{"step": "Step", "epoch": "Epoch"}[s.unit], YLabel: "Held-out error",
		Band: figure.BandMinMax, References: s.baselines[:min(2, len(s.baselines))]} // zero is far above the rest
	for _, c := range s.Candidates {
		l.Series = append(l.Series, figure.LineSeries{Label: c.Label, X: s.X, Values: c.Errors})
	}
	return l
}

// numbers lists the numbers of the curves.
func (s *Study) numbers() table.Table {
	t := table.Table{Columns: table.Columns("encoding", "seed", s.unit, "error")}
	for _, c := range s.Candidates {
		for k, values := range c.Errors {
			for i, x := range s.X {
				t.Rows = append(t.Rows, table.Row{table.Text(c.Label),
					table.Text(strconv.FormatUint(c.Seeds[k], 10)), table.Count(int(x)), table.Number(values[i])})
			}
		}
	}
	return t
}
