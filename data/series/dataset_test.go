package series

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/internal/expect"
)

func TestValuesThatAreNotFinite(t *testing.T) {
	path := expect.File(t, "bad.csv", "a,b\n1,2\n3,nan\n4,5\n")
	expect.Error(t, expect.ErrorOf(Load([]string{path}, Options{})),
		"missing or infinite: 1 value, in 1 of 3 frames and 1 of 2 tokens; frame 1 of token 1 (b) is NaN: leave", path)
	path = expect.File(t, "scrubbed.csv", "a,b\n1,2\n,\n4,inf\n")
	expect.Error(t, expect.ErrorOf(Load([]string{path}, Options{})),
		"3 values, in 2 of 3 frames and 2 of 2 tokens; frame 1 of token 0 (a) is NaN: leave")
	path = expect.File(t, "words.csv", "a,b\n1,null\n-,None\n4,#N/A\n5,?\n")
	expect.Error(t, expect.ErrorOf(Load([]string{path}, Options{})), "infinite: 5 values, in 4 of 4 frames")
	path = expect.File(t, "flat.csv", "a,b\n1,2\n3,2\n4,2\n")
	expect.Error(t, expect.ErrorOf(Load([]string{expect.File(t, "one.csv", "a,b\n1,2\n")}, Options{ZScore: true})),
		"one.csv has only one frame")
	high := expect.File(t, "high.csv", "a,b\n1,100000001\n2,100000002\n3,100000005\n")
	expect.Error(t, expect.ErrorOf(Load([]string{high}, Options{})),
		"high.csv: token 1 (b) is about 1e+08 and varies by 1.7")
	expect.Must(Load([]string{high}, Options{ZScore: true}))
	higher := expect.File(t, "higher.csv", "a,b\n1,1000000000001\n2,1000000000002\n3,1000000000005\n")
	expect.Error(t, expect.ErrorOf(Load([]string{higher}, Options{})), "(b) is about 1e+12 and varies by 1.7")
	expect.Error(t, expect.ErrorOf(Load([]string{higher}, Options{ZScore: true})),
		"token 1 (b) goes from 1.000000000001e+12 to 1.000000000005e+12, too little for a z-score")
	for _, scale := range []string{"e-38", "e-50", "e-200"} {
		low := []string{expect.File(t, "low.csv", strings.ReplaceAll("a,b\n1,2_\n2,-1_\n3,5_\n", "_", scale))}
		expect.Error(t, expect.ErrorOf(Load(low, Options{})), "number of token 1 (b) is 5"+scale+", too small")
		_, err := Load(low, Options{ZScore: true})
		expect.Equal(t, fmt.Sprintf("numbers like %s (%v) have z-scores", scale, err), err == nil,
			scale != "e-200")
	}
	expect.Error(t, expect.ErrorOf(Load([]string{path}, Options{ZScore: true})),
		"token 1 (b) is 2 at all 3 frames")
	expect.Equal(t, "a constant token without z-scores", expect.Must(Load([]string{path}, Options{})).X,
		[]float32{1, 2, 3, 2, 4, 2})
	// The mean of 60 times 0.1 is not 0.1 in float64, so that numpy's SD is 1.4e-17, and its
	// z-scores are all of one size.
	tenths := expect.File(t, "tenths.csv", "a,b\n"+strings.Repeat("0.1,1\n0.1,2\n", 30))
	expect.Error(t, expect.ErrorOf(Load([]string{tenths}, Options{ZScore: true})),
		"token 0 (a) is 0.1 at all 60 frames")
	rounded := expect.File(t, "rounded.csv", "a,b\n"+strings.Repeat("0.30000000000000004,1\n0.3,2\n", 30))
	expect.Error(t, expect.ErrorOf(Load([]string{rounded}, Options{ZScore: true})), "token 0 (a)")
	expect.Equal(t, "flat tokens", expect.Must(Load([]string{rounded}, Options{})).Flat,
		[]Flat{{Run: rounded, Token: "0 (a)", Value: 0.3}})
	// A small change of large numbers, such as of seconds since 1970, is none of rounding.
	seconds := expect.File(t, "seconds.csv", "a,b\n1.7e9,1\n1700000001,2\n")
	expect.Equal(t, "large numbers", expect.Must(Load([]string{seconds}, Options{ZScore: true})).X,
		[]float32{-1, -1, 1, 1})
	// Numbers beyond 32 bits have z-scores, up to those whose squares are beyond 64.
	for scale, scored := range map[string]bool{"e39": true, "e200": false} {
		large := []string{expect.File(t, "large.csv", strings.ReplaceAll("a,b\n1,2_\n2,-1_\n3,5_\n", "_", scale))}
		expect.Error(t, expect.ErrorOf(Load(large, Options{})), "of token 1 (b) is 5"+"e+"+scale[1:]+", too large")
		_, err := Load(large, Options{ZScore: true})
		expect.Equal(t, fmt.Sprintf("numbers like %s (%v) have z-scores", scale, err), err == nil, scored)
	}
	path = expect.File(t, "twice.csv", "a,a\n1,2\n3,4\n")
	expect.Error(t, expect.ErrorOf(Load([]string{path}, Options{})), `both named "a"`)
}

