package train

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// A model that cannot be built or measured is named by its reason. Data are read once for
// configurations in a row that share them, and refused where they are gone or not those of the sum.
func TestCheckModels(t *testing.T) {
	puzzles, line := tiny(t, "rope"), tinySequence(t, "reverse-string", "rope")
	grid, short := tinyMasked(t, "2d-fixed"), tinySequence(t, "reverse-string", "learn")
	other := puzzles
	other.LSTTrain = tiny(t, "rope").LSTTrain // the same puzzles elsewhere
	puzzles.Batch = 1000                      // a note
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	texts := func(configs ...config.Config) (all [][]byte) {
		for _, c := range configs {
			all = append(all, expect.Must(c.JSON()))
		}
		return all
	}
	unsuited := expect.Must(CheckModels(texts(puzzles.Config, puzzles.Config, line.Config, grid.Config), "", note))
	if unsuited[0] != nil || unsuited[1] != nil || unsuited[2] != nil || unsuited[3] == nil ||
		!strings.Contains(unsuited[3].Error(), "lst has a grid") {
		t.Errorf("%v", unsuited)
	}
	expect.Equal(t, notes, strings.Count(strings.Join(notes, "\n"), "batch: 1000 is more"), 1)
	unsuited = expect.Must(CheckModels(texts(short.Config), "", note))
	if unsuited[0] == nil || !strings.Contains(unsuited[0].Error(), "--places 9") {
		t.Errorf("longer inputs than a table has places: %v", unsuited)
	}
	expect.NoError(t, puzzles.Resolve())
	sum := expect.Must(load(puzzles)).fingerprint
	expect.Must(CheckModels(texts(puzzles.Config, other.Config), sum, note))
	var data *DataError
	if _, err := CheckModels(texts(puzzles.Config), sum[1:]+"0", note); !errors.As(err, &data) ||
		!strings.Contains(err.Error(), "has changed") {
		t.Errorf("another sum: %v", err)
	}
	expect.NoError(t, os.Remove(other.LSTTrain[0]))
	if _, err := CheckModels(texts(puzzles.Config, other.Config), "", note); !errors.As(err, &data) {
		t.Errorf("a file that is gone: %v", err)
	}

	// Conditions other than the rules' are data, too: accuracies are by these.
	text := string(expect.Must(os.ReadFile(puzzles.LSTValidation)))
	swapped := strings.NewReplacer("Binary", "Ternary", "Ternary", "Binary").Replace(text)
	expect.NoError(t, os.WriteFile(puzzles.LSTValidation, []byte(swapped), 0o666))
	expect.Equal(t, "the same data", expect.Must(load(puzzles)).fingerprint == sum, false)
}

// A flag without effect on an encoding is named, and a label is taken apart where its encoding has sigma.
func TestUnusedFlags(t *testing.T) {
	for _, c := range []struct{ pe, flag, want string }{
		{"rope", "pe-lr", "rope, which has no trained parameters"}, {"learn-0.2", "pe-lr", ""},
		{"t5", "pe-weight-decay", ""}, {"2d-fixed", "pe-warmup-steps", "2d-fixed, which has no trained"},
		{"t5", "pe-init", "t5, which has no learned table"}, {"learn", "pe-dropout", ""},
		{"rope", "lr", ""}, {"no-such", "pe-lr", ""},
	} {
		var given Config
		given.PE = c.pe
		if got := given.Unused(c.flag); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("--%s on %s: %q, want %q", c.flag, c.pe, got, c.want)
		}
	}
	for _, c := range []struct{ pe, init, want string }{{"learn", "", ""}, {"rope", "", "on rope"},
		{"learn", "zeros", "with --pe-init zeros"}, {"rope+learn", "zeros", "with --pe-init zeros"}} {
		given := tiny(t, c.pe)
		given.PEInit = c.init
		if got := given.Unused("sigma"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("sigma on %s from %q: %q, want %q", c.pe, c.init, got, c.want)
		}
		expect.NoError(t, given.Resolve())
		if has := given.Members[0].Sigma != nil; has != (c.want == "") {
			t.Errorf("%s from %q has a sigma: %v", c.pe, c.init, has)
		}
	}
	for label, want := range map[string]string{"learn-0.5": "learn", "rope-0.5": "rope-0.5", "2d-fixed": "2d-fixed"} {
		name, sigma := SplitLabel(label)
		if name != want || (sigma != nil) != (want == "learn") || sigma != nil && *sigma != 0.5 {
			t.Errorf("%s is %s with %v", label, name, sigma)
		}
	}
}

