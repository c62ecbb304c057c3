package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// FuzzDecode checks any bytes: no panic; what is accepted agrees with encoding/json's reading of
// the header, has no bytes unaccounted for, and comes back the same after Encode and Decode.
func FuzzDecode(f *testing.F) {
	for _, test := range hostile {
		if len(test.file) < 4096 {
			f.Add(test.file)
		}
	}
	var b bytes.Buffer
	expect.NoError(f, Encode(&b, sample(), sampleMetadata))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		var got *File
		var err error
		expect.AllocationsAtMost(t, justified(file), func() { got, err = decodeBytes(file) })
		if err != nil {
			return
		}
		n := binary.LittleEndian.Uint64(file)
		agreesWithJSON(t, got, file[8:8+n], file[8+n:])
		if slices.ContainsFunc(got.Tensors, func(t Tensor) bool { return t.DType.Size() == 0 }) {
			return // cannot be written
		}
		var again bytes.Buffer
		if err := Encode(&again, got.Tensors, got.Metadata); err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
		back, err := decodeBytes(again.Bytes())
		if err != nil {
			t.Fatalf("cannot be read again: %v", err)
		}
		for _, a := range got.Tensors {
			b, ok := back.Tensor(a.Name)
			if !ok || a.DType != b.DType || !bytes.Equal(a.Data, b.Data) {
				t.Fatalf("tensor %q changed from %v to %v", a.Name, a, b)
			}
			if _, err := a.Float64s(); err != nil && !strings.Contains(err.Error(), "beyond 2^53") &&
				!strings.Contains(err.Error(), "a boolean is 0 or 1") {
				t.Fatalf("tensor %q: %v", a.Name, err)
			}
		}
	})
}

// justified returns how many bytes reading may allocate in all: the file's, and the tokens, names and
// tensors of its entries of 60 bytes.
func justified(file []byte) int { return 32*len(file) + 64<<10 }

// agreesWithJSON compares what was read with the header as the standard library parses it.
func agreesWithJSON(t *testing.T, got *File, header, payload []byte) {
	var want map[string]json.RawMessage
	if err := json.Unmarshal(header, &want); err != nil {
		t.Fatalf("accepted a header that is not JSON: %v", err)
	}
	if raw, ok := want[metadataKey]; ok {
		var metadata map[string]string
		if err := json.Unmarshal(raw, &metadata); err != nil || len(metadata) != len(got.Metadata) {
			t.Fatalf("metadata %v, want %s (%v)", got.Metadata, raw, err)
		}
		delete(want, metadataKey)
	}
	if len(want) != len(got.Tensors) {
		t.Fatalf("%d tensors, want %d", len(got.Tensors), len(want))
	}
	total := 0
	for name, raw := range want {
		var entry struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		tensor, ok := got.Tensor(name)
		size := DType(entry.DType).Size()
		for _, n := range entry.Shape {
			size *= n
		}
		if DType(entry.DType).Size() == 0 {
			size = entry.Offsets[1] - entry.Offsets[0]
		}
		if !ok || string(tensor.DType) != entry.DType || len(tensor.Shape) != len(entry.Shape) ||
			len(tensor.Data) != size ||
			!bytes.Equal(tensor.Data, payload[entry.Offsets[0]:entry.Offsets[1]]) {
			t.Fatalf("%q: got %v, want %s", name, tensor, raw)
		}
		total += size
	}
	if total != len(payload) {
		t.Fatalf("the tensors have %d bytes of a payload of %d", total, len(payload))
	}
}
