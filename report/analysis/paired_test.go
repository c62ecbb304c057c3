package analysis

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"torchpe/data/array/text"
	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
)

func saved(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Rows are paired by name where both tables have names. Distances do not change when one turns by
// 90 degrees and lists its rows in another order.
func TestProcrustesPairsByName(t *testing.T) {
	a := saved(t, "a.csv", "token,module,x1,x2\nV1,vis,0,1\nM1,mot,2,0\nA1,aud,5,3\nS1,som,1,7\n")
	for _, c := range []struct{ reference, positions, problem, note string }{
		{"token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\nM1,0,2\n", "", "", ""},
		{"token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\nM1,0,2\n", "1:3", "", ""},
		{"member,token,x1,x2\n0,S1,-7,1\n0,V1,-1,0\n0,A1,-3,5\n0,M1,0,2\n", "", "", ""},
		{"token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\nM2,0,2\n", "", `"M1" is not among the 4`, ""},
		{"token,x1,x2\nS1,-7,1\nV1,-1,0\nA1,-3,5\n", "", "4 named tokens, the reference 3", ""},
		{"token,x1,x2\nS1,-7,1\nV1,-1,0\nS1,-3,5\nM1,1,1\n", "", "both named", ""},
		{"0,1\n2,0\n5,3\n1,7\n", "", "", "rows are paired in order"},
		{"token,x1,x2\n0,0,1\n1,2,0\n2,5,3\n3,1,7\n", "", `"V1" is not among`, ""},
	} {
		from, to, err := ParsePositions(c.positions)
		if err != nil {
			t.Fatal(err)
		}
		s := Selection{Files: []string{a}, Member: All, Block: All, From: from, To: to}
		models, _, err := Tables(s)
		if err != nil {
			t.Fatal(err)
		}
		got, notes, err := Procrustes(models, saved(t, "b.csv", c.reference), s)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%q: %v, want %s", c.reference, err, c.problem)
			}
			continue
		}
		if err != nil || math.Abs(float64(got[0].Raw)) > 1e-7 || !strings.Contains(strings.Join(notes, ""), c.note) ||
			(c.note == "") != (notes == nil) {
			t.Errorf("%q: %+v, %q, %v", c.reference, got, notes, err)
		}
	}
}

