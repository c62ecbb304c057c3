package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// python runs a script with numpy, an implementation of the format that shares no line with this
// one.
func python(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	const interpreter = "/usr/bin/python3"
	if err := exec.Command(interpreter, "-c", "import numpy").Run(); err != nil {
		t.Skip("needs Debian's python3-numpy (apt-get install python3-numpy):", err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(interpreter, append([]string{"-c", script}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, stderr.Bytes())
	}
	return out
}

// decodeScript prints what numpy finds in a file, by the format's description alone.
const decodeScript = `
import json, struct, sys
import numpy as np
raw = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", raw[:8])
head, body = json.loads(raw[8:8+n]), raw[8+n:]
types = dict(F64="<f8", F32="<f4", F16="<f2", I64="<i8", I32="<i4", I16="<i2", I8="i1",
             U64="<u8", U32="<u4", U16="<u2", U8="u1", BOOL="?")
out = {"metadata": head.pop("__metadata__", {}), "tensors": {}}
out["ends"] = max(v["data_offsets"][1] for v in head.values()) == len(body)
for k, v in head.items():
    a = np.frombuffer(body[slice(*v["data_offsets"])], types[v["dtype"]]).reshape(v["shape"])
    assert v["data_offsets"][0] % a.itemsize == 0
    out["tensors"][k] = [str(a.dtype), list(a.shape), [repr(x) for x in a.ravel().tolist()]]
json.dump(out, sys.stdout)
`

// TestPythonReads checks a file written by Go against numpy's view of it.
func TestPythonReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.safetensors")
	expect.NoError(t, Write(path, sample(), sampleMetadata))
	var got struct {
		Metadata map[string]string
		Tensors  map[string][3]any
		Ends     bool
	}
	expect.NoError(t, json.Unmarshal(python(t, decodeScript, path), &got))
	// What numpy must print, from the values in sample.
	want := map[string]string{
		"a/f64": `["float64",[3],` +
			`["3.141592653589793","-0.0","1.7976931348623157e+308"]]`,
		"b/f32": `["float32",[2,3],` +
			`["1.0","-2.5","1.7014118346046923e+38","1.401298464324817e-45","inf","0.0"]]`,
		"i64": `["int64",[2,1],` +
			`["-9223372036854775808","9223372036854775807"]]`,
		"i32":                                   `["int32",[2],["-2147483648","7"]]`,
		"i16":                                   `["int16",[3],["-32768","0","5"]]`,
		"i8":                                    `["int8",[3],["-128","0","127"]]`,
		"u64":                                   `["uint64",[1],["18446744073709551615"]]`,
		"u32":                                   `["uint32",[1],["4294967295"]]`,
		"u16":                                   `["uint16",[1],["65535"]]`,
		"u8":                                    `["uint8",[5],["0","1","2","254","255"]]`,
		"mask":                                  `["bool",[3],["True","False","True"]]`,
		"step":                                  `["int64",[],["42"]]`,
		"none":                                  `["float32",[0,4],[]]`,
		"σ \"quoted\" \\ <&> \u2028 \U0001F9E0": `["float32",[1],["0.20000000298023224"]]`,
	}
	if len(got.Tensors) != len(want) || !got.Ends {
		t.Errorf("%d tensors, want %d; payload covered: %v", len(got.Tensors), len(want), got.Ends)
	}
	for name, w := range want {
		expect.Equal(t, fmt.Sprintf("%q: numpy reads", name), string(expect.Must(json.Marshal(got.Tensors[name]))), w)
	}
	for k, v := range sampleMetadata {
		expect.Equal(t, fmt.Sprintf("metadata %q: numpy reads", k), got.Metadata[k], v)
	}
}

// encodeScript writes a file in which every half float, a sample of bfloat16 and a few others stand
// beside their values as numpy converts them to float64.
const encodeScript = `
import json, struct, sys
import numpy as np
half = np.arange(65536, dtype="<u2").view("<f2")
single = (np.arange(65536, dtype="<u4") << 16).view("<f4")
arrays = {
    "half": ("F16", half), "half64": ("F64", half.astype("<f8")),
    "brain": ("BF16", np.arange(65536, dtype="<u2")), "brain64": ("F64", single.astype("<f8")),
    "single": ("F32", single.reshape(256, 256)),
    "i16": ("I16", np.arange(-5, 5, dtype="<i2")), "i16_64": ("F64", np.arange(-5, 5, dtype="<f8")),
    "i8": ("I8", np.arange(-128, 128, dtype="i1")), "i8_64": ("F64", np.arange(-128, 128, dtype="<f8")),
    "i64": ("I64", np.array([-2**53, 2**40], "<i8")), "i64_64": ("F64", np.array([-2.0**53, 2.0**40])),
    "u64": ("U64", np.array([2**53], "<u8")), "u64_64": ("F64", np.array([2.0**53])),
    "i64_more": ("I64", np.array([2**53 + 1], "<i8")), "u64_more": ("U64", np.array([2**63], "<u8")),
    "u32": ("U32", np.array([2**32-1], "<u4")), "u32_64": ("F64", np.array([2.0**32-1])),
    "i32": ("I32", np.array([-2**31], "<i4")), "i32_64": ("F64", np.array([-2.0**31])),
    "u16": ("U16", np.array([65535], "<u2")), "u16_64": ("F64", np.array([65535.0])),
    "bool": ("BOOL", np.array([True, False])), "bool64": ("F64", np.array([1.0, 0.0])),
}
head, body = {"__metadata__": {"by": "numpy \u00e9"}}, b""
for k, (d, a) in arrays.items():
    head[k] = {"dtype": d, "shape": list(a.shape), "data_offsets": [len(body), len(body) + a.nbytes]}
    body += a.tobytes()
text = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + body)
`

// TestPythonWrites checks a file written by Python, and Float64s against numpy's conversions.
func TestPythonWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python.safetensors")
	python(t, encodeScript, path)
	f := expect.Must(Read(path))
	expect.Equal(t, "metadata", f.Metadata["by"], "numpy é")
	pairs := map[string]string{"half": "half64", "brain": "brain64", "single": "brain64",
		"i16": "i16_64", "i8": "i8_64",
		"i64": "i64_64", "u64": "u64_64", "u32": "u32_64", "i32": "i32_64", "u16": "u16_64",
		"bool": "bool64"}
	for name, reference := range pairs {
		a, _ := f.Tensor(name)
		b, _ := f.Tensor(reference)
		got := expect.Must(a.Float64s())
		want := expect.Must(b.Float64s())
		if !slices.EqualFunc(got, want, expect.Same) || len(want) == 0 {
			t.Errorf("%s (%s): differs from numpy's conversion", name, a.DType)
		}
	}
	for _, name := range []string{"i64_more", "u64_more"} {
		a, _ := f.Tensor(name)
		expect.Error(t, expect.ErrorOf(a.Float64s()), "beyond 2^53")
	}
	single, _ := f.Tensor("single")
	if v, err := single.Float64s(); err != nil || len(v) != 65536 || v[0x3f80] != 1 ||
		!slices.Equal(single.Shape, []int{256, 256}) {
		t.Errorf("single: %v", err)
	}
}
