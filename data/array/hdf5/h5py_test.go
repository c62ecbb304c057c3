package hdf5

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// noted holds what h5py says of a dataset.
type noted struct {
	Shape  []int
	DType  string
	Values []any
	// Refused says that its chunks have an index of HDF5 1.10.
	Refused bool
}

func expected(t *testing.T) map[string]map[string]noted {
	t.Helper()
	b := expect.Must(os.ReadFile("testdata/expected.json"))
	var files map[string]map[string]noted
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	expect.NoError(t, d.Decode(&files))
	return files
}

func number(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case json.Number:
		return expect.Must(v.Float64())
	case string:
		return expect.Must(strconv.ParseFloat(v, 64))
	}
	t.Fatalf("expected.json holds a %T", v)
	return 0
}

// Every dataset that h5py reads as numbers is read with the same shape and the same bits, also in a
// file of HDF5 1.8's format (layouts-v108.h5). In the newest format several chunks have an index that
// is refused; what is contiguous, compact or one chunk is read.
func TestAgreesWithH5py(t *testing.T) {
	for file, datasets := range expected(t) {
		for name, want := range datasets {
			path := filepath.Join("testdata", file)
			if want.Refused {
				how := "h5repack -f GZIP=4 OLD NEW"
				if strings.Contains(name, "lzf") {
					how = `python3 -c 'import h5py; h5py.File("NEW", "w")["NAME"] = h5py.File("OLD")["NAME"][()]'`
				}
				expect.Error(t, expect.ErrorOf(Read(path, name)), fmt.Sprintf(`hdf5: %s: dataset %q: its chunks are `+
					`indexed as in the new format of HDF5 1.10 (h5py's libver="latest"), which cannot be read: `+
					"rewrite it with %s", path, name, how))
			}
			if want.Values == nil {
				continue
			}
			if strings.Contains(want.DType, "c") {
				re, err := ReadRealParts(path, name)
				if err != nil {
					t.Errorf("%s %s: %v", file, name, err)
					continue
				}
				for i := range re.Data {
					if !expect.Same(re.Data[i], number(t, want.Values[2*i])) {
						t.Errorf("%s %s[%d] = %v, h5py reads %v", file, name, i, re.Data[i],
							want.Values[2*i:2*i+2])
					}
				}
				if len(re.Data) != len(want.Values)/2 || re.Check() != nil {
					t.Errorf("%s %s has %d numbers of shape %v, want %d", file, name, len(re.Data),
						re.Shape, len(want.Values)/2)
				}
				continue
			}
			a, err := Read(path, name)
			if strings.HasSuffix(name, "types/large") {
				expect.Error(t, err, "9007199254740993")
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", file, name, err)
				continue
			}
			if !slices.Equal(a.Shape, want.Shape) || len(a.Data) != len(want.Values) ||
				a.Name != name {
				t.Errorf("%s %s has shape %v and %d numbers, h5py reads %v and %d", file, name,
					a.Shape, len(a.Data), want.Shape, len(want.Values))
				continue
			}
			for i, v := range a.Data {
				if w := number(t, want.Values[i]); !expect.Same(v, w) {
					t.Errorf("%s %s[%d] = %v, h5py reads %v", file, name, i, v, w)
					break
				}
			}
		}
	}
}

// List finds each dataset once for each path that h5py finds, with its shape and dtype.
func TestListAgreesWithH5py(t *testing.T) {
	for file, datasets := range expected(t) {
		entries, err := List(filepath.Join("testdata", file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		found := map[string]Entry{}
		for _, e := range entries {
			found[e.Name] = e
		}
		for name, want := range datasets {
			e, ok := found[name]
			if !ok {
				t.Errorf("%s: List leaves out %s", file, name)
				continue
			}
			if want.Values != nil && !slices.Equal(e.Shape, want.Shape) {
				t.Errorf("%s %s: List says shape %v, h5py %v", file, name, e.Shape, want.Shape)
			}
			dtype := want.DType
			switch {
			case strings.Contains(dtype, "c") || strings.Contains(dtype, "V") ||
				strings.Contains(dtype, "O"):
				continue
			case dtype == "|b1":
				dtype = "|i1"
			case dtype[1] == 'S':
				dtype = dtype[1:]
			}
			expect.Equal(t, fmt.Sprintf("%s %s: List says", file, name), e.DType, dtype)
		}
		// h5py's visititems names an object once; List names each of its paths.
		if len(entries) < len(datasets) {
			t.Errorf("%s: List finds %d datasets, h5py %d", file, len(entries), len(datasets))
		}
	}
}

func TestLinks(t *testing.T) {
	for _, file := range []string{"links-old.h5", "links-new.h5", "links-tracked.h5"} {
		path := filepath.Join("testdata", file)
		for _, name := range []string{"soft", "/soft", "rfMRI_REST1_RL/beside",
			"rfMRI_REST1_RL/up/hard", "hard", "//rfMRI_REST1_RL//./nuisanceReg_resid/"} {
			a, err := Read(path, name)
			if err != nil || !slices.Equal(a.Data, []float64{-3, -2.5, -2, -1.5, -1, -.5}) {
				t.Errorf("%s: %s holds %v, %v", file, name, a.Data, err)
			}
		}
		entries, err := List(path)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		many := 60
		if file == "links-tracked.h5" {
			many = 20
		}
		n := 0
		for _, e := range entries {
			if strings.HasPrefix(e.Name, "/many/r0") {
				n++
			}
		}
		expect.Equal(t, fmt.Sprintf("%s: List finds", file), n, many)
		for name, want := range map[string]string{
			"loop": "soft links", "dangling": `no "nowhere"`, "external": "external link to file \"other.h5\"",
			"rfMRI_REST1_RL":                  "nuisanceReg_resid",
			"soft/x":                          "not a group",
			"rfMRI_REST1_R/nuisanceReg_resid": `did you mean "rfMRI_REST1_RL"`,
		} {
			expect.Error(t, expect.ErrorOf(Read(path, name)), want)
		}
	}
}

// The cells of a MATLAB 7.3 file that h5py wrote lie below #refs# in another order
// (data/series/testdata/make.py).
func TestReferences(t *testing.T) {
	const file = "../../series/testdata/cells73.mat"
	got, err := References(file, "tc_aal")
	if want := "[/#refs#/z /#refs#/y /#refs#/x /#refs#/w /#refs#/v /#refs#/u]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	expect.Error(t, expect.ErrorOf(References(file, "nothing")), "<u8")
	entries, err := List(file)
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == "/nothing" })
	if err != nil || i < 0 || entries[i].Attributes["MATLAB_empty"] != "1" {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestTextAttributes(t *testing.T) {
	for _, file := range []string{"types-old.h5", "types-new.h5"} {
		entries := expect.Must(List(filepath.Join("testdata", file)))
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == "/types/attributes" })
		if i < 0 || entries[i].Attributes["MATLAB_class"] != "double" ||
			entries[i].Attributes["number"] != "3" || len(entries[i].Attributes) != 2 {
			t.Errorf("%s: /types/attributes has %v, want the text MATLAB_class and the number 3", file, entries[i])
		}
	}
}

