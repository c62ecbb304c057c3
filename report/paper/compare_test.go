package paper

import (
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/figure"
)

// sheet holds what a CSV must say: its columns, then rows of texts, whole numbers and numbers. NaN and
// nil are empty cells.
type sheet [][]any

// rough is a number that a difference of large ones leaves with fewer digits.
type rough float64

// proportional is a number that the test knows to a millionth of it.
type proportional float64

// columns starts a sheet.
func columns(names ...any) sheet { return sheet{names} }

// csvOf returns the cells of a table's CSV.
func (w *world) csvOf(t *testing.T, name string) [][]string {
	t.Helper()
	for _, d := range w.drafts {
		for _, have := range d.Tables {
			if have.Name != name {
				continue
			}
			text := expect.Written(have.CSV)
			return expect.Must(csv.NewReader(strings.NewReader(text)).ReadAll())
		}
	}
	t.Fatalf("no table %s", name)
	return nil
}

// checkCSV compares a CSV with what it must say, cell by cell.
func (w *world) checkCSV(t *testing.T, name string, want sheet) {
	t.Helper()
	got := w.csvOf(t, name)
	if len(got) != len(want) {
		t.Fatalf("%s.csv has %d rows, want %d", name, len(got), len(want))
	}
	bad := 0
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s.csv, row %d: %q, want %v", name, i, got[i], want[i])
		}
		for j, cell := range want[i] {
			if !cellIs(got[i][j], cell) && bad < 10 {
				bad++
				t.Errorf("%s.csv, row %d (%s), %s: %s, want %v", name, i, got[i][0], got[0][j],
					got[i][j], cell)
			}
		}
	}
}

// cellIs says whether the text of a cell is a value.
func cellIs(text string, want any) bool {
	switch v := want.(type) {
	case nil:
		return text == ""
	case string:
		return text == v
	case int:
		return text == strconv.Itoa(v)
	case rough:
		got, err := strconv.ParseFloat(text, 64)
		return err == nil && math.Abs(got-float64(v)) < 1e-6 || math.IsNaN(float64(v)) && text == ""
	case proportional:
		got, err := strconv.ParseFloat(text, 64)
		return err == nil && math.Abs(got-float64(v)) <= 1e-6*math.Abs(float64(v))
	case float64:
		got, err := strconv.ParseFloat(text, 64)
		return err == nil && close9(got, v) || math.IsNaN(v) && text == ""
	}
	panic(fmt.Sprintf("a cell of type %T", want))
}

// checkCaption sees that a caption has all fragments, and no numbers beside those in them, in known
// texts, which it may lack, in names of encodings, and in the sentences that TestFitNote holds.
func (w *world) checkCaption(t *testing.T, id string, fragments []string, known ...string) {
	t.Helper()
	rest := w.drafts[id].Caption
	for _, f := range fragments {
		expect.Contains(t, rest, f)
		rest = strings.Replace(rest, f, "", 1)
	}
	fitted := w.study.fitNote(cohort.ModelsOf(w.drafts[id].Groups))
	for _, k := range append([]string{fitted, "2d-fixed", "1d-fixed", "E₀"}, known...) {
		rest = strings.ReplaceAll(rest, k, "")
	}
	if regexp.MustCompile(`\d`).MatchString(rest) {
		t.Errorf("%s: numbers of which nothing is known in %q", id, rest)
	}
}

// drawn holds what a panel of any kind shows.
type drawn struct {
	title, y string // of the panel and its y axis, or its colour bar
	marks    []mark
	lines    []figure.Reference
	note     string
}

// mark is a box, a line, a bar, a point or the cells of a matrix.
type mark struct {
	label, colour string
	x             []float64
	values        [][]float64 // [member][x]
	hollow        []bool
	beside        []float64
	groups        []int
}

