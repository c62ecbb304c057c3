package partition

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

func TestPlain(t *testing.T) {
	for body, want := range map[string]string{
		"2\r\n1\n2\n10\n":                                 "[1 0 1 2] [1 2 10] []",
		"vis\nmot\nvis\n":                                 "[0 1 0] [vis mot] []",
		"module\n3\n1\n":                                  "[1 0] [1 3] []",
		"node,module\na,1\nb,2\nc,1\n":                    "[0 1 0] [1 2] [[a b c]]",
		"name,NETWORK\na,x\nb,y\n":                        "[0 1] [x y] [[a b]]",
		"# made by hand\nname\tsector\na\tx\nb\ty\n":      "[0 1] [x y] [[a b]]",
		"a;2\nb;1\n":                                      "[1 0] [1 2] [[a b]]",
		"1\n1.0\n01\n-1\n2":                               "[1 1 1 0 2] [-1 1 2] []",
		"Node ID;net\n30;x\n10;nan2\n":                    "[0 1] [x nan2] [[30 10]]",
		"a x\nb y\n":                                      "[0 1] [x y] [[a b]]",
		",0\na,x\nb,y\n":                                  "[0 1] [x y] [[a b]]", // pandas' Series.to_csv
		"9007199254740993\n9007199254740992\n":            "[0 1] [9007199254740993 9007199254740992] []",
		"1_0\n10\nnone\n":                                 "[0 1 2] [1_0 10 none] []",
		"\ufeffregion,net\na,DMN\nb,V":                    "[0 1] [DMN V] [[a b]]",
		"name,module\n\"a, left\",x\n\"b \"\"2\"\"\",y\n": "[0 1] [x y] [[a, left b \"2\"]]",
	} {
		p, err := Read(expect.File(t, "m.txt", body), text.Auto)
		if err != nil {
			t.Errorf("%q: %v", body, err)
		} else if got := fmt.Sprint(p.Labels, p.Modules, p.Names); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		"": "an empty file", "1\n2,3\n": "separate no cells", "a,b,c\n": "3 cells",
		"a,1\nb,\n": "token 2 of 2 has no label",
		"1\nnan\n":  `token 2 of 2 has no label ("nan")`, "NA\n2\n": "token 1 of 2",
		"module\n1\n\"\"\n": "token 2 of 2",
		"a,1\nb,None\n":     `token 2 of 2 has no label ("None")`,
		"x\n-\n":            `no label ("-")`, "1\nNULL\n": "token 2 of 2",
		"1,a\n2,b\n1,c\n":      "put the name of a token first",
		"1.5\n2\n":             "token 1 has the label 1.5",
		"# only\n":             "nothing but",
		"NETWORK\tKEY\nx\t1\n": "GLASSERLABELNAME", "NETWORK\tLABEL\n": "no rows",
		"LABEL\tNETWORK\na\tx\nb\n":            "row 2 has 1 cells, but the header 2",
		"GLASSERLABELNAME\tNETWORK\na\tx\nb\n": "row 2 has 1 cells, but the header 2",
	} {
		expect.Error(t, expect.ErrorOf(Read(expect.File(t, "m.txt", body), text.Auto)), want, "m.txt")
	}
}

// A header that is said to be there, or not, is taken as said, of lists as of tables.
func TestPlainHeader(t *testing.T) {
	for _, c := range []struct {
		body   string
		header text.Choice
		want   string
	}{
		{"area,Farbe\na,x\nb,y\n", text.Auto, "[0 1 2] [Farbe x y] [[area a b]]"},
		{"area,sector\na,x\nb,y\n", text.Auto, "[0 1] [x y] [[a b]]"},
		{"network\nvis\nmot\nvis\n", text.Auto, "[0 1 0] [vis mot] []"},
		{"network\nvis\nnetwork\n", text.Auto, "[0 1 0] [network vis] []"},
		{"area,sector\na,x\nb,y\n", text.Yes, "[0 1] [x y] [[a b]]"},
		{"node,module\na,1\n", text.No, "[0 1] [module 1] [[node a]]"},
		{"a,\u00e9\nb,e\u0301\nc,x\n", text.No, "[0 0 1] [\u00e9 x] [[a b c]]"},
		{"7\n1\n2\n", text.Yes, "[0 1] [1 2] []"}, {"module\n3\n", text.No, "[0 1] [module 3] []"},
	} {
		p, err := Read(expect.File(t, "m.txt", c.body), c.header)
		if err != nil {
			t.Errorf("%q: %v", c.body, err)
		} else if got := fmt.Sprint(p.Labels, p.Modules, p.Names); got != c.want {
			t.Errorf("%q, %v: %s, want %s", c.body, c.header, got, c.want)
		}
	}
	expect.Error(t, expect.ErrorOf(Read(expect.File(t, "m.txt", "a,1\n"), text.Yes)), "no rows")
	expect.Error(t, expect.ErrorOf(Read(expect.File(t, "m.txt", "VIS,L\nVIS,R\nMOT,L\n"), text.No)),
		`its rows 1 and 2 are both named "VIS"`)
	from, missing, _ := MatchNames([]string{"b", "\u00e9"}, []string{"e\u0301", "b"}) // of an early run
	expect.Equal(t, "matched", fmt.Sprint(from, missing), "[1 0] []")
}

