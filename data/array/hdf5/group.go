package hdf5

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// link is a member of a group.
type link struct {
	name    string
	address uint64 // of the object header; undefined for a link of another kind than hard
	target  string // of a soft link
	other   string // what it is where it is neither hard nor soft
}

// isGroup reports whether the messages are a group's.
func isGroup(messages []message) bool {
	return slices.ContainsFunc(messages, func(m message) bool {
		return m.kind == msgSymbolTable || m.kind == msgLinkInfo || m.kind == msgLink
	})
}

// links returns the members of the group with these messages.
func (f *file) links(messages []message) (links []link) {
	for _, m := range messages {
		switch m.kind {
		case msgSymbolTable:
			links = append(links, f.symbolTable(m.data)...)
		case msgLink:
			links = append(links, f.linkMessage(m.data))
		case msgLinkInfo:
			links = append(links, f.denseLinks(m.data)...)
		}
	}
	return links
}

// counted counts the memory of a link.
func (f *file) counted(l link) link {
	f.take(64+len(l.name)+len(l.target)+len(l.other), "names of links")
	return l
}

// linkMessage returns the link of a message.
func (f *file) linkMessage(data []byte) link {
	c := f.cursor(data, "link")
	version, flags := c.u8(), c.u8()
	if version != 1 {
		array.Failf("a link has version %d; version 1 can be read", version)
	}
	kind := byte(0)
	if flags&0x08 != 0 {
		kind = c.u8()
	}
	if flags&0x04 != 0 {
		c.skip(8)
	}
	if flags&0x10 != 0 {
		c.skip(1)
	}
	l := link{address: undefined}
	length := c.uint(1 << (flags & 3))
	l.name = string(c.take(int(min(length, uint64(len(data)+1)))))
	switch kind {
	case 0:
		l.address = c.offset()
	case 1:
		l.target = string(c.take(c.u16()))
	case 64:
		c.skip(3) // length, version and flags
		l.other = fmt.Sprintf("external link to file %.200q", c.text())
	default:
		l.other = fmt.Sprintf("link of kind %d", kind)
	}
	return f.counted(l)
}

// symbolTable returns the members of a group of the old kind: a tree of nodes of symbols whose
// names lie in a heap.
func (f *file) symbolTable(data []byte) (links []link) {
	c := f.cursor(data, "symbol table")
	tree, heap := c.offset(), c.offset()
	names := f.localHeap(heap)
	f.treeV1(tree, 0, f.lengthBytes, func(_ []byte, child uint64) {
		links = append(links, f.symbols(child, names)...)
	})
	return links
}

// localHeap returns the bytes of the heap that holds a group's names.
func (f *file) localHeap(address uint64) []byte {
	c := f.cursorAt(address, uint64(8+2*f.lengthBytes+f.offsetBytes), "HEAP", "heap of names")
	c.skip(4)
	size := c.length()
	c.length()
	return f.bytes(c.offset(), size, "heap of names")
}

// symbols returns the members in one node of symbols.
func (f *file) symbols(address uint64, names []byte) (links []link) {
	const what = "node of symbols"
	c := f.cursorAt(address, 8, "SNOD", what)
	c.skip(2)
	n := c.u16()
	c = f.cursor(f.bytes(address+8, uint64(n*(2*f.offsetBytes+24)), what), what)
	for range n {
		l := link{name: f.heapText(names, c.offset())}
		l.address = c.offset()
		cache := c.u32()
		c.skip(4)
		scratch := f.cursor(c.take(16), what)
		if cache == 2 { // a soft link
			l.address = undefined
			l.target = f.heapText(names, uint64(scratch.u32()))
		}
		links = append(links, f.counted(l))
	}
	return links
}

func (f *file) heapText(heap []byte, at uint64) string {
	if at >= uint64(len(heap)) {
		array.FailDamaged("a name starts at byte %d of a heap of %d", at, len(heap))
	}
	return f.cursor(heap[at:], "heap of names").text()
}

