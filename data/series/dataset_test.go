package series

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestValuesThatAreNotFinite(t *testing.T) {
	path := write(t, "bad.csv", "a,b\n1,2\n3,nan\n4,5\n")
	if _, err := Load([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "frame 1 of token 1 (b) is NaN") || !strings.Contains(err.Error(), path) {
		t.Errorf("a NaN: %v", err)
	}
	path = write(t, "flat.csv", "a,b\n1,2\n3,2\n4,2\n")
	if _, err := Load([]string{path}, Options{ZScore: true}); err == nil || !strings.Contains(err.Error(), "token 1 (b) is 2 at all 3 frames") {
		t.Errorf("a constant token: %v", err)
	}
	if s, err := Load([]string{path}, Options{}); err != nil || !slices.Equal(s.X, []float32{1, 2, 3, 2, 4, 2}) {
		t.Errorf("a constant token without z-scores: %v %v", s, err)
	}
	path = write(t, "twice.csv", "a,a\n1,2\n3,4\n")
	if _, err := Load([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), `both named "a"`) {
		t.Errorf("two tokens of one name: %v", err)
	}
}

func TestDefaultSubject(t *testing.T) {
	for file, want := range map[string]string{
		"/data/HCP_example_restrun1_subj100206_data.h5":            "100206",
		"sub-NDAR01_task-rest_stat-mean_timeseries.tsv":            "NDAR01",
		"100307.ptseries.nii":                                      "100307",
		"rfMRI_REST1_LR_100307_Atlas.nii":                          "100307",
		"prices.csv":                                               "prices",
		"run20240131.csv":                                          "run20240131",
		"/200000/sub-02/func/sub-02_ses-1_run-1_bold.ptseries.nii": "02",
		"2014_100307_1.npy":                                        "100307",
	} {
		if got := DefaultSubject(file); got != want {
			t.Errorf("%s is of subject %q, want %q", file, got, want)
		}
	}
}

func TestSubjectsTable(t *testing.T) {
	path := write(t, "subjects.tsv", "participant_id\tage\tset\tfile\nsub-01\t22\ttrain\ta.npy\nsub-02\t30\tTest\tb.npy\n")
	s, err := ReadSubjects(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Of("/x/a.npy") != "sub-01" || s.Of("sub-02_bold.nii") != "sub-02" || s.Of("c.npy") != "c" {
		t.Errorf("subjects %q %q %q", s.Of("/x/a.npy"), s.Of("sub-02_bold.nii"), s.Of("c.npy"))
	}
	held, given, err := s.Test([]string{"sub-02", "sub-01"})
	if !slices.Equal(held, []int{0}) || !given || err != nil {
		t.Errorf("held out %v, %v, %v", held, given, err)
	}
	if _, _, err := s.Test([]string{"sub-03"}); err == nil || !strings.Contains(err.Error(), `"sub-03"`) {
		t.Errorf("a subject without a row: %v", err)
	}
	for text, want := range map[string]string{
		"subject,set\n1,train\n1,test\n":        "was in",
		"subject,set\n1,validation\n":           "train or test",
		"subject,age\n1,20\n":                   "set (train or test) or file",
		"set,file\ntrain,a\n":                   "subject is needed",
		"subject,set\n":                         "a header and a row",
		"subject,set\n,train\n":                 "no subject",
		"subject,file\n1,a.npy\n2,x/a.npy\n":    "a.npy",
		"subject,set\n1,train,3\n":              "wrong number of fields",
		"subject,file\n\"1,a.npy\n2,x/a.npy\n ": "quote",
	} {
		if _, err := parseSubjects("s.csv", text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.csv") {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/2.h5", "a/1.h5", "LICENSE.txt", ".hidden.h5", "a/readme.md"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(dir, "a/1.h5"), filepath.Join(dir, "b/2.h5")}
	if files, err := Files([]string{dir}, ""); err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v", files, err)
	}
	if files, err := Files([]string{dir}, "2.*"); err != nil || !slices.Equal(files, want[1:]) {
		t.Errorf("with a pattern: %v, %v", files, err)
	}
	if _, err := Files([]string{dir}, "*.nii"); err == nil || !strings.Contains(err.Error(), `"*.nii"`) {
		t.Errorf("a pattern that nothing matches: %v", err)
	}
	if _, err := Files([]string{dir}, "[a"); err == nil {
		t.Error("a damaged pattern is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "x.npy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Files([]string{dir}, ""); err == nil || !strings.Contains(err.Error(), "1 .npy, 2 .h5") {
		t.Errorf("two kinds: %v", err)
	}
	if _, err := Files([]string{t.TempDir()}, ""); err == nil || !strings.Contains(err.Error(), ".npy") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestSourceReadsModulesAndSubjects(t *testing.T) {
	table := write(t, "subjects.csv", "subject,set\n01,train\n02,test\n")
	d, err := Source{
		Data: []string{fixture("sub-01.ptseries.nii"), fixture("sub-02.ptseries.nii")}, Modules: fixture("networks.dlabel.nii"), Subjects: table,
	}.Read(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Test, []int{1}) || !slices.Equal(d.Modules.Labels, []int{0, 1, 0, 1, 0, 1}) || !slices.Equal(d.Modules.Modules, []string{"Visual", "Motor"}) {
		t.Errorf("test %v, modules %+v", d.Test, d.Modules)
	}
	if math.Abs(float64(d.X[0])+1.3) > 0.2 {
		t.Errorf("not z-scored: %v", d.X[0])
	}
	// Dense series take their parcels' labels from the vertices of the parcellation.
	d, err = Source{Data: []string{fixture("dense.dtseries.nii")}, Parcellation: fixture("parcels.dlabel.nii"), Modules: fixture("networks.dlabel.nii")}.Read(nil, false)
	if err != nil || !slices.Equal(d.Modules.Labels, []int{0, 1, 0, 1, 0, 1}) {
		t.Errorf("dense: %+v, %v", d, err)
	}
	// The number of labels tells the axes of an array without names.
	modules := write(t, "modules.txt", "1\n1\n2\n2\n3\n3\n")
	d, err = Source{Data: []string{fixture("fortran.npy")}, Modules: modules}.Read(nil, false)
	if err != nil || d.Tokens != 6 || !slices.Equal(d.Modules.Labels, []int{0, 0, 1, 1, 2, 2}) {
		t.Errorf("by the number of labels: %+v, %v", d, err)
	}
	if _, err := (Source{Data: []string{fixture("one.h5")}, Modules: fixture("networks.dlabel.nii"), Tokens: 6}).Read(nil, false); err == nil ||
		!strings.Contains(err.Error(), "labels vertices") {
		t.Errorf("labels of vertices for an array: %v", err)
	}
	if d, err := (Source{Data: []string{fixture("plain.csv")}, Names: fixture("names.txt")}).Read(nil, false); err != nil || !slices.Equal(d.Names, names) {
		t.Errorf("names: %v, %v", d, err)
	}
}
