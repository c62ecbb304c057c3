package hdf5

import (
	"math/bits"

	"torchpe/data/array"
)

// treeV1 calls leaf with the key before each child of the lowest level of a B-tree of version 1, in
// order. kind is 0 for a group's tree and 1 for a dataset's; keyBytes is the length of a key.
func (f *file) treeV1(address uint64, kind byte, keyBytes int, leaf func(key []byte, child uint64)) {
	t := treeV1{f, kind, keyBytes, leaf, map[uint64]bool{}}
	t.walk(address, -1)
}

// treeV1 is a B-tree of version 1 that is walked.
type treeV1 struct {
	f        *file
	kind     byte
	keyBytes int
	leaf     func(key []byte, child uint64)
	seen     map[uint64]bool // addresses of nodes
}

// walk visits the node at an address, which is of the level, or of any for a negative one.
func (t *treeV1) walk(address uint64, level int) {
	const what = "B-tree"
	if t.seen[address] {
		array.FailDamaged("a B-tree leads back to its node at address %d", address)
	}
	t.seen[address] = true
	head := 8 + 2*t.f.offsetBytes
	c := t.f.cursorAt(address, uint64(head), "TREE", what)
	k, l, n := c.u8(), int(c.u8()), c.u16()
	if k != t.kind || level >= 0 && l != level {
		array.FailDamaged("the node at address %d of a B-tree is of kind %d and level %d; "+
			"expected kind %d and level %d", address, k, l, t.kind, level)
	}
	c = t.f.cursor(t.f.bytes(address+uint64(head), uint64(n*(t.keyBytes+t.f.offsetBytes)), what), what)
	for range n {
		key, child := c.take(t.keyBytes), c.offset()
		if l == 0 {
			t.leaf(key, child)
		} else {
			t.walk(child, l-1)
		}
	}
}

// treeV2 is a B-tree of version 2.
type treeV2 struct {
	f           *file
	kind        byte
	nodeBytes   int
	recordBytes int
	levels      []levelV2
	countBytes  int // of the number of records of a node
	record      func([]byte)
}

// levelV2 describes the nodes of one level; level 0 are leaves.
type levelV2 struct {
	records    int    // at most in one node
	cumulative uint64 // at most in a node and all below it
	bytes      int    // of a cumulative number; 0 for leaves
}

// encoded is the number of bytes that hold numbers up to limit.
func encoded(limit uint64) int { return (max(bits.Len64(limit), 1)-1)/8 + 1 }

// treeV2 calls record with each record of the B-tree of version 2 whose header lies at an address,
// in order.
func (f *file) treeV2(address uint64, record func([]byte)) {
	const what = "B-tree of version 2"
	c := f.cursorAt(address, uint64(22+f.offsetBytes+f.lengthBytes), "BTHD", what)
	c.skip(1)
	t := &treeV2{f: f, kind: c.u8(), record: record}
	t.nodeBytes, t.recordBytes = int(c.u32()), c.u16()
	depth := c.u16()
	c.skip(2)
	root, records := c.offset(), c.u16()
	total := c.length()
	c.checksum()
	if total == 0 || root == undefined {
		return
	}
	const overhead = 10 // signature, version, kind, checksum
	if int64(t.nodeBytes) > f.size || t.recordBytes == 0 || t.nodeBytes < overhead+t.recordBytes ||
		depth > 32 {
		array.FailDamaged("%s at address %d with nodes of %d bytes, records of %d and depth %d",
			what, address, t.nodeBytes, t.recordBytes, depth)
	}
	leaf := levelV2{records: (t.nodeBytes - overhead) / t.recordBytes}
	leaf.cumulative = uint64(leaf.records)
	t.countBytes = encoded(leaf.cumulative)
	t.levels = append(t.levels, leaf)
	for i := range depth {
		below := t.levels[i]
		pointer := f.offsetBytes + t.countBytes + below.bytes
		l := levelV2{records: (t.nodeBytes - overhead - pointer) / (t.recordBytes + pointer)}
		if l.records < 1 || below.cumulative > 1<<56 {
			array.FailDamaged("%s at address %d is too deep for its nodes of %d bytes", what,
				address, t.nodeBytes)
		}
		l.cumulative = uint64(l.records+1)*below.cumulative + uint64(l.records)
		l.bytes = encoded(l.cumulative)
		t.levels = append(t.levels, l)
	}
	t.node(root, records, depth, map[uint64]bool{})
}

func (t *treeV2) node(address uint64, records, level int, seen map[uint64]bool) {
	const what = "node of a B-tree of version 2"
	if seen[address] {
		array.FailDamaged("a B-tree leads back to its node at address %d", address)
	}
	seen[address] = true
	l := t.levels[level]
	if records > l.records {
		array.FailDamaged("%s at address %d claims %d records; at most %d fit", what, address,
			records, l.records)
	}
	sign, used := "BTLF", 6+records*t.recordBytes
	if level > 0 {
		sign = "BTIN"
		used += (records + 1) * (t.f.offsetBytes + t.countBytes + t.levels[level-1].bytes)
	}
	c := t.f.cursorAt(address, uint64(used+4), sign, what)
	c.skip(1)
	if kind := c.u8(); kind != t.kind {
		array.FailDamaged("%s at address %d is of kind %d, its tree of kind %d", what, address,
			kind, t.kind)
	}
	c.at = used
	c.checksum()
	c.at = 6
	all := c.take(records * t.recordBytes)
	for i := 0; i <= records; i++ {
		if level > 0 {
			child, n := c.offset(), int(c.uint(t.countBytes))
			c.skip(t.levels[level-1].bytes)
			t.node(child, n, level-1, seen)
		}
		if i < records {
			t.record(all[i*t.recordBytes : (i+1)*t.recordBytes])
		}
	}
}
