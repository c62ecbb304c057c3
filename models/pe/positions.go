package pe

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"torchpe/torchpe"
)

// Positions says where each of N tokens is.
type Positions struct {
	// Index [N] is the token's place in the one-dimensional order, a permutation of 0..N-1.
	Index []int
	// Cells [N] is the token's place on a grid, {row, column}; nil where there is no grid.
	Cells [][2]int
	// Drawn [E,B,N] holds the positions drawn for this batch (see Sampler), sorted: that of the token whose Index is i at i. Its
	// dtype is the model's; it is the zero Tensor where none are drawn.
	Drawn torchpe.Tensor
}

// Line returns the positions of n tokens one after the other.
func Line(n int) Positions {
	p := Positions{Index: make([]int, n)}
	for i := range p.Index {
		p.Index[i] = i
	}
	return p
}

// Grid returns the positions of rows x columns tokens, row after row.
func Grid(rows, columns int) Positions {
	p := Line(rows * columns)
	p.Cells = make([][2]int, rows*columns)
	for i := range p.Cells {
		p.Cells[i] = [2]int{i / columns, i % columns}
	}
	return p
}

// Tokens returns N.
func (p Positions) Tokens() int { return len(p.Index) }

// Permuted returns the positions of the same tokens in another order: token i of the result is token order[i] of p.
func (p Positions) Permuted(order []int) Positions {
	q := Positions{Index: make([]int, len(order)), Drawn: p.Drawn}
	if p.Cells != nil {
		q.Cells = make([][2]int, len(order))
	}
	for i, from := range order {
		q.Index[i] = p.Index[from]
		if p.Cells != nil {
			q.Cells[i] = p.Cells[from]
		}
	}
	return q
}

func (p Positions) validate() error {
	if len(p.Index) == 0 {
		return fmt.Errorf("no tokens: an encoding is built for at least one position")
	}
	seen := make([]bool, len(p.Index))
	for i, at := range p.Index {
		if at < 0 || at >= len(seen) || seen[at] {
			return fmt.Errorf("position %d of token %d: positions must be a permutation of 0..%d", at, i, len(seen)-1)
		}
		seen[at] = true
	}
	if p.Cells != nil && len(p.Cells) != len(p.Index) {
		return fmt.Errorf("%d grid cells for %d tokens", len(p.Cells), len(p.Index))
	}
	return nil
}

// inOrder says whether token i is at position i for every i.
func inOrder(index []int) bool {
	for i, at := range index {
		if i != at {
			return false
		}
	}
	return true
}

// checkPlaces panics with an *Error where a token's place is beyond the places that an encoding was built for.
func checkPlaces(index []int, places int) {
	for i, at := range index {
		if at < 0 || at >= places {
			panic(&torchpe.Error{Op: "positions", Msg: fmt.Sprintf("token %d is at position %d; the encoding was built for 0..%d", i, at, places-1)})
		}
	}
}

// rowsAt returns the rows of table [E,...,R,...] (axis dim) that index names; the table itself where that is all in order.
func rowsAt(s *torchpe.Scope, table torchpe.Tensor, dim int, index []int) torchpe.Tensor {
	checkPlaces(index, table.Size(dim))
	if inOrder(index) && table.Size(dim) == len(index) {
		return table
	}
	return table.IndexSelect(dim, indexTensor(s, table.Device(), index, len(index)))
}

func indexTensor(s *torchpe.Scope, dev torchpe.Device, index []int, shape ...int) torchpe.Tensor {
	wide := make([]int64, len(index))
	for i, v := range index {
		wide[i] = int64(v)
	}
	return torchpe.Of(s, dev, wide, shape...)
}

// DrawPositions fills out with n sorted distinct positions of 0..max-1 for each of len(out)/n samples (Ruoss et al. 2023).
func DrawPositions(rng *rand.Rand, n, max int, out []float64) {
	for at := 0; at+n <= len(out); at += n {
		sample := out[at : at+n]
		chosen := make(map[int]bool, n)
		// Floyd's algorithm: a uniform subset in n draws.
		for i, j := 0, max-n; j < max; i, j = i+1, j+1 {
			v := rng.IntN(j + 1)
			if chosen[v] {
				v = j
			}
			chosen[v] = true
			sample[i] = float64(v)
		}
		slices.Sort(sample)
	}
}
