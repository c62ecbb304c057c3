package catalogue

import (
	"math"
	"slices"

	"torchpe/data/array"
	"torchpe/models/pe"
)

// layout says which dimensions of a head each pair reads and writes, and by which angle each of the two written
// dimensions is rotated.
type layout struct {
	name                string
	reads, writes, turn [][2]int
}

// newLayout returns the layout with a name for pairs of several coordinates:
//
// interleaved  pair p is dimensions 2p and 2p+1
// half         p and p+w/2 within the block of w dimensions of a coordinate
// across       p and p+r/2 of all r rotated dimensions
// tiled        interleaved, with cosines laid out for halves: angle d mod r/2 for dimension d
// repeated     halves, with cosines laid out for neighbours: angle d/2 for dimension d
// evens first  interleaved, written as all first dimensions before all second ones
// interleaving halves, written side by side
func newLayout(name string, pairs, axes int) layout {
	l := layout{name: name}
	block := max(1, pairs/max(1, axes))
	for p := range pairs {
		neighbours, halves := [2]int{2 * p, 2*p + 1}, [2]int{p, p + pairs}
		reads, writes, turn := neighbours, neighbours, [2]int{p, p}
		switch name {
		case "half":
			at := p/block*block*2 + p%block
			reads = [2]int{at, at + block}
			writes = reads
		case "across":
			reads, writes = halves, halves
		case "tiled":
			turn = [2]int{2 * p % pairs, (2*p + 1) % pairs}
		case "repeated":
			reads, writes, turn = halves, halves, [2]int{p / 2, (p + pairs) / 2}
		case "evens first":
			writes = halves
		case "interleaving":
			reads = halves
		}
		l.reads, l.writes, l.turn = append(l.reads, reads), append(l.writes, writes), append(l.turn, turn)
	}
	return l
}

// layoutOf returns the name of the layout chosen by options.
func layoutOf(options pe.Options) string {
	switch {
	case options["dinov3-layout"] == "half":
		return "across"
	case options["rope-layout"] == "half":
		return "half"
	}
	return "interleaved"
}

// columns returns, for each column of a table of cosines with one column per dimension, its pair.
func (l layout) columns() []int {
	all := make([]int, 2*len(l.reads))
	for p, reads := range l.reads {
		all[reads[0]], all[reads[1]] = l.turn[p][0], l.turn[p][1]
	}
	return all
}

// rotated returns queries (0) or keys (1) [H,N,C] rotated by the angles of the given rows.
func (a *angles) rotated(x array.Array, rows []int, which int) array.Array {
	tokens, width := x.Shape[1], x.Shape[2]
	out := array.Array{Shape: x.Shape, Data: slices.Clone(x.Data)}
	cos, sin := make([]float64, tokens*a.pairs), make([]float64, tokens*a.pairs)
	for token, row := range rows {
		for p := range a.pairs {
			cos[token*a.pairs+p], sin[token*a.pairs+p] = a.cosSin(row, p, which)
		}
	}
	for at := 0; at < len(x.Data); at += width {
		from, to := x.Data[at:at+width], out.Data[at:at+width]
		by := at / width % tokens * a.pairs
		for p, reads := range a.layout.reads {
			turn, writes := a.layout.turn[p], a.layout.writes[p]
			first, second := from[reads[0]], from[reads[1]]
			to[writes[0]] = first*cos[by+turn[0]] - second*sin[by+turn[0]]
			to[writes[1]] = first*sin[by+turn[1]] + second*cos[by+turn[1]]
		}
	}
	return out
}

// gives reports whether values returns outputs of a kind.
func (a *angles) gives(kind string) bool {
	if a.fixed != nil {
		return kind == kindTable || kind == kindInput
	}
	return slices.Contains([]string{kindCos, kindSin, kindQuery, kindKey, kindLogits, kindWeights}, kind)
}

// values returns an output of a rotation or of a table of sinusoids. queries and keys are the rows of the
// tokens.
func (a *angles) values(g Given, o Output, t trial, queries, keys []int) array.Array {
	switch o.Kind {
	case kindCos, kindSin:
		return a.columnsOf(o, queries)
	case kindTable, kindInput:
		table := a.table(queries)
		if o.Kind == kindInput {
			for i, v := range t.scaled(kindInput, g.X).Data {
				table.Data[i] += v
			}
		}
		return table
	case kindQuery:
		return a.rotated(t.scaled(kindQuery, g.Q), queries, 0)
	case kindKey:
		return a.rotated(g.K, keys, 1)
	}
	logits := dots(a.rotated(t.scaled(kindQuery, g.Q), queries, 0), a.rotated(g.K, keys, 1),
		a.attention.LogitScale(a.headWidth))
	if o.Kind == kindWeights {
		a.softmax(logits, queries, keys)
	}
	return logits
}

// columnsOf returns the cosines or sines [N,P], or [N,2P], of rows.
func (a *angles) columnsOf(o Output, rows []int) array.Array {
	columns := indices(0, a.pairs)
	if o.Shape[1] == 2*a.pairs {
		columns = a.layout.columns()
	}
	out := array.Array{Shape: []int{len(rows), len(columns)}}
	for _, row := range rows {
		for _, pair := range columns {
			cos, sin := a.cosSin(row, pair, 0)
			if o.Kind == kindSin {
				cos = sin
			}
			out.Data = append(out.Data, cos)
		}
	}
	return out
}

// table returns the rows of a table of sinusoids.
func (a *angles) table(rows []int) array.Array {
	out := array.Array{Shape: []int{len(rows), a.width}, Data: make([]float64, 0, len(rows)*a.width)}
	for n, row := range rows {
		out.Data = append(out.Data, a.fixed[row*a.width:(row+1)*a.width]...)
		for p, of := range a.columns {
			cos, sin := a.cosSin(row, p, 0)
			out.Data[n*a.width+of[0]], out.Data[n*a.width+of[1]] = sin, cos
		}
	}
	return out
}

// dots returns the scaled products [H,N,N] of queries and keys [H,N,C].
func dots(q, k array.Array, scale float64) array.Array {
	heads, n, width := q.Shape[0], q.Shape[1], q.Shape[2]
	out := array.Array{Shape: []int{heads, n, n}, Data: make([]float64, heads*n*n)}
	for at := range out.Data {
		query, key := q.Data[at/n*width:(at/n+1)*width], k.Data[(at/n/n*n+at%n)*width:]
		sum := 0.0
		for c, v := range query {
			sum += v * key[c]
		}
		out.Data[at] = scale * sum
	}
	return out
}

// softmax replaces logits [H,N,N] by attention weights.
func (a *angles) softmax(logits array.Array, queries, keys []int) {
	n := len(queries)
	for at := 0; at < len(logits.Data); at += n {
		row, most, sum := logits.Data[at:at+n], math.Inf(-1), 0.0
		for j := range row {
			if a.attention.Causal && keys[j] > queries[at/n%n] {
				row[j] = math.Inf(-1)
			}
			most = max(most, row[j])
		}
		for j := range row {
			row[j] = math.Exp((row[j] - most) / a.attention.Temperature)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
}
