package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"

	"torchpe/data/array"
)

// The filters that can be undone.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

var filterNames = map[int]string{4: "szip", 5: "n-bit", 6: "scale-offset", 307: "bzip2", 32001: "Blosc", 32004: "LZ4",
	32008: "bitshuffle", 32013: "zfp", 32015: "Zstandard", 32017: "SZ", 32026: "Blosc2"}

// filter is one step of a pipeline.
type filter struct {
	id     int
	values []uint32 // its parameters
}

// value returns a parameter; 0 where it has none.
func (f filter) value(i int) int {
	if i < len(f.values) {
		return int(f.values[i])
	}
	return 0
}

// filters takes a filter pipeline message.
func (c *cursor) filters() (filters []filter) {
	version, n := c.u8(), int(c.u8())
	switch version {
	case 1:
		c.skip(6)
	case 2:
	default:
		array.Failf("its filters have version %d; versions 1 and 2 can be read", version)
	}
	for range n {
		f := filter{id: c.u16()}
		length := 0
		if version == 1 || f.id >= 256 {
			length = c.u16()
		}
		c.skip(2)
		values := c.u16()
		if version == 1 {
			length = (length + 7) / 8 * 8
		}
		c.skip(length)
		for range values {
			f.values = append(f.values, c.u32())
		}
		if version == 1 && values%2 == 1 {
			c.skip(4)
		}
		filters = append(filters, f)
	}
	return filters
}

// gains are the most bytes that come out of one for each filter that can be undone. LZF makes 264 of 3.
var gains = map[int]uint64{filterDeflate: array.MaxInflate, filterShuffle: 1, filterFletcher: 1, filterLZF: 88}

// checkReadable fails where a filter cannot be undone.
func checkReadable(filters []filter) {
	for _, f := range filters {
		if gains[f.id] > 0 {
			continue
		}
		name := filterNames[f.id]
		if name == "" {
			name = "a filter"
		}
		how := "h5repack -f GZIP=4 OLD NEW"
		if f.id >= 256 {
			how = `h5py: import hdf5plugin, read it, and store it with compression="gzip"`
		}
		array.Failf("it is compressed with %s (filter %d), which cannot be read: rewrite it "+
			"with %s", name, f.id, how)
	}
}

// undo returns the size bytes of a chunk that went through the filters; those whose bit is set in
// mask were left out.
func (d *dataset) undo(mask uint32, b []byte, size int) []byte {
	for i := len(d.filters) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		switch f := d.filters[i]; f.id {
		case filterFletcher:
			if len(b) < 4 {
				array.FailDamaged("has %d bytes, fewer than its checksum", len(b))
			}
			want := binary.LittleEndian.Uint32(b[len(b)-4:])
			b = b[:len(b)-4]
			if !sameFletcher(fletcher32(b), want) {
				array.Failf("its checksum is wrong: the file is damaged")
			}
		case filterDeflate, filterLZF:
			if len(b) > 0 && &b[0] == &d.inflated[0] { // packed twice
				b = bytes.Clone(b)
			}
			buffer := d.inflated[:size+5] // behind the chunk's bytes only a checksum can have come out
			if f.id == filterLZF {
				b = unLZF(b, buffer)
			} else {
				b = inflate(b, buffer)
			}
		case filterShuffle:
			b = d.unshuffle(b, f.value(0))
		}
	}
	if len(b) != size {
		array.FailDamaged("expected %d bytes, got %d", size, len(b))
	}
	return b
}

// inflate puts what b holds into a buffer that has a byte more than may come out.
func inflate(b, buffer []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(b))
	n := 0
	for err == nil && n < len(buffer) {
		var more int
		more, err = z.Read(buffer[n:])
		n += more
	}
	switch {
	case n == len(buffer):
		array.FailDamaged("more than %d bytes come out", n-1)
	case err != io.EOF:
		array.FailDamaged("its deflated bytes: %w after %d bytes", err, n)
	}
	return buffer[:n]
}

// failPacked fails for packed bytes that do not expand to a chunk.
func failPacked() {
	array.FailDamaged("its packed bytes end before its numbers, or lead out of them")
}

// unLZF unpacks LZF (Marc Lehmann's format, as in h5py's filter): runs of literal bytes and copies of
// earlier bytes. The buffer is one byte larger than the largest valid result.
func unLZF(b, buffer []byte) []byte {
	n := 0
	for len(b) > 0 {
		control := int(b[0])
		if b = b[1:]; control < 32 {
			if control+1 > len(b) || control+1 > len(buffer)-n {
				failPacked()
			}
			n += copy(buffer[n:], b[:control+1])
			b = b[control+1:]
			continue
		}
		length := control >> 5
		if length == 7 && len(b) > 0 {
			length += int(b[0])
			b = b[1:]
		}
		if len(b) == 0 {
			failPacked()
		}
		from := n - (control&31<<8 | int(b[0])) - 1
		b = b[1:]
		if length += 2; from < 0 || length > len(buffer)-n {
			failPacked()
		}
		for range length { // the copy may reach into itself
			buffer[n] = buffer[from]
			n, from = n+1, from+1
		}
	}
	return buffer[:n]
}

// unshuffle puts the bytes of elements, which lie first bytes first, together again. Bytes behind
// the last whole element were left as they are.
func (d *dataset) unshuffle(b []byte, element int) []byte {
	if element <= 1 || len(b) < element {
		return b
	}
	if len(d.unshuffled) < len(b) {
		d.unshuffled = d.f.make(len(b), "a shuffled chunk")
	}
	n, out := len(b)/element, d.unshuffled[:len(b)]
	if &b[0] == &out[0] { // shuffled twice
		b = bytes.Clone(b)
	}
	for k := range element {
		for i, v := range b[k*n : (k+1)*n] {
			out[i*element+k] = v
		}
	}
	copy(out[n*element:], b[n*element:])
	return out
}

// sameFletcher compares checksums. Writers differ in the order of the bytes of each half (an old
// version of the library swapped them), and in whether a sum that is a multiple of 65535 is 0 or
// 65535.
func sameFletcher(got, want uint32) bool {
	same := func(a, b uint32) bool { return a%65535 == b%65535 }
	swap := func(v uint32) uint32 { return v>>8&0xff | v<<8&0xff00 }
	hi, lo := want>>16, want&0xffff
	return same(got>>16, hi) && same(got&0xffff, lo) || same(got>>16, swap(hi)) &&
		same(got&0xffff, swap(lo))
}
