package hdf5

import (
	"fmt"
	"math/bits"

	"torchpe/data/array"
)

// chunkIndex visits the chunks of a dataset whose layout has version 4.
type chunkIndex struct {
	d     *dataset
	sides []int
	size  uint64 // bytes of a chunk that is not filtered
	flags byte
	visit func(chunk) error

	grid []int // chunks along each axis of the shape
	down []int // how far apart neighbours along an axis lie in the order of the index
}

// read takes the rest of the layout message and visits all chunks.
func (x *chunkIndex) read(c *cursor) error {
	kind := c.u8()
	filtered := len(x.d.filters) > 0
	var single chunk
	switch kind {
	case 1:
		single = chunk{bytes: x.size, place: make([]int, len(x.sides))}
		if x.flags&2 != 0 {
			single.bytes, single.mask = c.length(), c.u32()
		}
	case 2:
	case 3:
		c.skip(1)
	case 4:
		c.skip(5)
	case 5:
		c.skip(6)
	default:
		if c.err == nil {
			return fmt.Errorf("the index of its chunks is of kind %d, which cannot be read: "+
				"rewrite it with h5repack", kind)
		}
	}
	address := c.offset()
	if c.err != nil || address == undefined {
		return c.err
	}
	if err := x.order(kind == 4); err != nil {
		return err
	}
	f := x.d.f
	switch kind {
	case 1:
		single.address = address
		return x.visit(single)
	case 2:
		return x.each(func(i int) (chunk, bool, error) {
			return chunk{address: address + uint64(i)*x.size, bytes: x.size}, true, nil
		})
	case 3:
		a, err := f.fixedArray(address, filtered)
		if err != nil {
			return err
		}
		return x.each(func(i int) (chunk, bool, error) { return x.element(a.element(i)) })
	case 4:
		a, err := f.extensibleArray(address, filtered)
		if err != nil {
			return err
		}
		return x.each(func(i int) (chunk, bool, error) { return x.element(a.element(i)) })
	}
	return f.treeV2(address, x.record)
}

// order finds how the index counts chunks: over the shape up to which the dataset may grow, in
// row-major order; where one axis may grow without end, an extensible array counts that axis
// slowest.
func (x *chunkIndex) order(extensible bool) error {
	d, rank := x.d, len(x.sides)
	var axes []int // slowest first
	endless := 0
	for i := range rank {
		if extensible && d.most[i] == 0 {
			axes = append([]int{i}, axes...)
			endless++
		} else {
			axes = append(axes, i)
		}
	}
	if endless > 1 {
		return array.Damaged("%d of its axes may grow without end, but its index is an "+
			"extensible array", endless)
	}
	x.grid, x.down = make([]int, rank), make([]int, rank)
	step := uint64(1)
	for k := rank - 1; k >= 0; k-- {
		i := axes[k]
		x.grid[i] = (d.shape[i] + x.sides[i] - 1) / x.sides[i]
		x.down[i] = int(step)
		over, next := bits.Mul64(step, uint64((max(d.most[i], d.shape[i])-1)/x.sides[i]+1))
		if over != 0 || next > 1<<62 {
			return array.Damaged("it may grow to more chunks than can be counted")
		}
		step = next
	}
	return nil
}

// each visits the chunks that the shape needs; at returns the chunk at a place of the index, or
// false where there is none.
func (x *chunkIndex) each(at func(i int) (chunk, bool, error)) error {
	place := make([]int, len(x.sides)) // in chunks
	for {
		i := 0
		for k, p := range place {
			i += p * x.down[k]
		}
		c, ok, err := at(i)
		if err == nil && ok {
			c.place = make([]int, len(place))
			for k, p := range place {
				c.place[k] = p * x.sides[k]
			}
			err = x.visit(c)
		}
		if err != nil {
			return err
		}
		k := len(place) - 1
		for ; k >= 0; k-- {
			if place[k]++; place[k] < x.grid[k] {
				break
			}
			place[k] = 0
		}
		if k < 0 {
			return nil
		}
	}
}

// element takes an element of an array: an address, and for filtered chunks their bytes and the
// filters left out.
func (x *chunkIndex) element(b []byte, err error) (chunk, bool, error) {
	if err != nil || b == nil {
		return chunk{}, false, err
	}
	c := x.d.f.cursor(b, "index of chunks")
	k := chunk{address: c.offset(), bytes: x.size}
	if len(x.d.filters) > 0 {
		k.bytes, k.mask = c.uint(c.left()-4), c.u32()
	}
	return k, k.address != undefined, c.err
}

// record takes a record of a B-tree of version 2: as an element, with the place of the chunk, in
// chunks, behind.
func (x *chunkIndex) record(b []byte) error {
	places := 8 * len(x.sides)
	if len(b) < places+x.d.f.offsetBytes {
		return array.Damaged("a record of its index of chunks has %d bytes", len(b))
	}
	k, ok, err := x.element(b[:len(b)-places], nil)
	if err != nil || !ok {
		return err
	}
	k.place = make([]int, len(x.sides))
	for i := range k.place {
		n := le64(b[len(b)-places+8*i:])
		if n > uint64(1<<62/x.sides[i]) {
			return array.Damaged("a chunk begins at chunk %d of axis %d", n, i)
		}
		k.place[i] = int(n) * x.sides[i]
	}
	return x.visit(k)
}
