package mat

import (
	"bytes"
	"slices"
	"strings"

	"torchpe/data/array"
)

// maxNames bounds the bytes of field names of a struct: MATLAB gives each 32 or 64.
const maxNames = 1 << 20

// names reads the names of a struct's fields.
func (s *stream) names() (names []string) {
	b := s.all("field name length", 4, miInt32, miUint32)
	if len(b) != 4 {
		array.FailDamaged("%d bytes of field name length, want 4", len(b))
	}
	width := int(int32(s.order.Uint32(b)))
	b = s.all("field names", maxNames, miInt8, miUTF8)
	if len(b) > 0 && (width < 1 || len(b)%width != 0) {
		array.FailDamaged("%d bytes of field names, each of %d", len(b), width)
	}
	for ; len(b) > 0; b = b[width:] {
		name, _, _ := bytes.Cut(b[:width], []byte{0})
		names = append(names, string(name))
	}
	return names
}

// field goes into the field of a struct that path, such as a or a.b, begins with, and takes its name
// off path. It returns the field's header. h is the struct's.
func (s *stream) field(h *header, path *string) *header {
	switch {
	case h.class != classStruct && h.isReal():
		array.Failf("is no struct and has no field %s: it is %s of shape %v",
			array.Quote(*path), h.className(), h.shape)
	case h.class != classStruct:
		array.Fail(h.unreadable())
	}
	names := s.names()
	h.checkSingle()
	at, rest := choose(names, *path)
	for i := range at {
		e := s.next(inField(names[i]), miMatrix)
		s.skip(min(s.left, (e.size+7)&^7))
	}
	s.enter(s.next(inField(names[at]), miMatrix).size)
	*path = rest
	return s.header()
}

// inField names what a field holds for a message.
func inField(name string) string {
	return "contents of the field " + array.Quote(name)
}

// choose returns the place of the field that path begins with, and the rest of path.
func choose(names []string, path string) (int, string) {
	name, rest, _ := strings.Cut(path, ".")
	at := slices.Index(names, name)
	switch {
	case at < 0:
		array.Failf("the struct has no field %s; %s", array.Quote(name), has(names))
	case slices.Contains(names[at+1:], name):
		array.FailDamaged("two fields are called %s", array.Quote(name))
	}
	return at, rest
}

// has lists fields for a message.
func has(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, array.Quote(name))
	}
	return "it has " + array.Join(quoted)
}

// checkSingle refuses a struct that is not 1x1.
func (h *header) checkSingle() {
	if slices.ContainsFunc(h.shape, func(n int) bool { return n != 1 }) {
		array.Failf("is an array of structs of shape %v, and fields are read of a single "+
			"struct: store the field of one as a variable (x = s(1).a)", h.shape)
	}
}

// failStruct says that a struct holds fields and not numbers.
func (s *stream) failStruct(h *header) {
	names := s.names()
	h.checkSingle()
	array.Failf("is a struct, whose fields are read one at a time, by a name such as s.a; %s",
		has(names))
}
