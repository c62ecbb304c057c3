package hdf5

import "torchpe/data/array"

// The messages of an object header that are read.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgAttributes   = 0x15
)

// message is one message of an object header.
type message struct {
	kind  int
	flags byte
	data  []byte
}

// header reads all messages of the object header at an address.
func (f *file) header(address uint64) []message {
	h := headerReader{f: f, seen: map[uint64]bool{address: true}}
	if string(f.bytes(address, 8, "object header")[:4]) == "OHDR" {
		h.version2(address)
	} else {
		h.version1(address)
	}
	return h.messages
}

// headerReader collects the messages of one object header over its blocks.
type headerReader struct {
	f        *file
	messages []message
	seen     map[uint64]bool // addresses of blocks
	total    uint64          // bytes of all blocks
	tracked  bool            // each message has its creation order (version 2)
}

// maxBlocks bounds the blocks of a header.
const maxBlocks = 1000

func (h *headerReader) version1(address uint64) {
	c := h.f.cursor(h.f.bytes(address, 16, "object header"), "object header")
	if version := c.u8(); version != 1 {
		array.FailDamaged("there is no object header at address %d", address)
	}
	c.skip(7)
	h.block1(h.f.bytes(address+16, uint64(c.u32()), "object header"))
}

// block1 takes the messages of one block of a header of version 1, and of the blocks that it leads
// to.
func (h *headerReader) block1(b []byte) {
	c := h.f.cursor(b, "object header")
	for c.left() >= 8 {
		m := message{kind: c.u16()}
		size := c.u16()
		m.flags = c.u8()
		c.skip(3)
		m.data = c.take(size)
		if m.kind != msgContinuation {
			h.messages = append(h.messages, m)
			continue
		}
		next, length := h.continuation(m)
		h.block1(h.f.bytes(next, length, "object header"))
	}
}

// continuation returns where the next block of a header lies.
func (h *headerReader) continuation(m message) (address, length uint64) {
	c := h.f.cursor(m.data, "continuation of an object header")
	address, length = c.offset(), c.length()
	if h.seen[address] {
		array.FailDamaged("an object header leads back to its block at address %d", address)
	}
	h.seen[address] = true
	// Blocks may not lie in one another, so that together they are no longer than the file.
	h.total += min(length, uint64(h.f.size)+1)
	if h.total > uint64(h.f.size) || len(h.seen) > maxBlocks {
		array.FailDamaged("an object header has %d blocks with %d bytes in all", len(h.seen), h.total)
	}
	return address, length
}

func (h *headerReader) version2(address uint64) {
	const fixed = 6 + 16 + 4 + 8 // all that may come before the messages
	b := h.f.bytes(address, min(fixed, uint64(h.f.size-h.f.base)-address), "object header")
	c := h.f.cursor(b, "object header")
	c.skip(4)
	version, flags := c.u8(), c.u8()
	if version != 2 {
		array.Failf("an object header has version %d; versions 1 and 2 can be read", version)
	}
	if flags&0x20 != 0 {
		c.skip(16)
	}
	if flags&0x10 != 0 {
		c.skip(4)
	}
	size := c.uint(1 << (flags & 3))
	h.tracked = flags&0x04 != 0
	if size > uint64(h.f.size) {
		array.FailDamaged("an object header claims %d bytes, more than the file has", size)
	}
	h.block2(h.f.bytes(address, uint64(c.at)+size+4, "object header"), c.at)
}

// block2 takes the messages of one block of a header of version 2, which begin at start and end
// before its checksum.
func (h *headerReader) block2(b []byte, start int) {
	c := h.f.cursor(b, "object header")
	c.at = len(b) - 4
	c.checksum()
	head := 4
	if h.tracked {
		head = 6
	}
	c.b, c.at = b[:len(b)-4], start
	for c.left() >= head {
		m := message{kind: int(c.u8())}
		size := c.u16()
		m.flags = c.u8()
		c.skip(head - 4)
		m.data = c.take(size)
		if m.kind != msgContinuation {
			h.messages = append(h.messages, m)
			continue
		}
		next, length := h.continuation(m)
		if length < 8 {
			array.FailDamaged("a block of an object header has %d bytes", length)
		}
		h.block2(h.f.cursorAt(next, length, "OCHK", "object header").b, 4)
	}
}

// find returns the data of the first message of a kind, following it where it is shared with
// another header; nil where there is none.
func (f *file) find(messages []message, kind int) []byte {
	for _, m := range messages {
		switch {
		case m.kind != kind:
		case m.flags&0x02 == 0:
			return m.data
		default:
			return f.shared(m)
		}
	}
	return nil
}

// shared returns the data of a message that lies in another object's header, as that of a named
// datatype does.
func (f *file) shared(m message) []byte {
	c := f.cursor(m.data, "shared message")
	version, place := c.u8(), c.u8()
	switch {
	case version == 1:
		c.skip(6)
	case version == 3 && place == 1:
		array.Failf("a message lies in the file's heap of shared messages, which " +
			"cannot be read: rewrite it with h5repack")
	}
	address := c.offset()
	for _, other := range f.header(address) {
		if other.kind == m.kind && other.flags&0x02 == 0 {
			return other.data
		}
	}
	array.FailDamaged("a shared message is not at address %d", address)
	return nil
}
