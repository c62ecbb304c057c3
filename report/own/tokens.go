package own

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"unicode/utf8"

	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
)

// tokens holds names, modules and places of a run's tokens.
type tokens struct {
	names   []string // their places where they have none
	labels  []int    // modules; nil where none are known
	modules []string // names of these; may be empty
	order   []int    // by module, else as they are
}

func tokensOf(p *runs.Probes, n int) (tokens, error) {
	t := tokens{names: p.TokenNames(n)}
	for i := range n {
		if len(t.names) <= i {
			t.names = append(t.names, fmt.Sprint(i))
		}
		t.order = append(t.order, i)
	}
	values, ok, err := p.Shared("modules")
	if err != nil || !ok || len(values) != n {
		return t, err
	}
	t.modules = p.Text("module_names")
	count := 0
	for _, v := range values {
		t.labels = append(t.labels, int(v))
		count = max(count, int(v)+1)
	}
	t.modules = t.modules[:min(count, len(t.modules))] // of what has tokens, as panels colour them
	slices.SortStableFunc(t.order, func(a, b int) int { return cmp.Compare(t.labels[a], t.labels[b]) })
	return t, nil
}

// matrix returns a panel of values [n,n] between tokens, in their order.
func (t tokens) matrix(values []float64) figure.Matrix {
	n := len(t.names)
	m := figure.Matrix{Rows: n, Columns: n, GroupNames: t.modules, HideNames: true}
	for _, i := range t.order {
		for _, j := range t.order {
			m.Values = append(m.Values, values[i*n+j])
		}
		m.RowLabels = append(m.RowLabels, t.names[i])
		if t.labels != nil {
			m.Groups = append(m.Groups, t.labels[i])
		}
	}
	if t.labels == nil {
		m.GroupNames = nil
	}
	return m
}

