package series

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Names of files come first: the identity of old runs rests on them.
func TestSubjectInPath(t *testing.T) {
	const hcp = "MNINonLinear/Results/rfMRI_REST1_LR/rfMRI_REST1_LR_Atlas_MSMAll.dtseries.nii"
	for file, want := range map[string]string{
		"/data/HCP_example_restrun1_subj100206_data.h5":            "100206",
		"sub-NDAR01_task-rest_stat-mean_timeseries.tsv":            "NDAR01",
		"100307.ptseries.nii":                                      "100307",
		"rfMRI_REST1_LR_100307_Atlas.nii":                          "100307",
		"/data/prices.csv":                                         "prices",
		"run20240131.csv":                                          "run20240131",
		"/200000/sub-02/func/sub-02_ses-1_run-1_bold.ptseries.nii": "02",
		"2014_100307_1.npy":                                        "100307",
		"/hcp/100307/" + hcp:                                       "100307",
		"/200000/sub-02/ses-1/func/bold.npy":                       "02",
		"/data/sub-project1_old/prices.csv":                        "prices",
		"/sub-01/100307_rest.npy":                                  "100307",
		"/1003070/100307_V1/rest.npy":                              "rest",
		"/scratch/123456/prices.csv":                               "prices", // the number of a job
		"/240131/100307/T1w/fsaverage/thickness.npy":               "100307",
		"/scratch/100307/jobs/MNINonLinear/rest.npy":               "rest",
		"/100307/unprocessed/3T/123456/rest.npy":                   "100307",
	} {
		expect.Equal(t, fmt.Sprintf("%s is of subject", file), inPath(file).subject, want)
	}
}

