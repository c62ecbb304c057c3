package series

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/internal/expect"
)

// The order of a file without names is not that of another file: it is told by --names, or the
// files are refused.
func TestFilesWithAndWithoutNames(t *testing.T) {
	for _, files := range [][]string{{"fortran.npy", "sub-02.ptseries.nii"},
		{"sub-02.ptseries.nii", "fortran.npy"}, {"plain.csv", "named.csv"}} {
		paths := []string{fixture(files[0]), fixture(files[1])}
		_, err := Load(paths, Options{Tokens: []int{tokens}})
		expect.Error(t, err, "without names", "--names", paths[0], paths[1])
		s, err := Load(paths, Options{Names: names, NamesFrom: "names.txt"})
		if err != nil || !slices.Equal(s.X[:frames*tokens], s.X[frames*tokens:]) ||
			s.X[1] != value(0, 1) || s.NamesFrom != "names.txt" {
			t.Errorf("%v with names: %+v, %v", files, s, err)
		}
	}
	if s, err := Load([]string{fixture("fortran.npy"), fixture("one.h5")},
		Options{Tokens: []int{tokens}}); err != nil || s.Names != nil || s.NamesFrom != "" {
		t.Errorf("no names at all: %+v, %v", s, err)
	}
}

// Files that lack tokens of others are refused, and the error names these tokens.
func TestFilesThatLackTokens(t *testing.T) {
	all := expect.File(t, "all.csv", "a,b,c,d\n1,2,3,4\n5,6,7,9\n")
	fewer := expect.File(t, "fewer.csv", "d,x\n1,2\n3,5\n")
	_, err := Load([]string{all, fewer}, Options{})
	expect.Error(t, err, "fewer.csv: tokens only in it: x; only in "+all+": a, b, c: leave these out")
	_, err = Load([]string{expect.File(t, "two.csv", "b,a\n1,2\n3,5\n"), all}, Options{})
	expect.Error(t, err, "all.csv: tokens only in it: c, d; only in ", "two.csv: none: leave these out")
}

// A single run is brought into the order of --names too, along the axis that holds its tokens.
func TestReadRunInTheOrderOfNames(t *testing.T) {
	for body, axes := range map[string]string{"a,b,c\n1,2,3\n4,5,6\n": "frames,tokens",
		"id,f1,f2\na,1,4\nb,2,5\nc,3,6\n": "tokens,frames"} {
		run, names, notes, err := ReadRun(expect.File(t, "run.csv", body),
			Options{Names: []string{"c", "a", "b"}, NamesFrom: "n.txt", Axes: expect.Must(ParseAxes(axes))})
		if fmt.Sprint(run.Data, names) != "[3 1 2 6 4 5] [c a b]" || !strings.Contains(fmt.Sprint(notes),
			"put into the order of n.txt") || err != nil {
			t.Errorf("%q: %v %v %q, %v", body, run.Data, names, notes, err)
		}
	}
}

// Parcels whose names do not tell a hemisphere have vertices that do.
func TestHemispheresByVertices(t *testing.T) {
	list := expect.File(t, "list.txt", "1\n1\n2\n3\n3\n4\n")
	left, right := fixture("anonymous-left.ptseries.nii"), fixture("anonymous-right.ptseries.nii")
	for file, want := range map[string]partition.Order{left: partition.LeftFirst,
		right: partition.RightFirst} {
		expect.Equal(t, file,
			expect.Must(Source{Data: []string{file}, Modules: list}.Read(nil, false)).Hemispheres(), want)
		expect.Equal(t, file, expect.Must(Inspect(file, Options{})).HemisphereOrder, want)
	}
	// A list that is known to be left first is not laid over them.
	list = expect.File(t, "key.csv", "L_a,1\nL_b,1\nL_c,2\nR_a,3\nR_b,3\nR_c,4\n")
	p := expect.Must(partition.Read(list, text.Auto))
	p.Names, p.Order = nil, partition.LeftFirst
	for file, fits := range map[string]bool{left: true, right: false} {
		s := expect.Must(Load([]string{file}, Options{}))
		err := expect.ErrorOf(p.Match(partition.Tokens{Count: s.Tokens, Names: s.Names, Sides: s.Sides,
			File: file}))
		expect.Equal(t, fmt.Sprintf("%s (%v) fits", file, err), err == nil, fits)
	}
	expect.Error(t, expect.ErrorOf(Load([]string{right, left}, Options{})), `token 0, "P0"`, left,
		right)
	expect.Error(t, expect.ErrorOf(Load([]string{fixture("crossed.ptseries.nii")}, Options{})),
		"6 of the 6 tokens", "L_V1_ROI")
	// The parcels of dense series have vertices too.
	s, err := Load([]string{fixture("dense.dtseries.nii")},
		Options{Parcels: fixture("anonymous-right.dlabel.nii")})
	if err != nil || s.Hemispheres() != partition.RightFirst || s.X[0] != value(0, 3) ||
		s.NamesFrom != fixture("anonymous-right.dlabel.nii") {
		t.Errorf("dense: %+v, %v", s, err)
	}
}
