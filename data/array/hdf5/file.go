package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
)

// Group is the DType of a group.
const Group = "group"

// Entry describes a dataset that has not been read, a group that has attributes, or a link that is
// not followed.
type Entry struct {
	Name  string // its path in the file, from "/"
	Shape []int  // empty for a single number
	// DType is spelled as numpy does ("<f8"), or describes what is no number.
	DType string
	// Attributes holds its attributes that are a short text or a whole number, such as MATLAB_class
	// and MATLAB_empty.
	Attributes map[string]string

	address uint64 // of its object header
}

// List returns the datasets of the HDF5 file at path, those that cannot be read among them, without
// reading their numbers. They come in the order of their paths, a group before what is in it; of the
// links, only hard ones are followed.
func List(path string) ([]Entry, error) {
	return inFile(path, (*file).list)
}

// References returns for each element of a dataset of object references, in row-major order, the
// path of the dataset that it leads to; empty where it leads to none.
func References(path, name string) ([]string, error) {
	return inFile(path, func(f *file) (paths []string) {
		addresses, at := f.readReferences(name), map[uint64]string{}
		for _, e := range slices.Backward(f.list()) {
			at[e.address] = e.Name
		}
		for _, address := range addresses {
			paths = append(paths, at[uint64(address)])
		}
		return paths
	})
}

// Read reads the dataset of real numbers at the path name in the HDF5 file at path. The array is
// named like the dataset.
func Read(path, name string) (array.Array, error) {
	return inFile(path, func(f *file) array.Array { return f.read(name, false) })
}

// ReadRealParts is Read, but of complex numbers, which h5py and MATLAB store as compounds of two floats
// (r and i, real and imag), it reads the real parts.
func ReadRealParts(path, name string) (array.Array, error) {
	return inFile(path, func(f *file) array.Array { return f.read(name, true) })
}

// inFile opens the HDF5 file at path, calls use and closes the file.
func inFile[T any](path string, use func(*file) T) (T, error) {
	return array.InFile("hdf5", path, func(r *array.File) (T, error) {
		return use(open(r, r.Size())), nil
	})
}

// file is an HDF5 file that is open. Addresses in it count from base, where its superblock begins. Its
// functions end with array.Fail where the file is wrong.
type file struct {
	r           io.ReaderAt
	size        int64 // of the whole file, in bytes
	base        int64
	offsetBytes int // of an address
	lengthBytes int // of a length
	root        uint64
	budget      *array.Budget
	failed      error // of the first read that the file system or the budget refused
	lax         bool  // checksums of metadata are not verified, for tests
}

const signature = "\x89HDF\r\n\x1a\n"

// open finds the superblock, which lies at the beginning of the file or behind a user block of 512,
// 1024, 2048... bytes.
func open(r io.ReaderAt, size int64) *file {
	f := &file{r: r, size: size, budget: array.NewBudget()}
	for f.base = 0; f.base+int64(len(signature)) <= size; f.base = max(512, 2*f.base) {
		if string(f.bytes(0, uint64(len(signature)), "signature")) == signature {
			f.readSuperblock()
			return f
		}
	}
	array.Failf("not an HDF5 file: there is no HDF5 signature in its %d bytes", size)
	return nil
}

func (f *file) readSuperblock() {
	c := f.cursor(f.bytes(0, uint64(min(128, f.size-f.base)), "superblock"), "superblock")
	c.skip(len(signature))
	version := c.u8()
	switch version {
	case 0, 1:
		c.skip(4)
		f.offsetBytes, f.lengthBytes = int(c.u8()), int(c.u8())
		c.skip(9)
		if version == 1 {
			c.skip(4)
		}
	case 2, 3:
		f.offsetBytes, f.lengthBytes = int(c.u8()), int(c.u8())
		c.skip(1)
	default:
		array.Failf("its superblock has version %d; versions 0 to 3 can be read: "+
			"rewrite it with h5repack", version)
	}
	for _, n := range []int{f.offsetBytes, f.lengthBytes} {
		if n != 2 && n != 4 && n != 8 {
			array.Failf("its superblock says that addresses have %d and lengths %d bytes; "+
				"expected 2, 4 or 8", f.offsetBytes, f.lengthBytes)
		}
	}
	c.offset() // of its base, which is wrong where a user block was put before the file
	c.offset()
	end := c.offset()
	if version < 2 {
		c.offset()
		c.offset()
	}
	f.root = c.offset()
	if version >= 2 {
		c.checksum()
	}
	if end != undefined && (end > uint64(f.size) ||
		int64(end) > f.size-min(f.base, int64(end))) && int64(end) != f.size {
		array.FailDamaged("expected %d bytes behind its superblock, got %d", end, f.size-f.base)
	}
}