func TestSubjectsApart(t *testing.T) {
	table := func(text string) *subjects {
		return expect.Must(readSubjects(expect.File(t, "s.csv", text)))
	}
	pattern := regexp.MustCompile("rest/([^/]+)/")
	for _, c := range []struct {
		f     subjectFinder
		files string
		want  string // subjects, or an error
	}{
		{subjectFinder{}, "/rest/a/r.npy /rest/b/r.npy", "would be one subject, \"r\""},
		{subjectFinder{}, "/rest/a/r.LR.npy /rest/b/r.RL.npy", "--subject-pattern"},
		{subjectFinder{}, "/rest/r.LR.npy /rest/r.RL.npy", "/rest/r.LR.npy and /rest/r.RL.npy: do these belong"},
		{subjectFinder{}, "/rest/p1_rest1.npy /rest/p1_rest2.npy", "p1_rest2.npy: do these belong"},
		{subjectFinder{}, "/p1/run1.npy /p1/run2.npy", "/p1/run2.npy: do these belong"},
		{subjectFinder{}, "/p1/ses-1.csv /p1/ses-2.csv", "--subject-pattern '/([^/]+)/[^/]*$'"},
		{subjectFinder{}, "/rest/study.p01.csv /rest/study.p02.csv", "study.p01 study.p02"},
		{subjectFinder{}, "/rest/p1.5.csv /rest/p1.6.ptseries.nii", "p1.5 p1.6"},
		{subjectFinder{}, "/rest/LR/100307.npy /rest/RL/100307.npy", "100307 100307"},
		{subjectFinder{}, "/240131/100307.npy /240201/100307.npy", "100307 100307"},
		{subjectFinder{}, "/sub-01/r.npy /sub-02/r.npy", "01 02"},
		{subjectFinder{}, "/sub-01/ses-1/r.npy /sub-01/ses-2/r.npy", "01 01"},
		{subjectFinder{}, "/sub-01/r_240131.npy /sub-02/r_240131.npy", `"240131"`},
		{subjectFinder{}, "/jobs/123456/a.npy /jobs/123456/b.npy", "a b"},
		{subjectFinder{}, "/100307/r.npy /100408/r.npy", "--subject-pattern"},
		{subjectFinder{}, "/s1_run-01.npy /s2_run-01.npy /s1_run-02.npy",
			"/s1_run-01.npy and /s1_run-02.npy: do these belong"},
		{subjectFinder{}, "/s1_ses1.LR.npy /s1_ses1.RL.npy /s2_ses1.npy", "s1_ses1.RL.npy: do these belong"},
		{subjectFinder{pattern: regexp.MustCompile(`/([^/]+?)[-_.](?:run|ses|session|scan)`)},
			"/s1_run-01.npy /s2_run-01.npy /s1_run-02.npy", "s1 s2 s1"},
		{subjectFinder{table: table("subject,set\ns1_run1,train\ns1_run2,test\n")}, "/s1_run1.npy /s1_run2.npy",
			"s1_run1 s1_run2"},
		{subjectFinder{pattern: regexp.MustCompile(`/([^/.]+)[^/]*$`)}, "/s1_run1.npy /s1_run2.npy", "s1_run1 s1_run2"},
		{subjectFinder{pattern: pattern}, "/rest/a/r.npy /rest/b/r.npy", "a b"},
		{subjectFinder{pattern: pattern}, "/rest/a/sub-01.npy /rest/b/sub-01.npy", "a b"},
		{subjectFinder{pattern: pattern}, "/rest/a/r.npy /b/r.npy", "finds no subject in /b/r.npy"},
		{subjectFinder{table: table("subject,file\nx,a/r.npy\ny,b/r.npy\n")},
			"/rest/a/r.npy /rest/b/r.npy", "x y"},
		{subjectFinder{table: table("subject,file\nx,a/r.npy\ny,r.npy\n")},
			"/rest/a/r.npy /rest/b/r.npy", "x y"},
		{subjectFinder{table: table("subject,file\nx,r.npy\n")}, "/rest/a/r.npy /rest/b/r.npy",
			"would be one subject"},
		{subjectFinder{table: table("subject,file\nx,r.npy\nx,q.npy\n")}, "/a/r.npy /b/q.npy", "x x"},
		{subjectFinder{table: table("subject,file\nx,100307.npy\n")}, "/a/100307.npy /b/100307.npy", "x x"},
		// Rows with paths of another place have always been taken by their file's name.
		{subjectFinder{table: table("subject,file\nx,/old/r.npy\ny,/old/q.npy\n")}, "/new/r.npy /new/q.npy", "x y"},
		{subjectFinder{table: table("subject,set\n1,train\n02,test\n")}, "/sub-01_a.npy /sub-2.npy /sub-01_b.npy",
			"1 02 1"},
		{subjectFinder{table: table("subject,set\n1,train\n01,test\n")}, "/sub-01.npy /sub-1.npy", "01 1"},
		{subjectFinder{table: table("subject,set\n1,train\n02,test\n")}, "/sub-01.npy /sub-1.npy /sub-02.npy",
			`"01", of whom there is /sub-01.npy, and "1", of /sub-1.npy, would both be its subject "1"`},
		{subjectFinder{table: table("subject,file\n\u00e9,a/o\u0308.npy\nb,b/\u00f6.npy\n")},
			"/a/o\u0308.npy /b/o\u0308.npy", "\u00e9 b"},
		{subjectFinder{table: table("subject,file\nx,/old/\u00f6.npy\n")}, "/a/o\u0308.npy /b/o\u0308.npy",
			"would be one subject"},
		{subjectFinder{table: table("subject,set\n\u00e9,train\n")}, "/e\u0301.npy", "\u00e9"},
		{subjectFinder{table: table("subject,set\n\u00e9,train\n"), pattern: pattern}, "/rest/e\u0301/r.npy",
			"\u00e9"},
		{subjectFinder{table: table("subject,set\nsub-a,train\nsub-b,test\n"), pattern: pattern},
			"/rest/a/r.npy /rest/b/r.npy", "sub-a sub-b"},
	} {
		files := strings.Fields(c.files)
		of, _, err := c.f.of(files)
		var got []string
		for _, file := range files {
			got = append(got, of[file])
		}
		if strings.Join(got, " ") != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v; want %s", c.files, got, err, c.want)
		}
	}
	for _, bad := range []string{"(", "rest/[0-9]+", "(a)/(b)"} {
		expect.Refused(t, bad, expect.ErrorOf(ParseSubjectPattern(bad)))
	}
}

// Files that share six digits, but not other numbers, are named.
func TestNoteOnSixDigits(t *testing.T) {
	for files, want := range map[string]int{
		"/ds000030_10159_rest.tsv /ds000030_10171_rest.tsv":               1,
		"/230115_S00.csv /230115_S01.csv /230116_S02.csv /230116_S03.csv": 2,
		"/HCP_restrun1_subj100206.h5 /HCP_restrun2_subj100206.h5":         0,
		"/100307_MOTOR_LR.nii /100307_WM_RL.nii":                          0,
		"/240101_anna.csv /240101_ben.csv /240102_cara.csv":               1,
	} {
		_, notes, err := subjectFinder{}.of(strings.Fields(files))
		expect.NoError(t, err)
		expect.Equal(t, files, len(notes), want)
	}
}

// Files that begin alike may be of one subject.
func TestNoteOnStems(t *testing.T) {
	for files, want := range map[string]string{
		"/sub01_rest.csv /sub01_task.csv /sub02_rest.csv": "sub01_rest and sub01_task are two",
		"/anna_pre.csv /anna_post.csv /ben_pre.csv":       "anna_pre and anna_post are two",
		"/ctrl_01.csv /ctrl_02.csv /pat_01.csv":           "",
		"/s1-rest.csv /s1-task.csv /s2.csv /s3.a.csv":     "s1-rest and s1-task are two",
		"/S001R01.csv /S001R02.csv /S002R01.csv":          "S001R01 and S001R02 are two",
		"/anna.csv /ben.csv":                              "",
		"/eeg/A1B1.csv /eeg/A1B2.csv /eeg/A2B1.csv":       "--subject-pattern '/([A-Za-z]+[0-9]+)[^/]*$'",
		"/day_one.csv /day_two.csv":                       "",
	} {
		_, notes, err := subjectFinder{}.of(strings.Fields(files))
		expect.NoError(t, err)
		if text := strings.Join(notes, "\n"); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: %q", files, notes)
		}
	}
}

