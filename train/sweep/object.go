package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// object is a JSON object whose keys keep their order.
type object []field

type field struct {
	key   string
	value json.RawMessage // without white space
}

func parseObject(text []byte) (object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	var out object
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // the decoder has checked that it is one
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		out = append(out, field{key, compact.Bytes()})
	}
	_, err := decoder.Token()
	return out, err
}

func (o object) get(key string) json.RawMessage {
	if i := slices.IndexFunc(o, func(f field) bool { return f.key == key }); i >= 0 {
		return o[i].value
	}
	return nil
}

// with returns the object with another value of a key that it has.
func (o object) with(key string, value json.RawMessage) object {
	out := slices.Clone(o)
	for i := range out {
		if out[i].key == key {
			out[i].value = value
		}
	}
	return out
}

func (o object) without(keys ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(f field) bool { return slices.Contains(keys, f.key) })
}

// text returns the object as JSON without white space.
func (o object) text() json.RawMessage {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(f.key)
		if err != nil { // a string always can
			panic(err)
		}
		out = append(append(append(out, key...), ':'), f.value...)
	}
	return append(out, '}')
}

// list joins values to a JSON array.
func list(values []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(raws(values), []byte{','})...), ']')
}

func raws(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
