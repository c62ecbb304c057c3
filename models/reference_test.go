package models_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// fixture is one file of testdata, written by scripts/reference_model.py from an independent
// PyTorch model.
type fixture struct {
	*safetensors.File
	Scheme           string
	Fidelity         string
	Layers           int
	Heads            int
	DModel           int     `json:"d_model"`
	Sigma            float64 `json:"sigma"`
	Symbols, Classes int
	TokenInput       string `json:"token_input"`
	MaskToken        string `json:"mask_token"`
	MaskCount        int    `json:"mask_count"` // masked tokens of each sample; 0 where it varies
	ReadOut          string `json:"read_out"`
	Optimizer        string
	LR               float64
	WeightDecay      float64 `json:"weight_decay"`
	Clip             int     `json:"relative_k"`
	Values           bool    `json:"relative_values"`
	RandomMax        int     `json:"random_max"`
	Trained          []string
}

func readFixture(t *testing.T, path string) fixture {
	t.Helper()
	file := expect.Must(safetensors.Read(path))
	f := fixture{File: file}
	expect.NoError(t, json.Unmarshal([]byte(file.Metadata["config"]), &f))
	return f
}

func (f fixture) floats(t *testing.T, name string) []float64 {
	t.Helper()
	x, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("no %s in the fixture", name)
	}
	return expect.Must(x.Float64s())
}

// near compares a tensor with the fixture's of that name: half the tolerance is absolute, half relative.
func (f fixture) near(t *testing.T, name string, got torchpe.Tensor, tolerance float64) {
	t.Helper()
	have, want := got.Float64s(), f.floats(t, name)
	petest.Near(t, name, petest.Array{Shape: []int{len(have)}, Values: have},
		petest.Array{Shape: []int{len(want)}, Values: want}, tolerance/2)
}

func (f fixture) shape(name string) []int {
	x, _ := f.Tensor(name)
	return x.Shape
}

// model builds the fixture's model with its weights.
func (f fixture) model(t *testing.T, dtype torchpe.DType) *models.Model {
	t.Helper()
	given := pe.Options{"fixed-pe-dropout": "0"}
	if f.Clip > 0 {
		given["relative-clip"] = fmt.Sprint(f.Clip)
	}
	if f.Values {
		given["relative-values"] = "true"
	}
	if f.RandomMax > 0 {
		given["random-max"] = fmt.Sprint(f.RandomMax)
	}
	m := petest.Spec{Scheme: f.Scheme, Fidelity: f.Fidelity, Given: given, Positions: pe.Grid(4, 4), Layers: f.Layers,
		Heads: f.Heads, DModel: f.DModel, Sigma: []float64{f.Sigma}, Seeds: []uint64{1},
		Change: func(c *models.Config) {
			c.Symbols, c.Classes, c.FFMultiple, c.DType = f.Symbols, f.Classes, 4, dtype
			c.TokenInput, c.ReadOut, c.MaskToken = f.TokenInput, f.ReadOut, f.MaskToken
		}}.Model(t)
	used := 0
	for _, p := range m.Params.All() {
		if !p.Trainable && f.shape("w/"+p.Name) == nil {
			continue // a computed table
		}
		expect.NoError(t, m.Params.Set(p.Name, f.floats(t, "w/"+p.Name)))
		used++
	}
	for _, name := range f.Names() {
		if strings.HasPrefix(name, "w/") {
			used--
		}
	}
	expect.Equal(t, "weights of the reference without a parameter here", used, 0)
	return m
}

// masked returns the fixture's batch of masked prediction in s, with the loss of what the model
// predicts.
func (f fixture) masked(t *testing.T, s *torchpe.Scope, m *models.Model) (models.Input,
	func(predicted torchpe.Tensor) torchpe.Tensor) {
	t.Helper()
	masked := f.floats(t, "input/masked")
	b := f.shape("input/values")[0]
	values := torchpe.Of(s, torchpe.CPU, f.floats(t, "input/values"), 1, b, 16).To(m.Config.DType, torchpe.CPU)
	hidden := torchpe.Of(s, torchpe.CPU, masked, 1, b, 16).To(m.Config.DType, torchpe.CPU)
	in := models.Input{Values: values, Masked: hidden, Positions: pe.Grid(4, 4), Training: true}
	target, weight := values, hidden
	if f.MaskCount > 0 { // only the masked tokens are predicted
		var read []int64
		for i, v := range masked {
			if v == 1 {
				read = append(read, int64(i%16))
			}
		}
		in.Read = torchpe.Of(s, torchpe.CPU, read, 1, b, f.MaskCount)
		target, weight = values.Gather(2, in.Read), hidden.Gather(2, in.Read)
	}
	return in, func(predicted torchpe.Tensor) torchpe.Tensor {
		return predicted.Sub(target).Square().Mul(weight).Sum(1, 2).Div(weight.Sum(1, 2))
	}
}

// input returns the fixture's batch in s, repeated where it is one of puzzles, with the loss of what
// the model answers.
func (f fixture) input(t *testing.T, s *torchpe.Scope, m *models.Model, repeat int) (models.Input,
	func(logits torchpe.Tensor) torchpe.Tensor) {
	t.Helper()
	if f.TokenInput == arch.Scalar {
		return f.masked(t, s, m)
	}
	t.Helper()
	whole := func(name string, shape ...int) torchpe.Tensor {
		v := slices.Repeat(f.floats(t, name), repeat)
		return torchpe.Of(s, torchpe.CPU, v, shape...).To(torchpe.Int64, torchpe.CPU)
	}
	b := repeat * f.shape("input/symbols")[0]
	positions := pe.Grid(4, 4)
	if f.shape("input/positions") != nil {
		positions.Drawn = whole("input/positions", 1, b, 16).To(m.Config.DType, torchpe.CPU)
	}
	target := whole("input/target", 1, b)
	return models.Input{
		Symbols: whole("input/symbols", 1, b, 16), Probe: whole("input/probe", 1, b),
		Positions: positions, Training: true,
	}, func(logits torchpe.Tensor) torchpe.Tensor { return torchpe.CrossEntropy(logits, target) }
}

