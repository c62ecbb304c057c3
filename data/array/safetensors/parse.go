package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"torchpe/data/array"
)

// metadataKey is the one key of a header that names no tensor.
const metadataKey = "__metadata__"

// shortestEntry is the shortest text that an entry can have.
const shortestEntry = `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}`

// parser reads a header token by token. Unlike json.Unmarshal it refuses a key that is there twice.
type parser struct {
	*json.Decoder
	surrogates bool // the header has escapes of surrogates
}

// parseHeader parses a whole header. It checks the grammar, the keys and the types; layout checks
// the values.
func parseHeader(text string) *header {
	defer array.Within("header")
	switch {
	case text[0] != '{':
		array.Failf("starts with %q, not with '{'", text[0])
	case !utf8.ValidString(text):
		array.Failf("is not UTF-8")
	}
	h := new(header)
	p := parser{json.NewDecoder(strings.NewReader(text)), strings.Contains(strings.ToLower(text), `\ud`)}
	p.UseNumber()
	hasMetadata := false
	p.object(func(key string) {
		if key != metadataKey {
			h.tensors = append(h.tensors, p.entry(key))
			return
		}
		if hasMetadata {
			array.Failf("duplicate key %q", metadataKey)
		}
		hasMetadata = true
		h.metadata = p.metadata()
	})
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		array.Failf("data after the end of the JSON object, before byte %d", p.InputOffset()+1)
	}
	return h
}

// entry parses the object of one tensor.
func (p parser) entry(name string) placed {
	defer array.Within("tensor %.80q", name)
	t := placed{Tensor: Tensor{Name: name}}
	seen := map[string]bool{}
	p.object(func(key string) {
		if seen[key] {
			array.Failf("duplicate key %q", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			t.DType = DType(p.string())
		case "shape":
			for _, n := range p.integers(MaxRank) {
				t.Shape = append(t.Shape, int(n))
			}
		case "data_offsets":
			offsets := p.integers(2)
			if len(offsets) != 2 {
				array.Failf("data_offsets has %d numbers, not 2", len(offsets))
			}
			t.begin, t.end = offsets[0], offsets[1]
		default:
			array.Failf("unknown key %.80q (valid: dtype, shape, data_offsets)", key)
		}
	})
	if len(seen) != 3 {
		array.Failf("needs the keys dtype, shape and data_offsets")
	}
	return t
}

// metadata parses an object of strings.
func (p parser) metadata() map[string]string {
	defer array.Within("%s", metadataKey)
	m := map[string]string{}
	p.object(func(key string) {
		if _, ok := m[key]; ok {
			array.Failf("duplicate key %.80q", key)
		}
		if len(m) == MaxMetadata {
			array.Failf("more than %d keys", MaxMetadata)
		}
		m[key] = p.string()
	})
	return m
}

// object parses an object; value is called at the start of each value.
func (p parser) object(value func(key string)) {
	p.delimiter('{')
	for p.More() {
		value(p.string())
	}
	p.delimiter('}')
}

// integers parses an array of at most limit integers that are not negative.
func (p parser) integers(limit int) (list []int64) {
	p.delimiter('[')
	for p.More() {
		t := p.token()
		number, _ := t.(json.Number)
		v, err := strconv.ParseInt(number.String(), 10, strconv.IntSize)
		if err != nil || v < 0 || number == "-0" {
			p.fail("%v is not an integer from 0 to 2^%d-1", t, strconv.IntSize-1)
		}
		if len(list) == limit {
			p.fail("more than %d numbers", limit)
		}
		list = append(list, v)
	}
	p.delimiter(']')
	return list
}

// string parses a string. The decoder writes half a surrogate pair as U+FFFD: a name that has one is
// refused, so that two different names in a file stay different.
func (p parser) string() string {
	t := p.token()
	s, ok := t.(string)
	switch {
	case !ok:
		p.fail("expected a string, got %v", t)
	case p.surrogates && strings.ContainsRune(s, utf8.RuneError):
		p.fail("string %.80q has half a surrogate pair", s)
	}
	return s
}

// delimiter parses one of { } [ ].
func (p parser) delimiter(want json.Delim) {
	if t := p.token(); t != want {
		p.fail("expected %v, got %v", want, t)
	}
}

// token returns the next token.
func (p parser) token() json.Token {
	t, err := p.Token()
	switch {
	case errors.Is(err, io.EOF):
		p.fail("the end comes too early")
	case err != nil:
		p.fail("%w", err)
	}
	return t
}

// fail says at which byte of the header an error arose.
func (p parser) fail(format string, args ...any) {
	array.Failf("byte %d: %w", p.InputOffset(), fmt.Errorf(format, args...))
}