// A map whose tokens are numbered is held against a table without names, row by row.
func TestMapOfNumberedTokens(t *testing.T) {
	a := saved(t, "a.csv", "token,x1,x2\n0,0,1\n1,2,0\n2,5,3\n")
	s := Selection{Files: []string{a}, Member: All, Block: All}
	models, _, err := Tables(s)
	if err != nil {
		t.Fatal(err)
	}
	got, notes, err := Procrustes(models, saved(t, "b.csv", "0,1\n2,0\n5,3\n"), s)
	if err != nil || got[0].Dim != 2 || got[0].Raw > 1e-7 || notes != nil {
		t.Errorf("%+v, %q, %v", got, notes, err)
	}
	for _, bad := range []string{"token,x1\n0,a\n1,2\n", "member,token,x1\n0,a,1\n0,b,2\n1,c,1\n1,a,2\n",
		"member,token,x1\n0,a,1\n0,b,2\n1,a,1\n", "token,x1\n0,1\n1,2,3\n", "token,x1\n"} {
		if m, _, err := fileTables(saved(t, "c.csv", bad), text.Auto); err == nil {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}

// The rows of a map may be in any order: members and tokens are found by name.
func TestShuffledMap(t *testing.T) {
	ordered := "0,a,1\n0,b,2\n0,c,4\n2,a,3\n2,b,9\n2,c,5\n10,a,8\n10,b,6\n10,c,7\n"
	want, _, err := fileTables(saved(t, "a.csv", "member,token,x1\n"+ordered), text.Auto)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := fileTables(saved(t, "b.csv", "member,token,x1\n2,b,9\n0,a,1\n10,c,7\n2,a,3\n0,c,4\n10,a,8\n0,b,2\n"+
		"10,b,6\n2,c,5\n"), text.Auto)
	if err != nil {
		t.Fatal(err)
	}
	byName, err := rowsOf(got, want.Names)
	if err != nil || len(byName.Tables) != 3 || !reflect.DeepEqual(byName.Tables[1].Values, []float64{3, 9, 5}) {
		t.Fatalf("%+v, %v", byName, err)
	}
	for i, table := range byName.Tables {
		if !reflect.DeepEqual(table.Values, want.Tables[i].Values) {
			t.Errorf("table %d: %v, want %v", i, table.Values, want.Tables[i].Values)
		}
	}
}

// A table whose points lie on a plane in space, turned and moved, is at no distance from those
// points.
func TestProcrustesInFewerDimensions(t *testing.T) {
	// u along (2,1,2)/3, v along (1,2,-2)/3, which are at right angles and of length 1
	points := [][2]float64{{0, 0}, {3, 0}, {0, 6}, {9, 3}, {-3, 3}}
	space, plane := "token,x1,x2,x3\n", "name,x,y\n"
	for i, p := range points {
		u, v := p[0]/3, p[1]/3
		space += fmt.Sprintf("t%d,%g,%g,%g\n", i, 3+2*u+v, 1+u+2*v, 2*u-2*v)
		plane += fmt.Sprintf("t%d,%g,%g\n", len(points)-1-i, points[len(points)-1-i][0]+50, points[len(points)-1-i][1])
	}
	s := Selection{Files: []string{saved(t, "a.csv", space)}, Member: All, Block: All}
	models, _, err := Tables(s)
	if err != nil {
		t.Fatal(err)
	}
	got, notes, err := Procrustes(models, saved(t, "plane.csv", plane), s)
	if err != nil || got[0].Dim != 2 || got[0].Raw > 1e-6 || got[0].Disparity > 1e-12 ||
		!strings.Contains(strings.Join(notes, ""), "3 columns and the reference 2: compared in 2 dimensions") {
		t.Errorf("%+v, %q, %v", got, notes, err)
	}
}

// A text's tokens are a line, though 64 of them would fill a grid of 8 x 8.
func TestProcrustesOfALine(t *testing.T) {
	run := &runs.Run{}
	run.Config.Task = "text"
	m := &Model{Subject: Subject{Source: "book"}, Tables: []Table{{Tokens: 64, Dim: 4, Values: make([]float64, 256)}},
		tokens: 64, member: runs.Model{Run: run}, probes: &runs.Probes{}}
	for i := range m.Tables[0].Values {
		m.Tables[0].Values[i] = float64(i % 7)
	}
	_, _, err := Procrustes([]*Model{m}, Fixed2D, Selection{})
	if err == nil || !strings.Contains(err.Error(), "a line") {
		t.Errorf("against 2d-fixed: %v", err)
	}
	if _, _, err = Procrustes([]*Model{m}, fixed1D, Selection{}); err != nil {
		t.Errorf("against 1d-fixed: %v", err)
	}
}

// The reference of a model is the member of its seed, else the first, which a note says; one table, or
// one for each, is held against it.
func TestReferenceOfASeed(t *testing.T) {
	member := func(seed uint64, tables int) *Model {
		return &Model{Subject: Subject{Source: "m", Seed: &seed}, Tables: make([]Table, tables)}
	}
	references := []*Model{member(7, 1), member(5, 1)}
	if r, note := sameSeed(member(5, 1), references); r != references[1] || note != "" {
		t.Errorf("seed 5 is held against seed %d, %q", *r.Seed, note)
	}
	if r, note := sameSeed(member(6, 1), references); r != references[0] || !strings.Contains(note, "of seed 7") {
		t.Errorf("seed 6 is held against seed %d, %q", *r.Seed, note)
	}
	for counts, fits := range map[[2]int]bool{{3, 1}: true, {3, 3}: true, {3, 2}: false, {1, 2}: false} {
		if err := comparable(member(1, counts[0]), member(1, counts[1])); (err == nil) != fits {
			t.Errorf("%d tables against %d: %v", counts[0], counts[1], err)
		}
	}
	if isTable([]int{3, 1}) != nil || isTable([]int{3, 0}) == nil || isTable([]int{1, 3}) == nil {
		t.Error("a table has two rows or more, and a column")
	}
	if got, err := gridModules(4, byColumns); err != nil || !reflect.DeepEqual(got.Labels, []int{0, 1, 0, 1}) ||
		got.Names[0] != "column1" || got.Names[1] != "column2" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A course has the norms of a member's records, those of its own seed.
func TestCourses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	err := synthetic.Write(filepath.Dir(dir), synthetic.Run{Name: "a", Task: "nmar", PE: "learn", Seeds: []int{4, 6},
		Edit: func(m *synthetic.Member) {
			norm := float64(m.Seed)
			m.Records = m.Records[:2]
			m.Records[1].PENorm = &norm
		}})
	if err != nil {
		t.Fatal(err)
	}
	got, notes, err := Courses([]string{dir}, All)
	if err != nil || len(notes) > 0 || len(got) != 2 {
		t.Fatalf("%+v, %q, %v", got, notes, err)
	}
	for i, norm := range []Number{4, 6} {
		if r := got[i].Records; len(r) != 1 || r[0].Step != 200 || r[0].Frobenius != norm {
			t.Errorf("member %d: %+v", i, r)
		}
	}
}
