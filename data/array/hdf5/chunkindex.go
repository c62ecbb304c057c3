package hdf5

import (
	"math/bits"

	"torchpe/data/array"
)

// chunkIndex visits the chunks of a dataset whose layout has version 4.
type chunkIndex struct {
	d     *dataset
	sides []int
	size  uint64 // bytes of a chunk that is not filtered
	flags byte
	visit func(chunk)

	grid []int // chunks along each axis of the shape
	down []int // how far apart neighbours along an axis lie in the order of the index
}

// read takes the rest of the layout message and visits all chunks.
func (x *chunkIndex) read(c *cursor) {
	f, kind, filtered := x.d.f, c.u8(), len(x.d.filters) > 0
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
		array.Failf("the index of its chunks is of kind %d, which cannot be read: "+
			"rewrite it with h5repack", kind)
	}
	address := c.offset()
	if address == undefined {
		return
	}
	x.order(kind == 4)
	switch kind {
	case 1:
		single.address = address
		x.visit(single)
	case 2:
		x.each(func(i int) (chunk, bool) {
			return chunk{address: address + uint64(i)*x.size, bytes: x.size}, true
		})
	case 3:
		a := f.fixedArray(address, filtered)
		x.each(func(i int) (chunk, bool) { return x.element(a.element(i)) })
	case 4:
		a := f.extensibleArray(address, filtered)
		x.each(func(i int) (chunk, bool) { return x.element(a.element(i)) })
	case 5:
		f.treeV2(address, x.record)
	}
}

// order finds how the index counts chunks: over the shape up to which the dataset may grow, in
// row-major order; where one axis may grow without end, an extensible array counts that axis
// slowest.
func (x *chunkIndex) order(extensible bool) {
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
		array.FailDamaged("%d of its axes may grow without end, but its index is an "+
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
			array.FailDamaged("it may grow to more chunks than can be counted")
		}
		step = next
	}
}

// each visits the chunks that the shape needs; at returns the chunk at a place of the index, or
// false where there is none.
func (x *chunkIndex) each(at func(i int) (chunk, bool)) {
	place := make([]int, len(x.sides)) // in chunks
	for {
		i := 0
		for k, p := range place {
			i += p * x.down[k]
		}
		if c, ok := at(i); ok {
			c.place = make([]int, len(place))
			for k, p := range place {
				c.place[k] = p * x.sides[k]
			}
			x.visit(c)
		}
		k := len(place) - 1
		for ; k >= 0; k-- {
			if place[k]++; place[k] < x.grid[k] {
				break
			}
			place[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// element takes an element of an array: an address, and for filtered chunks their bytes and the
// filters left out. It is nil where it was never written.
func (x *chunkIndex) element(b []byte) (chunk, bool) {
	if b == nil {
		return chunk{}, false
	}
	c := x.d.f.cursor(b, "index of chunks")
	k := chunk{address: c.offset(), bytes: x.size}
	if len(x.d.filters) > 0 {
		k.bytes, k.mask = c.uint(c.left()-4), c.u32()
	}
	return k, k.address != undefined
}

// record takes a record of a B-tree of version 2: as an element, with the place of the chunk, in
// chunks, behind.
func (x *chunkIndex) record(b []byte) {
	places := 8 * len(x.sides)
	if len(b) < places+x.d.f.offsetBytes {
		array.FailDamaged("a record of its index of chunks has %d bytes", len(b))
	}
	k, ok := x.element(b[:len(b)-places])
	if !ok {
		return
	}
	k.place = make([]int, len(x.sides))
	for i := range k.place {
		n := le64(b[len(b)-places+8*i:])
		if n > uint64(1<<62/x.sides[i]) {
			array.FailDamaged("a chunk begins at chunk %d of axis %d", n, i)
		}
		k.place[i] = int(n) * x.sides[i]
	}
	x.visit(k)
}
