package series

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/npy"
	"torchpe/internal/expect"
)

// The series in testdata: its value at frame f of token p, and its tokens' names.
func value(f, p int) float32 { return float32(10*p) + float32(f) + float32(f*f)/8 }

const (
	frames = 7
	tokens = 6
)

var names = []string{"L_V1_ROI", "L_MST_ROI", "L_V6_ROI", "R_V1_ROI", "R_MST_ROI", "R_V6_ROI"}

func fixture(name string) string { return filepath.Join("testdata", name) }

// The same series comes out of every format, by every way to tell its axes.
func TestEveryFormat(t *testing.T) {
	for _, c := range []struct {
		file   string
		format Format
		o      Options
		named  bool
	}{
		{"sub-01.ptseries.nii", PTSeries, Options{}, true},
		{"dense.dtseries.nii", DTSeries, Options{Parcels: fixture("parcels.dlabel.nii")}, true},
		{"one.h5", arrayfile.HDF5, Options{Tokens: []int{360, tokens}}, false},
		{"one.h5", arrayfile.HDF5, Options{Axes: []Axis{TokenAxis, FrameAxis}}, false},
		{"one.h5", arrayfile.HDF5, Options{Tokens: []int{tokens}, Datasets: []string{"/restdata"}}, false},
		{"v73.mat", arrayfile.MAT73, Options{Tokens: []int{tokens}}, false},
		{"v73.mat", arrayfile.MAT73, Options{Axes: []Axis{TokenAxis, FrameAxis}, Datasets: []string{"tc"}},
			false},
		{"v5.mat", arrayfile.MAT5, Options{Tokens: []int{tokens}}, false},
		{"frames.npy", arrayfile.NPY, Options{Axes: []Axis{FrameAxis, TokenAxis}}, false},
		{"fortran.npy", arrayfile.NPY, Options{Tokens: []int{tokens}}, false},
		{"two.npz", arrayfile.NPZ, Options{Tokens: []int{tokens}, Datasets: []string{"a"}}, false},
		{"named.csv", arrayfile.Text, Options{}, true},
		{"named.tsv", arrayfile.Text, Options{}, true},
		{"rows.csv", arrayfile.Text, Options{}, true},
		{"plain.csv", arrayfile.Text, Options{Tokens: []int{tokens}}, false},
		{"blanks.txt", arrayfile.Text, Options{Tokens: []int{tokens}}, false},
		{"afni.1D", arrayfile.Text, Options{Axes: []Axis{FrameAxis, TokenAxis}}, false},
		{"plain.csv", arrayfile.Text, Options{Names: names, NamesFrom: "names.txt"}, true},
	} {
		s, err := Load([]string{fixture(c.file)}, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if s.Frames != frames || s.Tokens != tokens || len(s.X) != frames*tokens ||
			len(s.Runs) != 1 {
			t.Errorf("%s: %d frames of %d tokens, %d values, %d runs", c.file, s.Frames, s.Tokens,
				len(s.X), len(s.Runs))
			continue
		}
		for i, v := range s.X {
			if v != value(i/tokens, i%tokens) {
				t.Errorf("%s: frame %d, token %d is %v, want %v", c.file, i/tokens, i%tokens, v,
					value(i/tokens, i%tokens))
				break
			}
		}
		expect.Equal(t, c.file+": named", c.named, slices.Equal(s.Names, names))
		info, err := Inspect(fixture(c.file), c.o)
		if err != nil || info.Format != c.format || info.Tokens != tokens ||
			info.Frames != frames || info.Runs != 1 || info.Subjects != 1 ||
			len(info.SHA256) != 64 {
			t.Errorf("%s: %+v, %v", c.file, info, err)
		}
	}
}

// The first row is that of the array as the format's library shows it.
func TestFirstRow(t *testing.T) {
	of := func(step, base int) []Number {
		var row []Number
		for i := range 5 {
			row = append(row, Number(value(i*(1-base)*step, i*base*step)))
		}
		return row
	}
	for file, want := range map[string][]Number{
		"one.h5": of(1, 0), "v5.mat": of(1, 0), "v73.mat": of(1, 0), "frames.npy": of(1, 1),
		"sub-01.ptseries.nii": of(1, 1), "fortran.npy": of(1, 0),
	} {
		info, err := Inspect(fixture(file), Options{Tokens: []int{tokens}})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if !slices.Equal(info.FirstRow, want) {
			t.Errorf("%s: first row %v, want %v", file, info.FirstRow, want)
		}
	}
}

func TestSeveralRunsAndSubjects(t *testing.T) {
	// Two datasets of one file are two runs of its subject, in the order in which they are named.
	b := expect.Must(os.ReadFile(fixture("100206.h5")))
	other := expect.File(t, "sub-01.h5", string(b))
	s := expect.Must(Load([]string{fixture("100206.h5"), other}, Options{Tokens: []int{tokens},
		Datasets: []string{"REST1_RL/resid", "*/resid"}}))
	subjects, of := s.subjects()
	if !slices.Equal(subjects, []string{"100206", "01"}) || s.Frames != 14 ||
		!slices.Equal(of, []int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("subjects %v of frames %v", subjects, of)
	}
	if s.Runs[0].Name != "/REST1_RL/resid" || s.Runs[0].Frames != 3 || s.Runs[1].First != 3 ||
		s.Runs[1].Frames != 4 || s.Runs[2].First != 7 || s.Runs[2].Subject != "01" {
		t.Errorf("runs %+v", s.Runs)
	}
	expect.Equal(t, "first values", [2]float32{s.X[0], s.X[3*tokens+1]}, [2]float32{value(4, 0), value(0, 1)})
	var stack bytes.Buffer
	expect.NoError(t, npy.Write(&stack, array.Array{Shape: []int{3, 2, 2},
		Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4}}, npy.Float64))
	twice := expect.File(t, "twice.npy", stack.String())
	s = expect.Must(Load([]string{twice}, Options{Axes: []Axis{SubjectAxis, FrameAxis, TokenAxis}}))
	expect.Contains(t, strings.Join(s.Notes, "\n"), "twice.npy[2] holds the same numbers as "+twice+"[0]")
	// The slices of a stack are subjects, or runs.
	for axis, want := range map[Axis]int{SubjectAxis: 2, RunAxis: 1} {
		s := expect.Must(Load([]string{fixture("stack.npy")}, Options{Axes: []Axis{axis, TokenAxis, FrameAxis}}))
		subjects, _ := s.subjects()
		if len(s.Runs) != 2 || len(subjects) != want || s.X[0] != 0 ||
			s.X[frames*tokens+tokens+2] != 100+value(1, 2) {
			t.Errorf("%s: %d runs of %v", axis, len(s.Runs), subjects)
		}
	}
}

