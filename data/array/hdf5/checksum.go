package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// lookup3 is Bob Jenkins' hash of 2006 (hashlittle, with the initial value 0), the checksum of
// HDF5's metadata.
func lookup3(k []byte) uint32 {
	a := 0xdeadbeef + uint32(len(k))
	b, c := a, a
	for ; len(k) > 12; k = k[12:] {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a, b, c = mix(a, b, c)
	}
	if len(k) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], k)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	rotate := bits.RotateLeft32
	c = (c ^ b) - rotate(b, 14)
	a = (a ^ c) - rotate(c, 11)
	b = (b ^ a) - rotate(a, 25)
	c = (c ^ b) - rotate(b, 16)
	a = (a ^ c) - rotate(c, 4)
	b = (b ^ a) - rotate(a, 14)
	return (c ^ b) - rotate(b, 24)
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	rotate := bits.RotateLeft32
	a = (a - c) ^ rotate(c, 4)
	c += b
	b = (b - a) ^ rotate(a, 6)
	a += c
	c = (c - b) ^ rotate(b, 8)
	b += a
	a = (a - c) ^ rotate(c, 16)
	c += b
	b = (b - a) ^ rotate(a, 19)
	a += c
	c = (c - b) ^ rotate(b, 4)
	b += a
	return a, b, c
}

// fletcher32 is the checksum that the filter of this name puts behind each chunk: over words of 16
// bits, high byte first.
func fletcher32(b []byte) uint32 {
	var sum1, sum2 uint32
	add := func(word uint32) {
		sum1 = (sum1 + word) % 65535
		sum2 = (sum2 + sum1) % 65535
	}
	for ; len(b) >= 2; b = b[2:] {
		add(uint32(b[0])<<8 | uint32(b[1]))
	}
	if len(b) == 1 {
		add(uint32(b[0]) << 8)
	}
	return sum2<<16 | sum1
}
