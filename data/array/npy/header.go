package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"torchpe/data/array"
)

// magic begins an .npy file; a byte each for the format's major and minor version follows.
const magic = "\x93NUMPY"

const (
	// maxHeader bounds the bytes of a header; numpy writes 118 for a matrix and by default reads no
	// more than 10000
	maxHeader = 65536
	maxRank   = 64 // axes; numpy's own limit (NPY_MAXDIMS)
)

// header describes the numbers that follow it.
type header struct {
	descr     string // the dtype as numpy spells it, of records the whole list
	fortran   bool   // the first axis varies fastest
	shape     []int
	bodyBytes int64  // bytes that follow the header in its file or member
	holder    string // what these bytes lie in: "file" or "member"
}

// readHeader reads the header of an array that has size bytes with its header and lies in a holder.
func readHeader(r io.Reader, size int64, holder string) (*header, error) {
	b := make([]byte, 12)
	n, err := io.ReadFull(r, b[:min(8, max(0, size))])
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || err == nil && n < 8 {
		return nil, fmt.Errorf("the %s has %d bytes, too few for an .npy array", holder, n)
	}
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(b), "PK\x03\x04") || strings.HasPrefix(string(b), "PK\x05\x06") {
		return nil, errors.New("a zip archive (.npz), not a single array: read it with ReadMember")
	}
	if string(b[:6]) != magic {
		return nil, fmt.Errorf("begins with %q, not with %q: not an .npy array", b[:6], magic)
	}
	major, minor := b[6], b[7]
	if major < 1 || major > 3 || minor != 0 {
		return nil, fmt.Errorf("format version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	}
	width := 2 // bytes of the header's length
	if major > 1 {
		width = 4
	}
	if size-8 < int64(width) {
		return nil, fmt.Errorf("the %s ends within the header's length: could it be damaged?",
			holder)
	}
	if _, err := io.ReadFull(r, b[8:8+width]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(b[8:])) // the last two bytes are zero in version 1
	switch left := size - 8 - int64(width); {
	case length > left:
		return nil, fmt.Errorf("expected %d bytes of header, the %s has %d: could it be damaged?",
			length, holder, left)
	case length > maxHeader:
		return nil, fmt.Errorf("header of %d bytes: at most %d are read, and an array of numbers "+
			"needs about 118", length, maxHeader)
	}
	text := make([]byte, length)
	if n, err := io.ReadFull(r, text); err != nil {
		return nil, container(holder).ended(err, "header", length, int64(n))
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	h.bodyBytes, h.holder = size-8-int64(width)-length, holder
	return h, nil
}

// container is the word for what holds an array: file, or member of an archive.
type container string

// ended describes an error of io.ReadFull.
func (holder container) ended(err error, what string, want, got int64) error {
	switch short := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); {
	case short && holder == "member": // archive/zip keeps the last bytes to itself
		return fmt.Errorf("expected %d bytes of %s, the member ends before: could the archive "+
			"be damaged?", want, what)
	case short:
		return fmt.Errorf("expected %d bytes of %s, the %s has %d: could it be damaged?", want,
			what, holder, got)
	}
	return fmt.Errorf("%s: after %d of %d bytes: %w: could the %s be damaged?", what, got, want,
		err, holder)
}

// check compares the shape with the bytes that follow.
func (h *header) check(n number) error {
	count, err := array.Count(h.shape, 8)
	if err != nil {
		return fmt.Errorf("header: %w: could the %s be damaged?", err, h.holder)
	}
	if want := int64(count) * int64(n.Bytes); want != h.bodyBytes {
		return fmt.Errorf("expected %d bytes of data for shape %v of %s, the %s has %d: could it "+
			"be damaged?", want, h.shape, h.descr, h.holder, h.bodyBytes)
	}
	return nil
}

// parser reads the one form of Python literal that a header is: a dictionary of a string, a boolean
// and a tuple of integers.
type parser struct {
	text string
	at   int
}

// parseHeader parses a header such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func parseHeader(text string) (*header, error) {
	p, h := &parser{text: text}, new(header)
	if err := p.expect('{'); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for p.peek() != '}' {
		key, err := p.quoted()
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("has the key %s twice", array.Quote(key))
		}
		seen[key] = true
		if err := p.expect(':'); err != nil {
			return nil, err
		}
		if err := p.value(h, key); err != nil {
			return nil, err
		}
		if p.peek() == '}' {
			break
		}
		if err := p.expect(','); err != nil {
			return nil, err
		}
	}
	p.at++
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, fmt.Errorf("lacks the key %q", key)
		}
	}
	if p.peek() != 0 || p.at < len(p.text) {
		return nil, p.unexpected("the end of the header")
	}
	return h, nil
}

