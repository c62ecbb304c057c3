package array

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Numbers says how the numbers of an array lie in a stream.
type Numbers struct {
	Shape   []int
	Bytes   int                             // of a number: 1, 2, 4 or 8
	Columns bool                            // the first axis varies fastest, as in Fortran and MATLAB
	Type    string                          // of the numbers, for errors
	Decode  func(b []byte) (float64, error) // returns the number that b begins with
}

// Ended describes an error of io.ReadFull, which read got of the want bytes of what.
func Ended(err error, what string, want, got int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Damaged("expected %d bytes of %s, and they end before", want, what)
	}
	return Damaged("%s: after %d of %d bytes: %w", what, got, want, err)
}

// Index returns the place in an array of the i-th number of its stream, from 0; columns says that the
// first axis varies fastest.
func Index(i int, shape []int, columns bool) []int {
	index := make([]int, len(shape))
	for k := range index {
		axis := len(index) - 1 - k
		if columns {
			axis = k
		}
		index[axis] = i % shape[axis]
		i /= shape[axis]
	}
	return index
}

const (
	pieceBytes = 1 << 16 // bytes that are read at once
	// ahead is the part of the bytes that is read before the array is made, so that a compressed
	// file that claims much costs at most a few times what it holds.
	ahead = 8
)

// Read reads all numbers, in row-major order.
func (n Numbers) Read(r io.Reader, b *Budget) ([]float64, error) {
	count, err := Count(n.Shape, 8)
	if err != nil {
		return nil, err
	}
	what, total := fmt.Sprintf("an array of shape %v", n.Shape), int64(count)*int64(n.Bytes)
	if err := b.Fits(8*int64(count)+total/ahead, what); err != nil {
		return nil, err
	}
	head, err := readAhead(r, b, total)
	if err != nil {
		return nil, err
	}
	defer b.Give(total / ahead)
	data, err := Make[float64](b, count, what)
	if err != nil {
		return nil, err
	}
	r = io.MultiReader(append(head, r)...)
	p, buffer := newPlaces(n.Shape, n.Columns), make([]byte, min(total, pieceBytes))
	for got := int64(0); got < total; got += int64(len(buffer)) {
		buffer = buffer[:min(pieceBytes, total-got)]
		if more, err := io.ReadFull(r, buffer); err != nil {
			return nil, Ended(err, "numbers", total, got+int64(more))
		}
		if err := n.decode(data, &p, buffer); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// readAhead reads the first of all bytes, in ever larger parts.
func readAhead(r io.Reader, b *Budget, all int64) (parts []io.Reader, err error) {
	for got, first := int64(0), all/ahead; got < first; {
		part, err := Make[byte](b, int(min(max(pieceBytes, got), first-got)), "numbers")
		if err != nil {
			return nil, err
		}
		if more, err := io.ReadFull(r, part); err != nil {
			return nil, Ended(err, "numbers", all, got+int64(more))
		}
		parts, got = append(parts, bytes.NewReader(part)), got+int64(len(part))
	}
	return parts, nil
}

// decode puts the numbers in b to their places.
func (n Numbers) decode(data []float64, p *places, b []byte) error {
	for ; len(b) > 0; b = b[n.Bytes:] {
		v, err := n.Decode(b)
		if err != nil {
			return fmt.Errorf("the element at index %v of the array of %s %w",
				Index(p.n, n.Shape, n.Columns), n.Type, err)
		}
		data[p.next()] = v
	}
	return nil
}

// places gives the places in a row-major array of the numbers of a stream, one after the other.
type places struct {
	n, at        int // how many were given, and the next
	shape, steps []int
	index        []int // of the next, where the first axis varies fastest
}

func newPlaces(shape []int, columns bool) places {
	if !columns || len(shape) < 2 {
		return places{}
	}
	p := places{shape: shape, steps: make([]int, len(shape)), index: make([]int, len(shape))}
	for axis, step := len(shape)-1, 1; axis >= 0; axis-- {
		p.steps[axis] = step
		step *= shape[axis]
	}
	return p
}

func (p *places) next() int {
	at := p.at
	p.n++
	if p.steps == nil {
		p.at++
		return at
	}
	for axis := range p.index {
		p.index[axis]++
		p.at += p.steps[axis]
		if p.index[axis] < p.shape[axis] {
			break
		}
		p.at -= p.steps[axis] * p.shape[axis]
		p.index[axis] = 0
	}
	return at
}
