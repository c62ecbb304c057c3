package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/models/pe"
)

// peRun runs "torchpe pe" in dir, which must succeed.
func peRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, errs, code := here(t, dir, append([]string{"pe"}, args...)...)
	if code != exitDone {
		t.Fatalf("pe %v: exit code %d: %s", args, code, errs)
	}
	return out
}

func TestPEList(t *testing.T) {
	dir := t.TempDir()
	out := peRun(t, dir, "list", "--tokens", "512", "--dim", "768", "--heads", "12", "--layers", "12", "--json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(pe.Names()) {
		t.Errorf("%d schemes, want %d", len(all), len(pe.Names()))
	}
	for _, e := range all {
		for _, key := range []string{"name", "year", "family", "acts_on", "parameters",
			"parameters_formula", "causal", "extrapolates", "criteria", "reference", "formula", "options"} {
			if _, ok := e[key]; !ok {
				t.Errorf("%v has no key %q", e["name"], key)
			}
		}
		if e["name"] == "tisa" && e["parameters"] != 2160.0 { // TISA, Table 2
			t.Errorf("tisa has %v parameters in BERT, want 2,160", e["parameters"])
		}
	}
	out = peRun(t, dir, "list", "--where", "data_driven=no", "--where", "printed=yes", "--csv")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "name,year,acts_on,parameters,causal") ||
		!strings.HasPrefix(lines[1], "1d-fixed,2017,embedding,0,no,yes,yes,no") {
		t.Errorf("%s", out)
	}
	if out = peRun(t, dir, "list"); !strings.Contains(out, "rope+learn") || !strings.Contains(out, "Su et al. 2021") {
		t.Errorf("%s", out)
	}
}

func TestPEShow(t *testing.T) {
	dir := t.TempDir()
	out := peRun(t, dir, "show", "tisa", "--tisa-kernels", "2")
	for _, want := range []string{"The Case for Translation-Invariant", "3 S H L",
		"--tisa-kernels 2", "default: 5", "number              24"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	e := keys(t, peRun(t, dir, "show", "rope+learn", "--json"), "name", "formula", "title",
		"options", "needs", "criteria", "min_head_width")
	if e["name"] != "rope+learn" || e["acts_on"] != "embedding, q and k" {
		t.Errorf("%v", e)
	}
}

// Vaswani et al. 2017, section 3.5: P[p,2i] = sin(p / 10000^(2i/D)), P[p,2i+1] = cos(p /
// 10000^(2i/D)).
func TestPEValuesOfSinusoids(t *testing.T) {
	const n, d = 7, 10
	dir := t.TempDir()
	out := peRun(t, dir, "values", "1d-fixed", "--tokens", "7", "--dim", "10", "--fidelity", "text", "--out", "p.npy")
	if !strings.Contains(out, "p.npy: table of 1d-fixed") {
		t.Error(out)
	}
	a, err := npy.Read(filepath.Join(dir, "p.npy"))
	if err != nil || !slices.Equal(a.Shape, []int{n, d}) {
		t.Fatalf("%v, %v", a.Shape, err)
	}
	for p := range n {
		for i := 0; i < d; i += 2 {
			sin, cos := math.Sincos(float64(p+1) / math.Pow(10000, float64(i)/d)) // the text counts from 1
			if math.Abs(a.Data[p*d+i]-sin) > 1e-15 || math.Abs(a.Data[p*d+i+1]-cos) > 1e-15 {
				t.Errorf("position %d, columns %d: %v and %v, want %v and %v", p, i, a.Data[p*d+i],
					a.Data[p*d+i+1], sin, cos)
			}
		}
	}
	if _, errs, code := here(t, dir, "pe", "values", "1d-fixed", "--out",
		"p.npy"); code != exitUsage || !strings.Contains(errs, "--force") {
		t.Errorf("overwritten: %d, %s", code, errs)
	}
}

// Press et al. 2022, section 3: for 8 heads the slopes are 1/2, 1/4, ..., 1/256.
func TestPEValuesOfALiBi(t *testing.T) {
	var got struct {
		Scheme, Kind string
		Shape        []int
		Values       [][][]float64
	}
	text := peRun(t, t.TempDir(), "values", "alibi", "--tokens", "4", "--dim", "16", "--heads", "8", "--out", "-")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Scheme != "alibi" || got.Kind != "bias" || !slices.Equal(got.Shape, []int{8, 4, 4}) {
		t.Errorf("%+v", got)
	}
	for h, head := range got.Values {
		for i, row := range head {
			for j, v := range row[:i+1] {
				if want := -math.Ldexp(1, -h-1) * float64(i-j); v != want {
					t.Errorf("head %d, query %d, key %d: %v, want %v", h+1, i, j, v, want)
				}
			}
		}
	}
}

// Su et al. 2021, equation 34: for two dimensions a head the query at place p is turned by the
// angle p.
func TestPEValuesOfRotatedQueries(t *testing.T) {
	const n = 5
	dir := t.TempDir()
	q := array.Array{Shape: []int{1, n, 2}}
	for range n {
		q.Data = append(q.Data, 3, 4)
	}
	f, err := os.Create(filepath.Join(dir, "q.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := npy.Write(f, q, npy.Float64); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	peRun(t, dir, "values", "rope", "--tokens", "5", "--dim", "2", "--q", "q.npy", "--what", "q",
		"--out", "turned.npy")
	a, err := npy.Read(filepath.Join(dir, "turned.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for p := range n {
		sin, cos := math.Sincos(float64(p))
		if x, y := a.Data[2*p], a.Data[2*p+1]; math.Abs(x-(3*cos-4*sin)) > 1e-14 ||
			math.Abs(y-(3*sin+4*cos)) > 1e-14 {
			t.Errorf("place %d: (%v, %v), want (%v, %v)", p, x, y, 3*cos-4*sin, 3*sin+4*cos)
		}
	}
}

// What values writes as JSON can be given back as parameters.
func TestPEValuesOfGivenParameters(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.json"),
		[]byte(`{"pe.table": [[[1, 2], [3, 4], [5, 6]]]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	peRun(t, dir, "values", "learn", "--tokens", "3", "--dim", "2", "--fidelity", "text",
		"--params", "p.json", "--out", "table.npy")
	a, err := npy.Read(filepath.Join(dir, "table.npy"))
	if err != nil || !slices.Equal(a.Data, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", a, err)
	}
}

func TestPEPictures(t *testing.T) {
	dir := t.TempDir()
	out := peRun(t, dir, "plot", "alibi", "--tokens", "6", "--dim", "8", "--heads", "2", "--out", "a.svg")
	if out != "a.svg: alibi, layer 0\n" {
		t.Errorf("plot prints %q", out)
	}
	out = peRun(t, dir, "plot", "learn", "rope", "tisa", "--tokens", "6", "--dim", "8",
		"--tisa-kernels", "1", "--out", "c.svg")
	for _, want := range []string{"c.svg: learn, rope, tisa, layer 0\n", "Wennberg", "translation invariant",
		"\nrope\n  (q_2k, q_2k+1)"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %s", want, out)
		}
	}
	out = peRun(t, dir, "plot", "learn", "rope", "--json", "--out", "d.svg")
	var entries []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &entries); err != nil || len(entries) != 2 || entries[1].Name != "rope" {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range []string{"a.svg", "c.svg"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), "<svg") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
