package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/data/hcp"
	"torchpe/internal/expect"
)

// seriesFixture is a file that nibabel, h5py or numpy wrote: frame f of token p is 10 p + f + f f /
// 8.
func seriesFixture(t *testing.T, name string) string {
	t.Helper()
	return expect.Must(filepath.Abs(filepath.Join("..", "..", "data", "series", "testdata", name)))
}

func TestDataInfo(t *testing.T) {
	var infos []struct {
		File, Format, SHA256   string
		Subjects, Runs, Tokens int
		Frames                 int
		Names                  []string
		HemisphereOrder        string    `json:"hemisphere_order"`
		FirstRow               []float64 `json:"first_row"`
	}
	parcels, one := seriesFixture(t, "sub-01.ptseries.nii"), seriesFixture(t, "one.h5")
	if saysJSON(t, ".", "data info --tokens 6 "+parcels+" "+one, &infos); len(infos) != 2 {
		t.Fatalf("%+v", infos)
	}
	p, h := infos[0], infos[1]
	if p.Format != "cifti-ptseries" || p.Tokens != 6 || p.Frames != 7 ||
		p.HemisphereOrder != "left-first" || p.Names[3] != "R_V1_ROI" ||
		!slices.Equal(p.FirstRow, []float64{0, 10, 20, 30, 40}) || p.Subjects != 1 || p.Runs != 1 {
		t.Errorf("%+v", p)
	}
	if h.Format != "hdf5" || h.HemisphereOrder != "unknown" || h.Names == nil ||
		!slices.Equal(h.FirstRow, []float64{0, 1.125, 2.5, 4.125, 6}) {
		t.Errorf("%+v", h)
	}
	sum, err := exec.Command("sha256sum", h.File).Output()
	if err == nil && !strings.HasPrefix(string(sum), h.SHA256) {
		t.Errorf("SHA-256 %s, sha256sum says %s", h.SHA256, sum)
	}
	says(t, ".", "data info "+parcels, 0, "left-first")
	// What fits no known number of tokens is described all the same; what the user says of it must
	// fit.
	says(t, ".", "data info "+one, 0, "[6 7]: choose the axis of the tokens")
	says(t, ".", "data info --dataset zzz "+seriesFixture(t, "frames.npy"), exitFailed, "omit --dataset")
	says(t, ".", "data info --names "+seriesFixture(t, "names.txt")+" "+one, 0, "L_V1_ROI")
}

// In a narrow terminal the subject of a file stays, and what several files have is said once.
func TestDataInfoOfManyFiles(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	dir := t.TempDir()
	for i := range 3 {
		a := array.Array{Shape: []int{80, 20 + i/2}, Data: make([]float64, 80*(20+i/2))}
		var b bytes.Buffer
		expect.NoError(t, npy.Write(&b, a, npy.Float64))
		name := filepath.Join(dir, fmt.Sprintf("sub-%d_task-rest_run-%d_bold_timeseries.npy", i, 1+i/2))
		expect.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	}
	out, errs, _ := here(t, dir, "data", "info", ".")
	head, rest, _ := strings.Cut(out, "\n├")
	said := strings.Join(strings.Fields(rest), " ")
	if !strings.Contains(head, "subject") || strings.Count(said, "80 20]: choose the axis of") != 1 ||
		!strings.Contains(said, "(1 more like this)") {
		t.Errorf("%s%s", out, errs)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line); n > 41 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("a line of %d: %s", n, line)
		}
	}
}

// NaN has no JSON: info counts them, and check has no modularity where no two tokens correlate.
func TestHCPWithoutNumbers(t *testing.T) {
	dir := put(t, map[string]string{"nan.csv": "a,b\nnan,1\n2,3\n", "modules.csv": "a,1\nb,2\nc,2\n",
		"flat.csv": "a,b,c\n" + strings.Repeat("0.1,5,7\n", 60)})
	var infos []struct {
		FirstRow  []*float64 `json:"first_row"`
		NotFinite int        `json:"not_finite"`
	}
	saysJSON(t, dir, "data info nan.csv", &infos)
	if len(infos) != 1 || infos[0].NotFinite != 1 || len(infos[0].FirstRow) != 2 || infos[0].FirstRow[0] != nil ||
		*infos[0].FirstRow[1] != 1 {
		t.Errorf("%+v", infos)
	}
	const check = "data hcp check flat.csv --modules modules.csv"
	var c hcp.Report
	saysJSON(t, dir, check, &c)
	if c.Modularity != nil || c.Constant != 3 || c.SD != [2]float64{} ||
		!strings.Contains(strings.Join(c.Notes, " "), "token 0 (a) of flat.csv, which is 0.1 throughout") {
		t.Errorf("%+v", c)
	}
	says(t, dir, check, 0, "no two tokens correlate", "--zscore=false")
}

