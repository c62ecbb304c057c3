package mat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array"
)

// maxNames bounds the bytes of field names of a struct: MATLAB gives each 32 or 64.
const maxNames = 1 << 20

// names reads the names of a struct's fields.
func (s *stream) names() ([]string, error) {
	b, err := s.all("field name length", 4, miInt32, miUint32)
	if err != nil {
		return nil, err
	}
	if len(b) != 4 {
		return nil, array.Damaged("%d bytes of field name length, want 4", len(b))
	}
	width := int(int32(s.order.Uint32(b)))
	if b, err = s.all("field names", maxNames, miInt8, miUTF8); err != nil {
		return nil, err
	}
	if len(b) > 0 && (width < 1 || len(b)%width != 0) {
		return nil, array.Damaged("%d bytes of field names, each of %d", len(b), width)
	}
	var names []string
	for ; len(b) > 0; b = b[width:] {
		name, _, _ := bytes.Cut(b[:width], []byte{0})
		names = append(names, string(name))
	}
	return names, nil
}

// field goes into the field of a struct that path, such as a or a.b, begins with. It returns the
// field's header and the rest of the path; with an error the path, until it is in the field. h is
// the struct's.
func (s *stream) field(h *header, path string) (*header, string, error) {
	switch {
	case h.class != classStruct && h.isReal():
		return nil, path, fmt.Errorf("is no struct and has no field %s: it is %s of shape %v",
			array.Quote(path), h.className(), h.shape)
	case h.class != classStruct:
		return nil, path, h.unreadable()
	}
	names, err := s.names()
	if err != nil {
		return nil, path, err
	}
	if !h.isSingle() {
		return nil, path, h.many()
	}
	at, rest, err := choose(names, path)
	if err != nil {
		return nil, path, err
	}
	for i := range at {
		e, err := s.next(inField(names[i]), miMatrix)
		if err == nil {
			err = s.skip(min(s.left, (e.size+7)&^7))
		}
		if err != nil {
			return nil, path, err
		}
	}
	e, err := s.next(inField(names[at]), miMatrix)
	if err != nil {
		return nil, path, err
	}
	s.enter(e.size)
	h, err = s.header()
	return h, rest, err
}

// inField names what a field holds for a message.
func inField(name string) string {
	return "contents of the field " + array.Quote(name)
}

// choose returns the place of the field that path begins with, and the rest of path.
func choose(names []string, path string) (int, string, error) {
	name, rest, _ := strings.Cut(path, ".")
	at := slices.Index(names, name)
	switch {
	case at < 0:
		return 0, "", fmt.Errorf("the struct has no field %s; %s", array.Quote(name), has(names))
	case slices.Contains(names[at+1:], name):
		return 0, "", array.Damaged("two fields are called %s", array.Quote(name))
	}
	return at, rest, nil
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

// isSingle reports whether a struct is 1x1.
func (h *header) isSingle() bool {
	for _, n := range h.shape {
		if n != 1 {
			return false
		}
	}
	return true
}

func (h *header) many() error {
	return fmt.Errorf("is an array of structs of shape %v, and fields are read of a single "+
		"struct: store the field of one as a variable (x = s(1).a)", h.shape)
}

// structError says that a struct holds fields and not numbers.
func (s *stream) structError(h *header) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	if !h.isSingle() {
		return h.many()
	}
	return fmt.Errorf("is a struct, whose fields are read one at a time, by a name such as s.a; %s",
		has(names))
}
