package pe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models/pe/petest"
)

// Vectors holds the reference vectors of a scheme, computed by other people's code.
type Vectors struct {
	Tolerance petest.Tolerance
	Cases     []*VectorCase

	file string // its name, without .json
}

// VectorCase holds one run of the other code.
type VectorCase struct {
	Name         string
	Licence      string
	Commit       any
	SourceRepo   any `json:"source_repo"`
	SourceSymbol any `json:"source_symbol"`
	Config       map[string]any
	Params       map[string]petest.Array
	Inputs       map[string]petest.Array
	Outputs      map[string]petest.Array
	Tolerance    petest.Tolerance // that of the file where the case has none

	missing  string          // why it is not there; "" where it is
	used     map[string]bool // what the adapter asked for
	signless map[string]bool // outputs whose columns are compared up to sign
}

// Outputs holds torchpe's results for a case, by the case's names.
type Outputs map[string]petest.Array

// Adapter runs torchpe on a case's configuration, weights and inputs and returns the outputs of such
// cases. It must depend on the configuration, never on the case's name: other cases of the same
// kind exist.
type Adapter func(t testing.TB, c *VectorCase) Outputs

// folderVectors reads the files of the folders that TORCHPE_PE_VECTORS names, with colons between, of
// which each must hold some; none where it is unset.
func folderVectors() (all []*Vectors, err error) {
	for _, folder := range filepath.SplitList(os.Getenv("TORCHPE_PE_VECTORS")) {
		found, _ := filepath.Glob(filepath.Join(folder, "*.json"))
		if len(found) == 0 {
			return nil, fmt.Errorf("TORCHPE_PE_VECTORS names %q, where there are no reference vectors", folder)
		}
		for _, path := range found {
			v, err := readVectors(path)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
	return all, nil
}

// shippedVectors reads those that ship, in folder vectors, which scripts/pe_vectors.py makes: numbers of
// repositories whose licence allows commercial use. The cases that do not ship come from the shared
// folders beside the repository; a case that is in neither has nothing but a name and the reason why it
// does not ship.
func shippedVectors() (all []*Vectors, err error) {
	text, err := os.ReadFile("vectors/manifest.json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Schemes map[string]json.RawMessage   `json:"schemes"`  // Vectors, without most arrays
		LeftOut map[string]map[string]string `json:"left_out"` // reasons by scheme and case
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	arrays, err := shippedArrays()
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(list.Schemes))
	names = slices.AppendSeq(names, maps.Keys(list.LeftOut))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		v := &Vectors{file: name}
		if text, ok := list.Schemes[name]; ok {
			if v, err = parseVectors(name, text, arrays); err != nil {
				return nil, err
			}
		}
		left, err := leftOut(name, list.LeftOut[name])
		if err != nil {
			return nil, err
		}
		v.Cases = append(v.Cases, left...)
		all = append(all, v)
	}
	return all, nil
}

// shippedArrays returns the arrays by scheme/case/kind and name.
func shippedArrays() (map[string]map[string]petest.Array, error) {
	file, err := safetensors.Read("vectors/vectors.safetensors")
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]petest.Array{}
	for _, t := range file.Tensors {
		values, err := t.Float64s()
		if err != nil {
			return nil, err
		}
		of, name := filepath.Split(t.Name)
		if all[of] == nil {
			all[of] = map[string]petest.Array{}
		}
		all[of][name] = petest.Array{Shape: t.Shape, Values: values}
	}
	return all, nil
}

