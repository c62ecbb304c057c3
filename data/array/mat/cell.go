package mat

import (
	"fmt"

	"torchpe/data/array"
)

// ListCells returns what the cells of the cell array that the .mat file at path calls name hold, in
// MATLAB's order (the first axis fastest), without reading numbers. Entries have no names.
func ListCells(path, name string) ([]Entry, error) {
	return inFile(path, func(f *file) (entries []Entry) {
		f.cells(name, func(_ int, _ *stream, h *header) bool {
			entries = append(entries, Entry{Shape: h.shape, Class: h.className()})
			array.Fail(f.budget.Take(256, "the list of cells"))
			return false
		})
		return entries
	})
}

// ReadCell reads the numbers in the i-th cell, from 0 in MATLAB's order, of the cell array called
// name.
func ReadCell(path, name string, i int) (array.Array, error) {
	a, err := inFile(path, func(f *file) (a array.Array) {
		found := false
		f.cells(name, func(at int, s *stream, h *header) bool {
			if found = at == i; found {
				a = s.array(h)
			}
			return found
		})
		if !found {
			array.Failf("%s has no cell %d, counted from 0", array.Quote(name), i)
		}
		return a
	})
	a.Name = fmt.Sprintf("%s{%d}", name, i+1)
	return a, err
}

// cells calls visit with the header of each cell of a cell array, until it returns true. visit may
// read the cell's numbers.
func (f *file) cells(name string, visit func(i int, s *stream, h *header) bool) {
	v := f.variable(name)
	if v == nil {
		f.failWithout(name)
	}
	if v.class != classCell {
		array.Failf("variable %s is %s and no cell array", array.Quote(name), v.className())
	}
	defer array.Within("variable %s", array.Quote(name))
	s := f.open(v)
	s.eachCell(visit)
	s.finish()
}

// eachCell goes through the cells that follow the header of a cell array.
func (s *stream) eachCell(visit func(i int, s *stream, h *header) bool) {
	for i := range array.Got(array.Count(s.header().shape, 1)) {
		e := s.next(fmt.Sprintf("cell %d", i+1), miMatrix)
		s.enter(e.size)
		if s.cell(i, visit) {
			return
		}
		s.skip(s.left)
		s.left, s.after = s.after, 0
		s.pass(e)
	}
}

// cell visits one cell, which begins with its header.
func (s *stream) cell(i int, visit func(i int, s *stream, h *header) bool) bool {
	defer array.Within("cell %d", i+1)
	return visit(i, s, s.header())
}
