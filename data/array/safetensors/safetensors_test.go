package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// sample has every dtype that Go has a type for, a scalar, an empty tensor and names that need
// escaping.
func sample() []Tensor {
	return []Tensor{
		expect.Must(New("b/f32", []int{2, 3}, []float32{1, -2.5, 1 << 127, 1e-45, float32(math.Inf(1)),
			0})),
		expect.Must(New("a/f64", []int{3}, []float64{math.Pi, math.Copysign(0, -1), math.MaxFloat64})),
		expect.Must(New("i64", []int{2, 1}, []int64{math.MinInt64, math.MaxInt64})),
		expect.Must(New("i32", []int{2}, []int32{math.MinInt32, 7})),
		expect.Must(New("i16", []int{3}, []int16{-32768, 0, 5})),
		expect.Must(New("i8", []int{3}, []int8{-128, 0, 127})),
		expect.Must(New("u64", []int{1}, []uint64{math.MaxUint64})),
		expect.Must(New("u32", []int{1}, []uint32{math.MaxUint32})),
		expect.Must(New("u16", []int{1}, []uint16{65535})),
		expect.Must(New("u8", []int{5}, []uint8{0, 1, 2, 254, 255})),
		expect.Must(New("mask", []int{3}, []bool{true, false, true})),
		expect.Must(New("step", nil, []int64{42})),
		expect.Must(New("none", []int{0, 4}, []float32{})),
		expect.Must(New("σ \"quoted\" \\ <&> \u2028 \U0001F9E0", []int{1}, []float32{0.2})),
	}
}

var sampleMetadata = map[string]string{"format": "pt", "pe": "learn",
	"note": "σ = 0.2 \"quoted\"\n", "empty": ""}

// encodeSample returns the sample as a file.
func encodeSample(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, Encode(&b, sample(), sampleMetadata))
	return b.Bytes()
}

// TestRoundTrip checks that a file read back has the same tensors and metadata, in the order of
// their data.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	expect.NoError(t, Write(path, sample(), sampleMetadata))
	f := expect.Must(Read(path))
	expect.Equal(t, "metadata", f.Metadata, sampleMetadata)
	for _, want := range sample() {
		got, ok := f.Tensor(want.Name)
		if !ok || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) ||
			!bytes.Equal(got.Data, want.Data) {
			t.Errorf("tensor %q: got %v, want %v", want.Name, got, want)
		}
	}
	expect.Equal(t, "names", len(f.Names()), len(sample()))
	if _, ok := f.Tensor("absent"); ok {
		t.Error("found a tensor that is not there")
	}
	if v, err := f.Tensors[0].Float64s(); err != nil || v[0] != math.Pi || v[2] != math.MaxFloat64 {
		t.Errorf("%v, %v", v, err)
	}
	expect.Equal(t, "booleans", expect.Must(sample()[10].Float64s()), []float64{1, 0, 1})
}

// TestLayoutOfTheFile checks what the format's README asks of the bytes: header length, padding,
// alignment; and that the order of the arguments does not matter.
func TestLayoutOfTheFile(t *testing.T) {
	b := encodeSample(t)
	if size, err := EncodedSize(sample(), sampleMetadata); err != nil || size != int64(len(b)) {
		t.Errorf("EncodedSize %d, %v; Encode wrote %d", size, err, len(b))
	}
	f := expect.Must(decodeBytes(b))
	header := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if (8+header)%8 != 0 || b[8] != '{' {
		t.Errorf("header of %d bytes starts with %q", header, b[8])
	}
	offset := 0
	for _, tensor := range f.Tensors {
		if offset%tensor.DType.Size() != 0 {
			t.Errorf("tensor %q of %s at offset %d", tensor.Name, tensor.DType, offset)
		}
		offset += len(tensor.Data)
	}
	reversed := sample()
	slices.Reverse(reversed)
	var again bytes.Buffer
	if err := Encode(&again, reversed, sampleMetadata); err != nil ||
		!bytes.Equal(again.Bytes(), b) {
		t.Errorf("the order of the tensors changes the file (%v)", err)
	}
}

