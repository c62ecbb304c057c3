package petest

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

	"torchpe/torchpe"
)

// Vectors holds the reference vectors of a scheme, computed by other people's code.
type Vectors struct {
	Tolerance Tolerance
	Cases     []*VectorCase

	file string // its name, without .json
}

// Tolerance bounds the difference of a value from want: Atol + Rtol |want|.
type Tolerance struct{ Atol, Rtol float64 }

// VectorCase holds one run of the other code.
type VectorCase struct {
	Name         string
	Licence      string
	Commit       any
	SourceRepo   any `json:"source_repo"`
	SourceSymbol any `json:"source_symbol"`
	Config       map[string]any
	Params       map[string]Array
	Inputs       map[string]Array
	Outputs      map[string]Array
	Tolerance    Tolerance // that of the file where the case has none

	missing  string          // why it is not there; "" where it is
	used     map[string]bool // what the adapter asked for
	signless map[string]bool // outputs whose columns are compared up to sign
}

// Outputs holds torchpe's results for a case, by the case's names.
type Outputs map[string]Array

// Adapter runs torchpe on a case's configuration, weights and inputs and returns the outputs of such
// cases. It must depend on the configuration, never on the case's name: other cases of the same
// kind exist.
type Adapter func(t testing.TB, c *VectorCase) Outputs

// sharedFolders lie beside the repository and may hold the cases that do not ship.
var sharedFolders = []string{"pe", "pe-new"}