// Axes may hold another number of tokens than the expected ones where no axis has one of these, or
// the user insists.
func TestOtherNumbersOfTokens(t *testing.T) {
	for _, o := range []Options{
		{Tokens: []int{360, 718}, Axes: []Axis{FrameAxis, TokenAxis}},
		{Tokens: []int{7}, TokensFrom: "--tokens", Axes: []Axis{FrameAxis, TokenAxis}},
	} {
		expect.Equal(t, fmt.Sprintf("%+v", o), expect.Must(Load([]string{fixture("one.h5")}, o)).Tokens, 7)
	}
	expect.Equal(t, "tokens, where names tell the axis", expect.Must(Load([]string{fixture("sub-01.ptseries.nii")},
		Options{Tokens: []int{360, frames}})).Tokens, tokens)
}

// Tokens in another order are matched by name, and the set says so.
func TestTokensMatchedByName(t *testing.T) {
	s := expect.Must(Load([]string{fixture("sub-01.ptseries.nii"), fixture("sub-02.ptseries.nii")}, Options{}))
	if !slices.Equal(s.X[:frames*tokens], s.X[frames*tokens:]) || len(s.Notes) != 2 ||
		!strings.Contains(s.Notes[0], "by name") || !strings.Contains(s.Notes[1], "holds the same numbers") {
		t.Errorf("notes %v", s.Notes)
	}
	s = expect.Must(Load([]string{fixture("sub-02.ptseries.nii")}, Options{}))
	expect.Equal(t, "alone", fmt.Sprint(s.X[0], s.Names[0]), fmt.Sprint(value(0, 3), "R_V1_ROI"))
}

