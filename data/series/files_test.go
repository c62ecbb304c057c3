package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/cifti"
	"torchpe/data/array/npy"
	"torchpe/internal/expect"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/2.h5", "a/1.h5", "LICENSE.txt", ".hidden.h5", "a/readme.md",
		".ipynb_checkpoints/1-checkpoint.h5", "b/._2.h5"} {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		expect.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	want := []string{filepath.Join(dir, "a/1.h5"), filepath.Join(dir, "b/2.h5")}
	expect.Equal(t, "files", expect.Must(Files([]string{dir}, "")), want)
	expect.Equal(t, "with a pattern that hidden files match", expect.Must(Files([]string{dir}, "*.h5")), want)
	expect.Equal(t, "with a pattern", expect.Must(Files([]string{dir}, "2.*")), want[1:])
	expect.Error(t, expect.ErrorOf(Files([]string{dir}, "*.nii")), `"*.nii"`)
	expect.Refused(t, "a damaged pattern", expect.ErrorOf(Files([]string{dir}, "[a")))
	for _, path := range []string{filepath.Join(dir, "none"), "/dev/null"} {
		expect.Error(t, expect.ErrorOf(Files([]string{path}, "")), path)
	}
	// As where a folder is gone, or must not be read, by the time that its turn comes.
	expect.ErrorIs(t, expect.ErrorOf(inFolder(filepath.Join(dir, "none"), "", false)), fs.ErrNotExist)
	link := filepath.Join(t.TempDir(), "link")
	expect.NoError(t, os.Symlink(dir, link))
	want2 := []string{filepath.Join(link, "a/1.h5"), filepath.Join(link, "b/2.h5")}
	expect.Equal(t, "a link to a folder", expect.Must(Files([]string{link}, "")), want2)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "x.npy"), nil, 0o600))
	expect.Error(t, expect.ErrorOf(Files([]string{dir}, "")), "2 .h5, 1 .npy")
	// Results are no data, unless a pattern says so.
	results := t.TempDir()
	for _, name := range []string{"x.csv", "report/.made", "report/fig2.csv", "s/sweep.json", "s/models.csv"} {
		path := filepath.Join(results, name)
		expect.NoError(t,
			errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)))
	}
	expect.Equal(t, "beside results", expect.Must(Files([]string{results}, "")),
		[]string{filepath.Join(results, "x.csv")})
	expect.Equal(t, "results by a pattern", len(expect.Must(Files([]string{results}, "*.csv"))), 3)
	expect.Error(t, expect.ErrorOf(Files([]string{filepath.Join(results, "s")}, "")),
		"output of torchpe ("+filepath.Join(results, "s"))
	// Compressed CIFTI is found, and kept apart from what may be the same run uncompressed.
	packed := t.TempDir()
	for _, name := range []string{"x.ptseries.nii.gz", "notes.gz"} {
		expect.NoError(t, os.WriteFile(filepath.Join(packed, name), nil, 0o600))
	}
	expect.Equal(t, "compressed", expect.Must(Files([]string{packed}, "")),
		[]string{filepath.Join(packed, "x.ptseries.nii.gz")})
	expect.NoError(t, os.WriteFile(filepath.Join(packed, "x.ptseries.nii"), nil, 0o600))
	expect.Error(t, expect.ErrorOf(Files([]string{packed}, "")), "1 .nii, 1 .nii.gz")
	expect.Error(t, expect.ErrorOf(Files([]string{t.TempDir()}, "")), ".npy")
	// A table beside series of another kind is not taken for the data.
	beside := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "ages.csv"} {
		expect.NoError(t, os.WriteFile(filepath.Join(beside, name), nil, 0o600))
	}
	expect.Error(t, expect.ErrorOf(Files([]string{beside}, "")), "1 .csv, 2 .txt")
}

// A file that several paths lead to would count as several runs.
func TestNoFileTwice(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.npy"), filepath.Join(t.TempDir(), "b.npy")
	expect.NoError(t, os.WriteFile(file, nil, 0o600))
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for _, paths := range [][]string{{file, file}, {dir, dir + "/./a.npy"}, {file, link}} {
		expect.Error(t, expect.ErrorOf(Files(paths, "")), "given twice", paths[1])
	}
}