// moduleRoot returns the folder of go.mod above the test.
func moduleRoot() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root, nil
		}
		if root == filepath.Dir(root) {
			return "", errors.New("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
}

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

// shippedVectors reads those that ship, and the cases that do not ship from the shared
// folders; a case that is in neither has nothing but a name and the reason why it does not ship.
func shippedVectors() (all []*Vectors, err error) {
	list, err := readManifest()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(list.Schemes))
	for name := range list.LeftOut {
		if _, ok := list.Schemes[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		v := &Vectors{file: name}
		if _, ok := list.Schemes[name]; ok {
			if v, err = list.vectors(name); err != nil {
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

// leftOut returns the cases of a scheme that do not ship, for the reasons by their names.
func leftOut(scheme string, reasons map[string]string) (cases []*VectorCase, err error) {
	if len(reasons) == 0 {
		return nil, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	for _, folder := range sharedFolders {
		v, err := readVectors(filepath.Join(root, "..", "shared", folder, scheme+".json"))
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
	v, err := parseVectors(strings.TrimSuffix(filepath.Base(path), ".json"), text, func(*VectorCase) {})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// parseVectors reads a scheme's vectors; fill adds the arrays that lie elsewhere to a case.
func parseVectors(name string, text []byte, fill func(c *VectorCase)) (*Vectors, error) {
	v := &Vectors{file: name}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	if len(v.Cases) == 0 || v.Tolerance.Atol <= 0 {
		return nil, fmt.Errorf("%d cases, tolerance %v: want at least one case and a tolerance",
			len(v.Cases), v.Tolerance)
	}
	for i, c := range v.Cases {
		if c.Tolerance == (Tolerance{}) {
			c.Tolerance = v.Tolerance
		}
		for _, arrays := range []*map[string]Array{&c.Params, &c.Inputs, &c.Outputs} {
			if *arrays == nil {
				*arrays = map[string]Array{}
			}
		}
		fill(c)
		if c.Name == "" || len(c.Outputs) == 0 {
			return nil, fmt.Errorf("case %d %q has %d outputs: want a name and at least one",
				i, c.Name, len(c.Outputs))
		}
		c.used, c.signless = map[string]bool{}, map[string]bool{}
	}
	return v, nil
}

// EachVector calls f with every case, as a subtest, and the adapter of the file's scheme: those of the
// folders that TORCHPE_PE_VECTORS names, else those that ship and the others that are in the shared
// folders. A file without adapter is a failure, unless it is listed as unused: those are counted. A
// case that is nowhere is skipped. (go test does not notice that files outside the module change: run
// with -count=1 then.)
func EachVector(t *testing.T, adapters map[string]Adapter, unused []string,
	f func(t *testing.T, a Adapter, c *VectorCase)) {
	t.Helper()
	all, err := folderVectors()
	if all == nil && err == nil {
		all, err = shippedVectors()
	}
	if err != nil {
		t.Fatal(err)
	}
	schemes, cases, left, missing := 0, 0, 0, 0
	for _, v := range all {
		switch {
		case adapters[v.file] != nil && slices.Contains(unused, v.file):
			t.Errorf("%s has an adapter: take it off the list of those that are not used", v.file)
		case adapters[v.file] != nil:
			schemes++
			for _, c := range v.Cases {
				t.Run(v.file+"/"+c.Name, func(t *testing.T) {
					if c.missing != "" {
						missing++
						t.Skipf("the case does not ship (%s), and no folder shared/pe holds it", c.missing)
					}
					cases++
					f(t, adapters[v.file], c)
				})
			}
		case slices.Contains(unused, v.file):
			left++
		default:
			t.Errorf("%s has no adapter: vectors[%q] = ... in the scheme's test", v.file, v.file)
		}
	}
	t.Logf("%d files, %d cases checked; %d files are not used; %d cases that do not ship are skipped",
		schemes, cases, left, missing)
}

// Lacks fails the test and names what the case needs and the scheme does not have.
func (c *VectorCase) Lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Fatalf("the case needs what the scheme lacks: "+format, args...)
}

// run calls an adapter. Where it panics, as on an operator's error, the test fails with the reason.
func (c *VectorCase) run(t testing.TB, adapter Adapter) Outputs {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			c.Lacks(t, "%v (%v)", r, c.Config)
		}
	}()
	return adapter(t, c)
}

// CheckVector runs an adapter on a case and compares every output.
func CheckVector(t *testing.T, adapter Adapter, c *VectorCase) {
	t.Helper()
	if err := c.compare(c.run(t, adapter)); err != nil {
		t.Error(err)
	}
	for kind, entries := range map[string]map[string]Array{"parameter": c.Params, "input": c.Inputs} {
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
}

// CheckVectorChanged changes one value of each output of a case by 1e-6 (relative to values above
// 1), or by ten times the tolerance where that is more, and expects the comparison to fail.
func CheckVectorChanged(t *testing.T, adapter Adapter, c *VectorCase) {
	t.Helper()
	got := c.run(t, adapter)
	for name, w := range c.Outputs {
		at := slices.IndexFunc(w.Values, func(v float64) bool { return !math.IsNaN(v) })
		for i := range w.Values { // the largest one: no column of it is compared to nothing
			if math.Abs(w.Values[i]) > math.Abs(w.Values[max(at, 0)]) {
				at = i
			}
		}
		if at < 0 {
			t.Errorf("output %s is masked throughout", name)
			continue
		}
		v := w.Values[at]
		change := max(1e-6*max(1, math.Abs(v)), 10*(c.Tolerance.Atol+c.Tolerance.Rtol*math.Abs(v)))
		w.Values[at] += change
		if c.compare(got) == nil {
			t.Errorf("%s[%d] = %g may change by %g unnoticed", name, at, v, change)
		}
		w.Values[at] = v
	}
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
		if err := compare(g, w, c.Tolerance); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(bad...)
}

// withSigns returns the columns of got [N,K], each with the sign that brings it nearer to that of
// want.
func withSigns(got, want Array) Array {
	if len(got.Shape) != 2 || !slices.Equal(got.Shape, want.Shape) {
		return got
	}
	out := Array{Shape: got.Shape, Values: slices.Clone(got.Values)}
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
func (c *VectorCase) array(t testing.TB, kind string, from map[string]Array, name string) Array {
	t.Helper()
	a, ok := from[name]
	if !ok {
		t.Fatalf("the case has no %s %q", kind, name)
	}
	c.used[kind+" "+name] = true
	return Array{slices.Clone(a.Shape), slices.Clone(a.Values)}
}

// Param returns a weight.
func (c *VectorCase) Param(t testing.TB, name string) Array {
	t.Helper()
	return c.array(t, "parameter", c.Params, name)
}

// Input returns an input.
func (c *VectorCase) Input(t testing.TB, name string) Array {
	t.Helper()
	return c.array(t, "input", c.Inputs, name)
}

// Output returns an expected output. An adapter has use for its shape only.
func (c *VectorCase) Output(t testing.TB, name string) Array {
	t.Helper()
	return c.array(t, "output", c.Outputs, name)
}

// Has reports whether the case has such a weight, input or output.
func (c *VectorCase) Has(name string) bool {
	for _, from := range []map[string]Array{c.Params, c.Inputs, c.Outputs} {
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

// Near checks that two arrays agree to the tolerance, absolute and relative.
func Near(t testing.TB, what string, got, want Array, tol float64) {
	t.Helper()
	if err := compare(got, want, Tolerance{tol, tol}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Closed runs f in a scope without gradients and closes it.
func Closed(f func(s *torchpe.Scope)) {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	f(s)
}