// Folders with numbers that may be subjects or dates are named; that of one job is not.
func TestNoteOnNumberedFolders(t *testing.T) {
	for files, want := range map[string]int{"/100307/a.npy /100408/b.npy": 1, "/123456/a.npy /123456/b.npy": 0,
		"/100307/MNINonLinear/a.npy /100408/MNINonLinear/b.npy": 0} {
		_, notes, err := subjectFinder{}.of(strings.Fields(files))
		count := 0
		for _, n := range notes {
			if strings.Contains(n, "such as 100307 and 100408 do not count as subjects") {
				count++
			}
		}
		expect.Equal(t, files, err, nil)
		expect.Equal(t, fmt.Sprintf("%s: of %q", files, notes), count, want)
	}
}

// Two subjects in HCP's own layout, two runs each: whole subjects can be held out.
func TestSubjectsOfHCPLayout(t *testing.T) {
	dir := t.TempDir()
	for _, subject := range []string{"100307", "100408"} {
		for _, run := range []string{"rfMRI_REST1_LR", "rfMRI_REST1_RL"} {
			folder := filepath.Join(dir, subject, "MNINonLinear", "Results", run)
			expect.NoError(t, os.MkdirAll(folder, 0o777))
			expect.NoError(t,
				os.WriteFile(filepath.Join(folder, run+"_Atlas.csv"), []byte("a,b\n1,2\n3,5\n"), 0o666))
		}
	}
	d := expect.Must(Source{Data: []string{dir}}.Read(nil, true))
	expect.Equal(t, "subjects", fmt.Sprintf("%q %v", d.Subjects, d.OfFrame),
		`["100307" "100408"] [0 0 0 0 1 1 1 1]`)
	expect.Contains(t, strings.Join(d.Notes, "\n"), "2 subjects of 4 files are named by folders")
	if !slices.ContainsFunc(d.Notes, func(n string) bool {
		return strings.Contains(n, "100408") && strings.Contains(n, "holds the same numbers as") &&
			strings.Contains(n, "100307")
	}) {
		t.Errorf("no note of copies: %q", d.Notes)
	}
	table := expect.File(t, "subjects.csv", "subject,set,file\na,train,100307/MNINonLinear/Results/"+
		"rfMRI_REST1_LR/rfMRI_REST1_LR_Atlas.csv\n100408,test,\n100307,train,\n")
	s := Source{Data: []string{dir}, Subjects: table, SubjectPattern: `/(\d{6})/MNI`}
	d = expect.Must(s.Read(nil, true))
	expect.Equal(t, "subjects", d.Subjects, []string{"a", "100307", "100408"})
	set, err := Load([]string{d.Runs[0].File, d.Runs[2].File},
		Options{})
	if err != nil || set.Runs[0].Subject != "100307" || set.Runs[1].Subject != "100408" {
		t.Errorf("%+v, %v", set, err)
	}
}

// Parts of the names of subjects.
func TestPiecesOfNames(t *testing.T) {
	for subject, want := range map[string]string{"sub-01": "01", "A b_c/9z": "Abc9z", "é{@[`^": "unnamed",
		"":       "unnamed",
		"aAzZ09": "aAzZ09"} {
		expect.Equal(t, subject, fileWord(subject), want)
	}
	for _, c := range []struct {
		file, want string
		hcp        bool
	}{
		{"/data/sub-7/ses/a.npy", "7", false}, {"/100307/MNINonLinear/a.npy", "100307", true},
		{"/100307/MNINonLinear/a.npy", "", false}, {"/100307/sub-7/a.npy", "7", true}, {"/100307/a.npy", "", true},
	} {
		expect.Equal(t, fmt.Sprintf("%s, HCP %v", c.file, c.hcp), folderOf(c.file, c.hcp), c.want)
	}
	// MATLAB counts cells down the columns: cell (1, 2, 3) of a 1 x 2 x 3 array is its sixth.
	for _, c := range []struct {
		shape, index []int
		want         int
	}{{[]int{1, 3}, []int{1, 2}, 2}, {[]int{1, 2, 3}, []int{1, 2, 3}, 6}, {[]int{4, 1}, []int{3, 1}, 3}} {
		m := matrix{}
		m.cell.Of, m.cell.Shape, m.cell.Index = "x", c.shape, c.index
		expect.Equal(t, fmt.Sprintf("cell %v of %v: subject", c.index, c.shape), m.cellSubject(), c.want)
	}
	if (&content{}).isOneCellArray() || (matrix{}).cellSubject() != 0 {
		t.Error("no matrices are a cell array")
	}
}
