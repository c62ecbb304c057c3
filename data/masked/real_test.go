package masked

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"torchpe/internal/expect"
)

// restRuns returns the resting-state runs beside the module, or skips the test.
func restRuns(t *testing.T) []string {
	t.Helper()
	files := expect.Must(filepath.Glob("../../../shared/fmri/hcp_rest/*.h5"))
	if len(files) < 12 {
		t.Skipf("%d resting-state runs in ../shared/fmri/hcp_rest, want 12", len(files))
	}
	return files[:12]
}

// python returns a Python that has numpy and h5py, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	const path = "/usr/bin/python3" // the system's own, for which Debian packs h5py
	if out, err := exec.Command(path, "-c", "import numpy, h5py").CombinedOutput(); err != nil {
		t.Skipf("%s has no numpy and h5py: %v %s", path, err, out)
	}
	return path
}

// TestRealSubjectsEqualNumpy fits 8 subjects and tests on the other 4, against testdata/real.py,
// which solves for each sample on its own. The bounds on the errors themselves come from 30
// subjects of the same set (21 train, 9 test), where the Gaussian has .568, .597, .636 and .705 and
// the mean .841 to .859: fewer training subjects are somewhat worse.
func TestRealSubjectsEqualNumpy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and much longer under the race detector")
	}
	const runs, train, stride, frames, parcels = 12, 8, 16, 1195, 360
	files, py, dir := restRuns(t), python(t), t.TempDir()
	var test []int // frames of the table
	for f := train * frames; f < runs*frames; f += stride {
		test = append(test, f)
	}
	args := []string{"testdata/real.py", filepath.Join(dir, "x"), strconv.Itoa(runs),
		strconv.Itoa(train), strconv.Itoa(stride)}
	masks := map[string][]bool{}
	for _, level := range []float64{0.15, 0.5, 0.75, 0.9} {
		key := fmt.Sprintf("%.2f", level)
		masks[key] = draw(Masking{level, true}, 1, StreamTest, 0, len(test), parcels)
		bytes := make([]byte, len(masks[key]))
		for i, m := range masks[key] {
			if m {
				bytes[i] = 1
			}
		}
		expect.NoError(t, os.WriteFile(filepath.Join(dir, key), bytes, 0o600))
		args = append(args, key+"="+filepath.Join(dir, key))
	}
	command := exec.Command(py, append(args, files...)...)
	command.Stderr = os.Stderr
	out := expect.Must(command.Output())
	var want struct {
		Frames, Parcels int
		MSE             map[string]Errors
	}
	if err := json.Unmarshal(out, &want); err != nil || want.Frames != frames ||
		want.Parcels != parcels || len(want.MSE) != 4 {
		t.Fatalf("%s: %v", out, err)
	}
	table := Table{Frames: runs * frames, Tokens: parcels,
		X: readFloats(t, filepath.Join(dir, "x"))}
	trained := make([]int, train*frames)
	for i := range trained {
		trained[i] = i
	}
	b := expect.Must(Fit(table, trained, DefaultRidge))
	reference := map[string]float64{"0.15": .568, "0.50": .597, "0.75": .636, "0.90": .705}
	for key, w := range want.MSE {
		got := expect.Must(b.MSE(table, test, masks[key]))
		t.Logf("level %s: zero %.4f, mean %.4f, Gaussian %.4f over %d values (numpy %.4f, %.4f, "+
			"%.4f)", key, got.Zero, got.Mean,
			got.Gaussian, got.Masked, w.Zero, w.Mean, w.Gaussian)
		if !near(got.Zero, w.Zero, 1e-9) || !near(got.Mean, w.Mean, 1e-9) ||
			!near(got.Gaussian, w.Gaussian, 1e-9) {
			t.Errorf("level %s: %+v, numpy has %+v", key, got, w)
		}
		if d := got.Gaussian - reference[key]; d < -0.02 || d > 0.1 || got.Mean < .8 ||
			got.Mean > .9 || math.Abs(got.Zero-1) > .05 {
			t.Errorf("level %s: %+v is far from the reference figures", key, got)
		}
	}
}

// readFloats reads a raw little-endian float32 file.
func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	raw := expect.Must(os.ReadFile(path))
	x := make([]float32, len(raw)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x
}
