package npy

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// expectation holds what numpy.load gives for a file or a member, see testdata/make.py.
type expectation struct {
	Name    string
	Shape   []int
	DType   string
	Values  []expect.Number
	Members []expectation
}

func expectations(t testing.TB) map[string]expectation {
	t.Helper()
	return expect.JSON[map[string]expectation](t, "testdata/expected.json")
}

// compare holds an array against numpy's.
func compare(t *testing.T, a array.Array, want expectation) {
	t.Helper()
	expect.NoError(t, a.Check())
	if a.Name != want.Name || !slices.Equal(a.Shape, want.Shape) ||
		len(a.Data) != len(want.Values) {
		t.Fatalf("got %q of shape %v, numpy has %q of %v", a.Name, a.Shape, want.Name, want.Shape)
	}
	for i, v := range want.Values {
		if !expect.Same(a.Data[i], float64(v)) {
			t.Errorf("%q: element %d is %v, numpy has %v", a.Name, i, a.Data[i], float64(v))
		}
	}
}

// TestNumpyFiles reads every file that numpy wrote: each dtype in both byte orders and both orders
// of axes, with the ends of its range, and each version of the format; archives stored, deflated
// and with the records of a large one.
func TestNumpyFiles(t *testing.T) {
	files := 0
	for name, want := range expectations(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			entries := expect.Must(List(path))
			if want.Members == nil {
				want.Members = []expectation{want}
				a := expect.Must(Read(path))
				compare(t, a, want)
			} else if name != "mixed.npz" {
				as := expect.Must(readArchive(path))
				if len(as) != len(want.Members) {
					t.Fatalf("%d arrays, numpy has %d", len(as), len(want.Members))
				}
				for i, a := range as {
					compare(t, a, want.Members[i])
				}
			}
			if len(entries) != len(want.Members) {
				t.Fatalf("listed %v", entries)
			}
			for i, m := range want.Members {
				if e := entries[i]; e.Name != m.Name || !slices.Equal(e.Shape, m.Shape) ||
					e.DType != m.DType {
					t.Errorf("listed %v, numpy has %q %v %s", e, m.Name, m.Shape, m.DType)
				}
			}
		})
		files++
	}
	if files < 50 {
		t.Errorf("%d files, testdata/make.py makes more", files)
	}
}

// Spellings of dtypes that numpy.load takes and numpy.save does not write: numpy 1.24 reads the same
// of each on a machine of either byte order.
func TestSpellings(t *testing.T) {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint64(b, math.Float64bits(1.5))
	binary.NativeEndian.PutUint64(b[8:], math.Float64bits(-2))
	for _, descr := range []string{"=f8", "f8", "float64", "double", "float"} {
		file := append(shaped(descr, "(2,)", 0), b...)
		a, err := tryRead(bytes.NewReader(file), int64(len(file)))
		if err != nil || !slices.Equal(a.Data, []float64{1.5, -2}) {
			t.Errorf("%s: %v, %v", descr, a.Data, err)
		}
	}
	for descr, want := range map[string]string{"int8": "|i1", "bool": "|b1", "u1": "|u1", "|u1": "|u1", ">f4": ">f4"} {
		size := numbers[want[1:]].Bytes
		file := shaped(descr, "()", size)
		if e := entry(bytes.NewReader(file), int64(len(file))); e.DType != want {
			t.Errorf("%s: %v", descr, e)
		}
	}
}