// TestWriteRefuses checks that what cannot be read back is not written, and that an existing file
// survives the attempt.
func TestWriteRefuses(t *testing.T) {
	path := expect.File(t, "x.safetensors", "precious")
	one := expect.Must(New("a", []int{1}, []uint8{1}))
	tests := []struct {
		name     string
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{"same name", []Tensor{one, one}, nil, `"a": two tensors`},
		{"reserved name", []Tensor{{Name: "__metadata__", DType: U8, Shape: []int{0}}}, nil,
			"reserved"},
		{"bad name", []Tensor{{Name: "\xff", DType: U8, Shape: []int{0}}}, nil, "UTF-8"},
		{"unknown dtype", []Tensor{{Name: "a", DType: "F8", Shape: []int{0}}}, nil, `"F8"`},
		{"negative", []Tensor{{Name: "a", DType: U8, Shape: []int{-1}}}, nil, "negative"},
		{"overflow", []Tensor{{Name: "a", DType: U8, Shape: []int{1 << 62, 4}}}, nil, "larger than any file"},
		{"bytes missing", []Tensor{{Name: "a", DType: F32, Shape: []int{2}, Data: make([]byte, 7)}},
			nil, "needs 8 bytes, has 7"},
		{"bad metadata", []Tensor{one}, map[string]string{"k": "\xff"}, `"k"`},
		{"header over the cap", []Tensor{one},
			map[string]string{"k": strings.Repeat("x", MaxHeader)}, "at most 100000000"},
	}
	for _, test := range tests {
		expect.Error(t, Write(path, test.tensors, test.metadata), test.want, path)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file became %q", b)
	}
	expect.Refused(t, "one value for a shape of two", expect.ErrorOf(New("a", []int{2}, []float64{1})))
}

// failAfter is a writer that has room for n bytes.
type failAfter struct{ n int }

var errFull = errors.New("full")

func (w *failAfter) Write(b []byte) (int, error) {
	if len(b) > w.n {
		return w.n, errFull
	}
	w.n -= len(b)
	return len(b), nil
}

// TestEncodeReportsEveryFailedWrite checks that a writer that fails at any byte makes Encode fail.
func TestEncodeReportsEveryFailedWrite(t *testing.T) {
	size := len(encodeSample(t))
	for n := range size {
		if err := Encode(&failAfter{n}, sample(), sampleMetadata); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", n, size, err)
		}
	}
	if err := Encode(&failAfter{size}, sample(), sampleMetadata); err != nil {
		t.Error(err)
	}
}

// TestManyMetadataKeys checks the limit at writing and at reading.
func TestManyMetadataKeys(t *testing.T) {
	metadata := map[string]string{}
	var text strings.Builder
	for i := range MaxMetadata + 1 {
		if i == MaxMetadata {
			if err := Encode(&bytes.Buffer{}, nil, metadata); err != nil {
				t.Errorf("%d keys: %v", i, err)
			}
			if _, err := decodeBytes(fileOf(`{"__metadata__":{`+text.String()+`}}`,
				0)); err != nil {
				t.Errorf("%d keys: %v", i, err)
			}
		}
		metadata[fmt.Sprint(i)] = ""
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"%d":""`, i)
	}
	expect.Error(t, Encode(&bytes.Buffer{}, nil, metadata), "100001 keys")
	expect.Error(t, expect.ErrorOf(decodeBytes(fileOf(`{"__metadata__":{`+text.String()+`}}`, 0))),
		"more than 100000 keys")
}

// TestEmptyFile checks a file without tensors, and one without metadata.
func TestEmptyFile(t *testing.T) {
	var b bytes.Buffer
	expect.NoError(t, Encode(&b, nil, nil))
	f, err := decodeBytes(b.Bytes())
	if err != nil || len(f.Tensors) != 0 || f.Metadata != nil {
		t.Errorf("%v, %v", f, err)
	}
}

// TestForeignSpelling checks a header as another program may write it: other order, white space,
// escapes.
func TestForeignSpelling(t *testing.T) {
	if _, err := decodeBytes(fileOf("{\"\ufffd\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
		0)); err != nil {
		t.Error(err) // U+FFFD itself is a character like others
	}
	header := "{ \"\\ud83e\\udde0\\/\\n\" :\t{\"data_offsets\" : [ 4 , 6 ], \"shape\":[ ] " +
		",\"dtype\":\"\\u0046\\u0031\\u0036\"},\n" +
		`"z":{"shape":[1],"dtype":"F32","data_offsets":[0,4]}, ` +
		`"empty":{"shape":[0,3],"dtype":"F32","data_offsets":[4,4]},"__metadata__":{"a":"b"}} ` +
		"\r\n"
	b := fileOf(header, 4)
	b = append(b, 0, 0x3c) // 1 as a half
	f := expect.Must(decodeBytes(b))
	expect.Equal(t, "names", fmt.Sprintf("%q", f.Names()), `["z" "empty" "🧠/\n"]`)
	if v, err := f.Tensors[2].Float64s(); err != nil || len(v) != 1 || v[0] != 1 {
		t.Errorf("scalar %v, %v", v, err)
	}
}
