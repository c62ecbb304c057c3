package analysis

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/train/config"
)

// Rows are paired by name where both tables have names, and in order where names count tokens.
// Distances do not change when a table turns by 90 degrees and lists its rows in another order. A
// table whose points lie on a plane in space, turned and moved, is at no distance from those points.
func TestProcrustesPairsRows(t *testing.T) {
	// u along (2,1,2)/3, v along (1,2,-2)/3, which are at right angles and of length 1
	space, plane := "token,x1,x2,x3\n", "name,x,y\n"
	points := [][2]float64{{0, 0}, {3, 0}, {0, 6}, {9, 3}, {-3, 3}}
	for i, p := range points {
		u, v := p[0]/3, p[1]/3
		space += fmt.Sprintf("t%d,%g,%g,%g\n", i, 3+2*u+v, 1+u+2*v, 2*u-2*v)
		back := len(points) - 1 - i
		plane += fmt.Sprintf("t%d,%g,%g\n", back, points[back][0]+50, points[back][1])
	}
	const (
		named    = "token,x1,x2\nV1,0,1\nM1,2,0\nA1,5,3\nS1,1,7\n"
		turned   = "token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\nM1,0,2\n"
		numbered = "token,x1,x2\n0,0,1\n1,2,0\n2,5,3\n"
		unnamed  = "0,1\n2,0\n5,3\n1,7\n"
	)
	for _, c := range []struct{ table, reference, positions, problem, note string }{
		{named, turned, "", "", ""},
		{named, turned, " --positions 1:3", "", ""},
		{named, "token,module,x1,x2\n0,3,-7,1\n1,1,-1,0\n2,1,-3,5\n3,2,0,2\n", "", "module is not a dim", ""},
		{named, "member,token,x1\n0,0,-7\n0,1,-1\n1,0,-3\n1,1,0\n", "", "is also in a row above", ""},
		{named, strings.Replace(turned, "V1", "v1_ROI", 1), "", "", ""}, // spelled otherwise
		{named, strings.Replace(turned, "M1", "M2", 1), "", `"M1" is not among the 4`, ""},
		{named, "token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\n", "", "4 named tokens, the reference 3", ""},
		{named, "token,x1,x2\nS1,-7,1\nV1,-1,0\nS1,-3,5\nM1,1,1\n", "", "both named", ""},
		{"token,x1,x2\nV1,0,1\nM1,2,0\nV1,5,3\n", "token,x1,x2\nS1,-7,1\nV1,-1,0\nM1,-3,5\n", "",
			`a.csv: tokens 0 and 2 are both named "V1"`, ""},
		{named, unnamed, "", "", "rows are paired in order"},
		{named, numbered + "3,1,7\n", "", `"V1" is not among`, ""},
		{numbered, "0,1\n2,0\n5,3\n", "", "", ""},
		{space, plane, "", "", "3 columns and the reference 2: compared in 2 dimensions"},
	} {
		line := "procrustes --table " + expect.File(t, "a.csv", c.table) + " --reference " +
			expect.File(t, "b.csv", c.reference) + c.positions
		if c.problem != "" {
			_, _, err := run(line)
			expect.Error(t, err, c.problem)
			continue
		}
		got, notes := result(t, line)
		if raw := jsonNumber(got, "models/0/raw"); !(raw < 1e-6) || jsonNumber(got, "models/0/dim") != 2 {
			t.Errorf("%q: %v", c.reference, got)
		}
		if c.note == "" {
			checkNotes(t, line, notes, nil)
		} else {
			checkNotes(t, line, notes, []string{c.note})
		}
	}
}

// Of a text the tokens are a line, though 64 of them would fill a grid of 8 x 8.
func TestProcrustesOfALine(t *testing.T) {
	run := &cohort.Run{}
	run.Config.Task, run.Config.Sequence = "text", &config.SequenceConfig{}
	m := &Model{Tables: []Table{{0, metrics.Table{Tokens: 64, Dim: 4}}}, tokens: 64,
		Subject: Subject{member: &cohort.Model{Run: run}}}
	expect.Error(t, expect.ErrorOf(closedForm(fixed2D, m)), "a line")
	if _, err := closedForm(fixed1D, m); err != nil {
		t.Errorf("1d-fixed: %v", err)
	}
}

