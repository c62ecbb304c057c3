package petest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torchpe/torchpe"
)

// Vectors are the reference vectors of a scheme: numbers that other people's code gave. The README beside the files says
// what is in them.
type Vectors struct {
	Tolerance struct{ Atol, Rtol float64 }
	Cases     []*VectorCase
}

// VectorCase is one run of the other code.
type VectorCase struct {
	Name, Source            string
	Config                  map[string]any
	Params, Inputs, Outputs map[string]json.RawMessage
	tolerance               tolerance
}

// vectorFolder returns the folder that TORCHPE_PE_VECTORS names, or shared/pe beside the repository.
func vectorFolder() (string, error) {
	if folder := os.Getenv("TORCHPE_PE_VECTORS"); folder != "" {
		return folder, nil
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "..", "shared", "pe"), nil
		}
		if root == filepath.Dir(root) {
			return "", errors.New("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
}

// readVectors reads a scheme's file.
func readVectors(path string) (Vectors, error) {
	var v Vectors
	text, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	if len(v.Cases) == 0 || v.Tolerance.Atol <= 0 {
		return v, fmt.Errorf("%s: %d cases, tolerance %g", path, len(v.Cases), v.Tolerance.Atol)
	}
	for _, c := range v.Cases {
		c.tolerance = tolerance{v.Tolerance.Atol, v.Tolerance.Rtol}
	}
	return v, nil
}

// RunVectors runs f on each case of a scheme's file. A case that f cannot express it skips, with the reason; all of them
// skipped is a failure. Without the file the test is skipped. (go test does not notice that files outside the module
// change: run with -count=1 then.)
func RunVectors(t *testing.T, scheme string, f func(t *testing.T, c *VectorCase)) {
	t.Helper()
	folder, err := vectorFolder()
	if err != nil {
		t.Fatal(err)
	}
	v, err := readVectors(filepath.Join(folder, scheme+".json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("no reference vectors: %v; TORCHPE_PE_VECTORS names their folder", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					checked++
				}
			}()
			f(t, c)
		})
	}
	if checked == 0 && !filtered() {
		t.Errorf("none of the %d cases of %s was checked", len(v.Cases), scheme)
	}
}

// array parses one entry of the case's weights, inputs or outputs.
func array(t *testing.T, kind string, from map[string]json.RawMessage, name string) Array {
	t.Helper()
	text, ok := from[name]
	if !ok {
		t.Fatalf("the case has no %s %q", kind, name)
	}
	var a Array
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return a
}

// Param returns a weight.
func (c *VectorCase) Param(t *testing.T, name string) Array {
	t.Helper()
	return array(t, "parameter", c.Params, name)
}

// Input returns an input.
func (c *VectorCase) Input(t *testing.T, name string) Array {
	t.Helper()
	return array(t, "input", c.Inputs, name)
}

// Output returns an expected output.
func (c *VectorCase) Output(t *testing.T, name string) Array {
	t.Helper()
	return array(t, "output", c.Outputs, name)
}

// Has says whether the case has such a weight, input or output.
func (c *VectorCase) Has(name string) bool {
	return c.Params[name] != nil || c.Inputs[name] != nil || c.Outputs[name] != nil
}

// Int returns a whole number of the case's configuration, or fallback where it has none.
func (c *VectorCase) Int(name string, fallback int) int {
	if v, ok := c.Config[name].(float64); ok {
		return int(v)
	}
	return fallback
}

// SkipUnless skips the case where an entry of its configuration is there and is not the value that torchpe can express.
func (c *VectorCase) SkipUnless(t *testing.T, name string, value any, why string) {
	t.Helper()
	if v, ok := c.Config[name]; ok && v != value {
		t.Skipf("not expressible: %s is %v; %s", name, v, why)
	}
}

// Check holds values against an output of the case, within its tolerance.
func (c *VectorCase) Check(t *testing.T, name string, got Array) {
	t.Helper()
	if err := compare(got, c.Output(t, name), c.tolerance); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Near checks that two arrays agree to the tolerance, absolute and relative.
func Near(t *testing.T, what string, got, want Array, tol float64) {
	t.Helper()
	if err := compare(got, want, tolerance{tol, tol}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Closed runs f in a scope without gradients and closes it.
func Closed(f func(s *torchpe.Scope)) {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	f(s)
}
