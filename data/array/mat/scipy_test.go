package mat

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// variableOf holds what scipy.io.loadmat and whosmat give for a variable, see testdata/make.py.
type variableOf struct {
	Name   string
	Shape  []int
	Class  string
	Values []expect.Number // nil where it is not one of real numbers
}

// contents holds what scipy reads of a file.
type contents struct {
	Variables []variableOf
	Fields    map[string]variableOf // of structs, by their whole names
	Error     string
}

func expectations(t testing.TB) map[string]contents {
	t.Helper()
	return expect.JSON[map[string]contents](t, "testdata/expected.json")
}

// equal reports whether two lists of arrays are the same.
func equal(a, b []array.Array) bool {
	return slices.EqualFunc(a, b, func(a, b array.Array) bool {
		return a.Name == b.Name && slices.Equal(a.Shape, b.Shape) &&
			slices.EqualFunc(a.Data, b.Data, expect.Same)
	})
}

// compare holds an array against scipy's.
func compare(t *testing.T, a array.Array, name string, want variableOf) {
	t.Helper()
	expect.NoError(t, a.Check())
	if a.Name != name || !slices.Equal(a.Shape, want.Shape) || len(a.Data) != len(want.Values) {
		t.Fatalf("got %q of shape %v, scipy has %q of %v", a.Name, a.Shape, name, want.Shape)
	}
	for i, v := range want.Values {
		if !expect.Same(a.Data[i], float64(v)) {
			t.Errorf("%q: element %d is %v, scipy has %v", a.Name, i, a.Data[i], float64(v))
		}
	}
}

// compareFile lists and reads all of a file, at once and one by one, against scipy. It returns how
// many arrays it compared.
func compareFile(t *testing.T, path string, want contents) int {
	t.Helper()
	entries := expect.Must(List(path))
	if len(entries) != len(want.Variables) {
		t.Fatalf("listed %v, scipy has %d", entries, len(want.Variables))
	}
	numbers := 0
	for i, v := range want.Variables {
		if e := entries[i]; e.Name != v.Name || !slices.Equal(e.Shape, v.Shape) ||
			e.Class != v.Class {
			t.Errorf("listed %v, scipy has %q %v %s", e, v.Name, v.Shape, v.Class)
		}
		if v.Values != nil {
			numbers++
			a, err := ReadVariable(path, v.Name)
			expect.NoError(t, err)
			compare(t, a, v.Name, v)
		} else if _, err := ReadVariable(path, v.Name); err == nil {
			t.Errorf("%q, a %s, was read", v.Name, v.Class)
		}
	}
	for name, v := range want.Fields {
		a := expect.Must(ReadVariable(path, name))
		compare(t, a, name, v)
	}
	return numbers + len(want.Fields)
}

// TestScipyFiles reads every file that scipy wrote, plain and compressed: each class with the ends
// of its range, shapes that are empty, long or small enough for the small form, structs in structs,
// and variables that are not read.
func TestScipyFiles(t *testing.T) {
	arrays := 0
	for name, want := range expectations(t) {
		t.Run(name, func(t *testing.T) {
			arrays += compareFile(t, filepath.Join("testdata", name), want)
		})
	}
	// Both flavours: 11 classes, 12 shapes, 6 mixed with 5 fields in them, and a field among what
	// is not read.
	expect.Equal(t, "arrays", arrays, 2*(11+12+6+5+1))
}

// TestMatlabFiles reads the files that scipy's own tests come with. MATLAB 4.2 to 8 wrote most of
// them, on Solaris (big endian), Linux and Windows; some were damaged by hand. Those of MATLAB 4 are
// refused.
func TestMatlabFiles(t *testing.T) {
	const python = "/usr/bin/python3"
	out, err := exec.Command(python, "testdata/make.py", "--scipy").Output()
	if err != nil {
		t.Skip("needs Debian's python3-scipy, which has its tests' files with it (apt-get "+
			"install python3-scipy):", err)
	}
	var all map[string]contents
	expect.NoError(t, json.Unmarshal(out, &all))
	arrays := 0
	for path, want := range all {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			err := readPath(path)
			switch {
			case strings.Contains(want.Error, "v7.3"):
				if !errors.Is(err, ErrHDF5) {
					t.Error(err)
				}
			case strings.Contains(name, "_4.2c_") || strings.Contains(name, "_4_") || strings.Contains(name, "_mat4_"):
				expect.Error(t, err, "begins as a file of MATLAB 4")
			case name == "bad_miutf8_array_name.mat": // scipy takes names in ASCII only
				if a, err := ReadVariable(path, "\u00e4ray_name"); err != nil ||
					!slices.Equal(a.Data, []float64{1}) {
					t.Error(a, err)
				}
			case want.Error != "":
				expect.Error(t, err, "damaged?")
			case name == "nasty_duplicate_fieldnames.mat": // scipy renames fields
				a, err := ReadVariable(path, "Summary.Top_Q")
				expect.NoError(t, err)
				compare(t, a, "Summary.Top_Q", want.Fields["Summary.Top_Q"])
				_, err = ReadVariable(path, "Summary.Station_Q")
				expect.Message(t, err, "mat: "+path+`: variable "Summary": two fields are called `+
					`"Station_Q": could the file be damaged?`)
			default:
				arrays += compareFile(t, path, want)
			}
		})
	}
	if arrays < 30 {
		t.Errorf("%d arrays of real numbers in %d files of %s", arrays, len(all), python)
	}
}

