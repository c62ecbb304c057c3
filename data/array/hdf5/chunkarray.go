package hdf5

import (
	"math/bits"

	"torchpe/data/array"
)

// paged is a run of elements in the file, which lies in pages of equal length with a checksum each
// where it is long.
type paged struct {
	f            *file
	address      uint64 // of the first element
	elementBytes int
	elements     int
	pageElements int    // 0 for a run that is not paged and whose checksum was verified
	written      []byte // a bit a page, the highest first; nil where all were written
	firstBit     int    // of the first page

	page  int // the one in b
	b     []byte
	ready bool
}

// element returns the bytes of an element, or nil where its page was never written.
func (p *paged) element(i int) []byte {
	const what = "index of chunks"
	if i < 0 || i >= p.elements {
		array.FailDamaged("an index of chunks has %d elements and no element %d", p.elements, i)
	}
	page, first, n := 0, 0, p.elements
	if p.pageElements > 0 {
		page = i / p.pageElements
		first = page * p.pageElements
		n = min(p.pageElements, p.elements-first)
		if bit := p.firstBit + page; p.written != nil &&
			(bit/8 >= len(p.written) || p.written[bit/8]>>(7-bit%8)&1 == 0) {
			return nil
		}
	}
	if !p.ready || p.page != page {
		at, size := p.address, uint64(n*p.elementBytes)
		if p.pageElements > 0 {
			at += uint64(page) * uint64(p.pageElements*p.elementBytes+4)
			size += 4
		}
		c := p.f.cursor(p.f.bytes(at, size, what), what)
		if p.pageElements > 0 {
			c.at = len(c.b) - 4
			c.checksum()
		}
		p.page, p.b, p.ready = page, c.b, true
	}
	return p.b[(i-first)*p.elementBytes : (i-first+1)*p.elementBytes]
}

// arrayHead checks what the headers of both kinds of array begin with, and returns the bytes of an
// element.
func (c *cursor) arrayHead(filtered bool) int {
	version, client, element := c.u8(), c.u8(), int(c.u8())
	least := c.f.offsetBytes
	want := byte(0)
	if filtered {
		least, want = least+5, 1
	}
	if version != 0 || client != want || element < least || element > least+8 {
		array.FailDamaged("an index of chunks of version %d and kind %d with elements of "+
			"%d bytes", version, client, element)
	}
	return element
}

// fixedArray opens the index of a dataset that cannot grow beyond a shape.
func (f *file) fixedArray(address uint64, filtered bool) *paged {
	const what = "fixed array of chunks"
	c := f.cursorAt(address, uint64(8+f.lengthBytes+f.offsetBytes+4), "FAHD", what)
	element := c.arrayHead(filtered)
	pageBits := c.u8()
	n, block := c.length(), c.offset()
	c.checksum()
	if n > uint64(f.size) || pageBits > 31 {
		array.FailDamaged("%s claims %d elements in pages of 2^%d", what, n, pageBits)
	}
	p := &paged{f: f, elementBytes: element, elements: int(n)}
	p.open(block, "FADB", 0, 1<<pageBits)
	return p
}

// open reads the head of the data block at an address, which begins with sign and has extra bytes
// before its elements. It is paged where it has more elements than a page; in a fixed array the
// bits of written pages lie in the block.
func (p *paged) open(address uint64, sign string, extra, page int) {
	if address == undefined {
		array.FailDamaged("an index of chunks has no block")
	}
	head := 6 + p.f.offsetBytes + extra
	size := head + 4
	isPaged := p.elements > page
	bitmap := 0
	if isPaged && sign == "FADB" {
		bitmap = ((p.elements-1)/page + 1 + 7) / 8
		size += bitmap
	}
	if !isPaged {
		size += p.elements * p.elementBytes
	}
	c := p.f.cursorAt(address, uint64(size), sign, "block of an index of chunks")
	c.at = size - 4
	c.checksum()
	if !isPaged {
		p.address, p.b, p.ready = address+uint64(head), c.b[head:size-4], true
		return
	}
	p.pageElements = page
	if bitmap > 0 {
		p.written = c.b[head : head+bitmap]
	}
	p.address = address + uint64(size)
}

// extensible is the index of a dataset with one axis that may grow without end: its first elements
// lie in the index block, the next in data blocks that it points to, and the rest in data blocks of
// secondary blocks, ever larger ones.
type extensible struct {
	f            *file
	elementBytes int
	bits         int // of the number of elements
	inIndex      int // elements in the index block
	least        int // elements of the smallest data block
	pointers     int // least number of data blocks of a secondary block
	page         int // elements of a page

	index     []byte   // the elements in the index block
	data      []uint64 // data blocks of the index block
	secondary []uint64
	seconds   map[uint64]*secondaryBlock

	open   *paged // the data block that was used last
	openAt uint64 // its address
}

