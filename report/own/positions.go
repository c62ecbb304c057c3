package own

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

const mapHeight = 2.6 // of rows of maps and matrices, in inches

// maps draws the learned tables along two axes, after the places that a file gives the tokens.
func (r *Report) maps(d *item.Draft) error {
	t := table.Table{Columns: table.Columns("encoding", "token", "module", "x", "y")}
	var panels []figure.Panel
	caption := ""
	for _, l := range r.learned {
		d.Groups, caption = l.tokens.Modules, captionOf(l.tokens)
		if given := l.givenMap(); panels == nil && given != nil {
			panels = append(panels, given)
		}
		panel, ok := l.drawMap()
		if !ok {
			continue
		}
		panels = append(panels, panel)
		for i, at := range panel.XY {
			t.Rows = append(t.Rows, table.Row{table.Text(l.label), table.Text(l.tokens.Names[i]),
				table.Text(l.tokens.Module(i)), table.Number(at[0]), table.Number(at[1])})
		}
	}
	if panels == nil {
		return nil
	}
	d.Pairs(mapHeight, panels)
	d.Caption = "The first two principal axes of the learned positions (first block, first seed), with the share " +
		"of variance that each explains; dots are tokens, coloured by module where modules are known." + caption
	d.AddTable("", t)
	return nil
}

// givenMap draws where a file places the tokens; nil where none does in a plane.
func (l learned) givenMap() figure.Panel {
	points := l.probes.TokenPoints(len(l.tokens.Names))
	if points == nil || len(points[0]) != 2 {
		return nil
	}
	panel := figure.Map{Title: "As given"}
	for _, at := range points { // rows count downwards, columns to the right
		panel.XY = append(panel.XY, [2]float64{at[1], -at[0]})
	}
	return l.labelled(panel)
}

// drawMap draws the table along its first two principal axes; not ok where all its rows are equal.
func (l learned) drawMap() (figure.Map, bool) {
	panel, err := item.Plane(l.label, l.table, "Axis")
	return l.labelled(panel), err == nil
}

// labelled adds names and modules to a map. Many names have no room beside the dots.
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

// similarity draws how alike the learned positions of two tokens are.
func (r *Report) similarity(d *item.Draft) error {
	var matrices []figure.Matrix
	caption := ""
	for _, l := range r.learned {
		cosine := l.table.Cosines()
		d.Groups, caption = l.tokens.Modules, captionOf(l.tokens)
		panel := matrix(l.tokens, cosine)
		panel.Title, panel.Scale, panel.BarLabel = l.label, figure.Diverging, "Cosine"
		matrices = append(matrices, panel)
		d.AddTable(fmt.Sprintf("_%d", len(matrices)), numbers(l.tokens, cosine))
	}
	most := offDiagonal(matrices)
	var panels []figure.Panel
	for _, m := range matrices {
		m.Min, m.Max = -most, most
		panels = append(panels, m)
	}
	d.Pairs(mapHeight, panels)
	d.Caption = "Cosine similarity of the positions of two tokens (first block, first seed), tokens ordered by " +
		"module where modules are known" + r.orderNote() + ". The colours span the values of all matrices off their " +
		"diagonals, which are 1." + caption
	return nil
}

// orderNote says how tokens without modules are ordered, where they are.
func (r *Report) orderNote() string {
	if r.order == nil {
		return ""
	}
	return ", else by clusters of the first encoding's positions (average linkage)"
}