// The baselines of a result are those of the held-out data, each under its name.
func TestBaselinesOfResults(t *testing.T) {
	e := started(t, tinyMasked(t, "nope"))
	var r runlog.Result
	e.task.completeResult(&r)
	for _, set := range e.task.(*maskedTask).tests {
		b, key := set.baselines, set.key()
		if r.Baselines["zero"][key] != b.Zero || r.Baselines["mean"][key] != b.Mean ||
			r.Baselines["gaussian"][key] != b.Gaussian || b.Zero == b.Gaussian || b.Mean == b.Gaussian {
			t.Errorf("level %s: %v, want %+v", key, r.Baselines, b)
		}
	}
	c := tiny(t, "nope")
	expect.NoError(t, c.Resolve())
	s := expect.Must(load(c))
	expect.Must(newLSTTask(c, s)).completeResult(&r)
	// Validation puzzles that are training puzzles are looked up, and by counts alone they are not known.
	s.validation.puzzles = s.train.puzzles[:50]
	var known runlog.Result
	expect.Must(newLSTTask(c, s)).completeResult(&known)
	if known.Baselines["look_up"]["validation"] != 1 || known.Baselines["counts"]["validation"] == 1 ||
		known.Baselines["look_up"]["iid"] != r.Baselines["look_up"]["iid"] ||
		r.Baselines["look_up"]["validation"] == 1 {
		t.Errorf("%v, of known puzzles %v", r.Baselines, known.Baselines)
	}
	// A training puzzle that is renamed in each epoch cannot be looked up.
	c.RenameSymbols = new(true)
	var renamed runlog.Result
	expect.Must(newLSTTask(c, s)).completeResult(&renamed)
	expect.Equal(t, "baselines of renamed puzzles", len(renamed.Baselines), 0)
}

// The number of threads that is found is one that a machine has, and finding it changes nothing.
func TestThreadsAreFound(t *testing.T) {
	e := started(t, tiny(t, "learn"))
	before, _, _ := readState(t, e)
	n := expect.Must(e.setThreads(0))
	after, sums, stopped := readState(t, e)
	if n < 1 || n > max(1, min(runtime.NumCPU(), 16)) || n&(n-1) != 0 {
		t.Errorf("%d threads", n)
	}
	if !slices.Equal(before, after) || sums.examples != 0 || sums.loss[0] != 0 || stopped[0] != 0 ||
		e.optimizer.Steps() != 0 {
		t.Errorf("timing has trained: sums %v, stopped at %v, %d steps", sums, stopped, e.optimizer.Steps())
	}
	expect.Equal(t, "threads", expect.Must(e.setThreads(1)), 1)
}

// The estimate of a sweep measures few held-out frames, and leaves the configuration as it is.
func TestCalibratedFrames(t *testing.T) {
	c := tinyMasked(t, "learn")
	c.Masked.TestFrames = 512
	few := calibrated(c.Config, 0)
	expect.Equal(t, "frames", [2]int{few.Masked.TestFrames, c.Masked.TestFrames}, [2]int{calibrationFrames, 512})
	if step := expect.Must(TimeStep(c.Config)); step.RecordMS <= 0 {
		t.Errorf("%+v", step)
	}
}

// Steps are timed with the members and the batch that were asked for.
func TestBench(t *testing.T) {
	c := tiny(t, "learn")
	b := expect.Must(BenchStep(c, BenchOptions{Warmup: 1, Steps: 3}))
	// 270 puzzles in batches of 32
	if b.Device != "cpu" || b.Threads != 1 || b.Members != 2 || b.Batch != 32 || b.StepsPerEpoch != 9 || b.Graph ||
		b.Min <= 0 || b.Median < b.Min || b.PeakRSS <= 0 {
		t.Errorf("%+v", b)
	}
}
