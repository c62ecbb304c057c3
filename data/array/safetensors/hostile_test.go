package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// fileOf returns a file with the given header and a payload of n bytes.
func fileOf(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, n)...)
}

// decodeBytes decodes a file in memory.
func decodeBytes(b []byte) (*File, error) {
	return Decode(bytes.NewReader(b), int64(len(b)))
}

// hostile lists files that break one rule of the format each (github.com/huggingface/safetensors,
// README, "Format" and the attacks directory), with what the message must contain.
var hostile = []struct {
	name string
	file []byte
	want []string
}{
	{"empty file", nil, []string{"0 bytes"}},
	{"nine bytes", fileOf("{", 0), []string{"9 bytes"}},
	{"header length 0", fileOf("", 8), []string{"header of 0 bytes"}},
	{"header length 2^63", append(binary.LittleEndian.AppendUint64(nil, 1<<63), "{}"...),
		[]string{"9223372036854775808", "100000000"}},
	{"header length 2^64-1", append(binary.LittleEndian.AppendUint64(nil, 1<<64-1), "{}"...),
		[]string{"18446744073709551615"}},
	{"header over the cap", append(binary.LittleEndian.AppendUint64(nil, MaxHeader+1), "{}"...),
		[]string{"100000001"}},
	{"header over the file", append(binary.LittleEndian.AppendUint64(nil, 1000), "{}"...),
		[]string{"1000", "only 2"}},
	{"not JSON", fileOf("hello", 0), []string{"'h'", "'{'"}},
	{"leading space", fileOf(" {}", 0), []string{"' '", "'{'"}},
	{"array", fileOf("[]", 0), []string{"'['"}},
	{"no end", fileOf(`{"a":`, 0), []string{"the end"}},
	{"NaN for a tensor", fileOf(`{"a":NaN}`, 0), []string{"'N'"}},
	{"NaN name", fileOf(`{NaN:{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
		[]string{"'N'"}},
	{"trailing comma", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},}`, 1),
		[]string{"'}'"}},
	{"trailing JSON", fileOf(`{}{}`, 0), []string{"after the end"}},
	{"trailing NUL", fileOf("{}\x00", 0), []string{"after the end"}},
	{"duplicate tensor",
		fileOf(
			`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`+
				`,"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
		[]string{`duplicate key "a"`}},
	{"duplicate by escape",
		fileOf(
			`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`+
				`,"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
		[]string{`duplicate key "a"`}},
	{"duplicate dtype", fileOf(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`,
		1), []string{`"a"`, `duplicate key "dtype"`}},
	{"duplicate metadata", fileOf(`{"__metadata__":{},"__metadata__":{}}`, 0),
		[]string{"duplicate key"}},
	{"duplicate metadata key", fileOf(`{"__metadata__":{"k":"1","k":"2"}}`, 0),
		[]string{`duplicate key "k"`}},
	{"metadata number", fileOf(`{"__metadata__":{"k":1}}`, 0), []string{"__metadata__", "got 1"}},
	{"unknown key", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1),
		[]string{`"a"`, `"x"`, "valid: dtype"}},
	{"missing shape", fileOf(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "needs the keys"}},
	{"no dtype", fileOf(`{"a":{"dtype":"","shape":[1],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "has no dtype"}},
	{"unread dtype beyond the file", fileOf(`{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 1),
		[]string{`"a"`, "data_offsets [0, 2] go beyond"}},
	{"dtype number", fileOf(`{"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "got 8"}},
	{"negative dimension", fileOf(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "-1"}},
	{"minus zero", fileOf(`{"a":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]}}`, 0),
		[]string{`"a"`, "-0"}},
	{"fraction", fileOf(`{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "1.0"}},
	{"exponent", fileOf(`{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "1e0"}},
	{"leading zero", fileOf(`{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "'1' after array element"}},
	{"dimension 2^64", fileOf(
		`{"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}}`, 1),
		[]string{`"a"`, "18446744073709551616"}},
	{"product overflow",
		fileOf(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
		[]string{`"a"`, "[4294967296 4294967296] is larger than any file"}},
	{"overflow beside a zero",
		fileOf(`{"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
		[]string{`"a"`, "is larger than any file"}},
	{"bytes overflow", fileOf(
		`{"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}`, 0),
		[]string{`"a"`, "is larger than any file"}},
	{"65 dimensions", fileOf(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,",
		64)+`1],"data_offsets":[0,1]}}`, 1), []string{`"a"`, "64"}},
	{"one offset", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1]}}`, 1),
		[]string{`"a"`, "1 numbers, not 2"}},
	{"three offsets", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1),
		[]string{`"a"`, "more than 2"}},
	{"negative offset", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}`, 1),
		[]string{`"a"`, "-1"}},
	{"reversed offsets", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1),
		[]string{`"a"`, "[1, 0]", "reversed"}},
	{"too few bytes for the shape", fileOf(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`,
		4), []string{`"a"`, "needs 8 bytes", "[0, 4]"}},
	{"huge shape in a small file",
		fileOf(`{"a":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8]}}`, 8),
		[]string{`"a"`, "8000000000000"}},
	{"offsets over the payload",
		fileOf(`{"a":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}}`, 8),
		[]string{`"a"`, "8000000000000", "payload of 8 bytes"}},
	{"hole at the start", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2),
		[]string{`"a"`, "hole after byte 0"}},
	{"hole between", fileOf(
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`+
			`,"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3),
		[]string{`"b"`, "hole after byte 1"}},
	{"overlap", fileOf(
		`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`+
			`,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3),
		[]string{`"b"`, `"a"`, "byte 1", "ends at 2"}},
	{"same bytes twice",
		fileOf(
			`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`+
				`,"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 2),
		[]string{"inside tensor"}},
	{"trailing byte", fileOf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 2),
		[]string{"end at byte 1", "it has 2"}},
	{"payload without tensors", fileOf(`{}`, 1), []string{"end at byte 0", "it has 1"}},
	{"bad UTF-8", fileOf("{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
		[]string{"UTF-8"}},
	{"half a surrogate pair", fileOf(`{"\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`,
		0), []string{"half a surrogate"}},
	{"bad escape", fileOf(`{"\x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
		[]string{"string escape"}},
	{"control character",
		fileOf("{\"a\nb\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
		[]string{"string literal"}},
	{"deep nesting", fileOf(strings.Repeat(`{"a":`, 100_000), 0), []string{"unknown key"}},
}

// TestHostileFiles checks that each broken file is refused with a message that names what is wrong,
// fast, and with no more memory than the file's size and a constant.
func TestHostileFiles(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			var err error
			expect.AllocationsAtMost(t, len(test.file)+64<<10, func() { _, err = decodeBytes(test.file) })
			took := fastest(3, func() { _, _ = decodeBytes(test.file) })
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q lacks %q", err, want)
				}
			}
			if len(err.Error()) > 1000 {
				t.Errorf("message of %d bytes", len(err.Error()))
			}
			if took > 100*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestEveryCutAndEveryExtension checks that a file with any number of bytes missing, or one byte
// more, is refused.
func TestEveryCutAndEveryExtension(t *testing.T) {
	whole := encodeSample(t)
	expect.NoError(t, expect.ErrorOf(decodeBytes(whole)))
	for n := range whole {
		if _, err := decodeBytes(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
	expect.Refused(t, "a byte too many", expect.ErrorOf(decodeBytes(append(whole, 0))))
}

// TestSizeBeyondReader checks a reader that ends before the size that was promised, as a file cut
// while it is read.
func TestSizeBeyondReader(t *testing.T) {
	whole := encodeSample(t)
	for _, n := range []int{4, 20, len(whole) - 1} {
		expect.Error(t, expect.ErrorOf(Decode(bytes.NewReader(whole[:n]), int64(len(whole)))), "damaged")
	}
}

// manyEntries returns a file of n one-byte tensors, written without the package.
func manyEntries(n int) []byte {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"t%d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, i, i, i+1)
	}
	b.WriteByte('}')
	return fileOf(b.String(), n)
}

// fastest returns the shortest of a few times that f takes, so that a busy machine does not matter.
func fastest(times int, f func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range times {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestManyEntries checks that the time and memory of reading grow with the number of tensors, not with
// its square.
func TestManyEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a 6 MB file")
	}
	const n = 100_000
	file, tenth := manyEntries(n), manyEntries(n/10)
	expect.AllocationsAtMost(t, justified(file), func() {
		f, err := decodeBytes(file)
		if err != nil || len(f.Tensors) != n || f.Tensors[n-1].Name != fmt.Sprintf("t%d", n-1) {
			t.Errorf("%d tensors, %v", len(f.Tensors), err)
		}
	})
	// Both are the fastest of two: one alone may wait for other work on the machine.
	long, short := fastest(2, func() { _, _ = decodeBytes(file) }), fastest(2, func() { _, _ = decodeBytes(tenth) })
	if long > 40*short {
		t.Errorf("took %v and %v for a tenth", long, short)
	}
}

// A boolean is 0 or 1.
func TestDamagedBoolean(t *testing.T) {
	b := Tensor{Name: "b", DType: BOOL, Shape: []int{3}, Data: []byte{0, 1, 2}}
	expect.Error(t, expect.ErrorOf(b.Float64s()), "the element at index [2] is the byte 2")
}
