package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// ReadRun returns the run of the model in an exported folder.
func ReadRun(dir string) (r Run, err error) {
	path := filepath.Join(dir, ConfigFile)
	text, err := atomicfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%w: give a folder that `torchpe export` or save of model.py has written", err)
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
		return r, fmt.Errorf("%s: it has no key run.config, which `torchpe export` writes and save of "+
			"model.py keeps; use the %s of the export", path, ConfigFile)
	}
	return *config.Run, nil
}

// fixedTolerance is the largest difference between a fixed table and the scheme's, relative to 1 or
// the table's largest number. Sines are rounded differently on other machines.
const fixedTolerance = 1e-5

// Read sets the parameters and fixed tables of m, a model of one member, to those of the state dict
// in dir. The error lists all tensors that are missing, unexpected, of another shape, not
// floating-point numbers, or hold a number whose square is not finite in the model's precision, and
// all fixed tables that were changed; m then stays as it was. It is also an error if m has no
// finite output with these weights.
func Read(dir string, m *models.Model) error {
	parts, err := partsOf(m)
	if err == nil {
		err = checkConfig(filepath.Join(dir, ConfigFile), m, parts)
	}
	if err != nil {
		return err
	}
	path := filepath.Join(dir, WeightsFile)
	file, err := safetensors.Read(path)
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

// checkConfig returns an error if config.json, as model.py reads it, describes another model than
// its run.config.
func checkConfig(path string, m *models.Model, parts []part) error {
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return err
	}
	var has, makes map[string]any
	if err := json.Unmarshal(text, &has); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	settings, err := settingsOf(m, parts)
	if err != nil {
		return err
	}
	if text, err := settingsText(settings); err != nil {
		return err
	} else if err := json.Unmarshal([]byte(text), &makes); err != nil {
		return err
	}
	for _, s := range settings {
		if key, got, want, differ := mismatch(s.key, has[s.key], makes[s.key]); differ && has[s.key] != nil {
			return fmt.Errorf("%s: %s is %v, but its run.config makes a model with %v: change neither in an export",
				path, key, got, want)
		}
	}
	return nil
}

// mismatch returns the first place at which a value of config.json is not the one that is wanted. Keys that the
// value lacks do not count: earlier versions did not write all.
func mismatch(key string, got, want any) (at string, is, wanted any, differ bool) {
	switch of := want.(type) {
	case map[string]any:
		has, _ := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(has)) {
			if at, is, wanted, differ = mismatch(key+"."+name, has[name], of[name]); differ {
				return at, is, wanted, true
			}
		}
		return key, got, want, has == nil
	case []any:
		has, _ := got.([]any)
		for i := range min(len(has), len(of)) {
			if at, is, wanted, differ = mismatch(fmt.Sprintf("%s[%d]", key, i), has[i], of[i]); differ {
				return at, is, wanted, true
			}
		}
		return key, got, want, len(has) != len(of)
	}
	return key, got, want, got != want
}

// checkOutput returns an error if the output for one sample is not finite.
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
	return fmt.Errorf("the output of these weights for one sample is not finite: %g; the largest number, "+
		"%.3g, is in %s", e.Output[0], largest, of)
}

// grouped sorts lines "NAME: REASON", and joins those of a reason with more than four lines into one.
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

// valuesOf returns the numbers of a tensor, which must have this shape and finite squares.
func valuesOf(f *safetensors.File, name string, shape []int, dtype torchpe.DType) ([]float64, error) {
	t, ok := f.Tensor(name)
	switch {
	case !ok:
		return nil, errors.New("it is missing")
	case !slices.Equal(t.Shape, shape):
		return nil, fmt.Errorf("its shape is %v, but the model's is %v", t.Shape, shape)
	case !slices.Contains([]safetensors.DType{safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16},
		t.DType):
		return nil, fmt.Errorf("it is %s, but weights are floating-point numbers: save model.float()", t.DType)
	case t.DType == safetensors.F64 && dtype != torchpe.Float64:
		return nil, errors.New("it is float64, but the run is float32: save model.float()")
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

// checkFixed returns an error if a fixed table differs from the model's.
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
		return fmt.Errorf("it is a fixed table of %s, but was changed by up to %.2g", m.Config.PE, apart)
	}
	return nil
}
