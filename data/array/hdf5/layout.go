package hdf5

import (
	"encoding/binary"
	"fmt"
	"slices"

	"torchpe/data/array"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// load reads the elements wherever the layout says that they lie.
func (d *dataset) load() {
	c := d.f.cursor(d.layout, "layout")
	version, class := c.u8(), c.u8()
	if version != 3 && version != 4 {
		array.Failf("its layout has version %d; versions 3 and 4 can be read: rewrite it "+
			"with h5repack", version)
	}
	switch class {
	case 0:
		b := c.take(c.u16())
		d.checkFits(uint64(len(b)))
		d.allocate()
		d.store(0, b[:d.count*d.t.bytes])
	case 1:
		d.contiguous(c.offset(), c.length())
	case 2:
		d.chunked(c, version)
	case 3:
		array.Failf("it is put together from other datasets (virtual), which cannot be " +
			"read: store its numbers with h5py (as a dataset of x[...])")
	default:
		array.Failf("its layout is of kind %d, which cannot be read", class)
	}
}

// bytes returns how many bytes the elements need.
func (d *dataset) bytes() uint64 { return uint64(d.count) * uint64(d.t.bytes) }

// checkFits fails where the elements need more bytes than there are.
func (d *dataset) checkFits(bytes uint64) {
	if need := d.bytes(); need > bytes {
		array.FailDamaged("expected %d bytes for shape %v of %s, got %d", need, d.shape,
			d.t.dtype, bytes)
	}
}

// allocate makes room for all elements.
func (d *dataset) allocate() {
	what := fmt.Sprintf("an array of shape %v", d.shape)
	d.data = array.Got(array.Make[float64](d.f.budget, d.count, what))
}

func (d *dataset) contiguous(address, size uint64) {
	if address == undefined {
		if len(d.fill) == 0 || d.bytes() > unwritten {
			array.Failf("its %d numbers were never written", d.count)
		}
		d.allocate()
		d.fillAll()
		return
	}
	d.checkFits(size)
	d.checkFits(uint64(d.f.size))
	d.allocate()
	const elements = 1 << 15 // read at once
	for i := 0; i < d.count; i += elements {
		n := min(elements, d.count-i)
		d.store(i, d.f.bytes(address+uint64(i*d.t.bytes), uint64(n*d.t.bytes), "numbers"))
	}
}

// unwritten bounds the bytes of a dataset that were never written, which take no bytes in the file.
const unwritten = 16 << 20

// gain is the most bytes that come out of one of the file's chunks.
func (d *dataset) gain() uint64 {
	most := uint64(1)
	for _, f := range d.filters {
		most = max(most, gains[f.id])
	}
	return most
}

// chunk is where one chunk lies.
type chunk struct {
	address uint64
	bytes   uint64 // in the file
	mask    uint32 // the filters that were left out
	place   []int  // of its first element
}

// chunked reads a dataset that lies in chunks.
func (d *dataset) chunked(c *cursor, version byte) {
	checkReadable(d.filters)
	d.checkFits(uint64(d.f.size)*d.gain() + unwritten)
	h := d.chunkHeader(c, version)
	var chunks []chunk
	stored := uint64(0)
	note := func(k chunk) {
		if k.bytes == 0 {
			array.FailDamaged("its chunk at %v has no bytes", k.place)
		}
		// Chunks may not lie in one another, so that together they are no longer than the file.
		if stored += min(k.bytes, uint64(d.f.size)+1); stored > uint64(d.f.size) {
			array.FailDamaged("its chunks claim more bytes than the file has (%d)", d.f.size)
		}
		chunks = append(chunks, k)
		d.f.take(64+8*len(k.place), "an index of chunks")
	}
	if version == 3 {
		d.chunksV1(h.address, len(h.sides), note)
	} else {
		d.singleChunk(c, h, note)
	}
	d.checkFits(stored*d.gain() + unwritten)
	d.allocate()
	d.fillAll()
	if d.gain() > 1 && len(chunks) > 0 { // behind a chunk may be a checksum
		d.inflated = d.f.make(int(h.size)+5, "a chunk")
	}
	for _, k := range chunks {
		d.storeChunk(h.sides, int(h.size), k)
	}
}

// chunkHeader describes the chunks of a dataset.
type chunkHeader struct {
	flags   byte   // in version 4
	address uint64 // of the index, in version 3
	sides   []int  // lengths of a chunk
	size    uint64 // of a chunk in bytes, unpacked
}

// chunkHeader reads the header of a layout in chunks and checks the size of a chunk.
func (d *dataset) chunkHeader(c *cursor, version byte) (h chunkHeader) {
	if version == 4 {
		h.flags = c.u8()
	}
	rank := int(c.u8()) - 1 // the last axis is an element's bytes
	width := 4
	if version == 4 {
		width = int(c.u8())
	} else {
		h.address = c.offset()
	}
	if rank != len(d.shape) || width < 1 || width > 8 {
		array.FailDamaged("its chunks have %d axes, its shape %v %d", rank, d.shape, len(d.shape))
	}
	h.sides, h.size = make([]int, rank), uint64(d.t.bytes)
	for i := range h.sides {
		n := c.uint(width)
		if n == 0 || n > 1<<32 || h.size > 1<<32/n {
			array.FailDamaged("its chunks claim more than 4 GiB")
		}
		h.sides[i] = int(n)
		h.size *= n
	}
	if n := c.uint(width); n != uint64(d.t.bytes) {
		array.FailDamaged("elements of its chunks have %d bytes, its datatype %d", n, d.t.bytes)
	}
	if h.size > d.gain()*uint64(d.f.size) {
		array.FailDamaged("its chunks claim %d bytes each, the file has %d", h.size, d.f.size)
	}
	return h
}

// fillAll sets all elements to the fill value.
func (d *dataset) fillAll() {
	if len(d.fill) == 0 {
		return
	}
	v, err := d.number.get(d.fill[d.at : d.at+d.number.bytes])
	if err != nil {
		array.Failf("its fill value %w", err)
	}
	for i := range d.data {
		d.data[i] = v
	}
}

// chunksV1 visits the chunks of a B-tree of version 1.
func (d *dataset) chunksV1(address uint64, rank int, visit func(chunk)) {
	if address == undefined {
		return // no chunk was written
	}
	d.f.treeV1(address, 1, 8+8*(rank+1), func(key []byte, child uint64) {
		c := d.f.cursor(key, "B-tree")
		k := chunk{address: child, bytes: uint64(c.u32()), mask: c.u32(), place: make([]int, rank)}
		for i := range k.place {
			n := c.uint(8)
			if n > 1<<62 {
				array.FailDamaged("a chunk begins at index %d of axis %d", n, i)
			}
			k.place[i] = int(n)
		}
		visit(k)
	})
}

// singleChunk takes the rest of a layout message of version 4 and visits its chunk, which is the whole
// dataset and has no index. Of datasets in several chunks HDF5 1.10 and later write a layout of version 4 only
// where they are told to use the newest format.
func (d *dataset) singleChunk(c *cursor, h chunkHeader, visit func(chunk)) {
	if c.u8() != 1 {
		how := "h5repack -f GZIP=4 OLD NEW"
		if slices.ContainsFunc(d.filters, func(f filter) bool { return f.id == filterLZF }) { // h5repack knows none
			how = `python3 -c 'import h5py; h5py.File("NEW", "w")["NAME"] = h5py.File("OLD")["NAME"][()]'`
		}
		array.Failf(`its chunks are indexed as in the new format of HDF5 1.10 (h5py's libver="latest"), `+
			"which cannot be read: rewrite it with %s", how)
	}
	if !slices.Equal(h.sides, d.shape) {
		array.FailDamaged("its only chunk has the shape %v, it has %v", h.sides, d.shape)
	}
	k := chunk{bytes: h.size, place: make([]int, len(h.sides))}
	if h.flags&2 != 0 {
		k.bytes, k.mask = c.length(), c.u32()
	}
	if k.address = c.offset(); k.address != undefined { // else it was never written
		visit(k)
	}
}

// unpacked returns the bytes of a chunk of size bytes.
func (d *dataset) unpacked(k chunk, size int) []byte {
	raw := d.f.bytes(k.address, k.bytes, "chunk")
	defer array.Within("the chunk at %v", k.place)
	return d.undo(k.mask, raw, size)
}

// storeChunk reads a chunk of size bytes and stores the part of it that lies in the dataset.
func (d *dataset) storeChunk(sides []int, size int, k chunk) {
	for i, n := range d.shape {
		if k.place[i] >= n {
			return // left over from when the dataset was larger
		}
		if k.place[i]%sides[i] != 0 {
			array.FailDamaged("a chunk begins at %v, between chunks of %v", k.place, sides)
		}
	}
	b := d.unpacked(k, size)
	store := func(to, from, n int) { d.store(to, b[from*d.t.bytes:(from+n)*d.t.bytes]) }
	if len(sides) == 0 {
		store(0, 0, 1)
		return
	}
	last := len(sides) - 1
	row := min(sides[last], d.shape[last]-k.place[last])
	in := make([]int, len(sides)) // the row in the chunk
	for {
		from, to, inside := 0, 0, true
		for i := range sides {
			from = from*sides[i] + in[i]
			to = to*d.shape[i] + k.place[i] + in[i]
			inside = inside && k.place[i]+in[i] < d.shape[i]
		}
		if inside {
			store(to, from, row)
		}
		i := last - 1
		for ; i >= 0; i-- {
			if in[i]++; in[i] < min(sides[i], d.shape[i]-k.place[i]) {
				break
			}
			in[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