// An error names the run of an array that holds several.
func TestRunOfAnArrayIsNamed(t *testing.T) {
	stack := array.Array{Shape: []int{3, 2, 2}, Data: []float64{1, 2, 3, 5, 1, 2, 3, 5, 1, 2, math.NaN(), 5}}
	var body bytes.Buffer
	expect.NoError(t, npy.Write(&body, stack, npy.Float64))
	axes := []Axis{SubjectAxis, FrameAxis, TokenAxis}
	expect.Error(t, expect.ErrorOf(Load([]string{expect.File(t, "x.npy", body.String())}, Options{Axes: axes})),
		"x.npy[2]: missing or infinite: 1 value, in 1 of 2 frames")
}

func TestSubjectsTable(t *testing.T) {
	const table = "participant_id\tage\tset\tfile\nsub-01\t22\ttrain\ta.npy\nsub-02\t30\tTest\tb.npy\n"
	path := expect.File(t, "subjects.tsv", table)
	for name, delimiter := range map[string]string{"a.csv": ";", "b.csv": ",", "c.txt": " "} {
		same, err := readSubjects(expect.File(t, name, strings.ReplaceAll(table, "\t", delimiter)))
		if err != nil || !slices.Equal(same.names, []string{"sub-01", "sub-02"}) || same.sets["sub-02"] != TestSet {
			t.Errorf("between %q: %+v, %v", delimiter, same, err)
		}
	}
	s := expect.Must(readSubjects(path))
	files := []string{"/x/a.npy", "sub-02_bold.nii", "c.npy"}
	of, _, err := subjectFinder{table: s}.of(files)
	if err != nil || of[files[0]] != "sub-01" || of[files[1]] != "sub-02" || of[files[2]] != "c" {
		t.Errorf("subjects %q, %v", of, err)
	}
	held, err := s.held([]string{"sub-02", "sub-01"})
	if !slices.Equal(held, []int{0}) || err != nil {
		t.Errorf("held out %v, %v", held, err)
	}
	expect.Error(t, expect.ErrorOf(s.held([]string{"sub-03"})), `"sub-03"`)
	numbers := expect.Must(readSubjects(expect.File(t, "n.csv", "subject,set\n1,train\n100307.0,test\n")))
	of, _, err = subjectFinder{table: numbers}.of([]string{"/x/sub-01_a.npy", "/x/100307.npy", "/x/100408.npy"})
	if err != nil || fmt.Sprint(of) != "map[/x/100307.npy:100307.0 /x/100408.npy:100408 /x/sub-01_a.npy:1]" {
		t.Errorf("numbers of a spreadsheet: %v, %v", of, err)
	}
	// Columns that are not read are named, and whoever has no data.
	unused := s.unused([]string{"/x/b.npy"}, []string{"sub-02"})
	if len(unused) != 3 || !strings.Contains(unused[0], `not read: "age"`) ||
		!strings.Contains(unused[1], "1 of the 2 subjects") ||
		!strings.Contains(unused[1], "(sub-01)") || !strings.Contains(unused[2], "(a.npy)") {
		t.Errorf("without data: %q", unused)
	}
	if unused := s.unused([]string{"b.npy", "a.npy"}, []string{"sub-01", "sub-02"}); len(unused) != 1 {
		t.Errorf("all have data: %q", unused)
	}
	for text, want := range map[string]string{
		"subject,set\n1,train\n1,test\n":         "was in",
		"subject,set\n1,validation\n":            "train or test",
		"subject,age\n1,20\n":                    "set (train or test) or file",
		"set,file\ntrain,a\n":                    "subject is required",
		"subject,set\n":                          "a header and one row per",
		"subject,set\n,train\n":                  "no subject",
		"subject,file\n1,x/a.npy\n2,./x/a.npy\n": "a.npy",
		"subject,set\n1,train,3\n":               "row 1 has 3 cells, but the header 2",
		"subject,file\n\"1,a.npy\n2,x/a.npy\n ":  "quote",
	} {
		expect.Error(t, expect.ErrorOf(readSubjects(expect.File(t, "s.csv", text))), want, "s.csv")
	}
}

