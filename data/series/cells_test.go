package series

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Cells that scipy wrote, and h5py as MATLAB 7.3 does: value 10*token + f + f*f/8 + 100*subject +
// 1000*condition (make.py).
func TestCellArray(t *testing.T) {
	for _, name := range []string{"cells", "cells73"} {
		t.Run(name, func(t *testing.T) { testCells(t, name) })
	}
}

func testCells(t *testing.T, name string) {
	file := fixture(name + ".mat")
	s, err := Load([]string{file}, Options{Tokens: []int{6}})
	expect.NoError(t, err)
	var got []string
	for _, r := range s.Runs {
		got = append(got, fmt.Sprintf("%s %s %d", r.Subject, r.Name, r.Frames))
	}
	for i := range got {
		got[i] = strings.Replace(got[i], name+"{", "cells{", 1)
	}
	expect.Equal(t, "runs", got, []string{"cells{1} tc_aal{1,1} 7", "cells{2} tc_aal{2,1} 5",
		"cells{3} tc_aal{3,1} 7", "cells{1} tc_aal{1,2} 7", "cells{3} tc_aal{3,2} 7"})
	for i, r := range s.Runs {
		subject, condition := []int{0, 1, 2, 0, 2}[i], []int{0, 0, 0, 1, 1}[i]
		for f := range r.Frames {
			for p := range 6 {
				want := float32(10*p+f) + float32(f*f)/8 + float32(100*subject+1000*condition)
				expect.Equal(t, fmt.Sprintf("%s, frame %d, token %d", r.Name, f, p), s.X[(r.First+f)*6+p], want)
			}
		}
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "rows are subjects, columns their runs") {
		t.Errorf("%q", s.Notes)
	}
	if name == "cells73" { // letters and an empty array of cells are listed beside the matrices
		_, err = Load([]string{file}, Options{Datasets: []string{"name"}})
		expect.Error(t, err, "names [1 3] cell, nothing [2] empty cell")
	}
	expect.Equal(t, "runs of tc_aal{*,1}",
		len(expect.Must(Load([]string{file}, Options{Tokens: []int{6}, Datasets: []string{"tc_aal{*,1}"}})).Runs),
		3)
	expect.Equal(t, "runs of tc_aal",
		len(expect.Must(Load([]string{file}, Options{Tokens: []int{6}, Datasets: []string{"tc_aal"}})).Runs), 5)
	unknown := Remarks([]*Info{expect.Must(Inspect(file, Options{}))})
	if len(unknown) < 2 || !strings.Contains(unknown[1], "tc_aal{1,1}") {
		t.Errorf("%q", unknown)
	}
	info, err := Inspect(file, Options{Tokens: []int{6}})
	if err != nil || info.Subjects != 3 || info.Runs != 5 || info.Tokens != 6 || info.Frames != 33 ||
		info.Problem != "" {
		t.Errorf("%+v, %v", info, err)
	}
}