// undefined is the address of what is not there.
const undefined = ^uint64(0)

// bytes returns the n bytes at an address.
func (f *file) bytes(address, n uint64, what string) []byte {
	length := uint64(f.size - f.base)
	if address > length || n > length-address {
		array.FailDamaged("%s: expected %d bytes at address %d, but the file ends at %d",
			what, n, address, length)
	}
	b, err := f.readAt(address, n, what)
	if err != nil && f.failed == nil {
		f.failed = err
	}
	array.Fail(err)
	return b
}

func (f *file) readAt(address, n uint64, what string) ([]byte, error) {
	if err := f.budget.Fits(int64(n), what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if got, err := f.r.ReadAt(b, f.base+int64(address)); err != nil &&
		(err != io.EOF || got < len(b)) {
		return nil, fmt.Errorf("%s: read %d of %d bytes at address %d: %w", what, got, n,
			address, err)
	}
	return b, nil
}

// make is array.Make within the file's budget.
func (f *file) make(n int, what string) []byte { return array.Got(array.Make[byte](f.budget, n, what)) }

// take counts n bytes of memory.
func (f *file) take(n int, what string) { array.Fail(f.budget.Take(int64(n), what)) }

// cursor takes the fields of b one after the other.
type cursor struct {
	f    *file
	b    []byte
	at   int
	what string
}

func (f *file) cursor(b []byte, what string) *cursor { return &cursor{f: f, b: b, what: what} }

// cursorAt reads n bytes at an address, which must begin with sign.
func (f *file) cursorAt(address, n uint64, sign, what string) *cursor {
	b := f.bytes(address, n, what)
	if len(b) < len(sign) || string(b[:len(sign)]) != sign {
		array.FailDamaged("%s: there is no %s at address %d", what, sign, address)
	}
	c := f.cursor(b, what)
	c.skip(len(sign))
	return c
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b)-c.at {
		array.FailDamaged("%s: ends after %d bytes, in the middle of a field", c.what, len(c.b))
	}
	c.at += n
	return c.b[c.at-n : c.at : c.at]
}

func (c *cursor) skip(n int)  { c.take(n) }
func (c *cursor) left() int   { return len(c.b) - c.at }
func (c *cursor) u8() byte    { return c.take(1)[0] }
func (c *cursor) u16() int    { return int(binary.LittleEndian.Uint16(c.take(2))) }
func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }

// uint takes a number of n bytes, at most 8.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, b := range c.take(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// offset takes an address; one whose bits are all set is undefined.
func (c *cursor) offset() uint64 {
	bytes := c.f.offsetBytes
	v := c.uint(bytes)
	if bytes < 8 && v == 1<<(8*bytes)-1 {
		return undefined
	}
	return v
}

func (c *cursor) length() uint64 { return c.uint(c.f.lengthBytes) }

// text takes bytes up to a zero, and the zero.
func (c *cursor) text() string {
	end := slices.Index(c.b[c.at:], 0)
	if end < 0 {
		end = c.left()
	}
	return strings.TrimSuffix(string(c.take(end+1)), "\x00")
}

// checksum takes the checksum of all bytes before it.
func (c *cursor) checksum() {
	end := c.at
	if want := c.u32(); !c.f.lax && lookup3(c.b[:end]) != want {
		array.Failf("%s: its checksum is wrong: the file is damaged", c.what)
	}
}