// What convert writes, check and training read: the same numbers, names, networks and subjects.
func TestHCPConvert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "npy")
	one, two := seriesFixture(t, "sub-01.ptseries.nii"), seriesFixture(t, "sub-02.ptseries.nii")
	convert := "data hcp convert --out " + dir + " "
	says(t, ".", convert+one+" "+two+" --modules "+seriesFixture(t, "networks.dlabel.nii"), 0,
		"2 runs, 14 frames of 6 tokens")
	// the second has its right hemisphere first
	for _, name := range []string{"sub-01_run-1.npy", "sub-02_run-1.npy"} {
		a := expect.Must(npy.Read(filepath.Join(dir, name)))
		for i, v := range a.Data {
			f, p := float64(i/6), float64(i%6)
			if v != 10*p+f+f*f/8 {
				t.Fatalf("%s[%d] = %v", name, i, v)
			}
		}
	}
	table := filepath.Join(put(t, map[string]string{"s.csv": "subject,set\n01,train\n02,test\n"}), "s.csv")
	var c hcp.Report
	saysJSON(t, ".", "data hcp check --subjects "+table+" "+dir, &c)
	// All tokens are the same curve but for their mean: every correlation is 1, and labels that
	// alternate have Q = 2 (6/30 - 1/4) over three tokens each.
	if c.Subjects != 2 || c.Runs != 2 || c.Tokens != 6 || c.HemisphereOrder != "left-first" ||
		c.Networks["Visual"] != 3 || c.Networks["Motor"] != 3 ||
		c.Modularity == nil || math.Abs(*c.Modularity+0.1) > 1e-6 {
		t.Errorf("%+v", c)
	}
	says(t, ".", "data hcp check "+dir, 0, "2: Visual (3 tokens), Motor (3 tokens)\n")
	// It overwrites nothing unasked, and even if asked leaves no runs of another conversion beside its names.
	says(t, ".", convert+one, exitUsage, "--force")
	says(t, ".", convert+one+" --force", exitFailed, "sub-02_run-1.npy exists and is not a run of this data")
	expect.NoError(t, os.Remove(filepath.Join(dir, "sub-02_run-1.npy")))
	plain := filepath.Join(t.TempDir(), "sub-01.npy")
	copyFile(t, seriesFixture(t, "frames.npy"), plain)
	says(t, ".", convert+plain+" --tokens 6 --force", 0)
	left := expect.Must(os.ReadDir(dir))
	expect.Equal(t, fmt.Sprint("names and modules of the conversion before are left: ", left), len(left), 1)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	expect.NoError(t, os.WriteFile(to, []byte(readText(t, from)), 0o600))
}

// Subjects whose files would have one name are refused before anything is written.
func TestHCPConvertKeepsSubjectsApart(t *testing.T) {
	dir := put(t, map[string]string{"s.csv": "subject,file\na,p_01.npy\nb,p01.npy\n"})
	for _, name := range []string{"p_01.npy", "p01.npy"} {
		copyFile(t, seriesFixture(t, "frames.npy"), filepath.Join(dir, name))
	}
	const convert = "data hcp convert p_01.npy p01.npy --tokens 6 --out out --force"
	says(t, dir, convert, exitFailed, `"p_01" and "p01"`)
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "out"))), os.ErrNotExist)
	says(t, dir, convert+" --subjects s.csv", 0)
	found, _ := filepath.Glob(filepath.Join(dir, "out", "sub-[ab]_run-1.npy"))
	expect.Equal(t, fmt.Sprint(found), len(found), 2)
}