func TestHemispheres(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  Order
	}{
		{[]string{"L_V1_ROI", "L_MST_ROI", "R_V1_ROI"}, LeftFirst},
		{[]string{"R_V1", "R_MST", "L_V1"}, RightFirst},
		{[]string{"7Networks_LH_Vis_1", "7Networks_RH_Vis_1"}, LeftFirst},
		{[]string{"Visual1-04_L-Ctx", "Visual2-28_L-Ctx", "Visual1-04_R-Ctx", "Brainstem"},
			LeftFirst},
		{[]string{"lh.bankssts", "rh.bankssts", "lh.cuneus", "rh.cuneus"}, Mixed},
		{[]string{"ctx-rh-insula"}, RightOnly},
		{[]string{"Left Amygdala", "Left Caudate"}, LeftOnly},
		{[]string{"AAPL", "MSFT", "RHT"}, Unknown},
		{[]string{"L_a", "x", "y", "z"}, Unknown},
		{nil, Unknown},
	} {
		expect.Equal(t, c.names, Hemispheres(c.names), c.want)
	}
}

func TestRight(t *testing.T) {
	expect.Equal(t, "right", expect.Must(Right([]string{"R_V1", "lh.cuneus", "x-rh"})), []bool{true, false, true})
	expect.Equal(t, "names without sides", expect.Must(Right([]string{"Fz", "Cz", "Pz"})), nil)
	for _, names := range [][]string{{"L_V1", "R_V1", "Brainstem"}, {"Brainstem", "L_V1"}} {
		expect.Error(t, expect.ErrorOf(Right(names)), "Brainstem")
	}
}

