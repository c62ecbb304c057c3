package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// Amplitude 0 gives the validation accuracy itself, also where evaluation draws dropout or
// positions; the probes hold every repeat, the result their mean; and the checkpoint gives the same
// again.
func TestNoiseOfARun(t *testing.T) {
	for pe, options := range map[string]map[string]string{
		"learn": nil, "relative": nil, "2d-fixed": {"fixed-pe-dropout": "0.3"}, "random": {"random": "ruoss"},
	} {
		c := tiny(t, pe)
		c.PEOptions, c.LimitSteps, c.Noise, c.NoiseRepeats = options, 20, []float64{0, 0.5, 3}, 4
		dir, result := runTiny(t, c)
		amplitudeShape, amplitudes := probed(t, dir, "noise/amplitude")
		shape, accuracy := probed(t, dir, "noise/accuracy")
		if !slices.Equal(amplitudeShape, []int{3}) || !slices.Equal(amplitudes, c.Noise) ||
			!slices.Equal(shape, []int{2, 3, 4}) {
			t.Errorf("%s: amplitudes %v %v, accuracies %v", pe, amplitudeShape, amplitudes, shape)
		}
		report := expect.Must(Noise(dir, NoiseOptions{}))
		if report.Step != 20 || report.Repeats != 4 || report.Puzzles != 12 || len(report.Members) != 2 {
			t.Errorf("%s: %+v", pe, report)
		}
		for m, member := range result.Members {
			if got := member.Measures["noise/0"]; got != member.Measures["validation"] ||
				len(member.Measures.Of("noise")) != 3 {
				t.Errorf("%s, member %d: %v, without noise %g", pe, m, member.Measures.Of("noise"),
					member.Measures["validation"])
			}
			if again := report.Members[m]; again.ValidationAccuracy != member.Measures["validation"] ||
				again.Seed != c.Members[m].Seed {
				t.Errorf("%s, member %d: %+v from the checkpoint, %+v", pe, m, again, member)
			}
			for a, amplitude := range c.Noise {
				each := accuracy[(m*3+a)*4 : (m*3+a+1)*4]
				level := report.Members[m].Noise[a]
				if !slices.Equal(level.Accuracy, each) ||
					level.Mean != member.Measures["noise/"+strconv.FormatFloat(amplitude, 'g', -1, 64)] ||
					math.Abs(level.Mean-stat.Mean(each, nil)) > 1e-12 {
					t.Errorf("%s, member %d, amplitude %g: probes %v, checkpoint %+v, result %v", pe, m,
						amplitude, each, level, member.Measures.Of("noise"))
				}
				if math.Abs(*level.SD-stat.StdDev(each, nil)) > 1e-12 {
					t.Errorf("%s, member %d: SD %g of %v", pe, m, *level.SD, each)
				}
			}
		}
	}
}

// A model learns puzzles by heart. It answers them with little noise and guesses with much: a
// quarter is right, as noise knows no answers. The standard error over 270 x 20 guesses is .006.
func TestNoiseDrownsTheAnswer(t *testing.T) {
	c := tiny(t, "learn")
	c.Members = c.Members[:1]
	c.Members[0].LR, c.DModel, c.Dropout = 3e-3, 32, 0
	expect.NoError(t, c.Resolve())
	s := expect.Must(load(c))
	s.validation = s.train
	s.validation.name = "validation"
	task := expect.Must(newLSTTask(c, s))
	e := expect.Must(newEnsemble(c, task))
	defer e.close()
	for step := range 120 * task.stepsPerEpoch() {
		expect.NoError(t, e.step(step, 1))
	}
	x := expect.Must(task.robustness(e, 0, []float64{0.01, 0.2, 1000}, 20))
	_, little := x.accuracies(0, 0)
	_, some := x.accuracies(0, 1)
	_, much := x.accuracies(0, 2)
	if !(little > 0.9 && some < little-0.1 && some > much+0.1 && math.Abs(much-0.25) < 0.03) {
		t.Errorf("accuracy with little noise %.3f, with some %.3f, with much %.3f", little, some, much)
	}
}

// The draws are standard normal, and each member, repeat and puzzle has its own, whatever else is
// in the ensemble or the piece.
func TestStandardNoise(t *testing.T) {
	c := tiny(t, "learn")
	draws := func(c Config, repeat int, p piece) (z []float64) {
		expect.NoError(t, c.Resolve())
		s := expect.Must(load(c))
		task := expect.Must(newLSTTask(c, s))
		e := expect.Must(newEnsemble(c, task))
		defer e.close()
		inner := e.resident.ChildNoGrad()
		defer inner.Close()
		expect.NoError(t, torchpe.Catch(func() { z = task.standardNoise(e, inner, p, repeat).Float64s() }))
		return z
	}
	const each = 16 * 16 // N x D
	all := piece{from: 0, n: 12}
	both := draws(c, 0, all)
	var sum, squares, cubes, product float64
	other := draws(c, 1, all)
	for i, z := range both {
		sum, squares, cubes, product = sum+z, squares+z*z, cubes+z*z*z, product+z*other[i]
	}
	n := float64(len(both)) // 6,144: standard errors .013, .018, .05 and .013
	if len(both) != 2*12*each || math.Abs(sum/n) > 0.06 || math.Abs(squares/n-1) > 0.08 ||
		math.Abs(cubes/n) > 0.2 || math.Abs(product/n) > 0.06 {
		t.Errorf("%g numbers with mean %g, mean square %g, mean cube %g, covariance of repeats %g", n,
			sum/n, squares/n, cubes/n, product/n)
	}
	seen := map[float64]bool{}
	for i := 0; i < len(both); i += each {
		seen[both[i]] = true
	}
	expect.Equal(t, "different draws", len(seen), 24)
	if got := draws(c, 0, piece{step: 7, from: 5, n: 2}); !slices.Equal(got[:2*each], both[5*each:7*each]) {
		t.Error("a puzzle's noise depends on the step or on the puzzles beside it")
	}
	c.Members, c.DType = c.Members[1:], "float64"
	if alone := draws(c, 0, all); !slices.Equal(alone, both[12*each:]) {
		t.Error("a member's noise alone, or in float64, is not that in the ensemble")
	}
}

