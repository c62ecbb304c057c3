package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
)

// SchemaVersion is the version of run directories that this program writes. It reads older ones
// too.
const SchemaVersion = 1

// schemaKey is the first key of config.json; the other keys are the caller's.
const schemaKey = "schema"

// Config is the configuration that a run was created with.
type Config struct {
	Schema int             // version of the run directory, 1 to SchemaVersion
	JSON   json.RawMessage // the object that Create was given
}

// Config returns the configuration of the run.
func (r *Reader) Config() Config { return r.config }

// SetConfig replaces the configuration of a run that goes on with other settings.
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

// readConfig reads config.json and checks its schema.
func (r *Reader) readConfig() error {
	text, err := r.root.ReadFile(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it has no %s", r.dir, ErrNoRun, configFile)
	}
	if err != nil {
		return r.fileError("read", configFile, err)
	}
	schema, object, err := splitSchema(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.path(configFile), err)
	}
	if schema == 0 {
		return fmt.Errorf("read %s: has no key %q: not written by torchpe; use it with --config "+
			"in a new run", r.path(configFile), schemaKey)
	}
	r.config = Config{Schema: schema, JSON: object}
	return nil
}

// stampSchema returns the text of config.json: the object with the schema version in front. A
// version that it has from another run's config.json is replaced.
func stampSchema(config []byte) ([]byte, error) {
	_, object, err := splitSchema(config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	head := `{"` + schemaKey + `":` + strconv.Itoa(SchemaVersion)
	if !bytes.Equal(object, []byte("{}")) {
		head += ","
	}
	var text bytes.Buffer
	if err := json.Indent(&text, append([]byte(head), object[1:]...), "", "  "); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// splitSchema takes the schema version (0 when there is none) out of a JSON object and returns the
// rest in the order of the text, without white space.
func splitSchema(text []byte) (int, []byte, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return 0, nil, errors.Join(errors.New("not a JSON object"), err)
	}
	schema, rest, seen := 0, []byte{'{'}, map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return 0, nil, err
		}
		key, _ := token.(string) // the decoder has checked that a key is a string
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return 0, nil, fmt.Errorf("key %q: %w", key, err)
		}
		if seen[key] {
			return 0, nil, fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		if key == schemaKey {
			if schema, err = parseSchema(value); err != nil {
				return 0, nil, err
			}
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return 0, nil, fmt.Errorf("key %q: %w", key, err)
		}
		rest = append(append(append(rest, name...), ':'), value...)
	}
	if _, err := dec.Token(); err != nil {
		return 0, nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return 0, nil, errors.New("data after the end of the JSON object")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, append(rest, '}')); err != nil {
		return 0, nil, err
	}
	return schema, compact.Bytes(), nil
}

// parseSchema checks a schema version.
func parseSchema(value json.RawMessage) (int, error) {
	n, err := strconv.Atoi(string(value))
	switch {
	case err != nil || n < 1:
		return 0, fmt.Errorf("%s %s: not a positive integer", schemaKey, value)
	case n > SchemaVersion:
		return 0, fmt.Errorf("%s %d: %w: this one reads up to %d; use the torchpe that wrote it, "+
			"or a newer one", schemaKey, n, ErrSchema, SchemaVersion)
	}
	return n, nil
}