// What generate writes is read with its networks.
func TestHCPGenerateIsRead(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "data hcp generate --out made --surrogate subjects=2,frames=5", 0)
	var c hcp.Report
	saysJSON(t, dir, "data hcp check made", &c)
	if c.Subjects != 2 || c.Networks["Default"] != 77 || c.HemisphereOrder != "left-first" ||
		!strings.Contains(c.NetworksFrom, "by name") {
		t.Errorf("%+v", c)
	}
}

func TestHCPCheckNamesBothFiles(t *testing.T) {
	dir := put(t, map[string]string{"modules.csv": "name,module\nL_V1,1\nL_MST,1\nL_V6,1\nR_V1,2\nR_MST,2\nR_V7,2\n"})
	says(t, dir, "data hcp check --modules modules.csv "+seriesFixture(t, "sub-01.ptseries.nii"), exitFailed,
		"sub-01.ptseries.nii", "modules.csv", "R_V6_ROI")
}

// The command gives numpy's residuals, from text files and from the HDF5 layout of the published
// pipeline.
func TestHCPClean(t *testing.T) {
	fixture := expect.Must(filepath.Abs("../../data/hcp/testdata/runs.json"))
	var f struct {
		Parcels, Frames                int
		Series, Motion, WM, Ventricles []float64
		Residuals                      map[string][]float64
	}
	expect.NoError(t, json.Unmarshal([]byte(readText(t, fixture)), &f))
	dir := t.TempDir()
	write := func(name string, data []float64, columns int, separator string) string {
		var b strings.Builder
		for i, v := range data {
			end := separator
			if i%columns == columns-1 {
				end = "\n"
			}
			fmt.Fprintf(&b, "%v%s", v, end)
		}
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
		return path
	}
	series := write("series.csv", f.Series, f.Frames, ",")
	line := "data hcp clean --data " + series + " --axes tokens,frames --wm " + write("wm.txt", f.WM, 5, " ") +
		" --motion " + write("motion.txt", f.Motion, 12, "  ") + " --ventricles "
	ventricles := write("csf.1D", f.Ventricles, 5, " ")
	same := func(got []float64) {
		t.Helper()
		want := f.Residuals["published"]
		if want == nil {
			t.Fatalf("the fixture has %d cases, none published", len(f.Residuals))
		}
		frames := f.Frames - 5
		if len(got) != len(want) {
			t.Fatalf("%d numbers, want %d", len(got), len(want))
		}
		for i, v := range got { // frames x parcels against parcels x frames
			if w := want[i%f.Parcels*frames+i/f.Parcels]; math.Abs(v-w) > 1e-6*(1+math.Abs(w)) {
				t.Fatalf("number %d is %v, numpy has %v", i, v, w)
			}
		}
	}
	says(t, dir, line+ventricles+" --out clean.npy", 0, "105 frames of 3 parcels; 64 signals, rank 65")
	a := expect.Must(npy.Read(filepath.Join(dir, "clean.npy")))
	same(a.Data)
	says(t, dir, line+ventricles+" --out clean.csv", 0)
	table := expect.Must(text.Read(filepath.Join(dir, "clean.csv"), text.Options{}))
	same(table.Data)
	// One file may stand for two signals.
	says(t, dir, line+filepath.Join(dir, "wm.txt")+" --out both.npy", 0)
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import h5py").Run() == nil {
		script := `
import h5py, json, numpy as np, sys
f = json.load(open(sys.argv[1]))
T = f["frames"]
motion, wm, csf = [np.array(f[k]).reshape(T, -1) for k in ("motion", "wm", "ventricles")]
back = lambda x: np.diff(x, axis=0, prepend=x[:1])
with h5py.File("nuisance.h5", "w") as h:
    g = h.create_group("rfMRI_REST1_RL")
    g["motionParams"], g["motionParams_deriv"] = motion[:, :6], motion[:, 6:]
    g["aCompCor_WM"], g["aCompCor_ventricles"] = wm + 0j, csf + 0j
    g["aCompCor_WM_deriv"], g["aCompCor_ventricles_deriv"] = back(wm), back(csf)
`
		cmd := exec.Command(python, "-c", script, fixture)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		says(t, dir, "data hcp clean --axes tokens,frames --nuisance nuisance.h5 --run rfMRI_REST1_RL "+
			"--out again.npy --data "+series, 0)
		a = expect.Must(npy.Read(filepath.Join(dir, "again.npy")))
		same(a.Data)
	}
}