type secondaryBlock struct {
	data []uint64
	// written has a bit a page of its data blocks, one after the other; nil where they are not
	// paged.
	written []byte
}

func (f *file) extensibleArray(address uint64, filtered bool) *extensible {
	const what = "extensible array of chunks"
	c := f.cursorAt(address, uint64(12+6*f.lengthBytes+f.offsetBytes+4), "EAHD", what)
	a := &extensible{f: f, seconds: map[uint64]*secondaryBlock{}}
	a.elementBytes = c.arrayHead(filtered)
	a.bits, a.inIndex, a.least, a.pointers = int(c.u8()), int(c.u8()), int(c.u8()), int(c.u8())
	pageBits := int(c.u8())
	c.skip(6 * f.lengthBytes)
	block := c.offset()
	c.checksum()
	if a.bits < 1 || a.bits > 62 || bits.OnesCount(uint(a.least)) != 1 ||
		bits.OnesCount(uint(a.pointers)) != 1 || a.pointers < 2 || pageBits > 31 ||
		bits.Len(uint(a.least)) > a.bits {
		array.FailDamaged("%s at address %d", what, address)
	}
	a.page = 1 << pageBits
	if block != undefined {
		a.readIndex(block)
	}
	return a
}

// inIndexBlocks counts the secondary blocks, from the smallest on, that the index block holds
// itself.
func (a *extensible) inIndexBlocks() int { return 2 * (bits.Len(uint(a.pointers)) - 1) }

func (a *extensible) readIndex(address uint64) {
	f := a.f
	direct := 2 * (a.pointers - 1)
	levels := 1 + a.bits - (bits.Len(uint(a.least)) - 1)
	secondary := max(0, levels-a.inIndexBlocks())
	size := 6 + f.offsetBytes + a.inIndex*a.elementBytes + (direct+secondary)*f.offsetBytes + 4
	c := f.cursorAt(address, uint64(size), "EAIB", "index block of chunks")
	c.skip(2 + f.offsetBytes)
	a.index = c.take(a.inIndex * a.elementBytes)
	a.data = c.offsets(direct)
	a.secondary = c.offsets(secondary)
	c.checksum()
}

func (c *cursor) offsets(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = c.offset()
	}
	return all
}

// element returns the bytes of an element, or nil where it was never written.
func (a *extensible) element(i int) []byte {
	if a.index == nil && a.data == nil {
		return nil
	}
	if i < a.inIndex {
		return a.index[i*a.elementBytes : (i+1)*a.elementBytes]
	}
	i -= a.inIndex
	// Level u holds 2^(u/2) data blocks of 2^((u+1)/2) least elements.
	u := bits.Len(uint(i/a.least+1)) - 1
	blocks, elements := 1<<(u/2), a.least<<((u+1)/2)
	i -= a.least * (1<<u - 1)
	block := i / elements
	address := undefined
	p := &paged{f: a.f, elementBytes: a.elementBytes, elements: elements}
	if u < a.inIndexBlocks() {
		before := 0 // data blocks of the levels below
		for v := range u {
			before += 1 << (v / 2)
		}
		address = a.data[before+block]
	} else {
		k := u - a.inIndexBlocks()
		if k >= len(a.secondary) {
			array.FailDamaged("an index of chunks has no level %d", u)
		}
		if a.secondary[k] != undefined {
			s := a.secondaryBlock(a.secondary[k], blocks, elements)
			address = s.data[block]
			p.written, p.firstBit = s.written, block*(elements/a.page)
		}
	}
	if address == undefined {
		return nil
	}
	// Elements come in order, so that one open block is enough
	if a.open == nil || a.openAt != address {
		p.open(address, "EADB", (a.bits+7)/8, a.page)
		a.open, a.openAt = p, address
	}
	return a.open.element(i % elements)
}

func (a *extensible) secondaryBlock(address uint64, blocks, elements int) *secondaryBlock {
	if s := a.seconds[address]; s != nil {
		return s
	}
	f := a.f
	bitmap := 0
	if elements > a.page {
		bitmap = (elements/a.page + 7) / 8
	}
	head := 2 + f.offsetBytes + (a.bits+7)/8
	size := 4 + head + blocks*(bitmap+f.offsetBytes) + 4
	c := f.cursorAt(address, uint64(size), "EASB", "secondary block of chunks")
	c.skip(head)
	s := &secondaryBlock{}
	if bitmap > 0 {
		s.written = c.take(blocks * bitmap)
	}
	s.data = c.offsets(blocks)
	c.checksum()
	a.seconds[address] = s
	return s
}
