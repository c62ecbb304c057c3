package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"torchpe/data/array/safetensors"
	"torchpe/internal/atomicfile"
	"torchpe/models"
	"torchpe/torchpe"
)

// ReadRun returns what the model of an exported folder was trained as.
func ReadRun(dir string) (r Run, err error) {
	path := filepath.Join(dir, ConfigFile)
	text, err := atomicfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%w: name a folder that `torchpe export` or save of model.py has written", err)
	}
	if err != nil {
		return r, err
	}
	var config struct {
		Run *Run `json:"run"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if config.Run == nil || config.Run.Config == nil {
		return r, fmt.Errorf("%s: it has no key run.config: `torchpe export` writes it, and save of "+
			"model.py keeps it; take the %s of the export", path, ConfigFile)
	}
	return *config.Run, nil
}

// fixedTolerance is by how much a fixed table may differ from the scheme's, which another machine's
// sines round otherwise, relative to 1 or the table's largest number.
const fixedTolerance = 1e-5

// Read sets the parameters and fixed tables of m, a model of one member, to those of the state dict
// in dir. Tensors that are missing, unexpected, of another shape, not floating-point numbers, or hold
// a number whose square is not finite in the model's precision, are an error that lists them all, and
// so are fixed tables that were changed: then m is as it was. Weights with which m has no finite output
// are an error too.
func Read(dir string, m *models.Model) error {
	if err := checkConfig(filepath.Join(dir, ConfigFile), m.Config); err != nil {
		return err
	}
	path := filepath.Join(dir, WeightsFile)
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	parts, err := partsOf(m)
	if err != nil {
		return err
	}
	values := map[string][]float64{}
	var bad []string
	expected := map[string]bool{}
	for _, p := range m.Params.All() {
		name := plainName(p.Name, parts)
		expected[name] = true
		v, err := valuesOf(file, name, p.Shape[1:], m.Config.DType)
		if err == nil && !p.Trainable {
			err = checkFixed(m, p.Name, v)
		}
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", name, err))
		}
		values[p.Name] = v
	}
	for _, name := range file.Names() {
		if !expected[name] {
			bad = append(bad, name+": the model has no such tensor")
		}
	}
	if bad != nil {
		return fmt.Errorf("%s does not fit the model of %s:\n  %s", path, ConfigFile,
			strings.Join(grouped(bad), "\n  "))
	}
	for name, v := range values {
		if err := m.Params.Set(name, v); err != nil {
			return err
		}
	}
	if err := checkOutput(m, parts); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkConfig returns an error where config.json, as model.py reads it, has another model than its run.config.
func checkConfig(path string, c models.Config) error {
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return err
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(text, &has); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range shapes(c) {
		want, err := json.Marshal(s.value)
		if err != nil {
			return err
		}
		if got, ok := has[s.key]; ok && string(got) != string(want) {
			return fmt.Errorf("%s: %s is %s, and its run.config makes a model with %s: change neither in an export",
				path, s.key, got, want)
		}
	}
	return nil
}

// checkOutput returns an error where the output for one sample is not finite.
func checkOutput(m *models.Model, parts []part) error {
	e, err := exampleOf(m)
	if err != nil || !slices.ContainsFunc(e.Output[0], func(v float64) bool { return v-v != 0 }) {
		return err
	}
	largest, of := 0.0, ""
	for _, p := range m.Params.All() {
		values, err := m.Params.Values(p.Name)
		if err != nil {
			return err
		}
		for _, v := range values {
			if math.Abs(v) > largest {
				largest, of = math.Abs(v), plainName(p.Name, parts)
			}
		}
	}
	return fmt.Errorf("the output that these weights have for one sample is not finite: %g; the largest number, "+
		"%.3g, is in %s", e.Output[0], largest, of)
}

// grouped sorts lines "NAME: REASON", those of a reason that more than four have in one.
func grouped(lines []string) (out []string) {
	slices.Sort(lines)
	names := map[string][]string{}
	for _, line := range lines {
		name, reason, _ := strings.Cut(line, ": ")
		names[reason] = append(names[reason], name)
	}
	for _, line := range lines {
		name, reason, _ := strings.Cut(line, ": ")
		switch all := names[reason]; {
		case len(all) <= 4:
			out = append(out, line)
		case name == all[0]:
			out = append(out, fmt.Sprintf("%s and %d more: %s", name, len(all)-1, reason))
		}
	}
	return out
}

// valuesOf returns the numbers of a tensor, which must have the shape, and whose squares must be finite.
func valuesOf(f *safetensors.File, name string, shape []int, dtype torchpe.DType) ([]float64, error) {
	t, ok := f.Tensor(name)
	switch {
	case !ok:
		return nil, errors.New("it is missing")
	case !slices.Equal(t.Shape, shape):
		return nil, fmt.Errorf("its shape is %v, and the model's %v", t.Shape, shape)
	case !slices.Contains([]safetensors.DType{safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16},
		t.DType):
		return nil, fmt.Errorf("it is %s, and weights are floating-point numbers: save model.float()", t.DType)
	case t.DType == safetensors.F64 && dtype != torchpe.Float64:
		return nil, errors.New("it is float64, and the run float32: save model.float()")
	}
	values, err := t.Float64s()
	if err != nil {
		return nil, err
	}
	largest := math.Sqrt(math.MaxFloat32)
	if dtype == torchpe.Float64 {
		largest = math.Sqrt(math.MaxFloat64)
	}
	for _, v := range values {
		if !(math.Abs(v) <= largest) {
			return nil, fmt.Errorf("it holds %.6g, whose square is not finite in %v", v, dtype)
		}
	}
	return values, nil
}

// checkFixed returns an error where a fixed table is not that of the model.
func checkFixed(m *models.Model, name string, values []float64) error {
	own, err := m.Params.Values(name)
	if err != nil {
		return err
	}
	most, apart := 1.0, 0.0
	for i, v := range own {
		most, apart = max(most, math.Abs(v)), max(apart, math.Abs(v-values[i]))
	}
	if apart > fixedTolerance*most {
		return fmt.Errorf("it is a fixed table of %s and was changed, by up to %.2g", m.Config.PE, apart)
	}
	return nil
}
