package hdf5

import (
	"encoding/binary"
	"math"

	"torchpe/data/array"
)

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

// bitReader reads a sequence of numbers that have a given number of bits, the highest bit first.
type bitReader struct {
	b  []byte
	at int // in bits
}

func (r *bitReader) take(n int) uint64 {
	var v uint64
	for range n {
		v = v<<1 | uint64(r.b[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return v
}

// put puts the lowest bytes of v into b.
func (t *datatype) put(b []byte, v uint64) {
	for i := range b {
		at := i
		if t.big {
			at = len(b) - 1 - i
		}
		b[at] = byte(v >> (8 * i))
	}
}

// unNBit unpacks a chunk whose numbers were stored without their unused bits.
func (d *dataset) unNBit(f filter, b, out []byte) []byte {
	if f.value(1) != 0 { // nothing could be saved
		return b
	}
	size, bits, shift := f.value(4), f.value(6), f.value(7)
	if f.value(3) != 1 || d.t.class > classFloat {
		array.Failf("it is packed by the filter n-bit as %s, of which only single "+
			"numbers can be read: rewrite it with h5repack -f GZIP=4 OLD NEW", d.t.dtype)
	}
	if size != d.t.bytes || size > 8 || bits < 1 || bits+shift > 8*size || (f.value(5) == 1) != d.t.big {
		array.FailDamaged("n-bit has %d bits at bit %d of %d bytes", bits, shift, size)
	}
	if need := (len(out)/size*bits + 7) / 8; len(b) < need {
		failPacked()
	}
	r := bitReader{b: b}
	for at := 0; at < len(out); at += size {
		d.t.put(out[at:at+size], r.take(bits)<<shift)
	}
	return out
}

// unScale unpacks a chunk of the filter scale-offset. It stores the differences from the smallest number
// in as few bits as possible. Floats are multiplied by a power of ten and rounded before.
func (d *dataset) unScale(f filter, b, out []byte) []byte {
	const head = 21 // bits, the length of the smallest number and that, with reserved bytes
	size, bits := d.t.bytes, 0
	if len(b) >= head {
		bits = int(binary.LittleEndian.Uint32(b))
	}
	isFloat := f.value(3) == classFloat
	switch {
	case len(b) < head || b[4] < 1 || b[4] > 8 || bits > 8*size || f.value(4) != size || size > 8 ||
		isFloat != (d.t.class == classFloat) || !d.t.isReal() || isFloat && size < 4:
		array.FailDamaged("the head of its packed numbers is wrong")
	case isFloat && f.value(0) != 0:
		array.Failf("it is packed by the E-scaling of the filter scale-offset, which " +
			"cannot be read")
	}
	if need := (len(out)/size*bits + 7) / 8; len(b)-head < need {
		failPacked()
	}
	smallest := uint64(0)
	for i, v := range b[5 : 5+b[4]] {
		smallest |= uint64(v) << (8 * i)
	}
	var fill uint64
	for i, v := range f.values[min(8, len(f.values)):min(10, len(f.values))] {
		fill |= uint64(v) << (32 * i)
	}
	factor := math.Pow10(int(int32(f.value(1))))
	r := bitReader{b: b[head:]}
	for at := 0; at < len(out); at += size {
		v := uint64(0)
		if bits == 8*size { // nothing could be saved: numbers as they were in memory
			copy(out[at:at+size], b[head+at:])
			v = array.Uint(size).Bits(out[at:], binary.LittleEndian)
		} else {
			v = r.take(bits)
		}
		switch {
		case bits == 8*size:
		case f.value(7) == 1 && bits > 0 && v == 1<<bits-1:
			v = fill
		case !isFloat:
			v += smallest
		case size == 4:
			v = uint64(math.Float32bits(float32(v)/float32(factor) + math.Float32frombits(uint32(smallest))))
		default:
			v = math.Float64bits(float64(v)/factor + math.Float64frombits(smallest))
		}
		d.t.put(out[at:at+size], v)
	}
	return out
}
