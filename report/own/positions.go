package own

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"torchpe/data/positions"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// tokenMaps draws the places of the tokens according to a file, then the learned tables along two axes.
func tokenMaps(d *draft) ([]figure.Panel, error) {
	t := table.Table{Columns: table.Columns("encoding", "token", "module", "x", "y")}
	add := func(encoding string, tokens item.Tokens, xy [][2]float64) {
		for i, at := range xy {
			t.Rows = append(t.Rows, table.Row{table.Text(encoding), table.Text(tokens.Names[i]),
				table.Text(tokens.Module(i)), table.Number(at[0]), table.Number(at[1])})
		}
	}
	var panels []figure.Panel
	for _, l := range d.learned {
		d.describe(l.tokens)
		if given, ok := l.givenMap(); panels == nil && ok {
			panels = append(panels, given)
			add("as given", l.tokens, given.XY)
		}
		panel, ok := l.drawMap()
		if !ok {
			continue
		}
		panels = append(panels, panel)
		add(l.label, l.tokens, panel.XY)
	}
	if panels != nil {
		d.AddTable("", t)
	}
	return panels, nil
}

// givenMap draws the places of the tokens according to a file; ok is false if there is none in a plane.
func (l learned) givenMap() (panel figure.Map, ok bool) {
	points := l.probes.TokenPoints(len(l.tokens.Names))
	if points == nil || len(points[0]) != 2 {
		return panel, false
	}
	panel.Title = "As given"
	up := 1.
	given := l.model.Run.Config.Positions
	if isStated := given != nil && given.As == string(positions.Coordinates); !isStated && arePlaces(points) {
		up = -1 // rows count downwards
	}
	for _, at := range points { // the slowest axis comes first
		panel.XY = append(panel.XY, [2]float64{at[1], up * at[0]})
	}
	return l.labelled(panel), true
}

// arePlaces reports whether points are places on a grid, that is whole numbers from 0, and not coordinates.
func arePlaces(points [][]float64) bool {
	return !slices.ContainsFunc(slices.Concat(points...), func(v float64) bool { return v < 0 || v != math.Trunc(v) })
}

// drawMap draws the table along its first two principal axes; ok is false if all its rows are equal.
func (l learned) drawMap() (figure.Map, bool) {
	panel, err := item.Plane(l.label, l.table, "Axis")
	return l.labelled(panel), err == nil
}

// labelled adds names and modules to a map. It leaves out names if there are too many for the space beside the
// dots.
func (l learned) labelled(panel figure.Map) figure.Map {
	const mostNamed = 64
	panel.Groups, panel.HideNames = l.tokens.Labels, true
	if l.tokens.Labels != nil {
		panel.GroupNames = l.tokens.Modules
	}
	if len(l.tokens.Names) <= mostNamed {
		panel.Labels = l.tokens.Names
	}
	return panel
}

// similarity draws the similarity of the learned positions of two tokens.
func similarity(d *draft) ([]figure.Panel, error) {
	var matrices []figure.Matrix
	for _, l := range d.learned {
		cosine := l.table.Cosines()
		d.describe(l.tokens)
		panel := matrix(l.tokens, cosine)
		panel.Title, panel.Scale, panel.BarLabel = l.label, figure.Diverging, "Cosine"
		matrices = append(matrices, panel)
		d.AddTable("_"+table.NameOf(l.label), numbers(l.tokens, cosine))
	}
	most := mostOf(item.OffDiagonal(matrices))
	var panels []figure.Panel
	for _, m := range matrices {
		m.Min, m.Max = -most, most
		panels = append(panels, m)
	}
	return panels, nil
}

// mostOf returns the largest magnitude of values; 1 if all are 0.
func mostOf(values []float64) (most float64) {
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	return cmp.Or(most, 1)
}

// matrix returns a panel of values [n,n] between named tokens.
func matrix(t item.Tokens, values []float64) figure.Matrix {
	m := t.Matrix(values)
	for _, i := range t.Order {
		m.RowLabels = append(m.RowLabels, t.Names[i])
	}
	return m
}

// numbers returns values [n,n] between tokens as a table.
func numbers(t item.Tokens, values []float64) table.Table {
	order := slices.Sorted(slices.Values(t.Order))
	return item.SquareTable(values, order, func(i int) table.Cell { return table.Text(t.Names[i]) })
}

// scores draws modularity and clustering by encoding, with modularity by chance, if modules are known.
func scores(d *draft) ([]figure.Panel, error) {
	q := d.Boxes("Modularity", "Modularity Q", "modularity", d.Groups)
	c := d.Boxes("Clustering", "Clustering C", "clustering", d.Groups)
	if q.Groups == nil {
		d.Note("No modularity: no modules are known; train with --modules FILE")
		return nil, nil
	}
	chances, err := item.AddChance(&q, d.Groups)
	if err != nil {
		return nil, err
	}
	t := table.Table{Columns: []table.Column{{Heading: "encoding"}, {Heading: "seed"},
		{Heading: "Q", Name: "modularity"}, {Heading: "C", Name: "clustering"},
		{Heading: "Q of the training samples", Name: "data"}, {Heading: "Q of the first block", Name: "first_block"},
		{Heading: "by chance", Name: "chance"},
		{Heading: "from", Name: "chance_low"}, {Heading: "to", Name: "chance_high"},
		{Heading: "p"}, {Heading: "p, smooth", Name: "p_smooth"}}}
	for _, g := range d.Groups {
		for i, m := range g.Models {
			if math.IsNaN(d.Of(m, "modularity")) {
				continue
			}
			row := make(table.Row, len(t.Columns))
			copy(row, table.Row{table.Text(g.Label), item.Seed(m), table.Number(d.Of(m, "modularity")),
				table.Number(d.Of(m, "clustering"))})
			if data := m.Run.ConnectivityModularity(); data != nil {
				row[4] = table.Number(*data)
			}
			if chance := chances[g.Label]; chance != nil && i == 0 { // the model that was tested
				copy(row[5:], table.Row{table.Number(chance.Q), table.Number(chance.Mean), table.Number(chance.Low),
					table.Number(chance.High), table.P(chance.P), table.P(chance.Smooth)})
			}
			t.Rows = append(t.Rows, row)
		}
	}
	d.AddTable("", t)
	d.Texts["chance"] = item.ChanceNote(q, d.Groups, chances)
	return []figure.Panel{q, c}, nil
}

// attention draws the mean attention between tokens, one panel per block.
func attention(d *draft) error {
	var rows [][]figure.Matrix // of each encoding
	most := 0.0
	for _, g := range d.Groups {
		m := g.Models[0]
		p, err := m.Run.Probes()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		a, err := p.Attention(m.Index)
		if err != nil {
			return err
		}
		t, err := item.TokensOf(p, a.Tokens)
		if err != nil {
			return err
		}
		d.describe(t)
		if len(d.order) == a.Tokens {
			t.Order = d.order
		}
		var panels []figure.Matrix
		for block, values := range a.Layers {
			mean := item.MeanMap(a.Tokens, values)
			panel := matrix(t, mean)
			panel.Title, panel.BarLabel = fmt.Sprintf("%s, block %d", g.Label, block), "Attention"
			most = max(most, slices.Max(mean))
			panels = append(panels, panel)
			d.AddTable(fmt.Sprintf("_%s_block%d", table.NameOf(g.Label), block), numbers(t, mean))
		}
		rows = append(rows, panels)
	}
	for _, row := range rows {
		var panels []figure.Panel
		for _, m := range row {
			m.Max = most // one range of colours for all
			panels = append(panels, m)
		}
		d.Grid(mapHeight, 2, panels)
	}
	return nil
}
