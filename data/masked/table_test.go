package masked

import (
	"math"
	"strings"
	"testing"
)

// table returns a sound table of 3 frames and 4 tokens.
func table() Table {
	return Table{Frames: 3, Tokens: 4, X: make([]float32, 12), Names: []string{"a", "b", "c", "d"},
		Modules:     []int{0, 1, 1, 2},
		ModuleNames: []string{"", "left", "right"}, Groups: []int{7, 7, 9}}
}

func TestTableCheckNamesWhatDisagrees(t *testing.T) {
	if err := table().Check(); err != nil {
		t.Fatal(err)
	}
	if err := (Table{Frames: 1, Tokens: 2, X: make([]float32, 2)}).Check(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		damage func(*Table)
		want   []string
	}{
		{"no frames", func(t *Table) { t.Frames = 0 }, []string{"0 frames"}},
		{"negative frames", func(t *Table) { t.Frames = -3 }, []string{"-3 frames"}},
		{"one token", func(t *Table) { t.Tokens = 1 }, []string{"1 tokens"}},
		{"values missing", func(t *Table) { t.X = t.X[:11] },
			[]string{"11 values", "3 frames of 4 tokens"}},
		{"product overflows", func(t *Table) { t.Frames = math.MaxInt/2 + 1 },
			[]string{"12 values"}},
		{"names", func(t *Table) { t.Names = t.Names[:3] }, []string{"3 names for 4 tokens"}},
		{"one name twice", func(t *Table) { t.Names[3] = "b" }, []string{"tokens 1 and 3", `"b"`}},
		{"modules", func(t *Table) { t.Modules = append(t.Modules, 0) },
			[]string{"5 module labels for 4 tokens"}},
		{"module without a name", func(t *Table) { t.Modules[2] = 3 },
			[]string{"2 (c)", "label 3", "0 to 2"}},
		{"negative module", func(t *Table) { t.Modules[2], t.ModuleNames = -1, nil },
			[]string{"2 (c)", "label -1", "0 or more"}},
		{"names of no modules", func(t *Table) { t.Modules = nil }, []string{"3 module names"}},
		{"groups", func(t *Table) { t.Groups = t.Groups[:2] },
			[]string{"2 group labels for 3 frames"}},
		{"two faults", func(t *Table) { t.Groups, t.Names = t.Groups[:2], t.Names[:1] },
			[]string{"2 group labels", "1 names"}},
		{"NaN", func(t *Table) { t.X[6] = float32(math.NaN()) },
			[]string{"frame 1", "token 2 (c)", "NaN"}},
		{"infinity", func(t *Table) { t.X[3], t.Names = float32(math.Inf(-1)), nil },
			[]string{"frame 0", "token 3", "-Inf"}},
	} {
		broken := table()
		test.damage(&broken)
		err := broken.Check()
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", test.name, err, want)
			}
		}
	}
}
