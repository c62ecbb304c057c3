package own

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"torchpe/internal/stats"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/table"
)

// confidence is the level of the intervals.
const confidence = 0.95

// subjectErrors returns the test subjects and the error of a group on each, the mean over its
// seeds; nil where they are not known.
func (g group) subjectErrors(level string) (subjects []string, mse []float64, err error) {
	n := 0.0
	for _, m := range g.models {
		p, err := m.Run.Probes()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		names, own, err := p.SubjectErrors(level, m.Index)
		if err != nil {
			return nil, nil, err
		}
		if names == nil || subjects != nil && len(names) != len(subjects) {
			continue
		}
		if subjects == nil {
			subjects, mse = names, make([]float64, len(names))
		}
		for i, v := range own {
			mse[i] += v
		}
		n++
	}
	for i := range mse {
		mse[i] /= n
	}
	return subjects, mse, nil
}

// subjects draws the error on each test subject; the item has no figure where they are not known.
func (s *Study) subjects() (document.Item, error) {
	_, level := s.levels()
	item := document.Item{ID: "subjects", Section: errorsSection, Title: "Error by test subject"}
	panel := figure.Boxes{Title: "Test error of each held-out subject, " + percent(level) + " masked", YLabel: "MSE",
		Dots: "subjects", References: s.references(level)}
	t := table.Table{Title: item.Title, Columns: []table.Column{{Heading: "subject", Name: "subject"}}}
	var intervals []string
	for _, g := range s.groups {
		subjects, mse, err := g.subjectErrors(level)
		if err != nil {
			return item, err
		}
		if subjects == nil || t.Rows != nil && len(subjects) != len(t.Rows) {
			continue
		}
		t.Columns = append(t.Columns, table.Column{Heading: g.label, Decimals: 4,
			Name: fmt.Sprintf("mse_%d", len(t.Columns))})
		if t.Rows == nil {
			for _, subject := range subjects {
				t.Rows = append(t.Rows, table.Row{table.Text(subject)})
			}
		}
		for i, v := range mse {
			t.Rows[i] = append(t.Rows[i], table.Number(v))
		}
		drawn := figure.Group{Label: g.label, Values: mse}
		if interval, err := stats.MeanInterval(mse, confidence); err == nil && !math.IsNaN(interval.Low) {
			drawn.Interval = &figure.Interval{Mean: stats.Mean(mse), Low: interval.Low, High: interval.High}
			intervals = append(intervals, fmt.Sprintf("%s %.3f [%.3f, %.3f]", g.label, drawn.Interval.Mean,
				interval.Low, interval.High))
		}
		panel.Groups = append(panel.Groups, drawn)
	}
	if t.Rows == nil {
		return item, nil
	}
	item.Panels = []figure.Row{{Height: plotHeight, Cells: []figure.Cell{{Panel: panel}}}}
	item.Caption = fmt.Sprintf("Each dot is one of %d subjects that training did not see, the "+
		"mean over seeds. Mean over subjects and its 95 %% interval (Student's t): %s. Dashed: "+
		"errors without a model under the same masks.", len(t.Rows), strings.Join(intervals, "; "))
	item.Tables = []document.Named{{Name: "subjects", Table: t}}
	s.compose(&item)
	return item, nil
}
