// Tables that are added to the input of blocks.

package pe

import (
	"fmt"
	"slices"

	"math/rand/v2"
	"sync"

	"torchpe/torchpe"
)

// adding returns an encoding that adds tables to the input of blocks.
func adding(begin func(s *torchpe.Scope, p Positions) *tableHooks) Encoding {
	return encoding{AtEmbed, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks { return begin(s, p) }}
}

// tableHooks add rows of a table to the input of blocks, in all absolute encodings.
type tableHooks struct {
	Identity
	tables  torchpe.Tensor // [E,T,N,D]: T = 1 for only the first block, else one per block
	fixed   bool           // the single table is computed, not trained
	repeat  bool           // the single table is added in every block
	dropout float64        // on the sum, also at evaluation

	rows []torchpe.Tensor // the tables [E,N,D], computed on first use
}

func (h *tableHooks) Table(layer int) (torchpe.Tensor, bool) {
	if h.rows == nil {
		h.rows = h.tables.Unbind(1)
	}
	if h.repeat {
		layer = 0
	}
	if layer >= len(h.rows) {
		return torchpe.Tensor{}, false
	}
	return h.rows[layer], true
}

func (h *tableHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	t, ok := h.Table(layer)
	if !ok {
		return x
	}
	return x.Add(t.Unsqueeze(1)).Dropout(h.dropout) // [E,1,N,D] over the batch
}

func (h *tableHooks) AddsTable(layer int) bool {
	_, ok := h.Table(layer)
	return ok && h.dropout == 0
}

func (h *tableHooks) DropTables(p float64) (Hooks, bool) {
	if h.fixed {
		return nil, false
	}
	return &tableHooks{tables: h.tables.Dropout(p), repeat: h.repeat, dropout: h.dropout}, true
}

// tablesFor returns the number of tables of an absolute PE in its placement: one, or one per layer.
func tablesFor(c Config) int {
	if c.is("pe-placement", "input") {
		return 1
	}
	return c.Layers
}

// addLearned declares trained tables [T,rows,width] that start as given by --pe-init, with T tables
// for the placement. Their rows do not stand for tokens.
func (c Config) addLearned(ps *torchpe.ParamSet, name string, rows, width int) (*torchpe.Param, error) {
	start, err := c.start(rows, width, false)
	if err != nil {
		return nil, err
	}
	return ps.Add(name, true, start, tablesFor(c), rows, width), nil
}

// computed returns an Init that calls f for each element in row-major order.
func computed(f func(i int) float64) torchpe.Init {
	return func(_ int, _ *rand.Rand, out []float64) {
		for i := range out {
			out[i] = f(i)
		}
	}
}

// copied returns an Init that copies values.
func copied(values []float64) torchpe.Init {
	return func(_ int, _ *rand.Rand, out []float64) { copy(out, values) }
}

// once returns an Init that copies the result of fill, which is the same for all members. fill is
// called only when the table is needed, because some take a while.
func once(fill func() []float64) torchpe.Init {
	values := sync.OnceValue(fill)
	return func(_ int, _ *rand.Rand, out []float64) { copy(out, values()) }
}

// newFixed returns the encoding with a computed table, the same for all layers. row writes row i.
// rows returns the table's row for each token; dropout acts on the sum.
func newFixed(c Config, ps *torchpe.ParamSet, dropout float64, row func(i int, out []float64),
	rows func(Positions) []int) Encoding {
	n, repeat := c.Positions.Tokens(), tablesFor(c) > 1
	table := ps.Add("pe.fixed", false, func(_ int, _ *rand.Rand, out []float64) {
		for i := range n {
			row(i, out[i*c.DModel:(i+1)*c.DModel])
		}
	}, 1, n, c.DModel)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		tables := rowsAt(s, table.In(s), 2, rows(p))
		return &tableHooks{tables: tables, fixed: true, repeat: repeat, dropout: dropout}
	})
}

// embedAnd are the hooks of an encoding that adds a table to the input and also acts in attention.
type embedAnd struct {
	Hooks
	table Hooks
}

func (h embedAnd) Embed(layer int, x torchpe.Tensor) torchpe.Tensor { return h.table.Embed(layer, x) }

func (h embedAnd) Table(layer int) (torchpe.Tensor, bool) { return h.table.Table(layer) }

func (h embedAnd) AddsTable(layer int) bool { return h.table.AddsTable(layer) }

func (h embedAnd) DropTables(p float64) (Hooks, bool) {
	table, ok := h.table.DropTables(p)
	return embedAnd{h.Hooks, table}, ok
}

// checkPlaces panics with an *Error if an encoding was not built for a token's place.
func checkPlaces(index []int, places int) {
	for i, at := range index {
		if at < 0 || at >= places {
			panic(&torchpe.Error{Op: "positions", Msg: fmt.Sprintf("token %d is at position %d; "+
				"the encoding was built for 0..%d", i, at, places-1)})
		}
	}
}

// rowsAt returns the rows given by index of table [E,...,R,...] (axis dim), or the table itself if
// these are all rows in order.
func rowsAt(s *torchpe.Scope, table torchpe.Tensor, dim int, index []int) torchpe.Tensor {
	checkPlaces(index, table.Size(dim))
	if table.Size(dim) == len(index) && slices.Equal(index, Line(len(index)).Index) {
		return table
	}
	return table.IndexSelect(dim, indexTensor(s, table.Device(), index, len(index)))
}

// indexTensor returns index as int64 with the given shape.
func indexTensor(s *torchpe.Scope, dev torchpe.Device, index []int, shape ...int) torchpe.Tensor {
	wide := make([]int64, len(index))
	for i, v := range index {
		wide[i] = int64(v)
	}
	return torchpe.Of(s, dev, wide, shape...)
}
