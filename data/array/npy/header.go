package npy

import (
	"encoding/binary"
	"errors"
	"io"
	"regexp"
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
	bodyBytes int64 // bytes that follow the header in its file or member
}

// readHeader reads the header of an array that has size bytes with its header.
func readHeader(r io.Reader, size int64) *header {
	b := make([]byte, 12)
	n, err := io.ReadFull(r, b[:min(8, max(0, size))])
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || err == nil && n < 8 {
		array.Failf("has %d bytes, too few for an .npy array", n)
	}
	array.Fail(err)
	if strings.HasPrefix(string(b), "PK\x03\x04") || strings.HasPrefix(string(b), "PK\x05\x06") {
		array.Failf("a zip archive (.npz), not a single array: read it with ReadMember")
	}
	if string(b[:6]) != magic {
		array.Failf("begins with %q, not with %q: not an .npy array", b[:6], magic)
	}
	major, minor := b[6], b[7]
	if major < 1 || major > 3 || minor != 0 {
		array.Failf("format version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	}
	width := int64(2) // bytes of the header's length
	if major > 1 {
		width = 4
	}
	left := size - 8 - width
	if left < 0 {
		array.FailDamaged("ends within the header's length")
	}
	array.Got(io.ReadFull(r, b[8:8+width]))
	length := int64(binary.LittleEndian.Uint32(b[8:])) // the last two bytes are zero in version 1
	switch {
	case length > left:
		array.FailDamaged("expected %d bytes of header, got %d", length, left)
	case length > maxHeader:
		array.Failf("header of %d bytes: at most %d are read, and an array of numbers "+
			"needs about 118", length, maxHeader)
	}
	text := make([]byte, length)
	if n, err := io.ReadFull(r, text); err != nil {
		array.Fail(array.Ended(err, "header", length, int64(n)))
	}
	h := parseHeader(string(text))
	h.bodyBytes = left - length
	return h
}

// check compares the shape with the bytes that follow.
func (h *header) check(n number) {
	count, err := array.Count(h.shape, 8)
	if err != nil {
		array.FailDamaged("header: %w", err)
	}
	if want := int64(count) * int64(n.Bytes); want != h.bodyBytes {
		array.FailDamaged("expected %d bytes of data for shape %v of %s, got %d", want, h.shape,
			h.descr, h.bodyBytes)
	}
}

// entries matches the first entry of a header: a key, a value (a string without escapes, a list, a
// boolean or a tuple of integers) and a comma.
var entries = regexp.MustCompile(`^(?:'(\w+)'|"(\w+)")\s*:\s*` +
	`('[^'\\\r\n]*'|"[^"\\\r\n]*"|\[.*\]|True|False|\([-0-9L,\s]*\))\s*(?:,\s*|$)`)

// parseHeader parses a header, which is a dictionary of Python such as
// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func parseHeader(text string) *header {
	defer array.Within("header")
	h := new(header)
	body, opens := strings.CutPrefix(strings.Trim(text, " \t\r\n"), "{")
	body, closes := strings.CutSuffix(body, "}")
	if !opens || !closes {
		array.FailDamaged("is %s, want a dictionary in braces", array.Quote(text))
	}
	seen := map[string]bool{}
	for rest := strings.Trim(body, " \t\r\n"); rest != ""; {
		m := entries.FindStringSubmatch(rest)
		if m == nil {
			array.FailDamaged("has %s, want an entry such as 'shape': (3, 4)", array.Quote(rest))
		}
		key := m[1] + m[2]
		if seen[key] {
			array.Failf("has the key %q twice", key)
		}
		seen[key] = true
		h.set(key, m[3])
		rest = rest[len(m[0]):]
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			array.Failf("lacks the key %q", key)
		}
	}
	return h
}

// set takes an entry.
func (h *header) set(key, value string) {
	kind, inside := value[0], value[1:len(value)-1]
	switch {
	case key == "descr" && kind == '[':
		h.descr = value
	case key == "descr" && (kind == '\'' || kind == '"'):
		h.descr = canonical(inside)
	case key == "fortran_order" && (kind == 'T' || kind == 'F'):
		h.fortran = kind == 'T'
	case key == "shape" && kind == '(':
		h.shape = parseShape(inside)
	case key == "descr" || key == "fortran_order" || key == "shape":
		array.FailDamaged("the value of %s is %s", key, array.Quote(value))
	default:
		array.Failf("unknown key %q, want descr, fortran_order and shape", key)
	}
}

// parseShape parses the lengths of a shape: nothing, or 3, with a comma, or 3, 4. Python 2 wrote 3L.
func parseShape(text string) []int {
	shape := []int{}
	if strings.TrimSpace(text) == "" {
		return shape
	}
	lengths := strings.Split(text, ",")
	if len(lengths) == 1 {
		array.FailDamaged("the shape (%.60s) is not a tuple, which has a comma", text)
	}
	if last := len(lengths) - 1; strings.TrimSpace(lengths[last]) == "" {
		lengths = lengths[:last]
	}
	if len(lengths) > maxRank {
		array.Failf("the shape has more than %d axes", maxRank)
	}
	for _, length := range lengths {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(length), "L"))
		if err != nil {
			array.FailDamaged("%.60q is no length of an axis", length)
		}
		shape = append(shape, n)
	}
	return shape
}