func TestMatch(t *testing.T) {
	byName := &Partition{File: "key.txt", Labels: []int{0, 1, 2, 1},
		Modules: []string{"a", "b", "c"},
		Names: [][]string{{"L_V1_ROI", "L_MT_ROI", "R_V1_ROI", "R_MT_ROI"},
			{"A1_L", "A2_L", "A1_R", "A2_R"}}}
	m, err := byName.Match(Tokens{Count: 3, Names: []string{"r_mt", "L_V1", "L_MT_ROI"}, File: "x"})
	if err != nil || !slices.Equal(m.Labels, []int{1, 0, 1}) || m.Names != nil ||
		!slices.Equal(m.Modules, []string{"a", "b"}) || !strings.Contains(m.How, "by name") ||
		!strings.HasSuffix(m.How, "of x, which are kept: some are spelled otherwise, such as R_MT_ROI for r_mt") {
		t.Errorf("by name: %+v, %v", m, err)
	}
	expect.Equal(t, "by the other names",
		expect.Must(byName.Match(Tokens{Count: 2, Names: []string{"A1_R", "A1_L"}, File: "x"})).Labels,
		[]int{1, 0})
	expect.Error(t,
		expect.ErrorOf(byName.Match(Tokens{Count: 2, Names: []string{"L_V1", "L_V9"}, File: "x.nii"})),
		"L_V9", "x.nii", "key.txt")
	if m, err := byName.Match(Tokens{Count: 4, File: "x.npy"}); err != nil ||
		!strings.Contains(m.How, "left-first") || !slices.Equal(m.Names, byName.Names[0]) {
		t.Errorf("by order: %+v, %v", m, err)
	}
	expect.Error(t, expect.ErrorOf(byName.Match(Tokens{Count: 5, File: "x.npy"})), "5 tokens",
		"labels 4")
	// A list without names whose order is known to be left first must not be laid over names that
	// are right first.
	list := &Partition{File: "cab.txt", Labels: []int{0, 1, 0, 1}, Modules: []string{"a", "b"},
		Order: LeftFirst}
	expect.Error(t,
		expect.ErrorOf(list.Match(Tokens{Count: 4, Names: []string{"R_a", "R_b", "L_a", "L_b"}, File: "x.nii"})),
		"right-first", "LabelKey")
	expect.Equal(t, "hemispheres the same way round",
		expect.Must(list.Match(Tokens{Count: 4, Names: []string{"L_a", "L_b", "R_a", "R_b"},
			File: "x.nii"})).Labels, []int{0, 1, 0, 1})
	// Vertices tell hemispheres where names do not.
	sides := []string{"R", "R", "L", "L"}
	expect.Error(t,
		expect.ErrorOf(list.Match(Tokens{Count: 4, Names: []string{"a", "b", "c", "d"}, Sides: sides, File: "x.nii"})),
		"x.nii lists hemispheres right-first by the vertices")
	slices.Reverse(sides)
	expect.Contains(t, expect.Must(list.Match(Tokens{Count: 4, Names: []string{"a", "b", "c", "d"}, Sides: sides,
		File: "x.nii"})).How, "left-first")
	// Names are those of their own file.
	if m, err := byName.Match(Tokens{Count: 1, Names: []string{"L_V1_ROI"}, File: "x.npy",
		NamesFrom: "n.txt"}); err != nil || !strings.HasSuffix(m.How, "the names of n.txt") {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := byName.Match(Tokens{Count: 1, Names: []string{"L_V9"}, File: "x.npy",
		NamesFrom: "n.txt"}); err == nil || !strings.HasPrefix(err.Error(), "n.txt names 1") {
		t.Errorf("%v", err)
	}
	// Equal names match first; what is spelled otherwise matches one name alone.
	for _, c := range []struct {
		names, tokens []string
		want          string // the labels, or the error
	}{
		{[]string{"x", "x"}, []string{"x"}, `tokens 0 and 1 are both named "x"`},
		{[]string{"x", "X"}, []string{"X", "x"}, "[1 0]"},
		{[]string{"x", "X"}, []string{"x_ROI"}, "1 of its 1 tokens otherwise"},
		{[]string{"X", "y"}, []string{"X", "x"}, `its tokens "X" and "x" have the name of one parcel`},
		{[]string{"1_0", "10"}, []string{"10", "1_0"}, "[1 0]"},
		{[]string{"1_0", "2"}, []string{"10", "2"}, "1 of its 2 tokens otherwise"},
		{[]string{"9007199254740993", "01"}, []string{"9007199254740992", "1"}, "1 of its 2 tokens otherwise"},
	} {
		p := &Partition{File: "t", Labels: []int{0, 1}, Modules: []string{"a", "b"}, Names: [][]string{c.names}}
		m, err := p.Match(Tokens{Count: len(c.tokens), Names: c.tokens})
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && fmt.Sprint(m.Labels) != c.want {
			t.Errorf("%q in %q: %+v, %v, want %s", c.tokens, c.names, m, err, c.want)
		}
	}
}

// cabnp returns a file of the Cole-Anticevic partition beside the module, or skips the test.
func cabnp(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "fmri", "cabnp", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s", path)
	}
	return path
}