func TestZScore(t *testing.T) {
	_, err := Load([]string{fixture("100206.h5"), fixture("one.h5")}, Options{Tokens: []int{tokens},
		Datasets: []string{"*/resid", "restdata"}, ZScore: true})
	expect.Error(t, err, `no matrix of numbers named "restdata"`)
	s := expect.Must(Load([]string{fixture("100206.h5")}, Options{Tokens: []int{tokens},
		Datasets: []string{"*/resid"}, ZScore: true}))
	// numpy: x = np.arange(4) + np.arange(4) ** 2 / 8; (x - x.mean()) / x.std()
	want := []float32{-1.2561836, -0.5267867, 0.36469847, 1.4182717}
	for p := range tokens {
		for f, w := range want {
			if d := s.X[f*tokens+p] - w; d > 2e-6 || d < -2e-6 {
				t.Errorf("frame %d of token %d is %v, want %v: z-scores are of each run by itself",
					f, p, s.X[f*tokens+p], w)
			}
		}
	}
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	six := []int{tokens}
	for _, c := range []struct {
		files []string
		o     Options
		want  []string
	}{
		{[]string{"one.h5"}, Options{}, []string{"one.h5", "[6 7]", "--axes"}},
		// A sparse matrix beside another one, which would be the only matrix that can be read.
		{[]string{"sparse.h5ad"}, Options{Axes: []Axis{FrameAxis, TokenAxis}},
			[]string{"2 matrices: choose one with --dataset; it holds /obsm/X_pca [7 2], /X [] sparse"}},
		{[]string{"sparse.h5ad"}, Options{Axes: []Axis{FrameAxis, TokenAxis}, Datasets: []string{"X"}},
			[]string{`"/X" is a sparse matrix of scipy or anndata: store all of its numbers (x.toarray())`}},
		{[]string{"frame.h5"}, Options{Axes: []Axis{FrameAxis, TokenAxis}},
			[]string{`it holds /df [] frame of pandas: "/df" is a frame of pandas`, "(df.to_csv)"}},
		{[]string{"one.h5"}, Options{Tokens: []int{360, 718}},
			[]string{"[6 7]: choose the axis of the tokens"}},
		{[]string{"one.h5"}, Options{Tokens: []int{6, 7}}, []string{"both axes", "6 or 7"}},
		// What the user says must fit what is known.
		{[]string{"one.h5"}, Options{Tokens: six, TokensFrom: "--tokens", Axes: []Axis{FrameAxis,
			TokenAxis}}, []string{"7 tokens by --axes frames,tokens", "6 by --tokens"}},
		{[]string{"one.h5"}, Options{Tokens: six, Axes: []Axis{FrameAxis, TokenAxis}},
			[]string{"7 tokens", "axis 0 has 6", "--tokens 7"}},
		{[]string{"stack.npy"}, Options{Tokens: six, Axes: []Axis{SubjectAxis, FrameAxis,
			TokenAxis}}, []string{"7 tokens", "axis 1 has 6"}},
		{[]string{"one.h5"}, Options{Names: names, NamesFrom: "names.txt",
			Axes: []Axis{FrameAxis, TokenAxis}}, []string{"7 tokens", "6 by names.txt"}},
		{[]string{"sub-01.ptseries.nii"}, Options{Tokens: []int{5}, TokensFrom: "--tokens"},
			[]string{"6 tokens by its names", "5 by --tokens"}},
		{[]string{"one.h5"}, Options{Tokens: []int{5}}, []string{"no axis of 5 tokens",
			"one axis has one more", "index"}},
		{[]string{"frames.npy"}, Options{Tokens: six, Datasets: []string{"x"}},
			[]string{"frames.npy", "--dataset names x", "omit --dataset"}},
		{[]string{"stack.npy"}, Options{Tokens: six},
			[]string{"[2 6 7]", "subjects,tokens,frames"}},
		{[]string{"stack.npy"}, Options{Axes: []Axis{TokenAxis, FrameAxis}},
			[]string{"2 axes", "[2 6 7]"}},
		{[]string{"named.csv"}, Options{Axes: []Axis{TokenAxis, FrameAxis}},
			[]string{"tokens,frames", "names say frames,tokens"}},
		{[]string{"100206.h5"}, Options{Tokens: six}, []string{"3 matrices", "--dataset",
			"/REST1_LR/resid [6 4]"}},
		{[]string{"two.npz"}, Options{Tokens: six, Datasets: []string{"c"}},
			[]string{`"c"`, "a [7 6], b [3 6]"}},
		{[]string{"dense.dtseries.nii"}, Options{}, []string{"dlabel.nii", "--parcellation"}},
		{[]string{"networks.dlabel.nii"}, Options{}, []string{"kind dlabel"}},
		{[]string{"one.h5", "two.npz"}, Options{Tokens: six, Datasets: []string{"x"}},
			[]string{"one.h5", `"x"`}},
		{[]string{"sub-01.ptseries.nii"}, Options{Names: []string{"a", "b", "c", "d", "e", "f"},
			NamesFrom: "names.txt"}, []string{"L_V1_ROI", "names.txt"}},
		{[]string{"sub-01.ptseries.nii"}, Options{Names: names[:5], NamesFrom: "names.txt"},
			[]string{"6 tokens", "but 5 by names.txt"}},
		{[]string{"missing.csv"}, Options{}, []string{"missing.csv"}},
		{[]string{"."}, Options{}, []string{"not a regular file"}},
	} {
		var files []string
		for _, f := range c.files {
			files = append(files, fixture(f))
		}
		_, err := Load(files, c.o)
		for _, want := range c.want {
			expect.Error(t, err, want)
		}
	}
	expect.Refused(t, "no files", expect.ErrorOf(Load(nil, Options{})))
}