// Vaswani et al.: position 0 is 0, 1, 0, 1...; the norm of each row is sqrt(d/2). Of a part of the
// tokens the table is that part of the whole.
func TestClosedFormTables(t *testing.T) {
	whole := expect.Must(closedForm(fixed1D, &Model{Tables: []Table{{0, metrics.Table{Tokens: 3, Dim: 6}}}, tokens: 3}))
	v := whole.Tables[0].Values
	if !reflect.DeepEqual(v[:6], []float64{0, 1, 0, 1, 0, 1}) || v[6] != math.Sin(1) {
		t.Errorf("%v", v)
	}
	part, err := closedForm(fixed1D, &Model{Tables: []Table{{0, metrics.Table{Tokens: 2, Dim: 6}}}, tokens: 3, from: 1})
	if err != nil || !reflect.DeepEqual(part.Tables[0].Values, v[6:]) {
		t.Errorf("%+v, %v", part, err)
	}
	grid, err := closedForm(fixed2D, &Model{Tables: []Table{{0, metrics.Table{Tokens: 2, Dim: 4}}}, tokens: 9, from: 5})
	// cells 5 and 6 of 3 x 3: row 1, column 2, and row 2, column 0
	if want := []float64{math.Sin(1), math.Cos(1), math.Sin(2), math.Cos(2), math.Sin(2), math.Cos(2), 0,
		1}; err != nil ||
		!reflect.DeepEqual(grid.Tables[0].Values, want) {
		t.Errorf("%+v, %v", grid, err)
	}
	odd := &Model{Tables: []Table{{0, metrics.Table{Tokens: 4, Dim: 6}}}, tokens: 4}
	if _, err := closedForm(fixed2D, odd); err == nil {
		t.Error("6 dimensions were accepted")
	}
}

// The reference of a model is the member of its seed, else the first, which a note says; one table, or
// one for each, is compared with it.
func TestReferenceOfASeed(t *testing.T) {
	member := func(seed uint64, tables int) *Model {
		own := &cohort.Model{Member: cohort.Member{Seed: seed}}
		return &Model{Subject: Subject{"m", own}, Tables: make([]Table, tables)}
	}
	references := []*Model{member(7, 1), member(5, 1)}
	in := &Input{}
	if r := in.sameSeed(member(5, 1), references); r != references[1] || in.Notes != nil {
		t.Errorf("seed 5 is compared with seed %d, %q", r.seed(), in.Notes)
	}
	if r := in.sameSeed(member(6, 1), references); r != references[0] || !strings.Contains(in.Notes[0], "of seed 7") {
		t.Errorf("seed 6 is compared with seed %d, %q", r.seed(), in.Notes)
	}
	// Learned tables of one seed began alike, in two runs.
	for pe, notes := range map[string]int{"learn": 1, "2d-fixed": 0} {
		in := &Input{}
		one, other := member(5, 1), member(5, 1)
		for _, m := range []*Model{one, other} {
			m.member.Run = &cohort.Run{}
			m.member.Run.Config.PE = pe
		}
		in.noteSameDraw(one, other)
		in.noteSameDraw(one, one)
		if len(in.Notes) != notes {
			t.Errorf("%s: %q", pe, in.Notes)
		}
	}
	for counts, fits := range map[[2]int]bool{{3, 1}: true, {3, 3}: true, {3, 2}: false, {1, 2}: false} {
		if err := comparable(member(1, counts[0]), member(1, counts[1])); (err == nil) != fits {
			t.Errorf("%d tables against %d: %v", counts[0], counts[1], err)
		}
	}
}

// Of nine orders none or all reach an R^2: the order itself counts among them, so that no p is 0.
func TestChanceOfToeplitz(t *testing.T) {
	for name, c := range map[string]struct {
		matrix []float64
		want   Number
	}{
		"any order of two is alike": {[]float64{1, 2, 2, 1}, 1},
		"no other order is Toeplitz, too": {[]float64{0, 1, 2, 3, 4, 5, 1, 0, 1, 2, 3, 4, 2, 1, 0, 1, 2, 3,
			3, 2, 1, 0, 1, 2, 4, 3, 2, 1, 0, 1, 5, 4, 3, 2, 1, 0}, 0.1},
	} {
		n := int(math.Sqrt(float64(len(c.matrix))))
		if _, _, p, err := (&toeplitzOptions{}).r2(c.matrix, n, 9); err != nil || p != c.want {
			t.Errorf("%s: p %v, %v; want %v", name, p, err, c.want)
		}
	}
}
