package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"

	"torchpe/data/array"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// load reads the elements wherever the layout says that they lie.
func (d *dataset) load() error {
	c := d.f.cursor(d.layout, "layout")
	version, class := c.u8(), c.u8()
	if c.err == nil && version != 3 && version != 4 {
		return fmt.Errorf("its layout has version %d; versions 3 and 4 can be read: rewrite it "+
			"with h5repack", version)
	}
	switch class {
	case 0:
		b := c.take(c.u16())
		if c.err != nil {
			return c.err
		}
		if err := d.fits(uint64(len(b))); err != nil {
			return err
		}
		if err := d.allocate(); err != nil {
			return err
		}
		return d.store(0, b[:d.count*d.t.bytes])
	case 1:
		address, size := c.offset(), c.length()
		if c.err != nil {
			return c.err
		}
		return d.contiguous(address, size)
	case 2:
		return d.chunked(c, version)
	case 3:
		return fmt.Errorf("it is put together from other datasets (virtual), which cannot be " +
			"read: store its numbers with h5py (as a dataset of x[...])")
	}
	return fmt.Errorf("its layout is of kind %d, which cannot be read", class)
}

// fits returns an error where the elements need more bytes than there are.
func (d *dataset) fits(bytes uint64) error {
	if need := uint64(d.count) * uint64(d.t.bytes); need > bytes {
		return array.Damaged("expected %d bytes for shape %v of %s, got %d", need, d.shape,
			d.t.dtype, bytes)
	}
	return nil
}

// allocate makes room for all elements.
func (d *dataset) allocate() (err error) {
	d.data, err = array.Make[float64](d.f.budget, d.count, fmt.Sprintf("an array of shape %v", d.shape))
	return err
}

