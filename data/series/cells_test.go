package series

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Cells that scipy wrote: value 10*token + f + f*f/8 + 100*subject + 1000*condition (make.py).
func TestCellArray(t *testing.T) {
	s, err := Load([]string{fixture("cells.mat")}, Options{Tokens: []int{6}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Runs {
		got = append(got, fmt.Sprintf("%s %s %d", r.Subject, r.Name, r.Frames))
	}
	if want := []string{"cells{1} tc_aal{1,1} 7", "cells{2} tc_aal{2,1} 5", "cells{3} tc_aal{3,1} 7",
		"cells{1} tc_aal{1,2} 7", "cells{3} tc_aal{3,2} 7"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i, r := range s.Runs {
		subject, condition := []int{0, 1, 2, 0, 2}[i], []int{0, 0, 0, 1, 1}[i]
		for f := range r.Frames {
			for p := range 6 {
				want := float32(10*p+f) + float32(f*f)/8 + float32(100*subject+1000*condition)
				if v := s.X[(r.First+f)*6+p]; v != want {
					t.Fatalf("%s, frame %d, token %d: %v, want %v", r.Name, f, p, v, want)
				}
			}
		}
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "rows are subjects, columns their runs") {
		t.Errorf("%q", s.Notes)
	}
	s, err = Load([]string{fixture("cells.mat")}, Options{Tokens: []int{6}, Datasets: []string{"tc_aal{*,1}"}})
	if err != nil || len(s.Runs) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = Load([]string{fixture("cells.mat")}, Options{Tokens: []int{6}, Datasets: []string{"tc_aal"}})
	if err != nil || len(s.Runs) != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	info, err := Inspect(fixture("cells.mat"), Options{Tokens: []int{6}})
	if err != nil || info.Subjects != 3 || info.Runs != 5 || info.Tokens != 6 || info.Frames != 33 ||
		info.Problem != "" {
		t.Errorf("%+v, %v", info, err)
	}
}
