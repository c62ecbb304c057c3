package hdf5

import (
	"fmt"

	"torchpe/data/array"
)

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
func (f *file) header(address uint64) ([]message, error) {
	const what = "object header"
	start, err := f.bytes(address, 8, what)
	if err != nil {
		return nil, err
	}
	h := headerReader{f: f, seen: map[uint64]bool{address: true}}
	if string(start[:4]) == "OHDR" {
		err = h.version2(address)
	} else {
		err = h.version1(address)
	}
	return h.messages, err
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

func (h *headerReader) version1(address uint64) error {
	b, err := h.f.bytes(address, 16, "object header")
	if err != nil {
		return err
	}
	c := h.f.cursor(b, "object header")
	if version := c.u8(); version != 1 {
		return array.Damaged("there is no object header at address %d", address)
	}
	c.skip(7)
	size := uint64(c.u32())
	if b, err = h.f.bytes(address+16, size, "object header"); err != nil {
		return err
	}
	return h.block1(b)
}

// block1 takes the messages of one block of a header of version 1, and of the blocks that it leads
// to.
func (h *headerReader) block1(b []byte) error {
	c := h.f.cursor(b, "object header")
	for c.left() >= 8 {
		m := message{kind: c.u16()}
		size := c.u16()
		m.flags = c.u8()
		c.skip(3)
		m.data = c.take(size)
		if c.err != nil {
			return c.err
		}
		if m.kind != msgContinuation {
			h.messages = append(h.messages, m)
			continue
		}
		next, length, err := h.continuation(m)
		if err != nil {
			return err
		}
		block, err := h.f.bytes(next, length, "object header")
		if err == nil {
			err = h.block1(block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// continuation returns where the next block of a header lies.
func (h *headerReader) continuation(m message) (address, length uint64, err error) {
	c := h.f.cursor(m.data, "continuation of an object header")
	address, length = c.offset(), c.length()
	if c.err != nil {
		return 0, 0, c.err
	}
	if h.seen[address] {
		return 0, 0, array.Damaged("an object header leads back to its block at address %d",
			address)
	}
	h.seen[address] = true
	// Blocks may not lie in one another, so that together they are no longer than the file.
	h.total += min(length, uint64(h.f.size)+1)
	if h.total > uint64(h.f.size) || len(h.seen) > maxBlocks {
		return 0, 0, array.Damaged("an object header has %d blocks with %d bytes in all",
			len(h.seen), h.total)
	}
	return address, length, nil
}

func (h *headerReader) version2(address uint64) error {
	const fixed = 6 + 16 + 4 + 8 // all that may come before the messages
	b, err := h.f.bytes(address, min(fixed, uint64(h.f.size-h.f.base)-address), "object header")
	if err != nil {
		return err
	}
	c := h.f.cursor(b, "object header")
	c.skip(4)
	version, flags := c.u8(), c.u8()
	if c.err == nil && version != 2 {
		return fmt.Errorf("an object header has version %d; versions 1 and 2 can be read", version)
	}
	if flags&0x20 != 0 {
		c.skip(16)
	}
	if flags&0x10 != 0 {
		c.skip(4)
	}
	size := c.uint(1 << (flags & 3))
	if c.err != nil {
		return c.err
	}
	h.tracked = flags&0x04 != 0
	if size > uint64(h.f.size) {
		return array.Damaged("an object header claims %d bytes, more than the file has", size)
	}
	if b, err = h.f.bytes(address, uint64(c.at)+size+4, "object header"); err != nil {
		return err
	}
	return h.block2(b, c.at)
}

// block2 takes the messages of one block of a header of version 2, which begin at start and end
// before its checksum.
func (h *headerReader) block2(b []byte, start int) error {
	c := h.f.cursor(b, "object header")
	c.at = len(b) - 4
	c.checksum()
	head := 4
	if h.tracked {
		head = 6
	}
	c.b, c.at = b[:len(b)-4], start
	for c.err == nil && c.left() >= head {
		m := message{kind: int(c.u8())}
		size := c.u16()
		m.flags = c.u8()
		c.skip(head - 4)
		m.data = c.take(size)
		if c.err != nil {
			break
		}
		if m.kind != msgContinuation {
			h.messages = append(h.messages, m)
			continue
		}
		next, length, err := h.continuation(m)
		if err != nil {
			return err
		}
		if length < 8 {
			return array.Damaged("a block of an object header has %d bytes", length)
		}
		block, err := h.f.cursorAt(next, length, "OCHK", "object header")
		if err == nil {
			err = h.block2(block.b, 4)
		}
		if err != nil {
			return err
		}
	}
	return c.err
}

// find returns the data of the first message of a kind, following it where it is shared with
// another header.
func (f *file) find(messages []message, kind int) ([]byte, bool, error) {
	for _, m := range messages {
		if m.kind != kind {
			continue
		}
		if m.flags&0x02 == 0 {
			return m.data, true, nil
		}
		data, err := f.shared(m)
		return data, err == nil, err
	}
	return nil, false, nil
}

// shared returns the data of a message that lies in another object's header, as that of a named
// datatype does.
func (f *file) shared(m message) ([]byte, error) {
	c := f.cursor(m.data, "shared message")
	version, place := c.u8(), c.u8()
	switch {
	case version == 1:
		c.skip(6)
	case version == 3 && place == 1:
		return nil, fmt.Errorf("a message lies in the file's heap of shared messages, which " +
			"cannot be read: rewrite it with h5repack")
	}
	address := c.offset()
	if c.err != nil {
		return nil, c.err
	}
	messages, err := f.header(address)
	if err != nil {
		return nil, err
	}
	for _, other := range messages {
		if other.kind == m.kind && other.flags&0x02 == 0 {
			return other.data, nil
		}
	}
	return nil, array.Damaged("a shared message is not at address %d", address)
}
