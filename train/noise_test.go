package train

import (
	"encoding/json"
	"fmt"
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
// positions; the probes hold every repeat, the result their mean.
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
		for m, member := range result.Members {
			if got := member.Measures["noise/0"]; got != member.Measures["validation"] ||
				len(member.Measures.Of("noise")) != 3 {
				t.Errorf("%s, member %d: %v, without noise %g", pe, m, member.Measures.Of("noise"),
					member.Measures["validation"])
			}
			for a, amplitude := range c.Noise {
				each := accuracy[(m*3+a)*4 : (m*3+a+1)*4]
				mean := member.Measures["noise/"+strconv.FormatFloat(amplitude, 'g', -1, 64)]
				expect.Near(t, fmt.Sprintf("%s, member %d, amplitude %g: mean of the probes %v", pe, m, amplitude,
					each), mean, stat.Mean(each, nil), 1e-12)
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
	x := expect.Must(task.robustness(e, []float64{0.01, 0.2, 1000}, 20))
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
	expect.Equal(t, "a puzzle's noise depends on the puzzles beside it",
		!slices.Equal(draws(c, 0, piece{from: 5, n: 2})[:2*each], both[5*each:7*each]), false)
	c.Members, c.DType = c.Members[1:], "float64"
	expect.Equal(t, "a member's noise alone, or in float64, is not that in the ensemble",
		!slices.Equal(draws(c, 0, all), both[12*each:]), false)
}

// Without amplitudes nothing is measured or written.
func TestRunsWithoutNoise(t *testing.T) {
	c := tiny(t, "learn")
	c.Noise, c.LimitSteps = nil, 2
	dir, _ := runTiny(t, c)
	for _, name := range []string{"config.json", "result.json"} {
		if text := expect.Must(os.ReadFile(filepath.Join(dir, name))); strings.Contains(string(text), "noise") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A member that diverged has no accuracies with noise; the others have.
func TestNoiseOfADivergedMember(t *testing.T) {
	c := tiny(t, "learn")
	c.Optimizer, c.Epochs, c.Dropout = "sgd", 2, 0
	c.Members[0].LR = 1e6
	_, result := runTiny(t, c)
	if result.Members[0].Measures.Of("noise") != nil || len(result.Members[1].Measures.Of("noise")) != 6 {
		t.Errorf("%+v", result.Members)
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
