package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"torchpe/data/masked"
	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Where some of the held-out frames are measured, the line on the data says how many.
func TestNotesOnMeasuredFrames(t *testing.T) {
	d := &runlog.DataSummary{Frames: 3000, Tokens: 12, Runs: 1, Subjects: 1, TestFrames: 900, MeasuredFrames: 512,
		Split: "last 900 held out"}
	const measured = "; 512 of 900 held-out frames measured (--test-frames)"
	if got := dataNotes(d)[0]; !strings.HasSuffix(got, "last 900 held out"+measured) {
		t.Errorf("%q has no %q at its end", got, measured)
	}
	d.MeasuredFrames = 900
	if got := dataNotes(d)[0]; !strings.HasSuffix(got, "last 900 held out") {
		t.Errorf("all measured: %q", got)
	}
}

// Notes say which share of few tokens a level masks, and of what z-scores take the mean where time is held out.
func TestNotesOnMasks(t *testing.T) {
	c := tinyMasked(t, "learn")
	c.Masked.NMAR.Nodes, c.Masked.NMAR.Modules, c.Masked.TestLevels = 6, 3, []float64{0.5, 0.9}
	c.Masked.Level, c.Masked.ZScore = 0.9, true
	notes := strings.Join(expect.Must(newTask(c)).notes(), "\n")
	const want = "z-scores: mean and SD are those of each whole run, including held-out time points\n" +
		"masks of 6 tokens: 0.9 masks "
	if !strings.HasSuffix(notes, want+"5") {
		t.Errorf("%q has no %q at its end", notes, want+"5")
	}
	c.Masked.Draw = config.BernoulliMask
	notes = strings.Join(expect.Must(newTask(c)).notes(), "\n")
	if !strings.HasSuffix(notes, want+"79 % on average") { // (0.9 - 0.9^6) / (1 - 0.1^6 - 0.9^6)
		t.Errorf("%q has no share of those that are not redrawn at its end", notes)
	}
	c.Masked.NMAR.Nodes, c.Masked.TestLevels = 12, []float64{0.99, 0.2, 0.5, 0.9, 0.15, 0.95}
	const same = "\ntest levels of 12 tokens: 0.15, 0.2 mask 2; 0.9, 0.95, 0.99 mask 11; errors at such levels " +
		"differ by the draw alone" // 1.8, 2.4; 10.8, 11.4, 11.88, of which one token stays
	for _, draw := range []string{config.BernoulliMask, config.ExactMask} {
		c.Masked.Draw = draw
		notes = strings.Join(expect.Must(newTask(c)).notes(), "\n")
		if strings.HasSuffix(notes, same) != (draw == config.ExactMask) {
			t.Errorf("%s: %q", draw, notes)
		}
	}
	c.Masked.NMAR.Frames, c.Masked.TestShare = 10, 0.9
	expect.Error(t, expect.ErrorOf(newTask(c)), "data: only 1 frame of 10 frames left for training")
}

// A column of one value is refused, also of one that has no end in binary, over a number of frames
// that is no power of two. One number in it that differs makes it a column like any other, with
// mean 0 and SD 1.
func TestMaskedConstantColumns(t *testing.T) {
	const frames = 4781
	for _, value := range []float32{0, 0.1, -1e-30, 1e-40, 7.3e8, math.MaxFloat32, float32(math.NaN()),
		float32(math.Inf(1))} {
		table := masked.Table{Frames: frames, Tokens: 2, X: make([]float32, 2*frames)}
		for f := range frames {
			table.X[2*f], table.X[2*f+1] = float32(f), value
		}
		expect.Error(t, standardise(table), "token 1", "--zscore")
	}
	table := masked.Table{Frames: frames, Tokens: 1, X: make([]float32, frames)}
	for f := range frames {
		table.X[f] = 0.1
	}
	table.X[17] = 0.1001
	expect.NoError(t, standardise(table))
	// One of n: sqrt(n-1) above the mean, the others 1/sqrt(n-1) below it.
	if got, want := float64(table.X[17]), math.Sqrt(frames-1); math.Abs(got/want-1) > 1e-5 ||
		math.Abs(float64(table.X[0])+1/want) > 1e-5 {
		t.Errorf("%g and %g, want %g and %g", got, table.X[0], want, -1/want)
	}
}