// A pipe is refused before anything waits for it, as is standard input that is one.
func TestFilesRefusesPipes(t *testing.T) {
	r, w, err := os.Pipe()
	expect.NoError(t, err)
	defer r.Close()
	defer w.Close()
	for path, want := range map[string]string{fmt.Sprintf("/dev/fd/%d", r.Fd()): "a pipe",
		"/dev/null": "a device"} {
		expect.Error(t, expect.ErrorOf(Files([]string{path}, "")), path+": "+want)
	}
}

// Each run of a set is a file with its own frames, which Load reads back.
func TestFolderOfRuns(t *testing.T) {
	set := &Set{Frames: 5, Tokens: 2, X: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Runs: []Run{
		{Subject: "a", First: 0, Frames: 2}, {Subject: "b", First: 2, Frames: 3}}}
	dir := filepath.Join(t.TempDir(), "new")
	expect.NoError(t, (Folder{Dir: dir, Set: set}).Write())
	files, err := Files([]string{dir}, "")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		a := expect.Must(npy.Read(file))
		r := set.Runs[i]
		for k, v := range a.Data {
			expect.Equal(t, fmt.Sprintf("%s: number %d", file, k), v, float64(r.First*2+k))
		}
		if !slices.Equal(a.Shape, []int{r.Frames, 2}) || !strings.Contains(file, "sub-"+r.Subject) {
			t.Errorf("%s: %v", file, a.Shape)
		}
	}
	expect.Refused(t, "existing files", (Folder{Dir: dir, Set: set}).Write())
	expect.NoError(t, (Folder{Dir: dir, Set: set, Force: true}).Write())
}

// Files keep the numbers of their runs: 10 comes before 2 in the order of names.
func TestNumbersOfRuns(t *testing.T) {
	for _, c := range [][2]string{
		{"s_run-1.csv s_run-10.csv s_run-2.csv", "sub-s_run-1.npy sub-s_run-10.npy sub-s_run-2.npy"},
		{"s_run01.csv s_run1.csv", "sub-s_run-1.npy sub-s_run-2.npy"},
		{"a.csv run2.csv", "sub-s_run-1.npy sub-s_run-2.npy"},
		{"trunk5.csv trunk7.csv", "sub-s_run-1.npy sub-s_run-2.npy"},
	} {
		set := &Set{}
		for _, file := range strings.Fields(c[0]) {
			set.Runs = append(set.Runs, Run{File: "/data/" + file, Subject: "s"})
		}
		expect.Equal(t, c[0], strings.Join(expect.Must(Folder{Set: set}.runNames()), " "), c[1])
	}
}

func TestLabelsAreDescribed(t *testing.T) {
	none, two := &cifti.Image{Kind: cifti.Dlabel}, &cifti.Image{Kind: cifti.Dlabel}
	two.Axes[0].Maps = []cifti.Map{{Name: "m", Labels: map[int]string{0: "", 7: ""}}}
	if a, b := describeCIFTI(none), describeCIFTI(two); !strings.Contains(a, "0 labels in the first") ||
		!strings.Contains(b, "(m; 2 labels in the first)") {
		t.Errorf("%s; %s", a, b)
	}
}

// The side of a label is that of its vertices in the first map; a label on both sides has none.
func TestSidesOfLabels(t *testing.T) {
	labels := &cifti.Image{}
	labels.Axes[0].Length, labels.Axes[0].Maps = 2, []cifti.Map{{Name: "a"}, {Name: "b"}}
	labels.Axes[1].Models = []cifti.Model{{Structure: "CIFTI_STRUCTURE_CORTEX_LEFT", Count: 2},
		{Structure: "CIFTI_STRUCTURE_CORTEX_RIGHT", Offset: 2, Count: 2},
		{Structure: "CIFTI_STRUCTURE_OTHER", Offset: 4, Count: 1}}
	labels.Data.Data = []float64{1, 1, 1, 2, 2, 1, 2, 2, 3, 3} // [vertices, maps]
	expect.Equal(t, "sides", strings.Join(sidesOf(labels, []int{1, 2, 3}), ","), "L,R,")
}
