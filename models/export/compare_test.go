package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// python is the interpreter with PyTorch, or the test skips.
func python(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("TORCHPE_PYTHON"), "/usr/bin/python3"} {
		if path != "" && exec.Command(path, "-c", "import torch").Run() == nil {
			return path
		}
	}
	t.Skip("no Python with PyTorch: install python3-torch, or name an interpreter in TORCHPE_PYTHON")
	return ""
}

// oneCase is a model that is compared.
type oneCase struct {
	pe, fidelity string
	masked       bool
	dtype        torchpe.DType
	options      pe.Options
	positions    pe.Positions
	change       func(*models.Config)
}

func (c oneCase) name() string {
	name := []string{c.pe, c.fidelity, "puzzles", "float32"}
	if c.masked {
		name[2] = "masked"
	}
	if c.dtype == torchpe.Float64 {
		name[3] = "float64"
	}
	for _, o := range pe.Names() {
		_ = o
	}
	for k, v := range c.options {
		name = append(name, strings.NewReplacer(":", "_", "/", "_", ",", "_").Replace(k+"="+v))
	}
	return strings.Join(name, " ")
}

// positionsFor returns 12 tokens as a scheme needs them, in no order.
func positionsFor(s pe.Scheme) pe.Positions {
	order := rand.New(rand.NewPCG(1, 2)).Perm(12)
	if s.Needs == pe.NeedsSpace {
		return pe.Box(2, 2, 3).Permuted(order)
	}
	return pe.Grid(3, 4).Permuted(order)
}

func (c oneCase) config(t *testing.T) models.Config {
	t.Helper()
	scheme, err := pe.Find(c.pe)
	if err != nil {
		t.Fatal(err)
	}
	given := pe.Options{"fixed-pe-dropout": "0", "cape-global": "0", "cape-local": "0", "cape-scaling": "1"}
	for k, v := range c.options {
		given[k] = v
	}
	options, err := scheme.Resolve(c.fidelity, given)
	if err != nil {
		t.Fatal(err)
	}
	if c.positions.Index == nil {
		c.positions = positionsFor(scheme)
	}
	config := models.Config{
		Positions: c.positions, Symbols: 6, Classes: 4, Layers: 2, Heads: 2, DModel: 16, FFMultiple: 2,
		TokenInput: models.OneHot, EmbeddingInit: models.LikeLinear, ReadOut: models.LastToken,
		PE: c.pe, PEOptions: options, Sigma: []float64{0.7}, Seeds: []uint64{7}, DType: c.dtype,
		Device: torchpe.CPU,
	}
	if c.fidelity == "text" {
		config.TokenInput, config.ReadOut = models.Embedding, models.ProbeToken
	}
	if c.masked {
		config.TokenInput, config.ReadOut, config.Classes = models.Scalar, models.ReadTokens, 1
		config.MaskToken, config.MaskSD = models.LearnedMask, 0.5
		if c.fidelity == "text" {
			config.MaskToken = models.ZeroMask
		}
	}
	if c.change != nil {
		c.change(&config)
	}
	return config
}

const samples = 5

// batch is an input with its target, on the host.
type batch struct {
	symbols, probe, answers []int64
	values, masked, drawn   []float64
	tokens                  int
}

func newBatch(c models.Config, drawRange int) batch {
	rng := rand.New(rand.NewPCG(3, 4))
	n := c.Positions.Tokens()
	b := batch{tokens: n}
	for range samples {
		at := rng.IntN(n)
		for i := range n {
			v := int64(rng.IntN(c.Symbols - 1 + 0))
			if i == at {
				v = int64(c.Symbols - 1)
			}
			b.symbols = append(b.symbols, v)
			b.values = append(b.values, float64(float32(rng.NormFloat64())))
			b.masked = append(b.masked, float64(rng.IntN(2)))
		}
		b.probe, b.answers = append(b.probe, int64(at)), append(b.answers, int64(1+rng.IntN(4)))
	}
	if drawRange > 0 {
		b.drawn = make([]float64, samples*n)
		pe.DrawPositions(rng, n, drawRange, b.drawn)
	}
	return b
}