// Both files of the real partition give the same networks, of the sizes that its paper prints.
func TestCABNP(t *testing.T) {
	list := expect.Must(Read(cabnp(t, "cortex_parcel_network_assignments.txt"), text.Auto))
	key := expect.Must(Read(cabnp(t,
		"CortexSubcortex_ColeAnticevic_NetPartition_wSubcorGSR_parcels_LR_LabelKey.txt"), text.Auto))
	if list.Order != LeftFirst || list.Modules[8] != "Default" || len(key.Labels) != 718 {
		t.Errorf("list of order %q with modules %v; key of %d", list.Order, list.Modules,
			len(key.Labels))
	}
	expect.Equal(t, "tokens to lie over", [][]int{list.Counts(), key.Counts()}, [][]int{{360}, {718, 360}})
	tokens := Tokens{Count: 360, File: "x.npy"}
	a := expect.Must(list.Match(tokens))
	b := expect.Must(key.Match(tokens))
	sizes := map[string]int{}
	for i := range a.Labels {
		expect.Equal(t, fmt.Sprintf("parcel %d is in", i), b.Modules[b.Labels[i]], a.Modules[a.Labels[i]])
		sizes[b.Modules[b.Labels[i]]]++
	}
	for _, n := range CABNP {
		expect.Equal(t, n.Name, sizes[n.Name], n.Left+n.Right)
	}
	if a.Names != nil || len(b.Names) != 360 || b.Names[0] != "L_V1_ROI" || b.Names[359] != "R_p24_ROI" {
		t.Errorf("names %q of the list and %q of the key", a.Names, b.Names)
	}
	// The subcortex has no Glasser names: all tokens get the names that the key made.
	whole := expect.Must(key.Match(Tokens{Count: 718, File: "x.npy"})).Names
	expect.Equal(t, "names", [2]string{whole[0], whole[717]}, [2]string{"Visual1-04_L-Ctx", key.Names[1][717]})
	// Right first by name, as the official Glasser files have it: each parcel keeps its network.
	right := append(slices.Clone(key.Names[0][180:360]), key.Names[0][:180]...)
	c := expect.Must(key.Match(Tokens{Count: 360, Names: right, File: "x.nii"}))
	for i := range 360 {
		expect.Equal(t, fmt.Sprintf("%s is in", right[i]), c.Modules[c.Labels[i]],
			b.Modules[b.Labels[(i+180)%360]])
	}
	expect.Refused(t, "the list without names is laid over parcels that are right first",
		expect.ErrorOf(list.Match(Tokens{Count: 360, Names: right, File: "x.nii"})))
}

// Vectors are read from every format of arrays, one by its name where there are several.
func TestVectors(t *testing.T) {
	numbers := func(shape []int, data ...float64) string {
		var b bytes.Buffer
		expect.NoError(t, npy.Write(&b, array.Array{Shape: shape, Data: data}, npy.Float64))
		return b.String()
	}
	vector := numbers([]int{3, 1}, 4, 2, 4)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"a.npy", "b.npy"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(vector))
		}
		expect.NoError(t, err)
	}
	expect.NoError(t, z.Close())
	for _, c := range []struct{ name, body, array, want string }{
		{"m.npy", vector, "", "[1 0 1] [2 4]"}, {"m.npz", archive.String(), ":b", "[1 0 1] [2 4]"},
		{"m.npz", archive.String(), "", "holds several tensors: choose one"},
		{"m.npy", numbers([]int{2, 2}, 4, 2, 4, 1), "", "one vector of whole numbers"},
		{"m.npy", numbers([]int{2}, 4, 2.5), "", "token 2 has the label 2.5"},
		{"m.json", "[4, 2, 4]", "", "arrays are not read from JSON"}, {"m.h5", "1\n2\n", "", "HDF5"},
		{"m.dat", "4\n2\n4\n", "", "[1 0 1] [2 4]"},
	} {
		p, err := Read(expect.File(t, c.name, c.body)+c.array, text.Auto)
		if err == nil && fmt.Sprint(p.Labels, p.Modules) != c.want ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s: %+v, %v, want %s", c.name, c.array, p, err, c.want)
		}
	}
}

// Numbers that count lines in another order than theirs speak against an order. Neither numbers in
// order nor names of two tokens become the names of tokens without one.
func TestNumberedLines(t *testing.T) {
	p := expect.Must(Read(expect.File(t, "m.csv", "id,module\n3,1\n1,2\n2,2\n"), text.Auto))
	for body, want := range map[string]int{"id,module\n1,1\n2,2\n3,2\n": 0, "name,module\na,1\na_ROI,2\nb,2\n": 0,
		"name,module\nc,1\na,2\nb,2\n": 3} {
		q := expect.Must(Read(expect.File(t, "m.csv", body), text.Auto))
		expect.Equal(t, body, len(expect.Must(q.Match(Tokens{Count: 3, File: "x"})).Names), want)
	}
	expect.Equal(t, "by numbers", expect.Must(p.Match(Tokens{Count: 3, Names: []string{"01", "2.0", "3"},
		File: "x"})).Labels, []int{1, 1, 0})
	expect.Error(t, expect.ErrorOf(p.Match(Tokens{Count: 3, File: "x"})),
		"numbers its tokens 3, 1, 2, ..., another order")
}
