package hdf5

import (
	"math/bits"

	"torchpe/data/array"
)

// denseLinks returns the members of a group with many of them, whose links lie in a fractal heap
// and are found by a B-tree of version 2 over the hashes of their names; none where the group keeps
// its links in its header.
func (f *file) denseLinks(info []byte) (links []link) {
	c := f.cursor(info, "link info")
	c.skip(1)
	if c.u8()&1 != 0 {
		c.skip(8)
	}
	f.dense(c, func(heap *fractalHeap, record []byte) {
		if len(record) < 4 {
			array.FailDamaged("a record of a group's B-tree has %d bytes", len(record))
		}
		links = append(links, f.linkMessage(heap.object(record[4:])))
	})
	return links
}

// dense takes the addresses of a heap and of the B-tree over it, and calls visit with each record of
// the tree. There may be none.
func (f *file) dense(c *cursor, visit func(heap *fractalHeap, record []byte)) {
	heapAddress, tree := c.offset(), c.offset()
	if heapAddress != undefined {
		heap := f.fractalHeap(heapAddress)
		f.treeV2(tree, func(record []byte) { visit(heap, record) })
	}
}

// fractalHeap is a heap of small objects in blocks whose sizes double from row to row.
type fractalHeap struct {
	f     *file
	width int    // blocks in a row
	start uint64 // bytes of a block in the first row
	// largest is the size of the largest direct block; rows of larger ones hold indirect blocks
	largest     uint64
	offsetBytes int // of a place in the heap
	lengthBytes int // of an object's length
	root        uint64
	rows        int // of the root, which is a direct block where it has none
}

func (f *file) fractalHeap(address uint64) *fractalHeap {
	const what = "fractal heap"
	c := f.cursorAt(address, uint64(22+12*f.lengthBytes+3*f.offsetBytes+4), "FRHP", what)
	c.skip(3) // version, length of an object's ID
	filters := c.u16()
	c.skip(1)
	managed := uint64(c.u32())
	c.skip(f.lengthBytes + f.offsetBytes + f.lengthBytes + f.offsetBytes + 8*f.lengthBytes)
	h := &fractalHeap{f: f, width: c.u16()}
	h.start, h.largest = c.length(), c.length()
	heapBits := c.u16()
	c.skip(2)
	h.root, h.rows = c.offset(), c.u16()
	if filters != 0 {
		array.Failf("a group's links are compressed (a fractal heap with filters), " +
			"which cannot be read: rewrite the file with h5repack")
	}
	c.checksum()
	if bits.OnesCount64(h.start) != 1 || bits.OnesCount64(h.largest) != 1 || h.largest < h.start ||
		h.width == 0 || heapBits == 0 || heapBits > 64 || managed == 0 {
		array.FailDamaged("%s at address %d with blocks of %d to %d bytes, %d in a row, "+
			"for %d bits", what, address, h.start, h.largest, h.width, heapBits)
	}
	h.offsetBytes = (heapBits + 7) / 8
	h.lengthBytes = min((bits.Len64(h.largest)-1+7)/8, encoded(managed))
	return h
}

// object returns the object with an ID.
func (h *fractalHeap) object(id []byte) []byte {
	c := h.f.cursor(id, "ID of an object in a fractal heap")
	if kind := c.u8() >> 4 & 3; kind != 0 {
		array.Failf("a link is too long for its group's heap (kind %d), which cannot "+
			"be read: rewrite the file with h5repack", kind)
	}
	offset, length := c.uint(h.offsetBytes), c.uint(h.lengthBytes)
	address, size, begin := h.block(offset)
	if offset-begin > size || length > size-(offset-begin) {
		array.FailDamaged("an object of %d bytes at %d of a fractal heap does not fit "+
			"its block", length, offset)
	}
	return h.f.bytes(address+offset-begin, length, "link")
}

// block returns the direct block that holds a place of the heap: its address, bytes and first place.
func (h *fractalHeap) block(place uint64) (at, size, first uint64) {
	at, rows := h.root, h.rows
	for range 65 {
		if rows == 0 {
			return at, h.start, first
		}
		if at, size, first = h.below(at, rows, first, place); size <= h.largest {
			return at, size, first
		}
		// A block of this size holds rows until its own size is full: 2 rows of start, then
		// doubling.
		rows = max(bits.Len64(size)-bits.Len64(h.start*uint64(h.width))+1, 0)
	}
	failPlace(place)
	return 0, 0, 0
}

func failPlace(place uint64) {
	array.FailDamaged("place %d is not in its fractal heap", place)
}

// below returns the block that holds a place, directly below the indirect block with this number of rows at an
// address, whose first place is begin: its address, bytes and first place.
func (h *fractalHeap) below(address uint64, rows int, begin, place uint64) (at, size, first uint64) {
	if rows > 64 {
		failPlace(place)
	}
	const what = "block of a fractal heap"
	c := h.f.cursorAt(address, uint64(5+h.f.offsetBytes+h.offsetBytes), "FHIB", what)
	entry := address + uint64(len(c.b))
	size = h.start
	for row := range rows {
		if row > 1 {
			size *= 2
		}
		if size == 0 {
			break
		}
		over, whole := bits.Mul64(size, uint64(h.width))
		if in := place - begin; over == 0 && in >= whole {
			begin += whole
			entry += uint64(h.width * h.f.offsetBytes)
			continue
		}
		k := (place - begin) / size
		b := h.f.bytes(entry+k*uint64(h.f.offsetBytes), uint64(h.f.offsetBytes), what)
		return h.f.cursor(b, "").offset(), size, begin + k*size
	}
	failPlace(place)
	return 0, 0, 0
}
