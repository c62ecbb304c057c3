package series

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A user looks into a file to find the NaN in it.
func TestInfoOfNaN(t *testing.T) {
	path := expect.File(t, "bad.csv", "a,b,c\nnan,2,inf\n3,4,nan\n")
	info := expect.Must(Inspect(path, Options{}))
	expect.Contains(t, string(expect.Must(json.Marshal(info))), `"first_row":[null,2,null],"not_finite":3`)
}

// Each array is described as numpy shows it, whether it can be a series or not.
func TestInfoOfEachArray(t *testing.T) {
	header := `{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`
	// numpy.array([[1, -2], [nan, 8]], "<f4").tobytes()
	values := "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\xc0\x7f\x00\x00\x00\x41"
	tensors := expect.File(t, "x.safetensors", string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0})+header+values)
	for file, want := range map[string][]string{ // name, shape, type, axes, range, numbers that are not finite
		"../array/npy/testdata/mixed.npz": {"sim_bold [4 6] <f8 [tokens frames] 0..2.875 0",
			"fc [2 2] <f4 [] 0.25..1 0", "labels [2] <U4 [] ?", "subject/run-1 [3] <i8 [] 1..3 0",
			"rows [2] [('name', '<U4'), ('x', '<f8')] [] ?"},
		"../array/npy/testdata/text.npy": {" [2] <U4 [] ?"},
		"testdata/sub-01.ptseries.nii":   {" [7 6] float32 [frames tokens] 0..60.5 0"},
		"testdata/v73.mat":               {"tc [6 7] <f8 [] 0..60.5 0", "label [1 2] char [] ?"},
		"testdata/named.csv":             {" [7 6] text [frames tokens] 0..60.5 0"},
		tensors:                          {"w [2 2] F32 [] -2..8 1"},
	} {
		i, err := Inspect(file, Options{Tokens: []int{4}})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var got []string
		for _, a := range i.Arrays {
			line := fmt.Sprintf("%s %v %s %v ?", a.Name, a.Shape, a.Type, a.Axes)
			if a.Min != nil {
				line = fmt.Sprintf("%s%v..%v %d", strings.TrimSuffix(line, "?"), *a.Min, *a.Max, *a.NotFinite)
			}
			got = append(got, line)
			if len(a.Axes) == 0 && a.Problem == "" {
				t.Errorf("%s: nothing says why the axes of %s are not known", file, a.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		expect.Equal(t, file, got, want)
	}
}

// The numbers of a large array are not read to describe it.
func TestInfoOfLarge(t *testing.T) {
	defer func(before int) { maxDescribed = before }(maxDescribed)
	maxDescribed = 100
	info, err := Inspect("testdata/one.h5", Options{Tokens: []int{6}})
	if err != nil || info.NotFinite != nil || len(info.FirstRow) > 0 || info.Tokens != 6 || info.Frames == 0 ||
		len(info.Notes) != 1 || !strings.Contains(info.Notes[0], "were not read: NaN and infinities are not counted") {
		t.Errorf("%+v, %v", info, err)
	}
}

// A field of a struct is named as MATLAB does; an object says what to store instead of it.
func TestMATLABVariables(t *testing.T) {
	const objects, mixed = "../array/mat/testdata/objects73.mat", "../array/mat/testdata/mixed-v7.mat"
	for _, name := range []string{"s.a", "s/a", "sp"} {
		expect.Equal(t, name, expect.Must(Inspect(objects, Options{Datasets: []string{name}})).Shape, []int{3, 4})
	}
	i, err := Inspect(mixed, Options{Datasets: []string{"s.bold"}})
	if err != nil || !slices.Equal(i.Shape, []int{3, 4}) || i.FirstRow[3] != 3 {
		t.Errorf("%+v, %v", i, err)
	}
	expect.Error(t, expect.ErrorOf(Inspect(objects, Options{Datasets: []string{"t"}})),
		"x = table2array(t)")
}

// What cannot be read as a series without more being said is described, with what is missing.
func TestInfoOfWhatDoesNotTell(t *testing.T) {
	expected := Options{Tokens: []int{360, 718}}
	for _, c := range []struct {
		file    string
		o       Options
		shape   []int
		axes    []Axis
		problem string
	}{
		{fixture("one.h5"), expected, []int{6, 7}, []Axis{}, ": its shape is [6 7]: choose the axis"},
		{fixture("stack.npy"), expected, []int{2, 6, 7}, []Axis{}, "--axes subjects,tokens,frames"},
		{fixture("one.h5"), Options{Tokens: []int{6, 7}}, []int{6, 7}, []Axis{}, "both axes"},
		{fixture("100206.h5"), expected, []int{}, []Axis{}, "/REST1_LR/resid [6 4]"},
		{expect.File(t, "indexed.csv", "time,a,b\n0,1,2\n0.7,3,4\n1.4,5,6\n"), Options{Tokens: []int{2}},
			[]int{3, 3}, []Axis{FrameAxis, TokenAxis}, `"time"`},
		{fixture("one.h5"), Options{Tokens: []int{6}}, []int{6, 7}, []Axis{TokenAxis, FrameAxis},
			""},
	} {
		info, err := Inspect(c.file, c.o)
		if err != nil || !slices.Equal(info.Shape, c.shape) || !slices.Equal(info.Axes, c.axes) ||
			!strings.Contains(info.Problem, c.problem) || c.problem == "" && info.Problem != "" {
			t.Errorf("%s: %+v, %v", c.file, info, err)
		}
	}
	// What the user says and the file does not is an error.
	for _, o := range []Options{{Axes: []Axis{TokenAxis}},
		{Tokens: []int{5}, TokensFrom: "--tokens"}, {Names: names[:5], NamesFrom: "n.txt"},
		{Datasets: []string{"x"}}} {
		expect.Refused(t, o, expect.ErrorOf(Inspect(fixture("one.h5"), o)))
	}
}

func TestInfoShowsGivenNames(t *testing.T) {
	info, err := Inspect(fixture("one.h5"), Options{Names: names, NamesFrom: "names.txt"})
	if err != nil || !slices.Equal(info.Names, names) || info.NamesFrom != "names.txt" ||
		info.HemisphereOrder != "left-first" {
		t.Errorf("%+v, %v", info, err)
	}
}

// Text in an array of numpy is what is wrong with it, not its axes.
func TestTextInNumpy(t *testing.T) {
	expect.Error(t,
		expect.ErrorOf(Load([]string{fixture("../../array/npy/testdata/text.npy")}, Options{Tokens: []int{2}})),
		"holds text")
}

// A name that two tokens have, which training refuses, is a problem of the file.
func TestInfoOfNamesTwice(t *testing.T) {
	i := expect.Must(Inspect(expect.File(t, "x.csv", "a,b,a\n1,2,3.5\n2,3,4\n"), Options{}))
	expect.Contains(t, i.Problem, `x.csv: tokens 0 and 2 are both named "a"`)
}