func TestParseAxes(t *testing.T) {
	for text, want := range map[string]string{
		"tokens,frames": "[tokens frames]", "frames, tokens": "[frames tokens]",
		"subjects,parcels,time": "[subjects tokens frames]",
		"runs,frames,tokens":    "[runs frames tokens]",
		"tokens":                "", "frames,frames": "", "frames,tokens,voxels": "", "": "",
		"subjects,runs,frames,tokens": "",
	} {
		axes, err := ParseAxes(text)
		if (err == nil) != (want != "") || err == nil && fmt.Sprint(axes) != want {
			t.Errorf("%q: %v, %v", text, axes, err)
		}
	}
}

// Axes of length 1 may be named: numpy shows them.
func TestNamedAxesOfLengthOne(t *testing.T) {
	var body bytes.Buffer
	a := array.Array{Shape: []int{1, 3, 2}, Data: []float64{1, 2, 5, 4, 3, 9}}
	expect.NoError(t, npy.Write(&body, a, npy.Float64))
	file := expect.File(t, "a.npy", body.String())
	for _, axes := range []string{"subjects,frames,tokens", "frames,tokens"} {
		s, err := Load([]string{file}, Options{Axes: expect.Must(ParseAxes(axes))})
		if err != nil || s.Frames != 3 || s.Tokens != 2 || !slices.Equal(s.X, []float32{1, 2, 5, 4, 3, 9}) {
			t.Errorf("%s: %+v, %v", axes, s, err)
		}
	}
	for _, axes := range []string{"frames,subjects,tokens", "tokens,runs,frames"} {
		expect.Error(t, expect.ErrorOf(Load([]string{file}, Options{Axes: expect.Must(ParseAxes(axes))})), "--axes")
	}
}

// A column of names beside named tokens is not read, and said to be.
func TestNamesOfFramesAreNoted(t *testing.T) {
	file := expect.File(t, "a.csv", "when,x,y\nt1,1,2\nt2,3,5\nt3,4,1\n")
	s, err := Load([]string{file}, Options{})
	if err != nil || s.Tokens != 2 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], `"when"`) {
		t.Fatalf("%+v, %v", s, err)
	}
	expect.Equal(t, "notes", expect.Must(Inspect(file, Options{})).Notes, s.Notes)
	unnamed := expect.File(t, "b.csv", ",x,y\nt1,1,2\nt2,3,5\nt3,4,1\n")
	if s, err = Load([]string{unnamed}, Options{}); err != nil || len(s.Notes) != 1 ||
		!strings.Contains(s.Notes[0], "first column of "+unnamed+" holds") {
		t.Errorf("%+v, %v", s, err)
	}
}
