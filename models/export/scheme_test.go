package export

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// writeModule writes the module of a case, and beside it inputs with what the encoding's hooks make of
// them here.
func (c oneCase) writeModule(t *testing.T, dir string, layer int) error {
	t.Helper()
	m, err := models.New(c.config(t))
	if err != nil {
		return err
	}
	defer m.Close()
	dir = filepath.Join(dir, c.name())
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
	if err := safetensors.Write(filepath.Join(dir, "numbers.safetensors"), out.Numbers, nil); err != nil {
		return err
	}
	arrays, err := hooked(m, layer)
	if err != nil {
		return err
	}
	return safetensors.Write(filepath.Join(dir, "case.safetensors"), arrays, nil)
}

// hooked returns inputs, and what the hooks of a layer make of them.
func hooked(m *models.Model, layer int) (all []safetensors.Tensor, err error) {
	const b, h, d = 3, 2, 16
	e, p := m.Encoding, m.Config.Positions
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
		around, sight := m.Attention(layer)
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
		seen = seen.Add(sight.Mask(s, seen, p.Index))
		weights := seen.Softmax(-1)
		keep("out", hooks.Output(a, weights, weights.MatMul(a.V)), b, h, n, d/h)
	})
	if err == nil {
		err = err2
	}
	return all, err
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
		cases = append(cases, variants(t)...)
	}
	cases = possible(t, cases)
	for i, c := range cases {
		expect.Equal(t, c.name(), c.writeModule(t, dir, i%2), nil)
	}
	reader := expect.Must(sources.ReadFile("python/weights.py"))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "reader.py"), reader, 0o600))
	type module struct {
		Case, Error, At string
		Worst           float64
	}
	all, worst := run[module](t, "modules.py", dir), 0.0
	for _, d := range all {
		if d.Error != "" || !(d.Worst <= 1e-10) {
			t.Errorf("%s: %s differs by %.1e %s", d.Case, d.At, d.Worst, d.Error)
		}
		worst = max(worst, d.Worst)
	}
	expect.Equal(t, "number", len(all), len(cases))
	t.Logf("%d modules; largest difference %.1e", len(all), worst)
}
