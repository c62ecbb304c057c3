package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"torchpe/internal/atomicfile"
)

// alignment is that of the payload in the file, and of every tensor's data for its own element
// size.
const alignment = 8

// Write writes the tensors to a file, whole or not at all.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Encode(w, tensors, metadata) })
}

// Encode writes the tensors in the format of a file to w. Nothing is written when a tensor is
// wrong. The bytes depend only on the tensors and the metadata, not on their order.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	header, ordered, err := plan(tensors, metadata)
	if err != nil {
		return err
	}
	return emit(w, header, ordered)
}

// EncodedSize returns the bytes that Encode writes, or the error that it would return.
func EncodedSize(tensors []Tensor, metadata map[string]string) (int64, error) {
	header, ordered, err := plan(tensors, metadata)
	if err != nil {
		return 0, err
	}
	size := int64(len(header))
	for _, t := range ordered {
		size += int64(len(t.Data))
	}
	return size, nil
}

// emit writes a planned file.
func emit(w io.Writer, header []byte, tensors []Tensor) error {
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range tensors {
		if len(t.Data) == 0 {
			continue
		}
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// plan checks everything and returns the header with its length and padding, and the tensors in the
// order of the file: larger elements first, as the reference implementation has it, so that each
// tensor is aligned; then by name.
func plan(tensors []Tensor, metadata map[string]string) ([]byte, []Tensor, error) {
	ordered := slices.Clone(tensors)
	slices.SortFunc(ordered, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	seen := make(map[string]bool, len(ordered))
	for _, t := range ordered {
		if err := t.Check(); err != nil {
			return nil, nil, err
		}
		if seen[t.Name] {
			return nil, nil, fmt.Errorf("tensor %q: two tensors have this name", t.Name)
		}
		seen[t.Name] = true
	}
	header, err := appendHeader(make([]byte, prefix), ordered, metadata)
	if err != nil {
		return nil, nil, err
	}
	for len(header)%alignment != 0 {
		header = append(header, ' ')
	}
	n := len(header) - prefix
	if n > MaxHeader {
		return nil, nil, fmt.Errorf("header of %d bytes for %d tensors: at most %d are allowed; "+
			"use fewer tensors or shorter names and metadata", n, len(tensors), MaxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(n))
	return header, ordered, nil
}

// appendHeader appends the JSON header.
func appendHeader(b []byte, tensors []Tensor, metadata map[string]string) ([]byte, error) {
	b = append(b, '{')
	if len(metadata) > MaxMetadata {
		return nil, fmt.Errorf("metadata has %d keys: at most %d are allowed", len(metadata),
			MaxMetadata)
	}
	if len(metadata) > 0 {
		for key, value := range metadata {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, fmt.Errorf("metadata %q: not UTF-8", key)
			}
		}
		text, err := json.Marshal(metadata) // sorts the keys
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		b = append(b, `"`+metadataKey+`":`...)
		b = append(b, text...)
		b = append(b, ',')
	}
	offset := 0
	for _, t := range tensors {
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		b = append(b, name...)
		b = append(b, `:{"dtype":"`+string(t.DType)+`","shape":[`...)
		for i, n := range t.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = append(b, `],"data_offsets":[`...)
		b = strconv.AppendInt(b, int64(offset), 10)
		b = append(b, ',')
		offset += len(t.Data)
		b = strconv.AppendInt(b, int64(offset), 10)
		b = append(b, `]},`...)
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// nameProblem explains why a tensor cannot have this name, or nothing.
func nameProblem(name string) string {
	switch {
	case name == metadataKey:
		return "the name is reserved by the format"
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	}
	return ""
}