// The result has the factor that a simulation was made with, also where the configuration leaves it
// open; a network that is not stable is said to be so, and one that diverges is refused with its
// spectral radius.
func TestNMARScaleIsRecorded(t *testing.T) {
	for _, test := range []struct {
		scale, want float64
		notes       int
	}{{0, 1.0 / 3, 0}, {0.25, 0.25, 0}, {0.6, 0.6, 1}} {
		c := tinyMasked(t, "learn")
		c.Steps, c.Masked.NMAR.Scale = 2, test.scale
		_, r := runTiny(t, c)
		expect.Equal(t, fmt.Sprintf("scale %g: recorded, and notes (%q)", test.scale, r.Data.Notes),
			fmt.Sprint(r.Data.ARScale, len(r.Data.Notes)), fmt.Sprint(test.want, test.notes))
		if test.notes > 0 && (!strings.Contains(r.Data.Notes[0], "is unstable") ||
			!strings.Contains(r.Data.Notes[0], "spectral radius 1.1")) {
			t.Errorf("scale %g: %q", test.scale, r.Data.Notes)
		}
	}
	c := tinyMasked(t, "learn")
	c.Masked.NMAR.Scale = 1
	expect.Error(t, expect.ErrorOf(newMaskedTask(c)), "spectral radius 1.")
}

// By default the simulation's series are raw: the conditional Gaussian, the best linear prediction,
// ends at the error that numpy finds on its own 60 networks (data/nmar/testdata/make.py: .0482, SD
// .0012), among which is the .049 that the paper prints (appendix A.4). Z-scored series have an
// error near 1.
func TestNMARErrorIsThePrintedOne(t *testing.T) {
	text := expect.Must(os.ReadFile(filepath.Join("..", "data", "nmar", "testdata", "gaussian.json")))
	var numpy struct{ Raw, ZScored []float64 }
	if err := json.Unmarshal(text, &numpy); err != nil || len(numpy.Raw) != 60 {
		t.Fatalf("%v: %d networks", err, len(numpy.Raw))
	}
	if low, high := slices.Min(numpy.Raw), slices.Max(numpy.Raw); low > 0.049 || high < 0.049 {
		t.Errorf("numpy's errors are %g to %g, without .049", low, high)
	}
	const seeds = 8
	for _, test := range []struct {
		zscore    bool
		want      []float64
		tolerance float64 // three standard errors: 3 x SD / sqrt(8)
	}{{false, numpy.Raw, 0.0013}, {true, numpy.ZScored, 0.03}} {
		var errors []float64
		for seed := range uint64(seeds) {
			c := expect.Must(Preset("nmar", "code"))
			if test.zscore {
				c.Masked.ZScore = true
			}
			c.DataSeed, c.Masked.TestFrames, c.Masked.TestLevels = seed, 0, []float64{0.5}
			task := expect.Must(newMaskedTask(c))
			errors = append(errors, task.tests[0].baselines.Gaussian)
		}
		if got, want := stat.Mean(errors, nil), stat.Mean(test.want, nil); math.Abs(got-want) > test.tolerance {
			t.Errorf("z-scored %t: the conditional Gaussian has a mean error of %.4f (%.4f), numpy's %.4f",
				test.zscore, got, errors, want)
		}
	}
}

