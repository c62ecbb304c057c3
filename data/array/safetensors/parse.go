package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
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
func parseHeader(text string) (*header, error) {
	switch {
	case text[0] != '{':
		return nil, fmt.Errorf("starts with %q, not with '{'", text[0])
	case !utf8.ValidString(text):
		return nil, errors.New("is not UTF-8")
	}
	h := new(header)
	p := parser{json.NewDecoder(strings.NewReader(text)), strings.Contains(strings.ToLower(text), `\ud`)}
	p.UseNumber()
	hasMetadata := false
	err := p.object(func(key string) error {
		if key != metadataKey {
			t, err := p.entry(key)
			h.tensors = append(h.tensors, t)
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
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("data after the end of the JSON object, before byte %d", p.InputOffset()+1)
	}
	return h, nil
}

// entry parses the object of one tensor.
func (p parser) entry(name string) (placed, error) {
	t := placed{Tensor: Tensor{Name: name}}
	seen := map[string]bool{}
	err := p.object(func(key string) error {
		if seen[key] {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			s, err := p.string()
			t.DType = DType(s)
			return err
		case "shape":
			lengths, err := p.integers(MaxRank)
			for _, n := range lengths {
				t.Shape = append(t.Shape, int(n))
			}
			return err
		case "data_offsets":
			offsets, err := p.integers(2)
			if err == nil && len(offsets) != 2 {
				err = fmt.Errorf("data_offsets has %d numbers, not 2", len(offsets))
			}
			if err == nil {
				t.begin, t.end = offsets[0], offsets[1]
			}
			return err
		}
		return fmt.Errorf("unknown key %.80q (valid: dtype, shape, data_offsets)", key)
	})
	if err == nil && len(seen) != 3 {
		err = errors.New("needs the keys dtype, shape and data_offsets")
	}
	if err != nil {
		err = fmt.Errorf("tensor %.80q: %w", name, err)
	}
	return t, err
}

// metadata parses an object of strings.
func (p parser) metadata() (map[string]string, error) {
	m := map[string]string{}
	err := p.object(func(key string) error {
		if _, ok := m[key]; ok {
			return fmt.Errorf("duplicate key %.80q", key)
		}
		if len(m) == MaxMetadata {
			return fmt.Errorf("more than %d keys", MaxMetadata)
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
func (p parser) object(value func(key string) error) error {
	if err := p.delimiter('{'); err != nil {
		return err
	}
	for p.More() {
		key, err := p.string()
		if err != nil {
			return err
		}
		if err := value(key); err != nil {
			return err
		}
	}
	return p.delimiter('}')
}

// integers parses an array of at most limit integers that are not negative.
func (p parser) integers(limit int) ([]int64, error) {
	if err := p.delimiter('['); err != nil {
		return nil, err
	}
	var list []int64
	for p.More() {
		t, err := p.Token()
		if err != nil {
			return nil, p.located(err)
		}
		number, _ := t.(json.Number)
		v, err := strconv.ParseInt(number.String(), 10, strconv.IntSize)
		if err != nil || v < 0 || number == "-0" {
			return nil, p.located(fmt.Errorf("%v is not an integer from 0 to 2^%d-1", t, strconv.IntSize-1))
		}
		if len(list) == limit {
			return nil, p.located(fmt.Errorf("more than %d numbers", limit))
		}
		list = append(list, v)
	}
	return list, p.delimiter(']')
}

// string parses a string. The decoder writes half a surrogate pair as U+FFFD: a name that has one is
// refused, so that two different names in a file stay different.
func (p parser) string() (string, error) {
	t, err := p.Token()
	s, ok := t.(string)
	switch {
	case err != nil:
		return "", p.located(err)
	case !ok:
		return "", p.located(fmt.Errorf("expected a string, got %v", t))
	case p.surrogates && strings.ContainsRune(s, utf8.RuneError):
		return "", p.located(fmt.Errorf("string %.80q has half a surrogate pair", s))
	}
	return s, nil
}

// delimiter parses one of { } [ ].
func (p parser) delimiter(want json.Delim) error {
	t, err := p.Token()
	if err == nil && t != want {
		err = fmt.Errorf("expected %v, got %v", want, t)
	}
	return p.located(err)
}

// located says at which byte of the header an error arose.
func (p parser) located(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the end comes too early")
	}
	if err != nil {
		err = fmt.Errorf("byte %d: %w", p.InputOffset(), err)
	}
	return err
}
