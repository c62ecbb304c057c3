package arrayfile

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/safetensors"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// A name ends at the last colon that leaves a file; tensors and files may have colons of their own.
func TestSplit(t *testing.T) {
	odd := expect.File(t, "a:b.csv", "1,2\n2,3\n")
	for _, c := range []struct{ reference, file, selector string }{
		{odd, odd, ""}, {odd + ":x", odd, "x"}, {odd + ":x:y", odd, "x:y"}, {odd + ":", odd, ""},
	} {
		file, selector, err := Split(c.reference)
		if err != nil || file != c.file || selector != c.selector {
			t.Errorf("%s: %q, %q, %v", c.reference, file, selector, err)
		}
	}
	for _, bad := range []string{"", ":", "::", "nowhere:x", filepath.Dir(odd),
		filepath.Dir(odd) + ":x"} {
		if _, _, err := Split(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func anyShape([]int) error { return nil }

// A file of an unknown format, JSON, or an empty one is refused by name.
func TestReadRefuses(t *testing.T) {
	for name, want := range map[string]string{"x.own": "files called .own are not read",
		"x.zip": ".safetensors, .npy"} {
		expect.Error(t, expect.ErrorOf(Read(expect.File(t, name, "anything"), text.Auto, anyShape)), want)
	}
	for name, body := range map[string]string{"x.json": "[[1, 2], [3, 4]]", "x.JSON": `{"w": [1`,
		"y.json": "[\x00"} {
		path := expect.File(t, name, body)
		expect.Error(t, expect.ErrorOf(Read(path, text.Auto, anyShape)), path+": arrays are not read from JSON: "+
			"write one as .npy or .csv (torchpe pe values does with --out FILE.npy), several with "+
			"names as .npz or .safetensors")
		expect.Error(t, expect.ErrorOf(ReadAll(path, text.Auto)), "not read from JSON")
		expect.Error(t, expect.ErrorOf(IsText(path)), "not read from JSON")
	}
	for body, want := range map[string]string{
		"": "an empty file", ",b,a\na,1,0\nb,0,1\n": `row 1 is named "a" but column 1 "b"`,
		"id,2,1\n1,0.5,0\n2,0,1.5\n": "the same tokens in the same order",
	} {
		expect.Error(t, expect.ErrorOf(Read(expect.File(t, "x.csv", body), text.Yes, anyShape)), want)
	}
	for _, body := range []string{",a,b\na,1,0\nb,0,1\n", ",c,d\na,1,0\nb,0,1\n", "a,b\n1,0\n0,1\n"} {
		if _, err := Read(expect.File(t, "x.csv", body), text.Auto, anyShape); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestReadSafetensors(t *testing.T) {
	a := expect.Must(safetensors.New("a", []int{2}, []float32{1, 2}))
	b := expect.Must(safetensors.New("b", []int{1, 2}, []float32{3, 4}))
	path := filepath.Join(t.TempDir(), "x.safetensors")
	expect.NoError(t, safetensors.Write(path, []safetensors.Tensor{b, a}, nil))
	got, err := Read(path+":b", text.Auto, anyShape)
	if err != nil || got.Source != path+":b" || !slices.Equal(got.Data, []float64{3, 4}) {
		t.Errorf("%+v, %v", got, err)
	}
	expect.Error(t, expect.ErrorOf(Read(path, text.Auto, anyShape)), "choose one with")
	all, err := ReadAll(path, text.Auto)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Data[1] != 4 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A tensor is read without the others, which may be larger than the memory for all.
func TestOneTensorOfALargeFile(t *testing.T) {
	header := `{"big":{"dtype":"F32","shape":[268435456],"data_offsets":[16,1073741840]},` +
		`"small":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for _, v := range []float32{1, 2, 3, 4} {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	path := expect.File(t, "large.safetensors", string(b))
	if err := os.Truncate(path, int64(len(b))+1<<30); err != nil { // zeros that take no disk
		t.Fatal(err)
	}
	before := array.Limit()
	array.SetLimit(64 << 20)
	defer array.SetLimit(before)
	expect.AllocationsAtMost(t, 1<<20, func() {
		a, err := Read(path+":small", text.Auto, func([]int) error { return nil })
		if err != nil || !slices.Equal(a.Data, []float64{1, 2, 3, 4}) {
			t.Errorf("%v, %v", a, err)
		}
	})
	var large *array.TooLargeError
	if _, err := Read(path+":big", text.Auto, func([]int) error { return nil }); !errors.As(err, &large) ||
		large.Need != 1<<30 || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	entries := list(path, text.Auto)
	expect.NoError(t, os.Truncate(path, int64(len(b))+1<<20))
	expect.Error(t, expect.ErrorOf(entries[1].Load()), "replaced meanwhile")
}

// MATLAB 7.3 has objects as numbers that mean something to MATLAB alone (0xDD000000 first), and sparse
// matrices as three lists; ../mat/testdata/make.py writes both with h5py, the numbers with scipy.
func TestMATLAB73(t *testing.T) {
	const file = "../mat/testdata/objects73.mat"
	sparse := []float64{0, 1, 0, 0, 4, 0, 0, 7, 0, 0, 10, 0}
	mask := []float64{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}
	for name, want := range map[string]array.Array{
		"sp": {Shape: []int{3, 4}, Data: sparse}, "sp_mask": {Shape: []int{3, 4}, Data: mask},
		"sp_zero": {Shape: []int{3, 2}, Data: make([]float64, 6)}, "none": {Shape: []int{0, 3}},
		"s.a": {Shape: []int{3, 4}, Data: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	} {
		a, err := Read(file+":"+name, text.Auto, anyShape)
		if err != nil || !slices.Equal(a.Shape, want.Shape) || !slices.Equal(a.Data, want.Data) {
			t.Errorf("%s: %v, %v", name, a.Array, err)
		}
	}
	for name, want := range map[string]string{
		"t": `variable "t": is an object of the class "table", which only MATLAB reads: ` +
			`store its numbers as a variable (x = table2array(t))`,
		"when": "x = posixtime(t)", "name": "x = char(s)", "own": `class "MyClass"`,
		"fn": "is a function (function_handle)", "zsp": "complex of <f8: store all of its numbers (x = full(x))",
		"sp_bad": "the indices of the sparse matrix of shape [2 4] do not rise", "sp_huge": "--max-memory",
		"fn/function": "has no tensor", "sp/data": "has no tensor",
	} {
		expect.Error(t, expect.ErrorOf(Read(file+":"+name, text.Auto, anyShape)), want)
	}
}

// A field of a struct of MATLAB's version 5 is read by its name; scipy wrote the file.
func TestStructField(t *testing.T) {
	const file = "../mat/testdata/mixed-v7.mat"
	a, err := Read(file+":s.run.deep.er.x", text.Auto, anyShape)
	if err != nil || !slices.Equal(a.Shape, []int{2, 4}) || a.Data[7] != 7 || a.Source != file+":s.run.deep.er.x" {
		t.Errorf("%v, %v", a, err)
	}
	for name, want := range map[string]string{
		"s":   `fields are read one at a time, by a name such as s.a; it has "tr", "bold"`,
		"s.x": `the struct has no field "x"`, "s.label": "text (char)"} {
		expect.Error(t, expect.ErrorOf(Read(file+":"+name, text.Auto, anyShape)), want)
	}
}

// One array that is not read keeps none of the others from being read: dtypes of safetensors that few
// programs know, and an archive's member that is packed in another way.
func TestOddMembers(t *testing.T) {
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":` +
		`{"dtype":"F8_E4M3","shape":[2],"data_offsets":[4,6]},` +
		`"c":{"dtype":"F4","shape":[2],"data_offsets":[6,7]},"d":{"dtype":"C64","shape":[1],"data_offsets":[7,15]},` +
		`"e":{"dtype":"U8","shape":[1],"data_offsets":[15,16]}}`
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	b = append(binary.LittleEndian.AppendUint32(b, math.Float32bits(2.5)),
		"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x2a"...)
	file := expect.File(t, "odd.safetensors", string(b))
	for name, want := range map[string]float64{"a": 2.5, "e": 42} {
		expect.Equal(t, name, expect.Must(Read(file+":"+name, text.Auto, anyShape)).Data[0], want)
	}
	for name, want := range map[string]string{"b": `"F8_E4M3" is not read: store it as F32`, "c": `"F4"`, "d": `"C64"`,
		"": "there are a [1], e [1]", "x": "b [2] (F8_E4M3), c [2] (F4), d [1] (C64), e [1]"} {
		expect.Error(t, expect.ErrorOf(Read(file+":"+name, text.Auto, anyShape)), want)
	}
	const sparse = "../../series/testdata/sparse.h5ad"
	for name, want := range map[string]string{"": "there are /X [] (sparse), /obsm/X_pca [7 2]", ":X": "x.toarray()"} {
		expect.Error(t, expect.ErrorOf(Read(sparse+name, text.Auto, anyShape)), want)
	}
	expect.Equal(t, "shape", expect.Must(Read(sparse+":obsm/X_pca", text.Auto, anyShape)).Shape, []int{7, 2})
	all, unread, err := ReadReal(file, text.Auto)
	if err != nil || len(all) != 2 || !strings.Contains(unread.Error(), "F8_E4M3") {
		t.Errorf("%v, %v, %v", all, unread, err)
	}
}
