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
)

// seriesFixture is a file that nibabel, h5py or numpy wrote: frame f of token p is 10 p + f + f f /
// 8.
func seriesFixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "data", "series", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDataInfo(t *testing.T) {
	out, errs, code := here(t, ".", "data", "info", "--json", "--tokens", "6",
		seriesFixture(t, "sub-01.ptseries.nii"), seriesFixture(t, "one.h5"))
	if code != 0 {
		t.Fatal(errs)
	}
	var infos []struct {
		File, Format, SHA256   string
		Subjects, Runs, Tokens int
		Frames                 int
		Names                  []string
		HemisphereOrder        string    `json:"hemisphere_order"`
		FirstRow               []float64 `json:"first_row"`
	}
	if err := json.Unmarshal([]byte(out), &infos); err != nil || len(infos) != 2 {
		t.Fatalf("%v: %s", err, out)
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
	out, _, code = here(t, ".", "data", "info", seriesFixture(t, "sub-01.ptseries.nii"))
	if code != 0 || !strings.Contains(out, "left-first") {
		t.Errorf("exit %d: %s", code, out)
	}
	// What fits no known number of tokens is described all the same; what the user says of it must
	// fit.
	out, _, code = here(t, ".", "data", "info", seriesFixture(t, "one.h5"))
	if code != 0 || !strings.Contains(out, "[6 7]") || !strings.Contains(out, "no axis of 360 or 718 tokens") {
		t.Errorf("exit %d: %s", code, out)
	}
	_, errs, code = here(t, ".", "data", "info", "--dataset", "zzz", seriesFixture(t, "frames.npy"))
	if code == 0 || !strings.Contains(errs, "leave --dataset out") {
		t.Errorf("exit %d: %s", code, errs)
	}
	out, _, code = here(t, ".", "data", "info", "--names",
		seriesFixture(t, "names.txt"), seriesFixture(t, "one.h5"))
	if code != 0 || !strings.Contains(out, "L_V1_ROI") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// In a narrow terminal the subject of a file stays, and what several files have is said once.
func TestDataInfoOfManyFiles(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	dir := t.TempDir()
	for i := range 3 {
		a := array.Array{Shape: []int{80, 20 + i/2}, Data: make([]float64, 80*(20+i/2))}
		var b bytes.Buffer
		if err := npy.Write(&b, a, npy.Float64); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprintf("sub-%d_task-rest_run-%d_bold_timeseries.npy", i, 1+i/2))
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, _ := here(t, dir, "data", "info", ".")
	head, rest, _ := strings.Cut(out, "\n├")
	said := strings.Join(strings.Fields(rest), " ")
	if !strings.Contains(head, "subject") || strings.Count(said, "80 20], with no axis of 360 or 718 tokens") != 1 ||
		!strings.Contains(said, "(the same 1 time more)") {
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
	dir := t.TempDir()
	for name, text := range map[string]string{"nan.csv": "a,b\nnan,1\n2,3\n", "flat.csv": "a,b\n" +
		strings.Repeat("0.1,5\n", 60), "modules.csv": "a,1\nb,2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, code := here(t, dir, "data", "info", "--json", "nan.csv")
	var infos []struct {
		FirstRow  []*float64 `json:"first_row"`
		NotFinite int        `json:"not_finite"`
	}
	if err := json.Unmarshal([]byte(out), &infos); code != 0 || err != nil || len(infos) != 1 ||
		infos[0].NotFinite != 1 || len(infos[0].FirstRow) != 2 || infos[0].FirstRow[0] != nil ||
		*infos[0].FirstRow[1] != 1 {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
	out, errs, code = here(t, dir, "data", "hcp", "check", "--json", "flat.csv", "--modules", "modules.csv")
	var c hcp.Report
	if err := json.Unmarshal([]byte(out), &c); code != 0 || err != nil || c.Modularity != nil ||
		c.Constant != 2 || c.SD != [2]float64{} ||
		!strings.Contains(strings.Join(c.Notes, " "), "token 0 (a) of flat.csv, which is 0.1 throughout") {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
	if out, errs, code = here(t, dir, "data", "hcp", "check", "flat.csv", "--modules",
		"modules.csv"); code != 0 || !strings.Contains(out, "no two tokens correlate") ||
		!strings.Contains(out, "--zscore=false") {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
}

// What convert writes, check and training read: the same numbers, names, networks and subjects.
func TestHCPConvert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "npy")
	modules := seriesFixture(t, "networks.dlabel.nii")
	out, errs, code := here(t, ".", "data", "hcp", "convert",
		seriesFixture(t, "sub-01.ptseries.nii"), seriesFixture(t,
			"sub-02.ptseries.nii"), "--modules", modules, "--out", dir)
	if code != 0 {
		t.Fatal(errs)
	}
	if !strings.Contains(out, "2 runs, 14 frames of 6 tokens") {
		t.Errorf("%s", out)
	}
	// the second has its right hemisphere first
	for _, name := range []string{"sub-01_run-1.npy", "sub-02_run-1.npy"} {
		a, err := npy.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range a.Data {
			f, p := float64(i/6), float64(i%6)
			if v != 10*p+f+f*f/8 {
				t.Fatalf("%s[%d] = %v", name, i, v)
			}
		}
	}
	table := filepath.Join(t.TempDir(), "subjects.csv")
	if err := os.WriteFile(table, []byte("subject,set\n01,train\n02,test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"data", "hcp", "check", "--json", "--subjects", table, dir}
	out, errs, code = here(t, ".", args...)
	if code != 0 {
		t.Fatal(errs)
	}
	var c hcp.Report
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	// All tokens are the same curve but for their mean: every correlation is 1, and labels that
	// alternate have Q = 2 (6/30 - 1/4) over three tokens each.
	if c.Subjects != 2 || c.Runs != 2 || c.Tokens != 6 || c.HemisphereOrder != "left-first" ||
		c.Networks["Visual"] != 3 || c.Networks["Motor"] != 3 ||
		c.Modularity == nil || math.Abs(*c.Modularity+0.1) > 1e-6 {
		t.Errorf("%s", out)
	}
	if out, _, _ = here(t, ".", "data", "hcp", "check", dir); !strings.Contains(out,
		"2: Visual (3 tokens), Motor (3 tokens)\n") {
		t.Error(out)
	}
	// It overwrites nothing unasked.
	_, errs, code = here(t, ".", "data", "hcp", "convert", seriesFixture(t, "sub-01.ptseries.nii"), "--out", dir)
	if code == 0 || !strings.Contains(errs, "--force") {
		t.Errorf("exit %d: %s", code, errs)
	}
	// Even if asked it leaves no runs of another conversion beside its names.
	_, errs, code = here(t, ".", "data", "hcp", "convert",
		seriesFixture(t, "sub-01.ptseries.nii"), "--out", dir, "--force")
	if code == 0 || !strings.Contains(errs, "sub-02_run-1.npy exists and is no run of this data") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if err := os.Remove(filepath.Join(dir, "sub-02_run-1.npy")); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "sub-01.npy")
	copyFile(t, seriesFixture(t, "frames.npy"), plain)
	if _, errs, code = here(t, ".", "data", "hcp", "convert", plain, "--tokens", "6", "--out",
		dir, "--force"); code != 0 {
		t.Fatal(errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("names and modules of the conversion before are left: %v, %v", left, err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Subjects whose files would have one name are refused before anything is written.
func TestHCPConvertKeepsSubjectsApart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"p_01.npy", "p01.npy"} {
		copyFile(t, seriesFixture(t, "frames.npy"), filepath.Join(dir, name))
	}
	convert := []string{"data", "hcp", "convert", "p_01.npy", "p01.npy", "--tokens", "6", "--out", "out", "--force"}
	_, errs, code := here(t, dir, convert...)
	if _, err := os.Stat(filepath.Join(dir, "out")); code == 0 ||
		!strings.Contains(errs, `"p_01" and "p01"`) || !os.IsNotExist(err) {
		t.Errorf("exit %d, %v: %s", code, err, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.csv"),
		[]byte("subject,file\na,p_01.npy\nb,p01.npy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code = here(t, dir, append(convert, "--subjects", "s.csv")...); code != 0 {
		t.Error(errs)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "out", "sub-[ab]_run-1.npy")); len(found) != 2 {
		t.Errorf("%v", found)
	}
}

// What generate writes is read with its networks.
func TestHCPGenerateIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	if _, errs, code := here(t, ".", "data", "hcp", "generate", "--out", dir, "--surrogate",
		"subjects=2,frames=5"); code != 0 {
		t.Fatal(errs)
	}
	out, errs, code := here(t, ".", "data", "hcp", "check", "--json", dir)
	var c hcp.Report
	if err := json.Unmarshal([]byte(out), &c); code != 0 || err != nil || c.Subjects != 2 ||
		c.Networks["Default"] != 77 || c.HemisphereOrder != "left-first" ||
		!strings.Contains(c.NetworksFrom, "by name") {
		t.Errorf("exit %d: %s %s", code, out, errs)
	}
}

func TestHCPCheckNamesBothFiles(t *testing.T) {
	modules := filepath.Join(t.TempDir(), "modules.csv")
	if err := os.WriteFile(modules,
		[]byte("name,module\nL_V1,1\nL_MST,1\nL_V6,1\nR_V1,2\nR_MST,2\nR_V7,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := here(t, ".", "data", "hcp", "check",
		seriesFixture(t, "sub-01.ptseries.nii"), "--modules", modules)
	if code == 0 || !strings.Contains(errs, "sub-01.ptseries.nii") ||
		!strings.Contains(errs, modules) || !strings.Contains(errs, "R_V6_ROI") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The command gives numpy's residuals, from text files and from the HDF5 layout of the published
// pipeline.
func TestHCPClean(t *testing.T) {
	fixture, err := filepath.Abs("../../data/hcp/testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Parcels, Frames                int
		Series, Motion, WM, Ventricles []float64
		Residuals                      map[string][]float64
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	series := write("series.csv", f.Series, f.Frames, ",")
	args := []string{"data", "hcp", "clean", "--data", series, "--axes", "tokens,frames",
		"--motion", write("motion.txt", f.Motion, 12, "  "),
		"--wm", write("wm.txt", f.WM, 5, " "), "--ventricles", write("csf.1D", f.Ventricles, 5, " "), "--out"}
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
	out, errs, code := here(t, dir, append(args, "clean.npy")...)
	if code != 0 {
		t.Fatal(errs)
	}
	if !strings.Contains(out, "105 frames of 3 parcels; 64 signals, rank 65") {
		t.Errorf("%s", out)
	}
	a, err := npy.Read(filepath.Join(dir, "clean.npy"))
	if err != nil {
		t.Fatal(err)
	}
	same(a.Data)
	if _, errs, code = here(t, dir, append(args, "clean.csv")...); code != 0 {
		t.Fatal(errs)
	}
	table, err := text.Read(filepath.Join(dir, "clean.csv"), text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(table.Data)
	// One file may stand for two signals.
	both := append(slices.Clone(args), "both.npy")
	both[slices.Index(both, "--ventricles")+1] = both[slices.Index(both, "--wm")+1]
	if _, errs, code = here(t, dir, both...); code != 0 {
		t.Error(errs)
	}
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
		if _, errs, code = here(t, dir, "data", "hcp", "clean", "--data", series, "--axes",
			"tokens,frames", "--nuisance", "nuisance.h5", "--run", "rfMRI_REST1_RL", "--out",
			"again.npy"); code != 0 {
			t.Fatal(errs)
		}
		if a, err = npy.Read(filepath.Join(dir, "again.npy")); err != nil {
			t.Fatal(err)
		}
		same(a.Data)
	}
}