// TestMembers reads one member of an archive with others that cannot be read.
func TestMembers(t *testing.T) {
	for _, m := range expectations(t)["mixed.npz"].Members {
		a, err := ReadMember("testdata/mixed.npz", m.Name)
		if m.Values != nil {
			expect.NoError(t, err)
			compare(t, a, m)
		} else if err == nil || !strings.Contains(err.Error(), `array "`+m.Name+`": dtype `) {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	_, err := readArchive("testdata/mixed.npz")
	expect.Message(t, err, `npy: testdata/mixed.npz: array "labels": dtype "<U4" holds text: store numbers `+
		`here, and text in a file of its own`)
	_, err = ReadMember("testdata/mixed.npz", "bold")
	expect.Message(t, err, `npy: testdata/mixed.npz: holds no array "bold"; it holds "sim_bold", "fc", `+
		`"labels", "subject/run-1", "rows"`)
}

// TestZeros reads 100000 zeros, deflated by numpy to less than a hundredth: room grows as they
// come.
func TestZeros(t *testing.T) {
	a := expect.Must(ReadMember("testdata/zeros.npz", "z"))
	if !slices.Equal(a.Shape, []int{200, 500}) || len(a.Data) != 100_000 ||
		slices.Max(a.Data) != 0 || slices.Min(a.Data) != 0 {
		t.Errorf("shape %v, %d numbers", a.Shape, len(a.Data))
	}
}

// TestHalf holds all 65536 numbers of 16 bits against the definition of IEEE 754-2008, 3.4.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		sign, e, f := 1-2*float64(bits>>15), bits>>10&31, float64(bits&1023)
		want := sign * math.Pow(2, float64(e-15)) * (1 + f/1024)
		switch {
		case e == 0:
			want = sign * math.Pow(2, -14) * (f / 1024)
		case e == 31 && f == 0:
			want = math.Inf(int(sign))
		case e == 31:
			want = math.NaN()
		}
		b := binary.LittleEndian.AppendUint16(nil, uint16(bits))
		if got := array.Float(2).Float64(b, binary.LittleEndian); !expect.Same(got, want) {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
}

// TestWriteAsNumpy writes arrays to the very bytes that numpy.save gives.
func TestWriteAsNumpy(t *testing.T) {
	for name, dtype := range map[string]DType{"v1.npy": Float64, "scalar.npy": Float64,
		"vector.npy": Float64, "empty.npy": Float64,
		"f8-le-C.npy": Float64, "f4-le-C.npy": Float32, "vector-f4.npy": Float32} {
		path := filepath.Join("testdata", name)
		want := expect.Must(os.ReadFile(path))
		a := expect.Must(Read(path))
		var b bytes.Buffer
		expect.NoError(t, Write(&b, a, dtype))
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s: wrote\n%q, numpy\n%q", name, b.Bytes(), want)
		}
	}
}

// TestPythonReads writes an archive and an array that numpy reads.
func TestPythonReads(t *testing.T) {
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skip("needs Debian's python3-numpy (apt-get install python3-numpy):", err)
	}
	dir := t.TempDir()
	as := []array.Array{
		{Name: "z/run 1", Shape: []int{2, 3}, Data: []float64{1, 2.5, math.NaN(), math.Inf(-1),
			1e300, -0.1}},
		{Name: "é", Shape: []int{}, Data: []float64{7}},
		{Name: "a", Shape: []int{0, 4}, Data: []float64{}},
	}
	var archive, again, cube bytes.Buffer
	expect.NoError(t, writeArchive(&archive, as, Float64))
	expect.NoError(t, writeArchive(&again, as, Float64))
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("the same arrays gave other bytes")
	}
	if err := Write(&cube, array.Array{Shape: []int{1, 2, 2}, Data: []float64{0.1, 1, 2, 3}},
		Float32); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a.npz": archive.Bytes(), "a.npy": cube.Bytes()} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	const script = `
import numpy as np, sys
z = np.load("a.npz")
a = np.load("a.npy")
assert z.zip.testzip() is None
print(z.files, [z[f].shape for f in z.files], z["z/run 1"].tolist(), float(z["é"]),
      z["a"].dtype.str)
print(a.dtype.str, a.shape, a.ravel().tolist(), open("a.npy", "rb").read().index(a.tobytes()) % 64)
`
	cmd := exec.Command(python, "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	// float32(0.1) is 13421773 / 2^27.
	const want = `['z/run 1', 'é', 'a'] [(2, 3), (), (0, 4)] [[1.0, 2.5, nan], [-inf, 1e+300, -0.1]] 7.0 <f8
<f4 (1, 2, 2) [0.10000000149011612, 1.0, 2.0, 3.0] 0
`
	expect.Equal(t, "numpy reads", string(out), want)
	back := expect.Must(readArchive(filepath.Join(dir, "a.npz")))
	for i, a := range back {
		if a.Name != as[i].Name || !slices.Equal(a.Shape, as[i].Shape) ||
			!slices.EqualFunc(a.Data, as[i].Data, expect.Same) {
			t.Errorf("read back %v, want %v", a, as[i])
		}
	}
}

// TestWriteFaults checks what is not written.
func TestWriteFaults(t *testing.T) {
	one := func(v float64) array.Array { return array.Array{Shape: []int{1}, Data: []float64{v}} }
	for _, test := range []struct {
		a    array.Array
		t    DType
		want string
	}{
		{one(1e39), Float32,
			`npy: writing an array of shape [1]: element 0 is 1e+39, too large for a float32: ` +
				`write it as Float64`},
		{one(1), "<f2",
			`npy: writing an array of shape [1]: dtype "<f2", want "<f4" or "<f8"`},
		{array.Array{Shape: []int{2}, Data: []float64{1}}, Float64,
			`npy: writing an array of shape [2]: 1 numbers in an array of shape [2]`},
		{array.Array{Shape: slices.Repeat([]int{1}, 65), Data: []float64{1}}, Float64,
			`npy: writing an array of shape [` + strings.Repeat(
				"1 ", 64) + `1]: 65 axes, and numpy takes at most 64`},
	} {
		expect.Message(t, Write(new(bytes.Buffer), test.a, test.t), test.want)
	}
	expect.Message(t, Write(new(bytes.Buffer), one(-1e39), Float32),
		"npy: writing an array of shape [1]: element 0 is -1e+39, too large for a float32: write "+
			"it as Float64")
	if err := Write(new(bytes.Buffer), array.Array{Shape: slices.Repeat([]int{1}, 64), Data: []float64{1}},
		Float64); err != nil {
		t.Error(err)
	}
	// Infinity is a float32, and what rounds to the largest float32 is written.
	if err := Write(new(bytes.Buffer), array.Array{Shape: []int{2},
		Data: []float64{math.Inf(1), 3.4028235e38}}, Float32); err != nil {
		t.Error(err)
	}
}
