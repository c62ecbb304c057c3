package mat

import (
	"fmt"

	"torchpe/data/array"
)

// ListCells returns what the cells of the cell array that the .mat file at path calls name hold, in
// MATLAB's order (the first axis fastest), without reading numbers. Entries have no names.
func ListCells(path, name string) ([]Entry, error) {
	return inFile(path, func(f *file) (entries []Entry, err error) {
		err = f.cells(name, func(_ int, _ *stream, h *header) (bool, error) {
			entries = append(entries, Entry{Shape: h.shape, Class: h.className()})
			return false, f.budget.Take(256, "the list of cells")
		})
		return entries, err
	})
}

// ReadCell reads the numbers in the i-th cell, from 0 in MATLAB's order, of the cell array called
// name.
func ReadCell(path, name string, i int) (array.Array, error) {
	a, err := inFile(path, func(f *file) (a array.Array, err error) {
		found := false
		err = f.cells(name, func(at int, s *stream, h *header) (bool, error) {
			if at != i {
				return false, nil
			}
			found = true
			a, err = s.array(h)
			return true, err
		})
		if err == nil && !found {
			err = fmt.Errorf("%s has no cell %d, counted from 0", array.Quote(name), i)
		}
		return a, err
	})
	a.Name = fmt.Sprintf("%s{%d}", name, i+1)
	return a, err
}

// cells calls visit with the header of each cell of a cell array, until it returns true. visit may
// read the cell's numbers.
func (f *file) cells(name string, visit func(i int, s *stream, h *header) (bool, error)) error {
	for k := range f.variables {
		v := &f.variables[k]
		if v.name != name {
			continue
		}
		if v.class != classCell {
			return fmt.Errorf("variable %s is %s and no cell array", array.Quote(name), v.className())
		}
		s, err := f.open(v)
		if err == nil {
			err = s.eachCell(visit)
		}
		if err == nil {
			err = s.finish()
		}
		if err != nil {
			return fmt.Errorf("variable %s: %w", array.Quote(name), err)
		}
		return nil
	}
	return fmt.Errorf("holds no variable %s; it holds %s", array.Quote(name), f.names())
}

// eachCell goes through the cells that follow the header of a cell array.
func (s *stream) eachCell(visit func(i int, s *stream, h *header) (bool, error)) error {
	outer, err := s.header()
	if err != nil {
		return err
	}
	count, err := array.Count(outer.shape, 1)
	if err != nil {
		return err
	}
	for i := range count {
		e, err := s.next(fmt.Sprintf("cell %d", i+1), miMatrix)
		if err != nil {
			return err
		}
		s.enter(e.size)
		h, err := s.header()
		if err != nil {
			return fmt.Errorf("cell %d: %w", i+1, err)
		}
		done, err := visit(i, s, h)
		if err != nil {
			return fmt.Errorf("cell %d: %w", i+1, err)
		}
		if done {
			return nil
		}
		if err := s.skip(s.left); err != nil {
			return err
		}
		s.left, s.after = s.after, 0
		if err := s.pass(e); err != nil {
			return err
		}
	}
	return nil
}
