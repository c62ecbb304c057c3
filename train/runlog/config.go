package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
)

// SchemaVersion is the version of the run directories that this program writes. It also reads older
// ones. Version 2 has measures by key; torchpe 0.1.0 wrote version 1.
const SchemaVersion = 2

// schemaKey is the first key of config.json; the other keys are the caller's.
const schemaKey = "schema"

// Config is the configuration that a run was created with.
type Config struct {
	Schema int             // version of the run directory, 1 to SchemaVersion
	JSON   json.RawMessage // the object passed to Create
}

// sha256 identifies the settings, in their order.
func (c Config) sha256() string { return fmt.Sprintf("%x", sha256.Sum256(c.JSON)) }

// Config returns the configuration of the run.
func (r *Reader) Config() Config { return r.config }

// SetConfig replaces the configuration of a run that continues with other settings.
func (r *Run) SetConfig(config []byte) error {
	text, err := stampSchema(config)
	if err != nil {
		return fmt.Errorf("%s: %w", r.dir, err)
	}
	if err := r.writeText(configFile, text); err != nil {
		return err
	}
	return r.readConfig()
}

func (r *Reader) readConfig() error {
	text, err := r.root.ReadFile(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it has no %s", r.dir, ErrNoRun, configFile)
	}
	if err != nil {
		return r.fileError("read", configFile, err)
	}
	return r.parseConfig(text)
}

// parseConfig takes the configuration from the text of config.json.
func (r *Reader) parseConfig(text []byte) error {
	schema, object, err := splitSchema(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.path(configFile), err)
	}
	if schema == 0 {
		return fmt.Errorf("read %s: no key %q: not written by torchpe; use it with --config "+
			"in a new run", r.path(configFile), schemaKey)
	}
	r.config = Config{Schema: schema, JSON: object.Text()}
	return nil
}

// stampSchema returns the text of config.json: the object, with the schema version as its first
// key. It replaces the version of another run's config.json.
func stampSchema(config []byte) ([]byte, error) {
	_, object, err := splitSchema(config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	stamped := append(Object{{schemaKey, strconv.AppendInt(nil, SchemaVersion, 10)}}, object...)
	var text bytes.Buffer
	if err := json.Indent(&text, stamped.Text(), "", "  "); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// splitSchema separates the schema version of a JSON object, 0 if it has none, from the rest.
func splitSchema(text []byte) (schema int, rest Object, err error) {
	all, err := ParseObject(text)
	if err != nil {
		return 0, nil, err
	}
	if value := all.Get(schemaKey); value != nil {
		schema, err = parseSchema(value)
	}
	return schema, all.Without(schemaKey), err
}

func parseSchema(value json.RawMessage) (int, error) {
	n, err := strconv.Atoi(string(value))
	switch {
	case err != nil || n < 1:
		return 0, fmt.Errorf("%s %s: not a positive integer", schemaKey, value)
	case n > SchemaVersion:
		return 0, fmt.Errorf("%s %d: %w: this version reads up to %d; use the torchpe that wrote it, "+
			"or a newer one", schemaKey, n, ErrSchema, SchemaVersion)
	}
	return n, nil
}

// Object is a JSON object that keeps the order of its keys.
type Object []Field

// Field is a key of an Object with its value.
type Field struct {
	Key   string
	Value json.RawMessage // without white space
}

// ParseObject reads a single object. Duplicate keys are an error.
func ParseObject(text []byte) (out Object, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // checked by the decoder
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

// Flat returns the values, as JSON, by their keys; keys of inner objects follow a dot. The values
// of a list of objects, such as members, are joined.
func (o Object) Flat() map[string]string {
	all := map[string]string{}
	o.flatten("", all)
	return all
}

func (o Object) flatten(prefix string, all map[string]string) {
	for _, f := range o {
		list := []json.RawMessage{f.Value}
		if bytes.HasPrefix(f.Value, []byte("[{")) {
			_ = json.Unmarshal(f.Value, &list) // ParseObject has checked it
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

// With returns the object with another value of an existing key.
func (o Object) With(key string, value json.RawMessage) Object {
	out := slices.Clone(o)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = value
		}
	}
	return out
}

// Without returns the object without the given keys.
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
