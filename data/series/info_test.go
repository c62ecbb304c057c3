package series

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A user looks into a file to find the NaN in it.
func TestInfoOfNaN(t *testing.T) {
	path := write(t, "bad.csv", "a,b,c\nnan,2,inf\n3,4,nan\n")
	info, err := Inspect(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(info)
	if err != nil || !strings.Contains(string(b), `"first_row":[null,2,null],"not_finite":3`) {
		t.Errorf("%s, %v", b, err)
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
		i, err := Inspect(objects, Options{Datasets: []string{name}})
		if err != nil || !slices.Equal(i.Shape, []int{3, 4}) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
	i, err := Inspect(mixed, Options{Datasets: []string{"s.bold"}})
	if err != nil || !slices.Equal(i.Shape, []int{3, 4}) || i.FirstRow[3] != 3 {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := Inspect(objects, Options{Datasets: []string{"t"}}); err == nil ||
		!strings.Contains(err.Error(), "x = table2array(t)") {
		t.Errorf("a table: %v", err)
	}
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
		{fixture("one.h5"), expected, []int{6, 7}, []Axis{}, "no axis of 360 or 718 tokens"},
		{fixture("stack.npy"), expected, []int{2, 6, 7}, []Axis{}, "--axes subjects,tokens,frames"},
		{fixture("one.h5"), Options{Tokens: []int{6, 7}}, []int{6, 7}, []Axis{}, "both axes"},
		{fixture("100206.h5"), expected, []int{}, []Axis{}, "/REST1_LR/resid [6 4]"},
		{write(t, "indexed.csv", "time,a,b\n0,1,2\n0.7,3,4\n1.4,5,6\n"), Options{Tokens: []int{2}},
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
		if info, err := Inspect(fixture("one.h5"), o); err == nil {
			t.Errorf("%+v: %+v", o, info)
		}
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
	if _, err := Load([]string{fixture("../../array/npy/testdata/text.npy")},
		Options{Tokens: []int{2}}); err == nil || !strings.Contains(err.Error(), "holds text") {
		t.Errorf("%v", err)
	}
}