// show returns what a panel shows.
func show(p figure.Panel) drawn {
	switch p := p.(type) {
	case figure.Boxes:
		d := drawn{title: p.Title, y: p.YLabel, lines: p.References, note: strings.Join(p.Beside,
			", ")}
		for _, g := range p.Groups {
			d.marks = append(d.marks, mark{label: g.Label, colour: g.ColorOf,
				values: [][]float64{g.Values},
				hollow: g.Hollow, beside: g.Beside})
		}
		return d
	case figure.Lines:
		d := drawn{title: p.Title, y: p.YLabel, lines: p.References}
		for _, s := range p.Series {
			d.marks = append(d.marks, mark{label: s.Label, colour: s.ColorOf, x: s.X,
				values: s.Values})
		}
		return d
	case figure.Scatter:
		d := drawn{title: p.Title, y: p.XLabel + ", " + p.YLabel, note: p.Note + "; " +
			p.Annotation}
		for _, x := range p.Points {
			d.marks = append(d.marks, mark{label: x.Label, colour: x.ColorOf,
				x:      []float64{x.X, x.XErr},
				values: [][]float64{{x.Y, x.YErr}}})
		}
		return d
	case figure.Matrix:
		return drawn{title: p.Title, y: p.BarLabel, note: p.Note, marks: []mark{{
			label:  strings.Join(p.RowLabels, " ") + "|" + strings.Join(p.ColumnLabels, " "),
			x:      []float64{float64(p.Rows), float64(p.Columns)},
			values: [][]float64{p.Values}, groups: p.Groups}}}
	case figure.Map:
		d := drawn{title: p.Title, y: p.XLabel + ", " + p.YLabel, note: p.Note}
		for i, at := range p.XY {
			d.marks = append(d.marks, mark{x: at[:1], values: [][]float64{at[1:]},
				groups: p.Groups[i : i+1]})
		}
		return d
	case figure.Strip:
		return drawn{title: p.Title, marks: []mark{{groups: p.Groups}}}
	case figure.Schematic:
		return drawn{title: p.Title}
	case figure.Puzzle:
		m := mark{values: [][]float64{{float64(p.Answer)}}}
		for _, cell := range p.Cells {
			m.x = append(m.x, float64(cell))
		}
		return drawn{title: p.Title, marks: []mark{m}}
	}
	panic(fmt.Sprintf("a panel of type %T", p))
}

// panelsOf returns what the panels of an item show, from left to right and top to bottom.
func (w *world) panelsOf(id string) (out []drawn) {
	for _, row := range w.drafts[id].Panels {
		for _, cell := range row.Cells {
			out = append(out, show(cell.Panel))
		}
	}
	return out
}

// checkPanels compares an item's panels with what they must show.
func (w *world) checkPanels(t *testing.T, id string, want ...drawn) {
	t.Helper()
	got := w.panelsOf(id)
	if len(got) != len(want) {
		t.Errorf("%s has %d panels, want %d", id, len(got), len(want))
		return
	}
	for i := range want {
		g, x := got[i], want[i]
		if g.title != x.title || g.y != x.y || g.note != x.note || !reflect.DeepEqual(g.lines,
			x.lines) {
			t.Errorf("%s: panel %d is %q of %q with lines %v, note %q,\nwant %q of %q with lines "+
				"%v, note %q", id, i,
				g.title, g.y, g.lines, g.note, x.title, x.y, x.lines, x.note)
		}
		if len(g.marks) != len(x.marks) {
			t.Errorf("%s: panel %s shows %d marks, want %d", id, x.title, len(g.marks),
				len(x.marks))
			continue
		}
		for k := range x.marks {
			if !x.marks[k].equals(g.marks[k]) {
				t.Errorf("%s: panel %s, mark %d:\n%+v, want\n%+v", id, x.title, k, g.marks[k],
					x.marks[k])
				break
			}
		}
	}
}

func (m mark) equals(o mark) bool {
	return m.label == o.label && m.colour == o.colour && floatsNear(m.x, o.x) &&
		floatsNear(m.beside, o.beside) &&
		slices.EqualFunc(m.values, o.values, floatsNear) && slices.Equal(m.hollow, o.hollow) &&
		slices.Equal(m.groups, o.groups)
}

// floatsNear says whether numbers are the same to 1e-6; NaN is NaN's.
func floatsNear(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(v, w float64) bool {
		return math.Abs(v-w) < 1e-6 || math.IsNaN(v) && math.IsNaN(w)
	})
}