// Without amplitudes nothing is measured, and a configuration from before there was noise reads as
// that; its run can be measured later all the same, at any amplitude, finished or not.
func TestRunsWithoutNoise(t *testing.T) {
	c := tiny(t, "learn")
	c.Noise = nil
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := filepath.Join(t.TempDir(), "run")
	var stopped *Interrupted
	if _, err := Run(ctx, c, dir, Options{Observer: &stopper{after: 2, cancel: cancel}}); !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || strings.Contains(string(text), "noise") {
		t.Errorf("%v, config.json: %s", err, text)
	}
	report, err := Noise(dir, NoiseOptions{Amplitudes: []float64{0.3}, Repeats: 1, Device: "cpu"})
	if err != nil || report.Step != 2 || report.Members[0].Noise[0].SD != nil ||
		len(report.Members[1].Noise[0].Accuracy) != 1 {
		t.Errorf("%v, %+v", err, report)
	}
	if report, err = Noise(dir, NoiseOptions{}); err != nil || len(report.Members[0].Noise) != 6 ||
		report.Repeats != 10 {
		t.Errorf("%v, %+v", err, report)
	}
	result, err := Run(t.Context(), c, dir, Options{Resume: true})
	if err != nil || result.Members[0].Measures.Of("noise") != nil {
		t.Errorf("%v, %+v", err, result.Members)
	}
	text, err = json.Marshal(result)
	if err != nil || strings.Contains(string(text), "noise") {
		t.Errorf("%v, result.json: %s", err, text)
	}
}

// A run is measured with the weights that it has, also of members that diverged, whose result has
// no accuracies.
func TestNoiseOfADivergedMember(t *testing.T) {
	c := tiny(t, "learn")
	c.Optimizer, c.Epochs, c.Dropout = "sgd", 2, 0
	c.Members[0].LR = 1e6
	dir, result := runTiny(t, c)
	report := expect.Must(Noise(dir, NoiseOptions{Repeats: 1}))
	if result.Members[0].Measures.Of("noise") != nil || report.Members[0].DivergedAtStep == 0 ||
		report.Members[1].DivergedAtStep != 0 {
		t.Errorf("%+v, %+v", result.Members, report.Members)
	}
	if len(result.Members[1].Measures.Of("noise")) != 6 {
		t.Errorf("%+v", result.Members[1])
	}
}

func TestNoiseErrors(t *testing.T) {
	c := tiny(t, "learn")
	c.Noise, c.NoiseRepeats = []float64{0.1, -1, 0.1, math.NaN(), 2e6}, -3
	err := c.Resolve()
	expect.Error(t, err, "--noise: -1 ", "--noise: 0.1 is given twice", "--noise: NaN",
		"--noise: 2e+06", "--noise-repeats: -3")
	c = tinyMasked(t, "learn")
	c.Noise = []float64{1}
	expect.Error(t, c.Resolve(), "task nmar has no puzzles")
	c.Noise, c.LimitSteps = nil, 1
	dir, _ := runTiny(t, c)
	c = tiny(t, "learn")
	c.LimitSteps = 1
	moved, _ := runTiny(t, c)
	expect.Error(t, expect.ErrorOf(Noise(moved, NoiseOptions{Amplitudes: []float64{-1}})), "-1")
	expect.Error(t, expect.ErrorOf(Noise(moved, NoiseOptions{Device: "cuda:999"})), "--device cpu")
	expect.NoError(t, os.Rename(c.LSTTrain[0], c.LSTTrain[0]+".old"))
	for run, want := range map[string]string{dir: "task nmar", moved: c.LSTTrain[0], t.TempDir(): "holds no run"} {
		expect.Error(t, expect.ErrorOf(Noise(run, NoiseOptions{})), want)
	}
	same := tiny(t, "learn")
	puzzles := expect.Must(os.ReadFile(same.LSTTrain[0]))
	rows := strings.SplitAfter(string(puzzles), "\n")
	expect.NoError(t, os.WriteFile(c.LSTTrain[0], []byte(strings.Join(rows[:len(rows)-20], "")), 0o666))
	expect.Error(t, expect.ErrorOf(Noise(moved, NoiseOptions{})), "other data")
}

// The defaults: LST measures noise, masked prediction does not; a file from before has none.
func TestNoiseDefaults(t *testing.T) {
	for _, preset := range config.Presets() {
		c := expect.Must(Preset(preset, "code"))
		want := []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}
		if c.Task != "lst" {
			want = nil
		}
		if !reflect.DeepEqual(c.Noise, want) || (c.NoiseRepeats == 10) != (want != nil) {
			t.Errorf("%s: %v, %d times", preset, c.Noise, c.NoiseRepeats)
		}
	}
	c, _ := Preset("quick", "code")
	text := expect.Must(c.JSON())
	var fields map[string]any
	expect.NoError(t, json.Unmarshal(text, &fields))
	delete(fields, "noise")
	delete(fields, "noise_repeats")
	text = expect.Must(json.Marshal(fields))
	old := expect.Must(ParseConfig(text))
	if err := old.Resolve(); err != nil || old.Noise != nil || old.NoiseRepeats != 0 {
		t.Errorf("%v: %v, %d times", err, old.Noise, old.NoiseRepeats)
	}
}