// TestReference holds the model against PyTorch: logits, loss, intermediates, every gradient, and
// the weights after three optimizer steps, in both readings of every scheme.
func TestReference(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.safetensors")
	if err != nil || len(paths) < 16 {
		t.Fatalf("%d fixtures in testdata, %v; scripts/reference_model.py writes them", len(paths), err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		f := readFixture(t, path)
		seen[f.Fidelity+" "+f.Scheme] = true
		for _, c := range []struct {
			dtype     torchpe.DType
			tolerance float64
			fused     bool
		}{{torchpe.Float64, 1e-10, true}, {torchpe.Float64, 1e-10, false}, {torchpe.Float32, 1e-5, true}} {
			name := fmt.Sprintf("%s/%v/fused=%v", strings.TrimSuffix(filepath.Base(path),
				".safetensors"), c.dtype, c.fused)
			t.Run(name, func(t *testing.T) {
				torchpe.SetFused(c.fused)
				defer torchpe.SetFused(true)
				checkReference(t, f, c.dtype, c.tolerance)
			})
		}
	}
	// the paper's
	for _, scheme := range []string{"1d-fixed", "2d-fixed", "c-nope", "learn", "nope", "random",
		"relative", "rope"} {
		for _, fidelity := range []string{"text", "code"} {
			if !seen[fidelity+" "+scheme] {
				t.Errorf("no fixture for %s in the %s reading", scheme, fidelity)
			}
		}
	}
}

func checkReference(t *testing.T, f fixture, dtype torchpe.DType, tolerance float64) {
	m := f.model(t, dtype)
	method := torchpe.Method(f.Optimizer)
	optimizer := expect.Must(torchpe.NewOptimizer(method, m.Params))
	defer optimizer.Close()
	step := torchpe.StepSettings{LR: []float64{f.LR}, WeightDecay: []float64{f.WeightDecay}, Active: []bool{true}}
	for i := range 3 {
		func() {
			s := torchpe.NewScope()
			defer s.Close()
			s.Seed([]uint64{1}, i)
			pass := func(repeat int, trace *models.Trace) {
				expect.NoError(t, optimizer.ZeroGrad())
				batch, lossOf := f.input(t, s, m, repeat)
				logits := m.Forward(s, batch, trace)
				loss := lossOf(logits)
				loss.Sum().Backward()
				if i == 0 {
					f.near(t, "loss", loss, tolerance)
					checkGradients(t, f, m, s, tolerance)
					if repeat == 1 {
						f.near(t, "logits", logits, tolerance)
					}
				}
			}
			if i == 0 {
				trace := models.NewTrace("embedding", "hidden/*", "attention/*", "pe/*", "logits")
				pass(1, trace)
				checkIntermediates(t, f, trace, tolerance)
				pass(1, nil) // the read-out's shortcut in the last block
			}
			pass(4, nil) // so many samples that the first block shares rows
			expect.NoError(t, optimizer.Step(step))
		}()
	}
	checkSteps(t, f, m, tolerance)
}

func checkIntermediates(t *testing.T, f fixture, trace *models.Trace, tolerance float64) {
	t.Helper()
	for _, name := range f.Names() {
		kind, _, _ := strings.Cut(name, "/")
		if kind != "embedding" && kind != "hidden" && kind != "attention" && kind != "pe" && kind != "logits" {
			continue
		}
		x, ok := trace.Get(name)
		if !ok {
			t.Errorf("no intermediate %s", name)
			continue
		}
		f.near(t, name, x, tolerance)
	}
}

func checkGradients(t *testing.T, f fixture, m *models.Model, s *torchpe.Scope, tolerance float64) {
	t.Helper()
	trained := 0
	for _, p := range m.Params.All() {
		if p.Trainable {
			trained++
			f.near(t, "grad/"+p.Name, p.In(s).Grad(), tolerance)
		}
	}
	expect.Equal(t, "trained parameters", trained, len(f.Trained))
}

// checkSteps compares the weights after three steps. Where the true gradient is zero (the biases of
// keys), Adam makes steps of size lr out of rounding errors: such elements are only held to that
// bound. In float32 an element's step is as uncertain as its gradient is relative to float32's
// rounding.
func checkSteps(t *testing.T, f fixture, m *models.Model, tolerance float64) {
	t.Helper()
	for _, p := range m.Params.All() {
		if !p.Trainable {
			continue
		}
		got := expect.Must(m.Params.Values(p.Name))
		want, grad := f.floats(t, "step3/"+p.Name), f.floats(t, "grad/"+p.Name)
		for i := range want {
			bound := tolerance
			if f.Optimizer != "sgd" {
				bound += 3 * f.LR * math.Min(2, tolerance*0.1/math.Max(math.Abs(grad[i]), 1e-300))
			}
			if d := math.Abs(got[i] - want[i]); !(d <= bound) {
				t.Errorf("%s[%d] after 3 steps: %g, PyTorch %g (off by %.1e, gradient %.1e)",
					p.Name, i, got[i], want[i], d, grad[i])
				break
			}
		}
	}
}
