package array

import "fmt"

// Sparse is a matrix in MATLAB's sparse form: of each column the rows that are not zero, and what
// stands there.
type Sparse struct {
	Shape  []int     // two lengths
	Starts []float64 // of each column in Rows and Values, and the end of the last
	Rows   []float64 // from 0
	Values []float64
}

// Full returns all numbers of the matrix, row-major.
func (s Sparse) Full(b *Budget) ([]float64, error) {
	count, err := Count(s.Shape, 8)
	if err != nil || len(s.Shape) != 2 {
		return nil, Damaged("a sparse matrix of shape %v", s.Shape)
	}
	rows, columns := s.Shape[0], s.Shape[1]
	damaged := Damaged("the indices of the sparse matrix of shape %v do not rise from 0 to its "+
		"%d numbers within its rows", s.Shape, len(s.Values))
	if len(s.Starts) != columns+1 || s.Starts[0] != 0 ||
		!(s.Starts[columns] <= float64(min(len(s.Rows), len(s.Values)))) {
		return nil, damaged
	}
	full, err := Make[float64](b, count,
		fmt.Sprintf("all numbers of a sparse matrix of shape %v", s.Shape))
	if err != nil {
		return nil, err
	}
	for j := range columns {
		from, to, last := s.Starts[j], s.Starts[j+1], -1.0
		if !(from <= to && to <= s.Starts[columns]) {
			return nil, damaged
		}
		for k := int(from); k < int(to); k++ {
			i := s.Rows[k]
			if !(i > last && i < float64(rows)) {
				return nil, damaged
			}
			full[int(i)*columns+j], last = s.Values[k], i
		}
	}
	return full, nil
}