// readPath reads all of a file.
func readPath(path string) error {
	b, err := os.ReadFile(path)
	if err == nil {
		_, err = readBytes(b)
	}
	return err
}

// TestZeros reads 100000 zeros, compressed by scipy to less than a hundredth: room grows as they
// come.
func TestZeros(t *testing.T) {
	a := expect.Must(ReadVariable("testdata/zeros.mat", "z"))
	if !slices.Equal(a.Shape, []int{200, 500}) || len(a.Data) != 100_000 ||
		slices.Max(a.Data) != 0 || slices.Min(a.Data) != 0 {
		t.Errorf("shape %v, %d numbers", a.Shape, len(a.Data))
	}
}

// TestOtherVersions checks the errors for files that MATLAB or Octave write in other formats.
func TestOtherVersions(t *testing.T) {
	for _, do := range []func() error{
		func() error { _, err := ReadVariable("testdata/v73.mat", "x"); return err },
		func() error { _, err := List("testdata/v73.mat"); return err },
	} {
		if err := do(); !errors.Is(err, ErrHDF5) ||
			!strings.Contains(err.Error(), "mat: testdata/v73.mat: ") {
			t.Error(err)
		}
	}
}

// TestAsked checks what is said about names that are not there or cannot be read, in both flavours
// of the file.
func TestAsked(t *testing.T) {
	for _, path := range []string{"testdata/mixed-v6.mat", "testdata/mixed-v7.mat"} {
		for name, want := range map[string]string{
			"bold": `holds no variable "bold"; it holds "text" (char), "tc" (double), "z" ` +
				`(complex double), "sp" (sparse double), ` +
				`"zsp" (sparse complex double), "c" (cell), "s" (struct), "runs" (struct), ` +
				`"mask" (logical), "none" (struct)`,
			"":   `holds no variable ""; it holds "text" (char), "tc" `,
			".s": `holds no variable ".s"; it holds "text" (char), "tc" `,
			"text": `variable "text": holds text (char): store numbers here, and text in a ` +
				`file of its own`,
			"zsp": `variable "zsp": holds complex numbers (sparse complex double): store the real ` +
				`parts (real(x)), and the imaginary ones as a variable of their own (imag(x))`,
			"c": `variable "c": is a cell array, whose cells are not read: store the ` +
				`numbers of a cell as a variable (x = c{1})`,
			"runs": `variable "runs": is an array of structs of shape [1 2], and fields are ` +
				`read of a single struct: store the field of one as a variable (x = s(1).a)`,
			"runs.a": `variable "runs": is an array of structs of shape [1 2], and fields are ` +
				`read of a single struct: store the field of one as a variable (x = s(1).a)`,
			"z": `variable "z": holds complex numbers (complex double): store the real ` +
				`parts (real(x)), and the imaginary ones as a variable of their own (imag(x))`,
			"s": `variable "s": is a struct, whose fields are read one at a time, by a ` +
				`name such as s.a; it has "tr", "bold", "run", "label", "cell", "last"`,
			"s.run": `variable "s.run": is a struct, whose fields are read one at a time, by ` +
				`a name such as s.a; it has "mask", "deep"`,
			"s.label": `variable "s.label": holds text (char): store numbers here, and text in ` +
				`a file of its own`,
			"s.x": `variable "s": the struct has no field "x"; it has "tr", "bold", "run", ` +
				`"label", "cell", "last"`,
			"s.tr.x": `variable "s.tr": is no struct and has no field "x": it is double of ` +
				`shape [1 1]`,
			"s.cell.x": `variable "s.cell": is a cell array, whose cells are not read: store the ` +
				`numbers of a cell as a variable (x = c{1})`,
			"none.x": `variable "none": the struct has no field "x"; it has none`,
			"tc.":    `holds no variable "tc."; it holds "text" (char), "tc" `,
		} {
			_, err := ReadVariable(path, name)
			if err == nil || !strings.HasPrefix(err.Error(), "mat: "+path+": "+want) {
				t.Errorf("%q: got\n%v, want\n%s", name, err, want)
			}
		}
	}
	for _, flavour := range []string{"v6", "v7"} {
		path := "testdata/unread-" + flavour + ".mat"
		_, err := ReadVariable(path, "x")
		expect.Message(t, err, "mat: "+path+`: holds no variable "x"; it holds "text" (char), "s" (struct)`)
		path = "testdata/nothing-" + flavour + ".mat"
		_, err = ReadVariable(path, "x")
		expect.Message(t, err, "mat: "+path+`: holds no variable "x", and no other`)
	}
}

// TestBigIntegers checks that integers which a float64 would round are not read, and that their
// place is named.
func TestBigIntegers(t *testing.T) {
	_, err := ReadVariable("testdata/big.mat", "i")
	expect.Message(t, err, `mat: testdata/big.mat: variable "i": the element at index [1 2] of the array of `+
		`int64 is 9007199254740993, beyond 2^53: `+
		`a float64 would round it; store such numbers in double precision if that is meant`)
	_, err = ReadVariable("testdata/big.mat", "u")
	expect.Message(t, err, `mat: testdata/big.mat: variable "u": the element at index [0 0] of the array of `+
		`uint64 is 18446744073709551615, beyond 2^53: `+
		`a float64 would round it; store such numbers in double precision if that is meant`)
	if a, err := ReadVariable("testdata/big.mat", "small"); err != nil ||
		!slices.Equal(a.Data, []float64{1, 2}) {
		t.Error(a, err)
	}
}