// The bounds of a walk through links.
const (
	maxDepth  = 64
	maxSoft   = 16
	maxLinked = 1 << 20 // datasets and groups that List visits
)

// list walks the groups of the file.
func (f *file) list() []Entry {
	w := walk{file: f, visited: map[uint64]bool{}}
	w.object("/", f.root, 0)
	return w.entries
}

// walk lists the objects of a file.
type walk struct {
	*file
	entries []Entry
	visited map[uint64]bool // groups
	objects int
}

func (w *walk) add(e Entry) {
	w.entries = append(w.entries, e)
	size := len(e.Name) + len(e.DType) + 8*len(e.Shape) + 128
	for name, text := range e.Attributes {
		size += len(name) + len(text) + 64
	}
	w.take(size, "names and attributes of datasets")
}

// object adds the object at an address, and what is in it.
func (w *walk) object(path string, address uint64, depth int) {
	if w.objects++; w.objects > maxLinked {
		array.Failf("it has more than %d objects", maxLinked)
	}
	messages := within(path, func() []message { return w.header(address) })
	if !isGroup(messages) {
		e, ok := w.entry(path, messages)
		array.Fail(w.failed) // entry takes what it cannot read for damaged
		if e.address = address; ok {
			w.add(e)
		}
		return
	}
	if w.visited[address] {
		return // a hard link to a group that is listed under another name
	}
	w.visited[address] = true
	all := within(path, func() map[string]string { return w.attributes(messages) })
	if len(all) > 0 {
		w.add(Entry{Name: path, DType: Group, Attributes: all, address: address})
	}
	if depth > maxDepth {
		array.Failf("%s: groups are nested more than %d deep", path, maxDepth)
	}
	links := within(path, func() []link { return w.links(messages) })
	slices.SortFunc(links, func(a, b link) int { return strings.Compare(a.name, b.name) })
	for _, l := range links {
		below := strings.TrimSuffix(path, "/") + "/" + l.name
		switch {
		case l.other != "":
			w.add(Entry{Name: below, DType: l.other})
		case l.address != undefined:
			w.object(below, l.address, depth+1)
		}
	}
}

// within calls read. Its errors begin with the path of the object that is read.
func within[T any](path string, read func() T) T {
	defer array.Within("%s", path)
	return read()
}

// lookup returns the messages of the object at a path, following soft links.
func (f *file) lookup(path string) []message {
	soft, at := 0, "/" // at is the group that parts[0] is looked for in
	messages, parts := f.header(f.root), split(path)
	for len(parts) > 0 {
		if !isGroup(messages) {
			array.Failf("%s is not a group, so there is no %s in it", at, strings.Join(parts, "/"))
		}
		links := within(at, func() []link { return f.links(messages) })
		i := slices.IndexFunc(links, func(l link) bool { return l.name == parts[0] })
		if i < 0 {
			array.Fail(f.missing(at, parts[0], links))
		}
		l := links[i]
		if l.other != "" {
			array.Failf("%q in %s is an %s, which is not followed: name the dataset "+
				"in its own file", l.name, at, l.other)
		}
		address := l.address
		if address == undefined {
			if soft++; soft > maxSoft {
				array.Failf("%s: more than %d soft links lead from one to the next", path, maxSoft)
			}
			target := l.target
			if !strings.HasPrefix(target, "/") {
				target = at + "/" + target
			}
			parts, at, address = append(split(target), parts[1:]...), "/", f.root
		} else {
			at = strings.TrimSuffix(at, "/") + "/" + parts[0]
			parts = parts[1:]
		}
		messages = within(at, func() []message { return f.header(address) })
	}
	return messages
}

func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool {
		return s == "" || s == "."
	})
}

func (f *file) missing(group, name string, links []link) error {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.name
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Errorf("there is no %q in %s, which is empty", name, group)
	}
	return fmt.Errorf("there is no %q in %s, which holds %s%s", name, group, array.Join(names),
		wording.Hint(name, names))
}
