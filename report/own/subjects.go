package own

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/table"
)

// confidence is the level of the intervals.
const confidence = 0.95

// subjectErrors returns the test subjects of a group, and its error on each by name, the mean over the
// seeds that had it held out; none where they are not known.
func (g group) subjectErrors(level string) (subjects []string, mse map[string]float64, err error) {
	of := map[string][]float64{}
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
		for i, name := range names {
			if of[name] == nil {
				subjects = append(subjects, name)
			}
			of[name] = append(of[name], own[i])
		}
	}
	mse = map[string]float64{}
	for name, all := range of {
		mse[name] = stats.Mean(all)
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
	of := make([]map[string]float64, len(s.groups))
	var subjects []string
	for i, g := range s.groups {
		own, mse, err := g.subjectErrors(level)
		if err != nil {
			return item, err
		}
		of[i] = mse
		for _, name := range own {
			if !slices.Contains(subjects, name) {
				subjects = append(subjects, name)
				t.Rows = append(t.Rows, table.Row{table.Text(name)})
			}
		}
	}
	for k, g := range s.groups {
		if len(of[k]) == 0 {
			continue
		}
		t.Columns = append(t.Columns, table.Column{Heading: g.label, Decimals: 4,
			Name: fmt.Sprintf("mse_%d", len(t.Columns))})
		var mse []float64
		for i, subject := range subjects {
			v, ok := of[k][subject]
			if !ok {
				t.Rows[i] = append(t.Rows[i], table.Cell{})
				continue
			}
			t.Rows[i], mse = append(t.Rows[i], table.Number(v)), append(mse, v)
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
