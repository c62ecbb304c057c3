package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Object is a JSON object whose keys keep their order.
type Object []Field

// Field is a key of an Object with its value.
type Field struct {
	Key   string
	Value json.RawMessage // without white space
}

// ParseObject reads an object and nothing else, in which no key is twice.
func ParseObject(text []byte) (out Object, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // the decoder has checked that it is one
		var value json.RawMessage
		var compact bytes.Buffer
		if err = decoder.Decode(&value); err == nil {
			err = json.Compact(&compact, value)
		}
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		if out.Get(key) != nil {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		out = append(out, Field{key, compact.Bytes()})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the end of the JSON object")
	}
	return out, nil
}

// Get returns the value of a key, or nil.
func (o Object) Get(key string) json.RawMessage {
	if i := slices.IndexFunc(o, func(f Field) bool { return f.Key == key }); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Flat returns the values, as JSON, by their keys; the keys of an object within follow a dot. The values of
// a list of objects, such as members, are joined.
func (o Object) Flat() map[string]string {
	all := map[string]string{}
	o.flatten("", all)
	return all
}

func (o Object) flatten(prefix string, all map[string]string) {
	for _, f := range o {
		list := []json.RawMessage{f.Value}
		if bytes.HasPrefix(f.Value, []byte("[{")) {
			_ = json.Unmarshal(f.Value, &list) // which ParseObject has read
		}
		for _, value := range list {
			key := prefix + f.Key
			if inner, err := ParseObject(value); err == nil {
				inner.flatten(key+".", all)
			} else if before, several := all[key]; several {
				all[key] = before + ", " + string(value)
			} else {
				all[key] = string(value)
			}
		}
	}
}

// With returns the object with another value of a key that it has.
func (o Object) With(key string, value json.RawMessage) Object {
	out := slices.Clone(o)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = value
		}
	}
	return out
}

// Without returns the object without some keys.
func (o Object) Without(keys ...string) Object {
	return slices.DeleteFunc(slices.Clone(o), func(f Field) bool { return slices.Contains(keys, f.Key) })
}

// Text returns the object as JSON without white space.
func (o Object) Text() json.RawMessage {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(f.Key)
		if err != nil { // a string always can
			panic(err)
		}
		out = append(append(append(out, key...), ':'), f.Value...)
	}
	return append(out, '}')
}