func TestSourceReadsModulesAndSubjects(t *testing.T) {
	table := expect.File(t, "subjects.csv", "subject,set\n01,train\n02,test\n03,test\n")
	d := expect.Must(Source{
		Data:    []string{fixture("sub-01.ptseries.nii"), fixture("sub-02.ptseries.nii")},
		Modules: fixture("networks.dlabel.nii"), Subjects: table,
	}.Read(nil, true))
	if !slices.Equal(d.Test, []int{1}) || !slices.Equal(d.Modules.Labels,
		[]int{0, 1, 0, 1, 0, 1}) || !slices.Equal(d.Modules.Modules, []string{"Visual", "Motor"}) {
		t.Errorf("test %v, modules %+v", d.Test, d.Modules)
	}
	expect.Contains(t, strings.Join(d.Notes, "\n"), "(03)") // a subject without data
	expect.Near(t, "a number that is not z-scored", float64(d.X[0]), -1.3, 0.2)
	// Dense series take their parcels' labels from the vertices of the parcellation.
	d = expect.Must(Source{Data: []string{fixture("dense.dtseries.nii")}, Parcellation: fixture(
		"parcels.dlabel.nii"), Modules: fixture("networks.dlabel.nii")}.Read(nil, false))
	expect.Equal(t, "dense", d.Modules.Labels, []int{0, 1, 0, 1, 0, 1})
	// Of parcels that have no data, the others keep theirs.
	d = expect.Must(Source{Data: []string{fixture("left.dtseries.nii")}, Parcellation: fixture("parcels.dlabel.nii"),
		MissingParcels: "skip", Modules: fixture("networks.dlabel.nii")}.Read(nil, false))
	expect.Equal(t, "left", d.Modules.Labels, []int{0, 1, 0})
	expect.Error(t, expect.ErrorOf((Source{Data: []string{fixture("one.h5")}, Parcellation: "x.dlabel.nii",
		Tokens: 6}).Read(nil, false)), "--parcellation x.dlabel.nii: no file of --data is a dense series")
	one := expect.File(t, "one.txt", strings.Repeat("1\n", 6))
	expect.Error(t, expect.ErrorOf((Source{Data: []string{fixture("fortran.npy")}, Modules: one}).Read(nil, false)),
		"one.txt puts all 6 tokens into one module")
	for _, labels := range []string{"a\nb\nc\nd\ne\nf\n", "1\n2\n3\n4\n5\n6\n"} {
		list := expect.File(t, "list.txt", labels)
		s := Source{Data: []string{fixture("fortran.npy")}, Modules: list}
		expect.Error(t, expect.ErrorOf(s.Read(nil, false)),
			"list.txt makes each of the 6 tokens a module of its own: give several tokens one label; names")
	}
	// The number of labels tells the axes of an array without names.
	modules := expect.File(t, "modules.txt", "1\n1\n2\n2\n3\n3\n")
	d = expect.Must(Source{Data: []string{fixture("fortran.npy")}, Modules: modules}.Read(nil, false))
	expect.Equal(t, "labels by their number", fmt.Sprint(d.Tokens, d.Modules.Labels), "6 [0 0 1 1 2 2]")
	expect.Error(t,
		expect.ErrorOf((Source{Data: []string{fixture("one.h5")}, Modules: fixture("networks.dlabel.nii"),
			Tokens: 6}).Read(nil, false)),
		"labels vertices")
	expect.Equal(t, "names",
		expect.Must((Source{Data: []string{fixture("plain.csv")}, Names: fixture("names.txt")}).Read(nil,
			false)).Names, names)
}

