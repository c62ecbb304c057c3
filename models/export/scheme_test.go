package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// built is an encoding of so many heads, width and layers, with parameters of these values.
type built struct {
	scheme            string
	options           pe.Options
	at                pe.Positions
	heads, dim, layer int
	set               map[string][]float64
}

// write writes the module of the encoding.
func (b built) write(dir string) error {
	return b.with(func(m *models.Model) error {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		out, err := NewModule(m, "numbers.safetensors")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "encoding.py"), []byte(out.Text), 0o600); err != nil {
			return err
		}
		return safetensors.Write(filepath.Join(dir, "numbers.safetensors"), out.Numbers, nil)
	})
}

// with calls f with the encoding, as part of a model that has nothing else.
func (b built) with(f func(m *models.Model) error) error {
	scheme, err := pe.Find(b.scheme)
	if err != nil {
		return err
	}
	options, err := scheme.Resolve("code", b.options)
	if err != nil {
		return err
	}
	ps := torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)
	e, err := scheme.Build(pe.Config{Members: 1, Layers: b.layer, Heads: b.heads, DModel: b.dim, Positions: b.at,
		Sigma: []float64{0.7}, Options: options}, ps)
	if err != nil {
		return err
	}
	defer ps.Close()
	if err := ps.Build([]uint64{7}); err != nil {
		return err
	}
	for name, values := range b.set {
		if err := ps.Set(name, values); err != nil {
			return err
		}
	}
	return f(&models.Model{Params: ps, Encoding: e, Config: models.Config{Positions: b.at, Layers: b.layer,
		Heads: b.heads, DModel: b.dim, PE: b.scheme, PEOptions: options}})
}

// writeModule writes the module of a case, and beside it inputs with what the encoding's hooks make of
// them here.
func (c oneCase) writeModule(t *testing.T, dir string, layer int) error {
	t.Helper()
	config := c.config(t)
	dir = filepath.Join(dir, c.name())
	b := built{c.pe, config.PEOptions, config.Positions, config.Heads, config.DModel, config.Layers, nil}
	if err := b.write(dir); err != nil {
		return err
	}
	return b.with(func(m *models.Model) error {
		arrays, err := hooked(m.Encoding, config.Positions, layer)
		if err != nil {
			return err
		}
		return safetensors.Write(filepath.Join(dir, "case.safetensors"), arrays, nil)
	})
}

// hooked returns inputs, and what the hooks of a layer make of them.
func hooked(e pe.Encoding, p pe.Positions, layer int) (all []safetensors.Tensor, err error) {
	const b, h, d = 3, 2, 16
	n, rng := p.Tokens(), rand.New(rand.NewPCG(11, 12))
	add := func(name string, shape []int, values []float64) {
		var x safetensors.Tensor
		if x, err = safetensors.New(name, shape, values); err == nil {
			all = append(all, x)
		}
	}
	err2 := torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		random := func(name string, shape ...int) torchpe.Tensor {
			size := 1
			for _, k := range shape {
				size *= k
			}
			values := make([]float64, size)
			for i := range values {
				values[i] = rng.NormFloat64()
			}
			add(name, shape, values)
			return torchpe.Of(s, torchpe.CPU, values, append([]int{1}, shape...)...)
		}
		keep := func(name string, x torchpe.Tensor, shape ...int) {
			add(name, shape, x.Expand(append([]int{1}, shape...)...).Contiguous().Float64s())
		}
		if draw := e.Draw(); draw.Range > 0 {
			drawn := make([]float64, b*n)
			draw.Fill(rng, n, drawn)
			add("drawn", []int{b, n}, drawn)
			p.Drawn = torchpe.Of(s, torchpe.CPU, drawn, 1, b, n)
		}
		add("layer", nil, []float64{float64(layer)})
		weight := random("weight", 3*d, d)
		around := e.Attention()
		hooks := e.Begin(s, p)
		a := pe.Attn{Layer: layer, X: hooks.Embed(layer, random("x", b, n, d)),
			Q: random("q", b, h, n, d/h), K: random("k", b, h, n, d/h), V: random("v", b, h, n, d/h),
			Scale: around.LogitScale(d / h), Project: func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
				return torchpe.ProjectQKV(y, weight, torchpe.Tensor{}, h)
			}}
		keep("x_out", a.X, b, n, d)
		a.Q, a.K, a.V = hooks.QKV(a)
		keep("q_out", a.Q, b, h, n, d/h)
		keep("k_out", a.K, b, h, n, d/h)
		logits := hooks.Logits(a, torchpe.AttentionLogits(a.Q, a.K, a.Scale)).Expand(1, b, h, n, n)
		keep("logits", logits, b, h, n, n)
		seen := logits.MulScalar(1 / around.Temperature)
		if around.Causal {
			seen = seen.Add(pe.CausalMask(s, seen, p.Index))
		}
		weights := seen.Softmax(-1)
		keep("out", hooks.Output(a, weights, weights.MatMul(a.V)), b, h, n, d/h)
	})
	if err == nil {
		err = err2
	}
	return all, err
}

// distinct returns cases of different names.
func distinct(all []oneCase) []oneCase {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c oneCase) bool {
		was := seen[c.name()]
		seen[c.name()] = true
		return was
	})
}

// TestModules: every encoding with each of its options gives the same in its module as here, in
// float64.
func TestModules(t *testing.T) {
	python(t)
	dir := t.TempDir()
	var cases []oneCase
	for _, s := range pe.Schemes() {
		if testing.Short() && !slices.Contains(paperSchemes, s.Name) {
			continue
		}
		for _, fidelity := range []string{"code", "text"} {
			cases = append(cases, oneCase{pe: s.Name, fidelity: fidelity, dtype: torchpe.Float64})
		}
	}
	if !testing.Short() {
		cases = append(cases, possible(t, variants(t))...)
	}
	cases = distinct(cases)
	for i, c := range cases {
		if err := c.writeModule(t, dir, i%2); err != nil {
			t.Errorf("%s: %v", c.name(), err)
		}
	}
	compareModules(t, dir, len(cases), 1e-10)
}

// compareModules compares so many folders of modules with what lies beside them.
func compareModules(t *testing.T, dir string, folders int, most float64) {
	t.Helper()
	interpreter := python(t)
	reader, err := sources.ReadFile("python/weights.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "reader.py"), reader, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(interpreter, "testdata/modules.py", dir)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	number, worst := 0, 0.0
	for lines := bufio.NewScanner(&out); lines.Scan(); number++ {
		var d struct {
			Case, Error, At string
			Worst           float64
		}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if d.Error != "" || !(d.Worst <= most) {
			t.Errorf("%s: %s differs by %.1e %s", d.Case, d.At, d.Worst, d.Error)
		}
		worst = max(worst, d.Worst)
	}
	if number != folders {
		t.Errorf("%d results of %d folders", number, folders)
	}
	t.Logf("%d modules; largest difference %.1e", number, worst)
}