// forward returns the logits and the loss of the batch.
func (b batch) forward(s *torchpe.Scope, m *models.Model, training bool) (logits, loss torchpe.Tensor) {
	c := m.Config
	in := models.Input{Positions: c.Positions, Training: training}
	numbers := func(v []float64) torchpe.Tensor {
		return torchpe.Of(s, torchpe.CPU, v, 1, samples, b.tokens).To(c.DType, torchpe.CPU)
	}
	if b.drawn != nil {
		in.Positions.Drawn = numbers(b.drawn)
	}
	if c.TokenInput == models.Scalar {
		in.Values, in.Masked = numbers(b.values), numbers(b.masked)
		logits = m.Forward(s, in, nil)
		squares := logits.Sub(in.Values).Square().Mul(in.Masked).Sum(1, 2)
		return logits, squares.Div(in.Masked.Sum(1, 2))
	}
	in.Symbols = torchpe.Of(s, torchpe.CPU, b.symbols, 1, samples, b.tokens)
	in.Probe = torchpe.Of(s, torchpe.CPU, b.probe, 1, samples)
	logits = m.Forward(s, in, nil)
	target := make([]int64, samples)
	for i, a := range b.answers {
		target[i] = a - 1
	}
	return logits, torchpe.CrossEntropy(logits, torchpe.Of(s, torchpe.CPU, target, 1, samples))
}

// write exports the model, with the batch, its logits and the weights after three steps beside it.
func (c oneCase) write(t *testing.T, dir string, method torchpe.Method) {
	t.Helper()
	m, err := models.New(c.config(t))
	if err != nil {
		t.Fatalf("%s: %v", c.name(), err)
	}
	defer m.Close()
	dir = filepath.Join(dir, c.name())
	if err := Write(dir, m, Run{}); err != nil {
		t.Fatalf("%s: %v", c.name(), err)
	}
	b := newBatch(m.Config, m.Encoding.DrawRange())
	var file []safetensors.Tensor
	add := func(name string, shape []int, values []float64) {
		x, err := tensor(name, shape, values, c.dtype)
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, x)
	}
	whole := func(name string, shape []int, values []int64) {
		wide := make([]float64, len(values))
		for i, v := range values {
			wide[i] = float64(v)
		}
		add(name, shape, wide)
	}
	each := []int{samples, b.tokens}
	if c.masked {
		add("values", each, b.values)
		add("masked", each, b.masked)
	} else {
		whole("symbols", each, b.symbols)
		whole("probe", each[:1], b.probe)
		whole("answers", each[:1], b.answers)
	}
	if b.drawn != nil {
		add("drawn", each, b.drawn)
	}
	logits := func(name string) {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		y, _ := b.forward(s, m, false)
		add(name, y.Shape()[1:], y.Float64s())
	}
	o, err := torchpe.NewOptimizer(method, m.Params)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := torchpe.Catch(func() {
		logits("logits")
		for range 3 {
			s := torchpe.NewScope()
			if err := o.ZeroGrad(); err != nil {
				t.Fatal(err)
			}
			_, loss := b.forward(s, m, true)
			loss.Sum().Backward()
			s.Close()
			if err := o.Step(torchpe.StepSettings{LR: []float64{1e-2}, WeightDecay: []float64{0.1},
				Active: []bool{true}}); err != nil {
				t.Fatal(err)
			}
		}
		logits("trained logits")
	}); err != nil {
		t.Fatalf("%s: %v", c.name(), err)
	}
	tensors, err := stateDict(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tensors {
		x.Name = "after/" + x.Name
		file = append(file, x)
	}
	if err := safetensors.Write(filepath.Join(dir, "case.safetensors"), file, nil); err != nil {
		t.Fatal(err)
	}
}

// difference is a line of testdata/compare.py.
type difference struct {
	Case, Error, Worst string
	Logits, Example    float64
	TrainedLogits      float64 `json:"trained logits"`
	Weights            float64
}

// compare exports all cases and returns how they differ in PyTorch.
func compare(t *testing.T, cases []oneCase, method torchpe.Method) []difference {
	t.Helper()
	interpreter, dir := python(t), t.TempDir()
	for _, c := range cases {
		c.write(t, dir, method)
	}
	cmd := exec.Command(interpreter, "testdata/compare.py", dir)
	cmd.Env = append(os.Environ(), "METHOD="+string(method))
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var all []difference
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var d difference
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		all = append(all, d)
	}
	if len(all) != len(cases) {
		t.Fatalf("%d results of %d cases", len(all), len(cases))
	}
	return all
}

func TestFirst(t *testing.T) {
	var cases []oneCase
	for _, s := range pe.Schemes() {
		cases = append(cases, oneCase{pe: s.Name, fidelity: "code", dtype: torchpe.Float64})
	}
	for _, d := range compare(t, cases, torchpe.AdamW) {
		if d.Error != "" {
			fmt.Println(d.Case, d.Error)
		} else {
			fmt.Printf("%s: logits %.1e example %.1e trained %.1e weights %.1e %s\n", d.Case, d.Logits, d.Example,
				d.TrainedLogits, d.Weights, d.Worst)
		}
	}
}
