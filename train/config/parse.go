package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// Parse reads the text of a config.json. Unknown fields and fields given twice are errors; the
// former name the valid fields. Errors name line and column.
func Parse(text []byte) (Config, error) {
	c := Config{}
	c.TensorBoard = true
	if err := decode(text, &c); err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// maxFile is the largest config.json in bytes; a thousand members take a few hundred thousand.
const maxFile = 16 << 20

// Read reads a config.json, from a run directory or written by hand; it may have the schema version
// of a run directory.
func Read(path string) (Config, error) {
	var stored struct {
		Config
		Schema json.RawMessage `json:"schema"`
	}
	stored.TensorBoard = true
	text, err := array.ReadText(path, maxFile)
	if err != nil {
		return Config{}, err
	}
	if err := decode([]byte(text), &stored); err != nil {
		return stored.Config, fmt.Errorf("%s: configuration: %w", path, err)
	}
	return stored.Config, nil
}

func decode(text []byte, into any) error {
	p := place{text}
	var object map[string]json.RawMessage
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	err := json.Unmarshal(text, &object)
	switch {
	case errors.As(err, &syntax):
		return p.at(syntax.Offset-1, "%w", err)
	case errors.As(err, &wrong), err == nil && object == nil:
		return p.at(0, "want an object of settings, in braces")
	case err != nil:
		return err
	}
	keys := map[string]int64{}
	if err := p.walk(json.NewDecoder(bytes.NewReader(text)), keys); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	if errors.As(err, &wrong) {
		return p.at(wrong.Offset-1, "%s: want %s, not %s", wrong.Field, wrong.Type, wrong.Value)
	} else if err == nil {
		return nil
	}
	name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !unknown {
		return err
	}
	return p.at(keys[strings.Trim(name, `"`)], "%w%s", err, validFields(name))
}

// validFields lists the keys of the table if name is not one of them.
func validFields(name string) string {
	var names []string
	for _, key := range Keys(func(Setting) bool { return true }) {
		names = append(names, key[strings.LastIndex(key, ".")+1:])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	hint := wording.Hint(strings.Trim(name, `"`), names)
	return fmt.Sprintf("; the fields are %s%s", strings.Join(names, ", "), hint)
}

// place converts offsets in a text to lines and columns.
type place struct{ text []byte }

// at returns an error with the line and column of a byte offset.
func (p place) at(offset int64, format string, args ...any) error {
	before := p.text[:min(max(0, offset), int64(len(p.text)))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Errorf("line %d, column %d: %w", 1+bytes.Count(before, []byte("\n")),
		1+utf8.RuneCount(before[line:]), fmt.Errorf(format, args...))
}

// walk reads a value and notes the first offset of each key. A key that an object has twice is an
// error, in upper or lower case, because fields match in either.
func (p place) walk(d *json.Decoder, keys map[string]int64) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	isObject := t == json.Delim('{')
	if !isObject && t != json.Delim('[') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if isObject {
			start := d.InputOffset()
			if t, err = d.Token(); err != nil {
				return err
			}
			key := t.(string)
			start += int64(bytes.IndexByte(p.text[start:], '"'))
			if seen[strings.ToLower(key)] {
				return p.at(start, "%q is given twice", key)
			}
			seen[strings.ToLower(key)] = true
			if _, before := keys[key]; !before {
				keys[key] = start
			}
		}
		if err := p.walk(d, keys); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