// value parses the value of a key into h.
func (p *parser) value(h *header, key string) (err error) {
	switch key {
	case "descr":
		if p.peek() == '[' {
			h.descr, err = p.list()
		} else {
			h.descr, err = p.quoted()
			h.descr = canonical(h.descr)
		}
	case "fortran_order":
		p.peek()
		rest := p.text[p.at:]
		switch h.fortran = strings.HasPrefix(rest, "True"); {
		case h.fortran:
			p.at += len("True")
		case strings.HasPrefix(rest, "False"):
			p.at += len("False")
		default:
			err = p.unexpected("True or False for fortran_order")
		}
	case "shape":
		h.shape, err = p.tuple()
	default:
		err = fmt.Errorf("unknown key %s, want descr, fortran_order and shape", array.Quote(key))
	}
	return err
}

// peek skips space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) expect(c byte) error {
	if p.peek() != c {
		return p.unexpected(fmt.Sprintf("%q", c))
	}
	p.at++
	return nil
}

// unexpected returns an error for what stands where something else was wanted.
func (p *parser) unexpected(want string) error {
	if p.at >= len(p.text) {
		return fmt.Errorf("ends at byte %d, want %s: could the file be damaged?", p.at, want)
	}
	return fmt.Errorf("has %s at byte %d, want %s: could the file be damaged?",
		array.Quote(p.text[p.at:]), p.at, want)
}

// quoted parses a string of one line in single or double quotes. No dtype needs an escape.
func (p *parser) quoted() (string, error) {
	q := p.peek()
	if q != '\'' && q != '"' {
		return "", p.unexpected("a string in quotes")
	}
	n := strings.IndexByte(p.text[p.at+1:], q)
	if n < 0 {
		return "", p.unexpected("a string that ends")
	}
	s := p.text[p.at+1 : p.at+1+n]
	if strings.ContainsAny(s, "\\\r\n") {
		return "", p.unexpected("a string without escapes")
	}
	p.at += n + 2
	return s, nil
}

// list steps over the list that describes records and returns its text.
func (p *parser) list() (string, error) {
	start := p.at
	for depth := 0; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '[', '(':
			depth++
		case ']', ')':
			if depth--; depth == 0 {
				p.at++
				return p.text[start:p.at], nil
			}
		case '\'', '"':
			if _, err := p.quoted(); err != nil {
				return "", err
			}
			p.at--
		}
	}
	p.at = start
	return "", p.unexpected("a list that ends")
}

// tuple parses a shape: (), (3,) or (3, 4). Python 2 wrote (3L,).
func (p *parser) tuple() ([]int, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	shape := []int{}
	comma := true
	for p.peek() != ')' {
		if !comma {
			return nil, p.unexpected("',' or ')' in the shape")
		}
		if len(shape) == maxRank {
			return nil, fmt.Errorf("the shape has more than %d axes", maxRank)
		}
		n, err := p.integer()
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
		if comma = p.peek() == ','; comma {
			p.at++
		}
	}
	if len(shape) == 0 && p.text[p.at-1] == ',' || len(shape) == 1 && !comma {
		return nil, p.unexpected("a comma after the one length of the shape")
	}
	p.at++
	return shape, nil
}

// integer parses a length of an axis. A negative one is let through for the message that names the
// shape.
func (p *parser) integer() (int, error) {
	p.peek()
	start := p.at
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	digits := p.text[start:p.at]
	n, err := strconv.Atoi(digits)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("length %s in the shape is larger than any file: could the file "+
				"be damaged?", array.Quote(digits))
		}
		p.at = start
		return 0, p.unexpected("a length in the shape")
	}
	if p.at < len(p.text) && p.text[p.at] == 'L' {
		p.at++
	}
	return n, nil
}
