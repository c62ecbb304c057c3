package export

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// exported writes a small model of rope+learn and returns it with its folder.
func exported(t *testing.T) (m *models.Model, dir string) {
	t.Helper()
	c := oneCase{pe: "rope+learn", fidelity: "text", dtype: torchpe.Float32}
	m = expect.Must(models.New(c.config(t)))
	t.Cleanup(m.Close)
	dir = t.TempDir()
	expect.NoError(t, Write(dir, m, Run{Directory: "first", Step: 9, Config: json.RawMessage(`{"pe":"learn"}`)}))
	return m, dir
}

// TestReadGivesTheBitsBack: Read puts what Write wrote into a model drawn from another seed, bit for bit.
func TestReadGivesTheBitsBack(t *testing.T) {
	m, dir := exported(t)
	c := m.Config
	c.Seeds = []uint64{99}
	other := expect.Must(models.New(c))
	defer other.Close()
	expect.NoError(t, Read(dir, other))
	for _, p := range m.Params.All() {
		want, _ := m.Params.Values(p.Name)
		got, err := other.Params.Values(p.Name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s differs (%v)", p.Name, err)
		}
	}
	r := expect.Must(ReadRun(dir))
	expect.Equal(t, "run", fmt.Sprintf("%d %s %s", r.Step, r.Directory, r.Config), `9 first {"pe":"learn"}`)
}

// TestReadEveryScheme: what is exported can be imported, also if evaluation draws random numbers.
func TestReadEveryScheme(t *testing.T) {
	for _, s := range pe.Schemes() {
		c := oneCase{pe: s.Name, fidelity: "code", dtype: torchpe.Float32,
			options: pe.Options{"fixed-pe-dropout": "0.1", "cape-global": "0.1"}}
		m := expect.Must(models.New(c.config(t)))
		dir := t.TempDir()
		expect.NoError(t, Write(dir, m, Run{Directory: "r", Step: 1, Config: json.RawMessage(`{}`)}))
		if err := Read(dir, m); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		m.Close()
	}
}

// TestPlainNames: a layer's parameters have the names of PyTorch modules, an encoding's lie under pe.
func TestPlainNames(t *testing.T) {
	_, dir := exported(t)
	f := expect.Must(safetensors.Read(filepath.Join(dir, WeightsFile)))
	for _, want := range []string{"embed.weight", "blocks.0.qkv.weight", "blocks.1.out.bias", "blocks.1.mlp_in.weight",
		"blocks.0.norm2.bias", "head.weight", "pe.rope.cos", "pe.learn.table"} {
		if !slices.Contains(f.Names(), want) {
			t.Errorf("no %s among %v", want, f.Names())
		}
	}
}

// TestReadNamesWhatIsWrong: each fault of a state dict is named, all at once, and nothing is changed.
func TestReadNamesWhatIsWrong(t *testing.T) {
	m, dir := exported(t)
	path := filepath.Join(dir, WeightsFile)
	f := expect.Must(safetensors.Read(path))
	with := func(x safetensors.Tensor, v float32) safetensors.Tensor { // everywhere
		values := slices.Repeat([]float32{v}, len(x.Data)/4)
		return expect.Must(safetensors.New(x.Name, x.Shape, values))
	}
	var tensors []safetensors.Tensor
	for _, x := range f.Tensors {
		switch x.Name {
		case "head.bias":
			continue
		case "head.weight":
			x.Shape = []int{16, 4}
		case "blocks.0.norm1.weight":
			x = expect.Must(safetensors.New(x.Name, x.Shape, make([]float64, 16)))
		case "blocks.0.norm1.bias":
			x = with(x, float32(math.NaN()))
		case "blocks.0.norm2.bias":
			x = expect.Must(safetensors.New(x.Name, x.Shape, make([]int32, 16)))
		case "blocks.0.norm2.weight": // 1.85e19 squared is 3.42e38, and float32 goes to 3.403e38
			x = with(x, -1.85e19)
		case "blocks.1.norm2.weight": // 1.84e19 squared is 3.39e38
			x = with(x, -1.84e19)
		case "pe.rope.cos":
			x = with(x, 0)
		}
		tensors = append(tensors, x)
	}
	extra, _ := safetensors.New("mlm.bias", []int{1}, []float32{1})
	expect.NoError(t, safetensors.Write(path, append(tensors, extra), nil))
	before, _ := m.Params.Values("embed.weight")
	err := Read(dir, m)
	expect.Error(t, err, "head.bias: it is missing", "head.weight: its shape is [16 4], but the model's is [4 16]",
		"mlm.bias: the model has no such tensor", "blocks.0.norm1.weight: it is float64",
		"blocks.0.norm1.bias: it holds NaN",
		"blocks.0.norm2.bias: it is I32, but weights are floating-point numbers",
		"blocks.0.norm2.weight: it holds -1.85e+19, whose square is not finite in float32",
		"pe.rope.cos: it is a fixed table of rope+learn, but was changed")
	if err != nil && strings.Contains(err.Error(), "blocks.1") {
		t.Errorf("names what is right: %v", err)
	}
	config := filepath.Join(dir, ConfigFile)
	original := string(expect.Must(os.ReadFile(config)))
	for _, edit := range [][3]string{
		{`"heads": 2`, `"heads": 1`, "heads is 1, but its run.config makes a model with 2"},
		{`"causal":false`, `"causal":true`, "attention[0].causal is true, but its run.config makes a model with false"},
		{`"rope-base":"10000"`, `"rope-base":"100"`, "encodings[0].options.rope-base is 100, but its"},
		{`"index":[4,3`, `"index":[3,4`, "positions.index[0] is 3, but"},
	} {
		if !strings.Contains(original, edit[0]) {
			t.Fatalf("no %s in %s", edit[0], original)
		}
		expect.NoError(t, os.WriteFile(config, []byte(strings.Replace(original, edit[0], edit[1], 1)), 0o666))
		expect.Error(t, Read(dir, m), "config.json: "+edit[2])
	}
	if after, _ := m.Params.Values("embed.weight"); !slices.Equal(before, after) {
		t.Error("the model was changed")
	}
}