func (d *dataset) contiguous(address, size uint64) error {
	if address == undefined {
		if len(d.fill) == 0 || d.fits(unwritten) != nil {
			return fmt.Errorf("its %d numbers were never written", d.count)
		}
		if err := d.allocate(); err != nil {
			return err
		}
		return d.fillAll()
	}
	if err := d.fits(size); err != nil {
		return err
	}
	if err := d.fits(uint64(d.f.size)); err != nil {
		return err
	}
	if err := d.allocate(); err != nil {
		return err
	}
	const elements = 1 << 15 // read at once
	for i := 0; i < d.count; i += elements {
		n := min(elements, d.count-i)
		b, err := d.f.bytes(address+uint64(i*d.t.bytes), uint64(n*d.t.bytes), "numbers")
		if err == nil {
			err = d.store(i, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
func (d *dataset) chunked(c *cursor, version byte) error {
	if err := readable(d.filters); err != nil {
		return err
	}
	if err := d.fits(uint64(d.f.size)*d.gain() + unwritten); err != nil {
		return err
	}
	h, err := d.chunkHeader(c, version)
	if err != nil {
		return err
	}
	var chunks []chunk
	stored := uint64(0)
	note := func(k chunk) error {
		if k.bytes == 0 {
			return array.Damaged("its chunk at %v has no bytes", k.place)
		}
		// Chunks may not lie in one another, so that together they are no longer than the file.
		if stored += min(k.bytes, uint64(d.f.size)+1); stored > uint64(d.f.size) {
			return array.Damaged("its chunks claim more bytes than the file has (%d)", d.f.size)
		}
		chunks = append(chunks, k)
		return d.f.budget.Take(int64(64+8*len(k.place)), "an index of chunks")
	}
	if version == 3 {
		err = d.chunksV1(h.address, len(h.sides), note)
	} else {
		x := chunkIndex{d: d, sides: h.sides, size: h.size, flags: h.flags, visit: note}
		err = x.read(c)
	}
	if err == nil {
		err = d.fits(stored*d.gain() + unwritten)
	}
	if err != nil {
		return err
	}
	if err = d.allocate(); err == nil {
		err = d.fillAll()
	}
	if err == nil && d.gain() > 1 && len(chunks) > 0 { // behind a chunk may be a checksum
		d.inflated, err = array.Make[byte](d.f.budget, int(h.size)+5, "a chunk")
	}
	for i := 0; err == nil && i < len(chunks); i++ {
		err = d.storeChunk(h.sides, int(h.size), chunks[i])
	}
	return err
}

// chunkHeader describes the chunks of a dataset.
type chunkHeader struct {
	flags   byte
	address uint64 // of the index, in version 3
	sides   []int  // lengths of a chunk
	size    uint64 // of a chunk in bytes, unpacked
}

// chunkHeader reads the header of a layout in chunks and checks the size of a chunk.
func (d *dataset) chunkHeader(c *cursor, version byte) (h chunkHeader, err error) {
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
	if c.err != nil {
		return h, c.err
	}
	if rank != len(d.shape) || width < 1 || width > 8 {
		return h, array.Damaged("its chunks have %d axes, its shape %v %d", rank, d.shape,
			len(d.shape))
	}
	h.sides, h.size = make([]int, rank), uint64(d.t.bytes)
	for i := range h.sides {
		n := c.uint(width)
		if c.err == nil && (n == 0 || n > 1<<32 || h.size > 1<<32/n) {
			return h, array.Damaged("its chunks claim more than 4 GiB")
		}
		h.sides[i] = int(n)
		h.size *= n
	}
	if n := c.uint(width); c.err == nil && n != uint64(d.t.bytes) {
		return h, array.Damaged("elements of its chunks have %d bytes, its datatype %d", n,
			d.t.bytes)
	}
	if c.err != nil {
		return h, c.err
	}
	if h.size > d.gain()*uint64(d.f.size) {
		return h, array.Damaged("its chunks claim %d bytes each, the file has %d", h.size,
			d.f.size)
	}
	if h.flags&1 != 0 && len(d.filters) > 0 {
		return h, errors.New("the chunks at its edges are not filtered as the others are, which " +
			"cannot be read: rewrite it with h5repack")
	}
	return h, nil
}

// fillAll sets all elements to the fill value.
func (d *dataset) fillAll() error {
	if len(d.fill) == 0 {
		return nil
	}
	v, err := d.number.get(d.fill[d.at : d.at+d.number.bytes])
	if err != nil {
		return fmt.Errorf("its fill value %w", err)
	}
	for i := range d.data {
		d.data[i] = v
	}
	return nil
}

// chunksV1 visits the chunks of a B-tree of version 1.
func (d *dataset) chunksV1(address uint64, rank int, visit func(chunk) error) error {
	if address == undefined {
		return nil // no chunk was written
	}
	return d.f.treeV1(address, 1, 8+8*(rank+1), func(key []byte, child uint64) error {
		c := d.f.cursor(key, "B-tree")
		k := chunk{address: child, bytes: uint64(c.u32()), mask: c.u32(), place: make([]int, rank)}
		for i := range k.place {
			n := c.uint(8)
			if n > 1<<62 {
				return array.Damaged("a chunk begins at index %d of axis %d", n, i)
			}
			k.place[i] = int(n)
		}
		return visit(k)
	})
}

// storeChunk reads a chunk of size bytes and stores the part of it that lies in the dataset.
func (d *dataset) storeChunk(sides []int, size int, k chunk) error {
	for i, n := range d.shape {
		if k.place[i] >= n {
			return nil // left over from when the dataset was larger
		}
		if k.place[i]%sides[i] != 0 {
			return array.Damaged("a chunk begins at %v, between chunks of %v", k.place, sides)
		}
	}
	raw, err := d.f.bytes(k.address, k.bytes, "chunk")
	if err != nil {
		return err
	}
	b, err := d.undo(k.mask, raw, size)
	if err != nil {
		return fmt.Errorf("the chunk at %v: %w", k.place, err)
	}
	store := func(to, from, n int) error {
		return d.store(to, b[from*d.t.bytes:(from+n)*d.t.bytes])
	}
	if len(sides) == 0 {
		return store(0, 0, 1)
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
			if err := store(to, from, row); err != nil {
				return err
			}
		}
		i := last - 1
		for ; i >= 0; i-- {
			if in[i]++; in[i] < min(sides[i], d.shape[i]-k.place[i]) {
				break
			}
			in[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}
