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
func (f *file) links(messages []message) ([]link, error) {
	var links []link
	for _, m := range messages {
		var more []link
		var err error
		switch m.kind {
		case msgSymbolTable:
			more, err = f.symbolTable(m.data)
		case msgLink:
			more, err = f.linkMessage(m.data)
		case msgLinkInfo:
			more, err = f.denseLinks(m.data)
		}
		if err != nil {
			return nil, err
		}
		links = append(links, more...)
	}
	return links, nil
}

// take counts the memory of links.
func (f *file) take(links []link) error {
	size := 64 * len(links)
	for _, l := range links {
		size += len(l.name) + len(l.target) + len(l.other)
	}
	return f.budget.Take(int64(size), "names of links")
}

// linkMessage returns the link of a message.
func (f *file) linkMessage(data []byte) ([]link, error) {
	c := f.cursor(data, "link")
	version, flags := c.u8(), c.u8()
	if c.err == nil && version != 1 {
		return nil, fmt.Errorf("a link has version %d; version 1 can be read", version)
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
	if c.err != nil {
		return nil, c.err
	}
	return []link{l}, f.take([]link{l})
}

// symbolTable returns the members of a group of the old kind: a tree of nodes of symbols whose
// names lie in a heap.
func (f *file) symbolTable(data []byte) ([]link, error) {
	c := f.cursor(data, "symbol table")
	tree, heap := c.offset(), c.offset()
	if c.err != nil {
		return nil, c.err
	}
	names, err := f.localHeap(heap)
	if err != nil {
		return nil, err
	}
	var links []link
	err = f.treeV1(tree, 0, f.lengthBytes, func(_ []byte, child uint64) error {
		more, err := f.symbols(child, names)
		links = append(links, more...)
		return err
	})
	return links, err
}

// localHeap returns the bytes of the heap that holds a group's names.
func (f *file) localHeap(address uint64) ([]byte, error) {
	c, err := f.cursorAt(address, uint64(8+2*f.lengthBytes+f.offsetBytes), "HEAP", "heap of names")
	if err != nil {
		return nil, err
	}
	c.skip(4)
	size := c.length()
	c.length()
	return f.bytes(c.offset(), size, "heap of names")
}

// symbols returns the members in one node of symbols.
func (f *file) symbols(address uint64, names []byte) ([]link, error) {
	const what = "node of symbols"
	c, err := f.cursorAt(address, 8, "SNOD", what)
	if err != nil {
		return nil, err
	}
	c.skip(2)
	n := c.u16()
	b, err := f.bytes(address+8, uint64(n*(2*f.offsetBytes+24)), what)
	if err != nil {
		return nil, err
	}
	c = f.cursor(b, what)
	links := make([]link, 0, n)
	for range n {
		l := link{}
		if l.name, err = f.heapText(names, c.offset()); err != nil {
			return nil, err
		}
		l.address = c.offset()
		cache := c.u32()
		c.skip(4)
		scratch := f.cursor(c.take(16), what)
		if cache == 2 { // a soft link
			l.address = undefined
			if l.target, err = f.heapText(names, uint64(scratch.u32())); err != nil {
				return nil, err
			}
		}
		links = append(links, l)
		if err := f.take(links[len(links)-1:]); err != nil {
			return nil, err
		}
	}
	return links, c.err
}

func (f *file) heapText(heap []byte, at uint64) (string, error) {
	if at >= uint64(len(heap)) {
		return "", array.Damaged("a name lies at byte %d of a heap of %d", at, len(heap))
	}
	c := f.cursor(heap[at:], "heap of names")
	text := c.text()
	return text, c.err
}

// The bounds of a walk through links.
const (
	maxDepth  = 64
	maxSoft   = 16
	maxLinked = 1 << 20 // datasets and groups that List visits
)

// list walks the groups of the file.
func (f *file) list() ([]Entry, error) {
	var entries []Entry
	visited := map[uint64]bool{} // groups
	objects := 0
	add := func(e Entry) error {
		entries = append(entries, e)
		size := len(e.Name) + len(e.DType) + 8*len(e.Shape) + 128
		for name, text := range e.Attributes {
			size += len(name) + len(text) + 64
		}
		return f.budget.Take(int64(size), "names and attributes of datasets")
	}
	var walk func(path string, address uint64, depth int) error
	walk = func(path string, address uint64, depth int) error {
		if objects++; objects > maxLinked {
			return fmt.Errorf("it has more than %d objects", maxLinked)
		}
		messages, err := f.header(address)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !isGroup(messages) {
			e, ok := f.entry(path, messages)
			if !ok || f.failed != nil { // entry takes what it cannot read for damaged
				return f.failed
			}
			e.address = address
			return add(e)
		}
		if visited[address] {
			return nil // a hard link to a group that is listed under another name
		}
		visited[address] = true
		all, err := f.attributes(messages)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(all) > 0 {
			if err := add(Entry{Name: path, DType: Group, Attributes: all, address: address}); err != nil {
				return err
			}
		}
		if depth > maxDepth {
			return fmt.Errorf("%s: groups lie more than %d deep", path, maxDepth)
		}
		links, err := f.links(messages)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		slices.SortFunc(links, func(a, b link) int { return strings.Compare(a.name, b.name) })
		for _, l := range links {
			below := strings.TrimSuffix(path, "/") + "/" + l.name
			var err error
			switch {
			case l.other != "":
				err = add(Entry{Name: below, DType: l.other})
			case l.address != undefined:
				err = walk(below, l.address, depth+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return entries, walk("/", f.root, 0)
}

// lookup returns the messages of the object at a path, following soft links.
func (f *file) lookup(path string) ([]message, error) {
	soft := 0
	address := f.root
	messages, err := f.header(address)
	if err != nil {
		return nil, err
	}
	parts := split(path)
	at := "/" // the group that parts[0] is looked for in
	for len(parts) > 0 {
		if !isGroup(messages) {
			return nil, fmt.Errorf("%s is no group, so there is no %s in it", at,
				strings.Join(parts, "/"))
		}
		links, err := f.links(messages)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		i := slices.IndexFunc(links, func(l link) bool { return l.name == parts[0] })
		if i < 0 {
			return nil, f.missing(at, parts[0], links)
		}
		if l := links[i]; l.other != "" {
			return nil, fmt.Errorf("%q in %s is an %s, which is not followed: name the dataset "+
				"in its own file", l.name, at, l.other)
		} else if l.address == undefined {
			if soft++; soft > maxSoft {
				return nil, fmt.Errorf("%s: more than %d soft links lead from one to the next",
					path, maxSoft)
			}
			target := l.target
			if !strings.HasPrefix(target, "/") {
				target = at + "/" + target
			}
			parts, at, address = append(split(target), parts[1:]...), "/", f.root
		} else {
			at = strings.TrimSuffix(at, "/") + "/" + parts[0]
			parts, address = parts[1:], l.address
		}
		if messages, err = f.header(address); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return messages, nil
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
