package train

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"torchpe/data/masked"
)

// A column of one value is refused, also of one that has no end in binary, over a number of frames that is no power of two. One number in
// it that differs makes it a column like any other, with mean 0 and SD 1.
func TestMaskedConstantColumns(t *testing.T) {
	const frames = 4781
	for _, value := range []float32{0, 0.1, -1e-30, 1e-40, 7.3e8, math.MaxFloat32, float32(math.NaN()), float32(math.Inf(1))} {
		table := masked.Table{Frames: frames, Tokens: 2, X: make([]float32, 2*frames)}
		for f := range frames {
			table.X[2*f], table.X[2*f+1] = float32(f), value
		}
		if err := standardise(table); err == nil || !strings.Contains(err.Error(), "token 1") || !strings.Contains(err.Error(), "--zscore") {
			t.Errorf("a column of %g: %v", value, err)
		}
	}
	table := masked.Table{Frames: frames, Tokens: 1, X: make([]float32, frames)}
	for f := range frames {
		table.X[f] = 0.1
	}
	table.X[17] = 0.1001
	if err := standardise(table); err != nil {
		t.Fatal(err)
	}
	// One of n: sqrt(n-1) above the mean, the others 1/sqrt(n-1) below it.
	if got, want := float64(table.X[17]), math.Sqrt(frames-1); math.Abs(got/want-1) > 1e-5 || math.Abs(float64(table.X[0])+1/want) > 1e-5 {
		t.Errorf("%g and %g, want %g and %g", got, table.X[0], want, -1/want)
	}
}

// The result has the factor that a simulation was made with, also where the configuration leaves it open; a network that is not
// stable is said to be so, and one that diverges is refused with its spectral radius.
func TestNMARScaleIsRecorded(t *testing.T) {
	for _, test := range []struct {
		scale, want float64
		notes       int
	}{{0, 1.0 / 3, 0}, {0.25, 0.25, 0}, {0.6, 0.6, 1}} {
		c := tinyMasked(t, "learn")
		c.Steps, c.Masked.NMAR.Scale = 2, test.scale
		r, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "run"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Data.ARScale != test.want || len(r.Data.Notes) != test.notes {
			t.Errorf("scale %g: recorded %g, notes %q", test.scale, r.Data.ARScale, r.Data.Notes)
		}
		if test.notes > 0 && (!strings.Contains(r.Data.Notes[0], "not stable") || !strings.Contains(r.Data.Notes[0], "spectral radius 1.1")) {
			t.Errorf("scale %g: %q", test.scale, r.Data.Notes)
		}
	}
	c := tinyMasked(t, "learn")
	c.Masked.NMAR.Scale = 1
	if _, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "run"), Options{}); err == nil || !strings.Contains(err.Error(), "spectral radius 1.") {
		t.Errorf("as printed: %v", err)
	}
}

// Once the table is a tensor, Go gives its memory back to the system.
func TestMaskedTableIsGivenBack(t *testing.T) {
	c := tinyMasked(t, "learn")
	c.Masked.NMAR.Frames = 500_000 // 30 MB
	if err := c.Resolve(); err != nil {
		t.Fatal(err)
	}
	held := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys - m.HeapReleased)
	}
	task, err := newMaskedTask(c)
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	before := held()
	e, err := newEnsemble(c, task)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if given := before - held(); given < 25<<20 {
		t.Errorf("%d MB were given back of a table of 30", given>>20)
	}
}