// CAB-NP's LabelKey tells the axes of 360 parcels of the cortex, whatever the task; 718 rows are
// those with the subcortex. Its names become those of tokens that have none.
func TestLabelKeyTellsTheCortex(t *testing.T) {
	key, rows := strings.Builder{}, strings.Builder{}
	key.WriteString("LABEL\tNETWORK\tGLASSERLABELNAME\n")
	for i := range 718 {
		name := "NA"
		if i < 360 {
			name = fmt.Sprintf("%c_%d_ROI", "LR"[i/180], i%180)
			fmt.Fprintf(&rows, "%d,%d,%d\n", i, i*i, i%7)
		}
		fmt.Fprintf(&key, "P%d\tN%d\t%s\n", i, i%3, name)
	}
	source := Source{Data: []string{expect.File(t, "plain.csv", rows.String())},
		Modules: expect.File(t, "key.txt", key.String())}
	d := expect.Must(source.Read(nil, false))
	expect.Equal(t, "tokens, frames, labels and one label",
		[4]int{d.Tokens, d.Frames, len(d.Modules.Labels), d.Modules.Labels[4]}, [4]int{360, 3, 360, 1})
	if len(d.Names) != 360 || d.Names[359] != "R_179_ROI" || d.NamesFrom != source.Modules ||
		!strings.Contains(strings.Join(d.Notes, " "), "Names of tokens come from "+source.Modules) {
		t.Errorf("names %q from %s, notes %q", d.Names, d.NamesFrom, d.Notes)
	}
	own := source // names of the data are kept, also where the key spells them otherwise
	names := strings.ReplaceAll(strings.Join(d.Names, "\n"), "_ROI", "")
	own.Names = expect.File(t, "names.txt", strings.ToLower(names))
	if d, err := own.Read(nil, false); err != nil || d.Names[0] != "l_0" || d.NamesFrom != own.Names ||
		!strings.Contains(d.Modules.How, "such as L_0_ROI for l_0") {
		t.Errorf("%+v, %v", d, err)
	}
}

// Messages about names say which file has them.
func TestNamesAreThoseOfTheirFile(t *testing.T) {
	other := expect.File(t, "other.txt", strings.Join([]string{"L_V1", "L_MST", "L_V9", "R_V1", "R_MST",
		"R_V6"}, "\n"))
	modules := expect.File(t, "modules.csv", "L_V1,1\nL_MST,1\nL_V6,1\nR_V1,2\nR_MST,2\nR_V6,2\n")
	for _, c := range []struct {
		s    Source
		want string
	}{
		{Source{Data: []string{fixture("plain.csv")}, Names: other, Modules: modules},
			other + " names 1 of its 6 tokens otherwise"},
		{Source{Data: []string{fixture("dense.dtseries.nii")},
			Parcellation: fixture("anonymous-right.dlabel.nii"), Modules: modules},
			fixture("anonymous-right.dlabel.nii") + " names 6 of its 6 tokens otherwise"},
		{Source{Data: []string{fixture("plain.csv")}, Names: other, Tokens: 5},
			"--tokens says 5, but --names " + other + " has 6"},
		{Source{Data: []string{fixture("plain.csv")}, Names: modules},
			`all of its lines contain ",", such as "L_V1,1"`},
	} {
		expect.Error(t, expect.ErrorOf(c.s.Read(nil, false)), c.want)
	}
	d, err := Source{Data: []string{fixture("sub-01.ptseries.nii")}, Modules: modules}.Read(nil,
		false)
	if err != nil || !strings.HasSuffix(d.Modules.How, "has the names of "+fixture("sub-01.ptseries.nii")+
		", which are kept: some are spelled otherwise, such as L_V1 for L_V1_ROI") {
		t.Errorf("%+v, %v", d, err)
	}
}
