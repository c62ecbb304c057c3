package catalogue

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"torchpe/data/array"
	"torchpe/internal/metrics"
	"torchpe/models/pe"
	"torchpe/report/figure"
)

const mostHeads = 4 // maximum number of heads in a figure

// picture is one view of an instance: matrices, and their means against distance.
type picture struct {
	matrices []figure.Matrix
	against  figure.Lines
}

// pictures returns all views of an instance: the table, the bias, and the logits of equal queries
// and keys.
func (i *Instance) pictures(layer int) ([]picture, error) {
	var all []picture
	sites := i.encoding.Sites(layer)
	if sites&pe.AtEmbed != 0 {
		t, _, err := i.Values(Want{Kind: kindTable, Layer: layer})
		var p picture
		if err == nil {
			p = i.table(t)
		} else if p, err = i.response(layer); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	bias := false
	if sites&pe.AtLogits != 0 {
		b, _, err := i.Values(Want{Kind: kindBias, Layer: layer})
		if err != nil {
			return nil, err
		}
		if bias = i.Positions.Tokens() == 1 || !constant(b.Data); bias {
			all = append(all, i.pairs(layer, "bias", "bias on the logits", b))
		}
	}
	if sites&pe.AtQK != 0 || sites&pe.AtLogits != 0 && !bias {
		n, h, d := i.Positions.Tokens(), i.Setting.Heads, i.Setting.DModel
		ones := array.Array{Shape: []int{h, n, d / h}, Data: slices.Repeat([]float64{1}, n*d)}
		l, _, err := i.Values(Want{Kind: kindLogits, Layer: layer, Q: ones, K: ones})
		var p picture
		if err == nil {
			p = i.pairs(layer, "equal q and k", "logit of all-ones q and k", l)
		} else if p, err = i.addedToQ(layer, ones.Shape); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if sites == 0 && i.encoding.Attention(layer).Causal {
		w, _, err := i.Values(Want{Kind: kindWeights, Layer: layer})
		if err != nil {
			return nil, err
		}
		all = append(all, i.pairs(layer, "attention", "weight of equal q and k", w))
		sites = pe.AtLogits
	}
	if sites == 0 {
		return nil, fmt.Errorf("%s acts nowhere: the order of tokens has no effect, "+
			"and it has no table, bias or mask: there is nothing to draw; torchpe pe show %s "+
			"says what it is",
			i.Scheme.Name, i.Scheme.Name)
	}
	if all == nil {
		return nil, fmt.Errorf("%s acts on %v: there is no table, bias or rotation to draw",
			i.Scheme.Name, sites)
	}
	return all, nil
}

// constant reports whether all numbers are equal and none is NaN.
func constant(data []float64) bool { return slices.Min(data) == slices.Max(data) }

// response shows the addition of a scheme whose Embed hook depends on the embeddings: to X, or else to
// embeddings of ones for the middle token and zeros for all others.
func (i *Instance) response(layer int) (picture, error) {
	n, d := i.Positions.Tokens(), i.Setting.DModel
	x, middle, title := i.X, n/2, "added to the given x"
	if x.Data == nil {
		title = fmt.Sprintf("added to x, 1 at place %d, 0 elsewhere", middle)
		x = array.Array{Shape: []int{n, d}, Data: make([]float64, n*d)}
		token := slices.Index(i.Positions.Index, middle)
		for k := range d {
			x.Data[token*d+k] = 1
		}
	}
	y, _, err := i.Values(Want{Kind: kindInput, Layer: layer, X: x})
	if err != nil {
		return picture{}, err
	}
	values := y.Data
	for k := range values {
		values[k] -= x.Data[k]
	}
	if constant(values) {
		return picture{}, fmt.Errorf("%s adds nothing in layer %d", i.Scheme.Name, layer)
	}
	norms := make([]float64, n) // by position
	for token, at := range i.Positions.Index {
		for k := range d {
			norms[at] = math.Hypot(norms[at], values[token*d+k])
		}
	}
	return picture{matrices: []figure.Matrix{
		{Title: title, XLabel: "dimension", YLabel: "token", Rows: n, Columns: d, Values: values,
			Scale: figure.Diverging, BarLabel: "value"},
	}, against: figure.Lines{Title: "by place", XLabel: "place in the order",
		YLabel: "norm of the addition", NoMembers: true, Markers: true,
		Series: []figure.LineSeries{{Label: i.Scheme.Name, X: wholeNumbers(0, n-1),
			Values: [][]float64{norms}}}}}, nil
}

// addedToQ shows the table that a scheme adds to the input of the projections to q and k. It equals the
// change of q if the projection is the identity.
func (i *Instance) addedToQ(layer int, shape []int) (picture, error) {
	q, _, err := i.Values(Want{Kind: kindQuery, Layer: layer, Q: array.Array{Shape: shape,
		Data: make([]float64, shape[0]*shape[1]*shape[2])}, identity: true})
	if err != nil {
		return picture{}, err
	}
	p := i.table(merged(q))
	p.matrices[0].Title = "added to the input of q and k"
	return p, nil
}

// table shows a table [N,D] and the dot products of its rows.
func (i *Instance) table(t array.Array) picture {
	n, d := t.Shape[0], t.Shape[1]
	dots := metrics.Table{Tokens: n, Dim: d, Values: t.Data}.Gram()
	p := picture{matrices: []figure.Matrix{
		{Title: "table", XLabel: "dimension", YLabel: "token", Rows: n, Columns: d, Values: t.Data,
			Scale: figure.Diverging, BarLabel: "value"},
		{Title: "dot products", XLabel: "token", YLabel: "token", Rows: n, Columns: n, Values: dots,
			BarLabel: "dot product"},
	}}
	p.against = figure.Lines{Title: "against distance", XLabel: "distance in the order",
		YLabel: "dot product", Series: []figure.LineSeries{{Label: i.Scheme.Name, X: wholeNumbers(0, n-1),
			Values: byOffset(dots, i.Positions.Index, 0, n-1)}}, Markers: true, NoMembers: true}
	return p
}

// pairs shows matrices [H,N,N] over queries and keys.
func (i *Instance) pairs(layer int, kind, label string, m array.Array) picture {
	heads, n := m.Shape[0], m.Shape[1]
	shown, all, most := min(heads, mostHeads), false, n-1
	if headsAreEqual(m) && heads > 1 {
		shown, all = 1, true
	}
	p := picture{against: figure.Lines{Title: "against offset",
		XLabel: "key minus query", YLabel: label, NoMembers: true}}
	low, high := distinctRange(m.Data[:shown*n*n])
	causal := i.encoding.Attention(layer).Causal
	if causal {
		most = 0
	}
	for h := range shown {
		values, title, name := m.Data[h*n*n:(h+1)*n*n], kind, i.Scheme.Name
		if heads > 1 {
			title, name = fmt.Sprintf("%s, head %d", kind, h+1), fmt.Sprintf("head %d", h+1)
		}
		if all {
			title, name = kind+", all heads", i.Scheme.Name
		}
		panel := figure.Matrix{Title: title, XLabel: "key", YLabel: "query", Rows: n, Columns: n,
			Values: values, Min: low, Max: high, BarLabel: label, HideBar: h < shown-1}
		if low < 0 && high > 0 {
			far := math.Max(-low, high)
			panel.Scale, panel.Min, panel.Max = figure.Diverging, -far, far
		}
		if causal {
			panel.Values = i.masked(values)
		}
		p.matrices = append(p.matrices, panel)
		p.against.Series = append(p.against.Series, figure.LineSeries{Label: name, X: wholeNumbers(1-n,
			most), Values: byOffset(values, i.Positions.Index, 1-n, most)})
	}
	return p
}

// headsAreEqual reports whether all matrices of [H,N,N] are the same.
func headsAreEqual(m array.Array) bool {
	each := m.Shape[1] * m.Shape[2]
	for k, v := range m.Data {
		if v != m.Data[k%each] {
			return false
		}
	}
	return true
}

// masked returns a matrix [N,N] with NaN where a causal mask hides the key.
func (i *Instance) masked(values []float64) []float64 {
	left := slices.Clone(values)
	for row, query := range i.Positions.Index {
		for column, key := range i.Positions.Index {
			if key > query {
				left[row*len(i.Positions.Index)+column] = math.NaN()
			}
		}
	}
	return left
}

// distinctRange returns the smallest and the largest number. If they are equal up to rounding, it returns a
// range of 1.
func distinctRange(data []float64) (low, high float64) {
	low, high = slices.Min(data), slices.Max(data)
	if high-low <= 1e-12*math.Max(math.Abs(low), math.Abs(high)) {
		high = low + 1
	}
	return low, high
}

func wholeNumbers(from, to int) []float64 {
	var x []float64
	for v := from; v <= to; v++ {
		x = append(x, float64(v))
	}
	return x
}

// byOffset returns, for each offset from least to most, the mean of the entries of a matrix [N,N] at that
// distance between key and query in the order.
func byOffset(values []float64, index []int, least, most int) [][]float64 {
	sums, entries := make([]float64, most-least+1), make([]float64, most-least+1)
	for row, query := range index {
		for column, key := range index {
			if at := key - query - least; at >= 0 && at < len(sums) {
				sums[at] += values[row*len(index)+column]
				entries[at]++
			}
		}
	}
	for i := range sums {
		sums[i] /= entries[i]
	}
	return [][]float64{sums}
}

// note returns the note below a figure of the instance.
func (i *Instance) note(layer int) string {
	s := i.Setting
	text := fmt.Sprintf("N = %d tokens on %v, D = %d, H = %d, L = %d, layer %d, seed %d, "+
		"in the reading of the %s. Lines are means over all pairs at a distance.",
		s.Tokens, i.Positions, s.DModel, s.Heads, s.Layers, layer, i.seed, s.Fidelity)
	if s.Heads > mostHeads && i.encoding.Sites(layer)&^pe.AtEmbed != 0 {
		text += fmt.Sprintf(" The first %d heads are shown.", mostHeads)
	}
	if i.encoding.Attention(layer).Causal {
		text += " Grey: hidden by the causal mask."
	}
	return text
}

// numbered returns a matrix with some of its rows and columns numbered, from 0.
func numbered(m figure.Matrix) figure.Matrix {
	m.RowLabels, m.ColumnLabels = ticks(m.Rows), ticks(m.Columns)
	return m
}

// ticks returns n labels: about four round numbers, the others empty.
func ticks(n int) []string {
	step := 1
	for k := 0; n > 5*step; k++ {
		step = []int{2, 5, 10}[k%3] * int(math.Pow10(k/3))
	}
	labels := make([]string, n)
	for i := 0; i < n; i += step {
		labels[i] = strconv.Itoa(i)
	}
	return labels
}

// Plot draws one instance in full, or several side by side.
func Plot(all []*Instance, layer int) (*figure.Figure, error) {
	for _, i := range all {
		if err := pairsFit(i.Positions.Tokens(), 1); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return plotOne(all[0], layer)
	}
	return plotSideBySide(all, layer)
}

// plotOne draws the pictures of an instance: matrices, and below them their means against distance.
func plotOne(i *Instance, layer int) (*figure.Figure, error) {
	all, err := i.pictures(layer)
	if err != nil {
		return nil, err
	}
	title := i.Scheme.Name + ": " + i.Scheme.About().Summary
	if len(title) > 110 { // the summary of a stack is too long
		title = i.Scheme.Name
	}
	page := figure.Page{Width: figure.PageWidth, Title: title, Note: i.note(layer)}
	for _, p := range all {
		row := figure.Row{Height: 2.4}
		if len(p.matrices) > 2 { // narrow square matrices
			row.Height = 1.75
		}
		for k := range p.matrices {
			weight := 1.0
			if !p.matrices[k].HideBar && len(p.matrices) > 2 {
				weight = 1.35
			}
			row.Cells = append(row.Cells, figure.Cell{Panel: numbered(p.matrices[k]), Weight: weight})
		}
		if len(p.matrices) == 1 {
			row.Cells = append(row.Cells, figure.Cell{Panel: p.against, Weight: 1.3})
			page.Rows = append(page.Rows, row)
			continue
		}
		page.Rows = append(page.Rows, row,
			figure.Row{Height: 2.2, Cells: []figure.Cell{{Panel: p.against}}})
	}
	return figure.Compose(page)
}

// noteOf returns the note of the first causal instance, or of the first if none is causal.
func noteOf(all []*Instance, layer int) string {
	for _, i := range all {
		if i.encoding.Attention(layer).Causal {
			return i.note(layer)
		}
	}
	return all[0].note(layer)
}

// plotSideBySide draws one column per instance: the first matrix, and its means against distance.
func plotSideBySide(all []*Instance, layer int) (*figure.Figure, error) {
	const most = 6
	if len(all) > most {
		return nil, fmt.Errorf("%d schemes: a figure holds at most %d", len(all), most)
	}
	page := figure.Page{Width: math.Max(figure.PageWidth, 2.4*float64(len(all))),
		Note: noteOf(all, layer)}
	rows := []figure.Row{{Height: 2.3}, {Height: 2.2}}
	for _, i := range all {
		p, err := i.pictures(layer)
		if err != nil {
			return nil, err
		}
		m, lines := p[0].matrices[0], p[0].against
		m.Title, m.HideBar, lines.Title = i.Scheme.Name+": "+m.Title, false, i.Scheme.Name+": "+lines.Title
		rows[0].Cells = append(rows[0].Cells, figure.Cell{Panel: numbered(m)})
		rows[1].Cells = append(rows[1].Cells, figure.Cell{Panel: lines})
	}
	page.Rows = rows
	return figure.Compose(page)
}
