package safetensors

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// metadataKey is the one key of a header that names no tensor.
const metadataKey = "__metadata__"

// shortestEntry is the shortest text that an entry can have.
const shortestEntry = `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}`

// parser reads the subset of JSON that a header is made of. It is written by hand because
// encoding/json keeps silent about duplicate keys and trailing data, and takes seconds for a
// million entries.
type parser struct {
	text   string
	at     int
	shapes []int // what is left of the last block of lengths, which shapes are parts of
}

// mostTensors is an upper bound for the tensors of a header, so that a million of them are not
// copied again and again; the second term bounds what a hostile header can ask for.
func mostTensors(text string) int {
	return min(strings.Count(text, `"data_offsets"`), len(text)/len(shortestEntry))
}

// parseHeader parses a whole header. It checks the grammar, the keys and the types; layout checks
// the values.
func parseHeader(text string) (*header, error) {
	if text[0] != '{' {
		return nil, fmt.Errorf("starts with %q, not with '{'", text[0])
	}
	most := mostTensors(text)
	h := &header{tensors: make([]Tensor, 0, most), spans: make([]span, 0, most)}
	p := &parser{text: text}
	hasMetadata := false
	err := p.object(func(key string) error {
		if key != metadataKey {
			t, at, err := p.entry(key)
			h.tensors, h.spans = append(h.tensors, t), append(h.spans, at)
			return err
		}
		if hasMetadata {
			return fmt.Errorf("duplicate key %q", metadataKey)
		}
		hasMetadata = true
		var err error
		h.metadata, err = p.metadata()
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.space(); p.at != len(p.text) {
		return nil, p.errorf("data after the end of the JSON object")
	}
	return h, nil
}

// entry parses the object of one tensor.
func (p *parser) entry(name string) (t Tensor, at span, err error) {
	t.Name = name
	var seen [3]bool // dtype, shape, data_offsets
	once := func(i int, key string) error {
		if seen[i] {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen[i] = true
		return nil
	}
	err = p.object(func(key string) error {
		switch key {
		case "dtype":
			s, err := p.string()
			t.DType = DType(s)
			return cmp.Or(once(0, key), err)
		case "shape":
			err := p.shape(&t)
			return cmp.Or(once(1, key), err)
		case "data_offsets":
			n := 0
			err := p.integers(2, func(v int64) { at.begin, at.end = at.end, v; n++ })
			if err == nil && n != 2 {
				err = p.errorf("data_offsets has %d numbers, not 2", n)
			}
			return cmp.Or(once(2, key), err)
		}
		return p.errorf("unknown key %q (valid: dtype, shape, data_offsets)", clip(key))
	})
	if err == nil && seen != [3]bool{true, true, true} {
		err = p.errorf("needs the keys dtype, shape and data_offsets")
	}
	if err != nil {
		return t, at, fmt.Errorf("tensor %q: %w", clip(name), err)
	}
	return t, at, nil
}

// shape parses the lengths of a tensor's axes.
func (p *parser) shape(t *Tensor) error {
	var lengths [MaxRank]int
	rank := 0
	err := p.integers(MaxRank, func(n int64) { lengths[rank] = int(n); rank++ })
	if rank == 0 || err != nil {
		return err
	}
	if rank > len(p.shapes) {
		p.shapes = make([]int, 1024)
	}
	t.Shape, p.shapes = p.shapes[:rank:rank], p.shapes[rank:]
	copy(t.Shape, lengths[:])
	return nil
}

// metadata parses an object of strings.
func (p *parser) metadata() (map[string]string, error) {
	m := map[string]string{}
	err := p.object(func(key string) error {
		if _, ok := m[key]; ok {
			return fmt.Errorf("duplicate key %q", clip(key))
		}
		if len(m) == MaxMetadata {
			return p.errorf("more than %d keys", MaxMetadata)
		}
		value, err := p.string()
		m[key] = value
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataKey, err)
	}
	return m, nil
}

// object parses an object; value is called at the start of each value.
func (p *parser) object(value func(key string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	if p.space(); p.peek() == '}' {
		p.at++
		return nil
	}
	for {
		key, err := p.string()
		if err != nil {
			return err
		}
		if err := p.expect(':'); err != nil {
			return err
		}
		if err := value(key); err != nil {
			return err
		}
		if p.space(); p.peek() == '}' {
			p.at++
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
}

// integers parses an array of at most limit integers that are not negative.
func (p *parser) integers(limit int, add func(int64)) error {
	if err := p.expect('['); err != nil {
		return err
	}
	if p.space(); p.peek() == ']' {
		p.at++
		return nil
	}
	for n := 1; ; n++ {
		if n > limit {
			return p.errorf("more than %d numbers", limit)
		}
		v, err := p.integer()
		if err != nil {
			return err
		}
		add(v)
		if p.space(); p.peek() == ']' {
			p.at++
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
}

// integer parses a number without sign, fraction, exponent or leading zero.
func (p *parser) integer() (int64, error) {
	p.space()
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	s := p.text[start:p.at]
	if s == "" {
		return 0, p.errorf("expected an integer, got %s", p.next())
	}
	v, err := strconv.ParseInt(s, 10, strconv.IntSize)
	if err != nil || v < 0 || s[0] == '+' || s[0] == '-' || len(s) > 1 && s[0] == '0' {
		p.at = start
		return 0, p.errorf("%s is not an integer from 0 to 2^%d-1", clip(s), strconv.IntSize-1)
	}
	return v, nil
}

// string parses a string; one without escapes is a slice of the header.
func (p *parser) string() (string, error) {
	if err := p.expect('"'); err != nil {
		return "", err
	}
	start := p.at
	escaped := false
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			raw := p.text[start:p.at]
			if !utf8.ValidString(raw) {
				p.at = start
				return "", p.errorf("string is not UTF-8")
			}
			p.at++
			if !escaped {
				return raw, nil
			}
			s, ok := unescape(raw)
			if !ok {
				p.at = start
				return "", p.errorf("bad escape in string %q", clip(raw))
			}
			return s, nil
		case c == '\\':
			escaped = true
			p.at++ // and, below, the character that it escapes
		case c < ' ':
			return "", p.errorf("control character in a string")
		}
		p.at++
	}
	p.at = len(p.text)
	return "", p.errorf("string without an end")
}

// escapes maps the letter after a backslash to the character that is meant.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n',
	'r': '\r', 't': '\t'}

// unescape replaces the escapes of a JSON string. It refuses half surrogate pairs, which
// encoding/json would turn into U+FFFD, so that two different names in a file stay different.
func unescape(raw string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			c, ok := escapes[raw[i]]
			if !ok {
				return "", false
			}
			b.WriteByte(c)
			continue
		}
		r, ok := hex4(raw[i+1:])
		if !ok {
			return "", false
		}
		i += 4
		if utf16.IsSurrogate(r) {
			low, ok := hex4(strings.TrimPrefix(raw[i+1:], `\u`))
			if r = utf16.DecodeRune(r, low); !ok || !strings.HasPrefix(raw[i+1:], `\u`) ||
				r == utf8.RuneError {
				return "", false
			}
			i += 6
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

// hex4 returns the number that the first four hexadecimal digits of s give.
func hex4(s string) (rune, bool) {
	if len(s) < 4 || strings.ContainsAny(s[:4], "+-_") {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:4], 16, 32)
	return rune(v), err == nil
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at >= len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// expect skips white space and the byte c.
func (p *parser) expect(c byte) error {
	if p.space(); p.peek() != c {
		return p.errorf("expected %q, got %s", c, p.next())
	}
	p.at++
	return nil
}

// next describes the next byte for an error message.
func (p *parser) next() string {
	if p.at >= len(p.text) {
		return "the end"
	}
	return strconv.QuoteRune(rune(p.text[p.at]))
}

// errorf returns an error that says at which byte of the header it arose.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: "+format, append([]any{p.at}, args...)...)
}