// numbers returns values [n,n] between tokens as a table.
func (t tokens) numbers(values []float64) table.Table {
	out := table.Table{Columns: []table.Column{{Heading: "token", Name: "token"}}}
	n := len(t.names)
	for i, name := range t.names {
		out.Columns = append(out.Columns, table.Column{Heading: name, Name: fmt.Sprintf("token_%d", i), Decimals: 4})
		row := table.Row{table.Text(name)}
		for _, v := range values[i*n : (i+1)*n] {
			row = append(row, table.Number(v))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// learned returns what the group's first model learned in its first block, with its tokens. The error
// matches fs.ErrNotExist where its run kept no probes, and runs.ErrNoTable where it has no table.
func (g group) learned() (p *runs.Probes, x runs.Table, t tokens, err error) {
	if p, err = g.models[0].Run.Probes(); err == nil {
		x, err = p.Table(g.models[0].Index, 0)
	}
	if err == nil {
		t, err = tokensOf(p, x.Tokens)
	}
	return p, x, t, err
}

// mostNamed is the largest number of tokens whose names stand beside their dots.
const mostNamed = 64

// positions draws maps and similarities of the learned tables: of the first seed of each group.
func (s *Study) positions() ([]document.Item, error) {
	maps := document.Item{ID: "maps", Section: positionsSection, Title: "Maps of the learned positions"}
	alike := document.Item{ID: "similarity", Section: positionsSection, Title: "Similarity of the learned positions"}
	coordinates := table.Table{Columns: []table.Column{{Heading: "encoding", Name: "encoding"},
		{Heading: "token", Name: "token"}, {Heading: "module", Name: "module"},
		{Heading: "x", Name: "x", Decimals: 4}, {Heading: "y", Name: "y", Decimals: 4}}}
	caption := ""
	var mapPanels, matrixPanels []figure.Panel
	var without []string
	for k, g := range s.groups {
		p, x, t, err := g.learned()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.note("%s: the run kept no probes: no map", g.label)
			continue
		case errors.Is(err, runs.ErrNoTable):
			without = append(without, g.label)
			continue
		case err != nil:
			return nil, err
		}
		maps.Groups, alike.Groups, caption = t.modules, t.modules, t.caption()
		if k == 0 || mapPanels == nil {
			if given := givenMap(p, t); given != nil {
				mapPanels = append(mapPanels, given)
			}
		}
		if panel, ok := t.mapOf(x, g.label, &coordinates); ok {
			mapPanels = append(mapPanels, panel)
		}
		cosine, err := x.Cosines()
		if err != nil {
			return nil, err
		}
		panel := t.matrix(cosine)
		panel.Title, panel.Scale, panel.BarLabel, panel.Note = g.label, figure.Diverging, "Cosine", "n = 1 model"
		panel.Min, panel.Max = offDiagonal(panel.Values, x.Tokens)
		matrixPanels = append(matrixPanels, panel)
		alike.Tables = append(alike.Tables, document.Named{Name: fmt.Sprintf("similarity_%d", len(matrixPanels)),
			Table: t.numbers(cosine)})
	}
	if without != nil {
		s.note("No table of positions, and so no map: %s", wording.List(12, without))
	}
	if mapPanels == nil {
		return nil, nil
	}
	maps.Panels, maps.Tables = grid(mapPanels), []document.Named{{Name: "maps", Table: coordinates}}
	maps.Caption = "The first two principal axes of the learned positions (first block, first seed), with the share " +
		"of variance that each explains; dots are tokens, coloured by module where modules are known." + caption
	alike.Panels = grid(matrixPanels)
	alike.Caption = "Cosine similarity of the positions of two tokens (first block, first seed), tokens ordered by " +
		"module where modules are known. The colours span the values off the diagonal, which is 1." + caption
	s.compose(&maps)
	s.compose(&alike)
	return []document.Item{maps, alike}, nil
}

// caption says what figures show of the tokens' names and modules.
func (t tokens) caption() (text string) {
	const short = 12
	long := func(name string) bool { return utf8.RuneCountInString(name) > short }
	if len(t.modules) > 0 {
		text = " Colours below: the modules."
	}
	if slices.ContainsFunc(t.names, long) || slices.ContainsFunc(t.modules, long) {
		text += " Long names are shortened in the figure; its CSV files have them whole."
	}
	return text
}

// offDiagonal returns colours' limits around 0 that hold all entries but those of the diagonal.
func offDiagonal(values []float64, n int) (low, high float64) {
	most := 0.0
	for i, v := range values {
		if i/n != i%n && !math.IsNaN(v) {
			most = max(most, math.Abs(v))
		}
	}
	if most == 0 {
		most = 1
	}
	return -most, most
}

// givenMap draws where a file places the tokens; nil where none does in a plane.
func givenMap(p *runs.Probes, t tokens) figure.Panel {
	points := p.TokenPoints(len(t.names))
	if points == nil || len(points[0]) != 2 {
		return nil
	}
	panel := figure.Map{Title: "As given", Groups: t.labels, HideNames: true}
	for _, at := range points { // rows count downwards, columns to the right
		panel.XY = append(panel.XY, [2]float64{at[1], -at[0]})
	}
	t.label(&panel)
	return panel
}

// label adds names and modules to a map.
func (t tokens) label(panel *figure.Map) {
	if t.labels != nil {
		panel.GroupNames = t.modules
	}
	if len(t.names) <= mostNamed {
		panel.Labels = t.names
	}
}

// mapOf draws a table along its first two principal axes; not ok where all its rows are equal.
func (t tokens) mapOf(x runs.Table, label string, into *table.Table) (figure.Map, bool) {
	at, explained, err := metrics.PCA(x.Values, x.Tokens, x.Dim, 2)
	if err != nil {
		return figure.Map{}, false
	}
	axis := func(k int) string { return fmt.Sprintf("Axis %d (%.0f %%)", k+1, 100*explained[k]) }
	panel := figure.Map{Title: label, XLabel: axis(0), YLabel: axis(1), Groups: t.labels,
		HideNames: true, Note: "n = 1 model"}
	for i, name := range t.names {
		panel.XY = append(panel.XY, [2]float64{at[2*i], at[2*i+1]})
		module := table.Cell{}
		if t.labels != nil {
			module = table.Text(fmt.Sprint(t.labels[i]))
			if t.labels[i] < len(t.modules) {
				module = table.Text(t.modules[t.labels[i]])
			}
		}
		into.Rows = append(into.Rows, table.Row{table.Text(label), table.Text(name), module,
			table.Number(at[2*i]), table.Number(at[2*i+1])})
	}
	t.label(&panel)
	return panel, true
}

// attention draws the mean attention between tokens, a row of panels a group.
func (s *Study) attention() (document.Item, error) {
	item := document.Item{ID: "attention", Section: attentionSection, Title: "Attention between tokens"}
	caption := ""
	for _, g := range s.groups {
		m := g.models[0]
		p, err := m.Run.Probes()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return item, err
		}
		a, err := p.Attention(m.Index)
		if err != nil {
			return item, err
		}
		t, err := tokensOf(p, a.Tokens)
		if err != nil {
			return item, err
		}
		item.Groups, caption = t.modules, t.caption()
		var panels []figure.Panel
		for layer, values := range a.Layers {
			mean := make([]float64, a.Tokens*a.Tokens)
			for i, v := range values {
				mean[i%len(mean)] += v / float64(a.Examples*a.Heads)
			}
			panel := t.matrix(mean)
			panel.Title, panel.BarLabel = fmt.Sprintf("%s, block %d", g.label, layer+1), "Attention"
			panel.Max, panel.Note = slices.Max(mean), "n = 1 model"
			panels = append(panels, panel)
			item.Tables = append(item.Tables, document.Named{Table: t.numbers(mean),
				Name: fmt.Sprintf("attention_%d_block%d", len(item.Panels)+1, layer+1)})
		}
		item.Panels = append(item.Panels, grid(panels)...)
	}
	if item.Panels == nil {
		return item, nil
	}
	item.Caption = "How much the token of a row attends to that of a column: the mean over heads and test samples, " +
		"first seed, tokens ordered by module where modules are known." + caption
	s.compose(&item)
	return item, nil
}