// TestReadRefusesOverflow: numbers with finite squares whose sums of products overflow are
// refused by the tensor that holds the largest.
func TestReadRefusesOverflow(t *testing.T) {
	m, dir := exported(t)
	path := filepath.Join(dir, WeightsFile)
	f := expect.Must(safetensors.Read(path))
	for i, x := range f.Tensors {
		if at, ok := map[string]float32{"blocks.1.norm2.bias": 1.5e19, "head.weight": 1e19}[x.Name]; ok {
			f.Tensors[i] = expect.Must(safetensors.New(x.Name, x.Shape, slices.Repeat([]float32{at}, len(x.Data)/4)))
		}
	}
	expect.NoError(t, safetensors.Write(path, f.Tensors, nil))
	expect.Error(t, Read(dir, m), "is not finite", "1.5e+19, is in blocks.1.norm2.bias")
}

// TestReadRunRefuses names a folder that torchpe did not export.
func TestReadRunRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"{": "unexpected end", "{}": "no key run.config"} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, ConfigFile), []byte(text), 0o666))
		expect.Error(t, expect.ErrorOf(ReadRun(dir)), want)
	}
}

// exportable returns the names of the schemes that have a Python part, sorted.
func exportable() (names []string) {
	for _, file := range library {
		blocks, _ := blocksOf(file)
		for _, b := range blocks {
			names = append(names, b.schemes...)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(s string) bool { return s == "+" })
}

// TestEverySchemeHasAPart: the Python parts name all schemes of the registry and no others.
func TestEverySchemeHasAPart(t *testing.T) {
	expect.Equal(t, "can be exported", exportable(), pe.Names())
}

// TestSourceHoldsItsOwnEncodingAlone: model.py is one file without ours imports, and has the classes
// of its encoding and no others.
func TestSourceHoldsItsOwnEncodingAlone(t *testing.T) {
	_, dir := exported(t)
	text := expect.Must(os.ReadFile(filepath.Join(dir, SourceFile)))
	for name, want := range map[string]int{
		"class Learned(": 1, "class Rotary(": 1, "class Stack(": 1, "class Puzzles(": 1, "class Table(": 1,
		"class Masked(": 0, "class ALiBi(": 0, "class Fixed(": 0, "from encoding": 0, "import math": 0,
	} {
		expect.Equal(t, fmt.Sprintf("%q is there", name), strings.Count(string(text), name), want)
	}
}

// What many tensors have in common is said once.
func TestGroupedReasons(t *testing.T) {
	got := grouped([]string{"e: wide", "a: wide", "b: wide", "x: it is missing", "c: wide", "d: wide"})
	expect.Equal(t, "reasons", got, []string{"a and 4 more: wide", "x: it is missing"})
}