// A run of a version whose nodes lay side by side in their modules does not go on with the nodes in
// a drawn order; nor does one of another data seed, by the fingerprint of its data.
func TestOldSimulationsAreRefused(t *testing.T) {
	c := tinyMasked(t, "learn")
	dir := filepath.Join(t.TempDir(), "run")
	stopAfter(t, c, dir, 5)
	old := c
	old.Masked = &config.MaskedConfig{}
	*old.Masked = *c.Masked
	network := *c.Masked.NMAR
	network.Order = ""
	old.Masked.NMAR = &network
	expect.Error(t, expect.ErrorOf(Run(t.Context(), old, dir, Options{Resume: true})), `masked.nmar.order: ""`,
		"side by side", "--preset nmar")
	other := c
	other.DataSeed++
	_, err := Run(t.Context(), other, dir, Options{Resume: true, AllowChanged: []string{"data_seed"}})
	expect.Error(t, err, "trained on other data")
	expect.NoError(t, expect.ErrorOf(Run(t.Context(), c, dir, Options{Resume: true})))
}

// The table is held once: a CPU's tensor of float32 shares its memory, and for one of float64 Go gives it back.
func TestMaskedTableIsHeldOnce(t *testing.T) {
	const table = 30 << 20
	torchpe.Live() // the first call loads libtorch
	for dtype, grows := range map[string]int{"float32": 0, "float64": 2*table - table} {
		c := tinyMasked(t, "learn")
		c.Masked.NMAR.Frames, c.DType = table/4/15, dtype
		expect.NoError(t, c.Resolve())
		task := expect.Must(newMaskedTask(c))
		before := expect.Resident(t)
		e := expect.Must(newEnsemble(c, task))
		if grown := expect.Resident(t) - before; grown > grows+table/2 || grown < grows-table/2 {
			t.Errorf("%s: %d MB more are held, want about %d", dtype, grown>>20, grows>>20)
		}
		e.close()
	}
}

// Of tokens a, a, b, b, whose series are orthogonal, correlations are 1 within two modules and 0 between
// them, so that Q = (4 - 2) / 4; of a, -a they are below 0 and count as none, and of a constant token there
// are none.
func TestConnectivityModularity(t *testing.T) {
	for _, c := range []struct {
		x       []float32 // [4,4]
		modules []int
		want    float64
	}{
		{[]float32{1, 1, 1, 1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1}, []int{0, 0, 1, 1}, 0.5},
		{[]float32{1, 1, 1, 1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1}, []int{0, 1, 0, 1}, -0.5},
		{[]float32{1, -1, 1, -1, -1, 1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1}, []int{0, 0, 1, 1}, math.NaN()},
		{[]float32{1, 1, 1, 3, -1, -1, 1, 3, 1, 1, -1, 3, -1, -1, -1, 3}, []int{0, 0, 1, 1}, math.NaN()},
		{[]float32{1, 1, 1, 1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1}, nil, math.NaN()},
	} {
		b := expect.Must(masked.Fit(masked.Table{Frames: 4, Tokens: 4, X: c.x}, []int{0, 1, 2, 3}, masked.DefaultRidge))
		q, note, err := connectivityModularity(b, c.modules)
		if err != nil || (q == nil) != math.IsNaN(c.want) || (note != "") != (q == nil && c.modules != nil) ||
			q != nil && math.Abs(*q-c.want) > 1e-12 {
			t.Errorf("%v, %v: %v, %v, want %v", c.x, c.modules, q, err, c.want)
		}
	}
}

// A held-out subject whose few frames are all skipped is named.
func TestNotesOnUnmeasuredSubjects(t *testing.T) {
	task := maskedTask{table: masked.Table{Groups: []int{0, 0, 1, 2, 2, 2}}, subjects: []string{"a", "b", "c"}}
	task.split.Test = []int{2, 3, 4, 5}
	got := task.unmeasured([]int{3, 5})
	if len(got) != 1 || !strings.HasPrefix(got[0], "held-out subject b has none of the 2") {
		t.Errorf("%q", got)
	}
	expect.Equal(t, "unmeasured", task.unmeasured([]int{2, 5}), nil)
}