// offDiagonal returns the largest magnitude off the diagonals of matrices; 1 where all are 0.
func offDiagonal(panels []figure.Matrix) (most float64) {
	for _, p := range panels {
		for i, v := range p.Values {
			if i/p.Columns != i%p.Columns && !math.IsNaN(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return cmp.Or(most, 1)
}

// matrix returns a panel of values [n,n] between named tokens.
func matrix(t item.Tokens, values []float64) figure.Matrix {
	m := t.Matrix(values)
	m.HideNames = true
	if t.Labels != nil {
		m.GroupNames = t.Modules
	}
	for _, i := range t.Order {
		m.RowLabels = append(m.RowLabels, t.Names[i])
	}
	return m
}

// numbers returns values [n,n] between tokens as a table.
func numbers(t item.Tokens, values []float64) table.Table {
	out := table.Table{Columns: table.Columns("token")}
	n := len(t.Names)
	for i, name := range t.Names {
		out.Columns = append(out.Columns, table.Column{Heading: name, Name: fmt.Sprintf("token_%d", i)})
		row := table.Row{table.Text(name)}
		for _, v := range values[i*n : (i+1)*n] {
			row = append(row, table.Number(v))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// scores draws modularity and clustering by encoding, with what chance reaches, where modules are known.
func (r *Report) scores(d *item.Draft) error {
	q := d.Boxes("Modularity", "Modularity Q", "modularity", r.groups)
	c := d.Boxes("Clustering", "Clustering C", "clustering", r.groups)
	if q.Groups == nil {
		r.Note("No modularity: no modules are known; train with --modules FILE")
		return nil
	}
	chances, err := item.AddChance(&q, r.groups)
	if err != nil {
		return err
	}
	t := table.Table{Columns: []table.Column{{Heading: "encoding"},
		{Heading: "Q", Name: "modularity"},
		{Heading: "Q of the training samples", Name: "data"},
		{Heading: "by chance", Name: "chance"},
		{Heading: "from", Name: "chance_low"}, {Heading: "to", Name: "chance_high"},
		{Heading: "p"}, {Heading: "p, smooth", Name: "p_smooth"}}}
	for _, g := range r.groups {
		chance := chances[g.Label]
		if chance == nil {
			continue
		}
		data := table.Cell{}
		if v := g.Models[0].Run.ConnectivityModularity(); v != nil {
			data = table.Number(*v)
		}
		t.Rows = append(t.Rows, table.Row{table.Text(g.Label), table.Number(chance.Q), data, table.Number(chance.Mean),
			table.Number(chance.Low), table.Number(chance.High), table.P(chance.P), table.P(chance.Smooth)})
	}
	if t.Rows != nil {
		d.AddTable("", t)
	}
	d.Caption = "Modularity Q and clustering C of the learned positions for the known modules, the mean over blocks; " +
		"a dot a seed. Q of a fixed encoding says how far the order of the tokens alone falls into the modules." +
		item.ChanceNote(q, r.groups, chances)
	d.Row(plotHeight, q, c)
	return nil
}

// attention draws the mean attention between tokens, a panel a block.
func (r *Report) attention(d *item.Draft) error {
	var rows [][]figure.Matrix // of each encoding
	most := 0.0
	caption := ""
	for _, g := range r.groups {
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
		d.Groups, caption = t.Modules, captionOf(t)
		if len(r.order) == a.Tokens {
			t.Order = r.order
		}
		var panels []figure.Matrix
		for block, values := range a.Layers {
			mean := item.MeanMap(a.Tokens, values)
			panel := matrix(t, mean)
			panel.Title, panel.BarLabel = fmt.Sprintf("%s, block %d", g.Label, block), "Attention"
			most = max(most, slices.Max(mean))
			panels = append(panels, panel)
			d.AddTable(fmt.Sprintf("_%d_block%d", len(rows)+1, block), numbers(t, mean))
		}
		rows = append(rows, panels)
	}
	if rows == nil {
		return nil
	}
	for _, row := range rows {
		var panels []figure.Panel
		for _, m := range row {
			m.Max = most // one range of colours for all
			panels = append(panels, m)
		}
		d.Pairs(mapHeight, panels)
	}
	d.Caption = "How much the token of a row attends to that of a column: the mean over heads and test samples, " +
		"first seed, tokens ordered by module where modules are known" + r.orderNote() + "." + caption
	return nil
}