// leftOut returns the cases of a scheme that do not ship, for the reasons by their names.
func leftOut(scheme string, reasons map[string]string) (cases []*VectorCase, err error) {
	for _, folder := range []string{"pe", "pe-new"} {
		v, err := readVectors(filepath.Join("../../../shared", folder, scheme+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range v.Cases {
			if reasons[c.Name] != "" {
				cases = append(cases, c)
			}
		}
	}
	if cases == nil {
		for _, name := range slices.Sorted(maps.Keys(reasons)) {
			cases = append(cases, &VectorCase{Name: name, missing: reasons[name]})
		}
	}
	return cases, nil
}

// readVectors reads a scheme's file.
func readVectors(path string) (*Vectors, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := parseVectors(strings.TrimSuffix(filepath.Base(path), ".json"), text, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// parseVectors reads a scheme's vectors; arrays has those that lie elsewhere.
func parseVectors(name string, text []byte, arrays map[string]map[string]petest.Array) (*Vectors, error) {
	v := &Vectors{file: name}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	if len(v.Cases) == 0 || v.Tolerance.Atol <= 0 {
		return nil, fmt.Errorf("%d cases, tolerance %v: want at least one case and a tolerance",
			len(v.Cases), v.Tolerance)
	}
	for i, c := range v.Cases {
		if c.Tolerance == (petest.Tolerance{}) {
			c.Tolerance = v.Tolerance
		}
		for kind, into := range map[string]*map[string]petest.Array{
			"params": &c.Params, "inputs": &c.Inputs, "outputs": &c.Outputs} {
			if *into == nil {
				*into = map[string]petest.Array{}
			}
			maps.Copy(*into, arrays[fmt.Sprintf("%s/%s/%s/", name, c.Name, kind)])
		}
		if c.Name == "" || len(c.Outputs) == 0 {
			return nil, fmt.Errorf("case %d %q has %d outputs: want a name and at least one",
				i, c.Name, len(c.Outputs))
		}
		c.used, c.signless = map[string]bool{}, map[string]bool{}
	}
	return v, nil
}

// TestVectors: every scheme gives what other people's code gave, in float64 within the tolerance of
// each case, and no output can change by 1e-6 unnoticed. The cases are those of the folders that
// TORCHPE_PE_VECTORS names, else those that ship and the others that are in the shared folders. A file
// without adapter is a failure, unless it is listed as unused. A case that is nowhere is skipped. (go test
// does not notice that files outside the module change: run with -count=1 then.)
func TestVectors(t *testing.T) {
	all, err := folderVectors()
	if all == nil && err == nil {
		all, err = shippedVectors()
	}
	expect.NoError(t, err)
	schemes, cases, left, missing := 0, 0, 0, 0
	for _, v := range all {
		adapter, unused := vectors[v.file], slices.Contains(noEncodings, v.file)
		if (adapter != nil) == unused {
			t.Errorf("%s: want an adapter, vectors[%[1]q] = ..., or its name among noEncodings", v.file)
			continue
		}
		if unused {
			left++
			continue
		}
		schemes++
		for _, c := range v.Cases {
			t.Run(v.file+"/"+c.Name, func(t *testing.T) {
				if c.missing != "" {
					missing++
					t.Skipf("the case does not ship (%s), and no folder shared/pe holds it", c.missing)
				}
				cases++
				c.check(t, adapter)
			})
		}
	}
	t.Logf("%d files, %d cases checked; %d files are not used; %d cases that do not ship are skipped",
		schemes, cases, left, missing)
}

// check runs an adapter, compares every output, and expects the comparison to notice changes. Where the
// adapter panics, as on an operator's error, the test fails with the reason.
func (c *VectorCase) check(t *testing.T, adapter Adapter) {
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("the case needs what the scheme lacks: %v (%v)", r, c.Config)
		}
	}()
	got := adapter(t, c)
	expect.Equal(t, "comparison", c.compare(got), nil)
	for kind, entries := range map[string]map[string]petest.Array{"parameter": c.Params, "input": c.Inputs} {
		for name := range entries {
			if !c.used[kind+" "+name] {
				t.Errorf("the adapter does not use the %s %q of the case", kind, name)
			}
		}
	}
	var ignored []string
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		// arrays have it too
		size := slices.Contains([]string{"n", "d", "d_model", "d_head", "heads", "batch"}, name)
		if !size && !c.used["config "+name] {
			ignored = append(ignored, fmt.Sprintf("%s=%v", name, c.Config[name]))
		}
	}
	if ignored != nil {
		t.Logf("the adapter does not look at %s", strings.Join(ignored, ", "))
	}
	for name, w := range c.Outputs {
		c.checkChanged(t, got, name, w)
	}
}

// checkChanged changes one value of an output of a case by 1e-6 (relative to values above 1), or by ten
// times the tolerance where that is more, and expects the comparison to fail.
func (c *VectorCase) checkChanged(t *testing.T, got Outputs, name string, w petest.Array) {
	at := slices.IndexFunc(w.Values, func(v float64) bool { return !math.IsNaN(v) })
	if at < 0 {
		t.Errorf("output %s is masked throughout", name)
		return
	}
	for i, v := range w.Values { // the largest one: no column of it is compared to nothing
		if math.Abs(v) > math.Abs(w.Values[at]) {
			at = i
		}
	}
	v := w.Values[at]
	change := max(1e-6*max(1, math.Abs(v)), 10*(c.Tolerance.Atol+c.Tolerance.Rtol*math.Abs(v)))
	w.Values[at] += change
	if c.compare(got) == nil {
		t.Errorf("%s[%d] = %g may change by %g unnoticed", name, at, v, change)
	}
	w.Values[at] = v
}

// compare returns an error that names all outputs that are missing or differ. An adapter may give more
// outputs than the case has.
func (c *VectorCase) compare(got Outputs) error {
	var bad []error
	for name, w := range c.Outputs {
		g, ok := got[name]
		if !ok {
			bad = append(bad, fmt.Errorf("%s: the adapter gives no such output", name))
			continue
		}
		if c.signless[name] {
			g = withSigns(g, w)
		}
		if err := petest.Compare(g, w, c.Tolerance); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(bad...)
}

// withSigns returns the columns of got [N,K], each with the sign that brings it nearer to that of
// want.
func withSigns(got, want petest.Array) petest.Array {
	if len(got.Shape) != 2 || !slices.Equal(got.Shape, want.Shape) {
		return got
	}
	out := petest.Array{Shape: got.Shape, Values: slices.Clone(got.Values)}
	columns := got.Shape[1]
	for k := range columns {
		product := 0.0
		for i := k; i < len(out.Values); i += columns {
			product += out.Values[i] * want.Values[i]
		}
		for i := k; i < len(out.Values) && product < 0; i += columns {
			out.Values[i] = -out.Values[i]
		}
	}
	return out
}

// array returns a copy of one entry of the case's weights, inputs or outputs.
func (c *VectorCase) array(t testing.TB, kind string, from map[string]petest.Array, name string) petest.Array {
	t.Helper()
	a, ok := from[name]
	if !ok {
		t.Fatalf("the case has no %s %q", kind, name)
	}
	c.used[kind+" "+name] = true
	return petest.Array{Shape: slices.Clone(a.Shape), Values: slices.Clone(a.Values)}
}

// Param returns a weight.
func (c *VectorCase) Param(t testing.TB, name string) petest.Array {
	t.Helper()
	return c.array(t, "parameter", c.Params, name)
}

// Input returns an input.
func (c *VectorCase) Input(t testing.TB, name string) petest.Array {
	t.Helper()
	return c.array(t, "input", c.Inputs, name)
}

// Output returns an expected output. An adapter has use for its shape only.
func (c *VectorCase) Output(t testing.TB, name string) petest.Array {
	t.Helper()
	return c.array(t, "output", c.Outputs, name)
}

// Has reports whether the case has such a weight, input or output.
func (c *VectorCase) Has(name string) bool {
	for _, from := range []map[string]petest.Array{c.Params, c.Inputs, c.Outputs} {
		if _, ok := from[name]; ok {
			return true
		}
	}
	return false
}

// Unused marks weights or inputs that do not enter the outputs, as the case's notes say.
func (c *VectorCase) Unused(names ...string) {
	for _, name := range names {
		c.used["parameter "+name], c.used["input "+name] = true, true
	}
}

// UpToSign makes compare ignore the signs of the columns of an output [N,K], as of eigenvectors.
func (c *VectorCase) UpToSign(name string) { c.signless[name] = true }

// Value returns an entry of the case's configuration, nil where it has none.
func (c *VectorCase) Value(name string) any {
	c.used["config "+name] = true
	return c.Config[name]
}

// Int returns a whole number of the case's configuration, or fallback where it has none.
func (c *VectorCase) Int(name string, fallback int) int { return int(c.Float(name, float64(fallback))) }

// Float returns a number of the case's configuration, or fallback where it has none.
func (c *VectorCase) Float(name string, fallback float64) float64 { return valueOr(c, name, fallback) }

// Text returns a string of the case's configuration, or fallback where it has none.
func (c *VectorCase) Text(name, fallback string) string { return valueOr(c, name, fallback) }

func valueOr[T any](c *VectorCase, name string, fallback T) T {
	if v, ok := c.Value(name).(T); ok {
		return v
	}
	return fallback
}

// Bool reports whether an entry of the case's configuration is true.
func (c *VectorCase) Bool(name string) bool { return c.Value(name) == true }

// Floats returns a list of numbers of the case's configuration; nil where it has none.
func (c *VectorCase) Floats(name string) []float64 {
	list, _ := c.Value(name).([]any)
	var values []float64
	for _, v := range list {
		if x, ok := v.(float64); ok {
			values = append(values, x)
		}
	}
	return values
}

// TestVectorsAreFound: each folder that the environment names must hold vectors; a file without
// cases is an error. As many ship as the manifest says, and it says why the others do not.
func TestVectorsAreFound(t *testing.T) {
	own, empty := t.TempDir(), t.TempDir()
	good := `{"cases": [{"name": "a", "outputs": {"y": 1}}], "tolerance": {"atol": 1e-12}}`
	expect.NoError(t, os.WriteFile(own+"/x.json", []byte(good), 0o600))
	t.Setenv("TORCHPE_PE_VECTORS", own+":"+own)
	if all, err := folderVectors(); err != nil || len(all) != 2 || all[0].file != "x" {
		t.Errorf("vectors %v, %v; want those of %q twice", all, err, own)
	}
	t.Setenv("TORCHPE_PE_VECTORS", own+":"+empty)
	expect.Error(t, expect.ErrorOf(folderVectors()), empty)
	t.Setenv("TORCHPE_PE_VECTORS", "")
	if all, err := folderVectors(); all != nil || err != nil {
		t.Errorf("no folder: %v, %v", all, err)
	}
	all := expect.Must(shippedVectors())
	cases, licensed := 0, 0
	for _, v := range all {
		cases += len(v.Cases)
		for _, c := range v.Cases {
			if c.Licence != "" && c.Commit != "" && c.SourceRepo != "" {
				licensed++
			}
		}
	}
	want := fmt.Sprintf("files, %d cases, all within tolerance; %d of them ship", cases, licensed)
	expect.Contains(t, string(expect.Must(os.ReadFile("../../docs/verified.md"))), want)
	path := own + "/x.json"
	for _, text := range []string{
		`{"cases": [{"name": "a", "outputs": {}}], "tolerance": {"atol": 1e-12}}`,
		`{"tolerance": {"atol": 1e-12}, "cases": []}`, `{"cases": [{"name": "a"}]}`, `{`} {
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		expect.Refused(t, text, expect.ErrorOf(readVectors(path)))
	}
}