// By netCDF's conventions (docs.unidata.ucar.edu/nug, "Attribute Conventions") numbers equal to
// _FillValue or missing_value are missing, and others are meant where scale_factor or add_offset is
// given, or where _Unsigned contradicts the type. Where a dataset has many attributes they lie in a heap.
func TestNetCDFConventions(t *testing.T) {
	nan := math.NaN()
	for _, file := range []string{"conventions-old.h5", "conventions-new.h5"} {
		for name, want := range map[string][]float64{"neutral": {0, 1, 2, 3, 4, 5},
			"_FillValue": {1, nan, 3}, "missing_value": {1, 2, nan}, "many_FillValue": {1, nan, 3},
			// Of another type, several, one that no float64 is, and a sign that is no other.
			"double": {1, nan, 3}, "several": {0, nan, 2, 3, nan, 5}, "rounded": {0, 1, 2}, "as_is": {-1, 2},
			"in_range": {0, 1, 2}} {
			a, err := Read(filepath.Join("testdata", file), name)
			if err != nil || !slices.EqualFunc(a.Data, want, expect.Same) {
				t.Errorf("%s %s: %v, %v, want %v", file, name, a.Data, err, want)
			}
		}
		for name, want := range map[string]string{"scale_factor": "attribute scale_factor is 0.5",
			"add_offset": "attribute add_offset is -2", "many_scale_factor": "scale_factor is 9.969",
			"text_scale": "scale_factor is neither text nor numbers", "text_FillValue": "_FillValue is none",
			"beyond": "attribute valid_range is 0 1.5, but it holds 2", "below": "valid_min is 0.5, but it holds 0",
			"above":         "valid_max is 1.5, but it holds 2",
			"text_unsigned": "_Unsigned is neither text nor numbers, and it holds |i1",
			"unsigned":      "_Unsigned is true, and it holds |i1", "signed": "_Unsigned is false, and it holds |u1"} {
			expect.Error(t, expect.ErrorOf(Read(filepath.Join("testdata", file), name)), want)
		}
	}
}

func TestUnreadableFeaturesAreNamed(t *testing.T) {
	for _, file := range []string{"unreadable-old.h5", "unreadable-new.h5"} {
		for name, want := range map[string]string{
			"never-written": "never written", "virtual": "virtual", "external": "external",
			"link": `"link" in / is an external link to file "other.h5", which is not followed`,
			"scaled": `dataset "scaled": it is compressed with scale-offset (filter 6), which cannot be read: ` +
				"rewrite it with h5repack -f GZIP=4 OLD NEW",
			"nbit": `dataset "nbit": it is compressed with n-bit (filter 5), which cannot be read: ` +
				"rewrite it with h5repack -f GZIP=4 OLD NEW",
			"record": "compound of a <f8, ok |i1, s S3, m array, list variable length, text variable " +
				"length, to reference, raw opaque, z complex of <f8, last <i2;",
		} {
			expect.Error(t, expect.ErrorOf(Read(filepath.Join("testdata", file), name)), want, file, name)
		}
		expect.Equal(t, file, expect.Must(Read(filepath.Join("testdata", file), "beside")).Data[5], -.5)
	}
	for name, want := range map[string]string{"types/text": "S7", "types/texts": "variable length",
		"types/record": "compound", "types/complex": "complex"} {
		expect.Error(t, expect.ErrorOf(Read("testdata/types-old.h5", name)), want)
	}
	expect.Error(t, expect.ErrorOf(ReadRealParts("testdata/types-old.h5", "types/text")), "S7")
	re, err := ReadRealParts("testdata/types-old.h5", "types/f8")
	if want, wantErr := Read("testdata/types-old.h5", "types/f8"); err != nil || wantErr != nil ||
		!slices.EqualFunc(re.Data, want.Data, expect.Same) {
		t.Errorf("the real parts of real numbers: %v, %v, want %v", re.Data, err, want.Data)
	}
}
