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
	"torchpe/internal/expect"
	"torchpe/models/pe"
)

func TestPEList(t *testing.T) {
	dir := t.TempDir()
	var all []map[string]any
	saysJSON(t, dir, "pe list --tokens 512 --dim 768 --heads 12 --layers 12", &all)
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
	out := says(t, dir, "pe list --where data_driven=no --where printed=yes --csv", 0)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "name,year,acts_on,parameters,causal") ||
		!strings.HasPrefix(lines[1], "1d-fixed,2017,embedding,0,no,yes,yes,no") {
		t.Errorf("%s", out)
	}
	says(t, dir, "pe list", 0, "rope+learn", "Su et al. 2021")
}

func TestPEShow(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "pe show tisa --tisa-kernels 2", 0, "The Case for Translation-Invariant", "3 S H L",
		"--tisa-kernels 2", "default: 5", "number              24")
	e := keys(t, says(t, dir, "pe show rope+learn --json", 0), "name", "formula", "title", "options", "needs",
		"criteria", "min_head_width")
	if e["name"] != "rope+learn" || e["acts_on"] != "embedding, q and k" {
		t.Errorf("%v", e)
	}
}

// Vaswani et al. 2017, section 3.5: P[p,2i] = sin(p / 10000^(2i/D)), P[p,2i+1] = cos(p /
// 10000^(2i/D)).
func TestPEValuesOfSinusoids(t *testing.T) {
	const n, d = 7, 10
	dir := t.TempDir()
	says(t, dir, "pe values 1d-fixed --tokens 7 --dim 10 --fidelity text --out p.npy", 0, "p.npy: table of 1d-fixed")
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
	says(t, dir, "pe values 1d-fixed --out p.npy", exitUsage, "--force")
}

// Press et al. 2022, section 3: for 8 heads the slopes are 1/2, 1/4, ..., 1/256.
func TestPEValuesOfALiBi(t *testing.T) {
	var got struct {
		Scheme, Kind string
		Shape        []int
		Values       [][][]float64
	}
	text := says(t, t.TempDir(), "pe values alibi --tokens 4 --dim 16 --heads 8 --out -", 0)
	expect.NoError(t, json.Unmarshal([]byte(text), &got))
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
	f := expect.Must(os.Create(filepath.Join(dir, "q.npy")))
	expect.NoError(t, npy.Write(f, q, npy.Float64))
	expect.NoError(t, f.Close())
	says(t, dir, "pe values rope --tokens 5 --dim 2 --q q.npy --what q --out turned.npy", 0)
	a := expect.Must(npy.Read(filepath.Join(dir, "turned.npy")))
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
	dir := put(t, map[string]string{"p.json": `{"pe.table": [[[1, 2], [3, 4], [5, 6]]]}`})
	says(t, dir, "pe values learn --tokens 3 --dim 2 --fidelity text --params p.json --out table.npy", 0)
	a, err := npy.Read(filepath.Join(dir, "table.npy"))
	if err != nil || !slices.Equal(a.Data, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", a, err)
	}
}

func TestPEPictures(t *testing.T) {
	dir := t.TempDir()
	const small = " --tokens 6 --dim 8 --heads 2 --out "
	if out := says(t, dir, "pe plot alibi"+small+"a.svg", 0); out != "a.svg: alibi, layer 0\n" {
		t.Errorf("plot prints %q", out)
	}
	says(t, dir, "pe plot learn rope tisa --tisa-kernels 1"+small+"c.svg", 0, "c.svg: learn, rope, tisa, layer 0\n",
		"Wennberg", "translation invariant", "\nrope\n  (q_2k, q_2k+1)")
	var entries []struct{ Name string }
	saysJSON(t, dir, "pe plot learn rope --out d.svg", &entries)
	if len(entries) != 2 || entries[1].Name != "rope" {
		t.Errorf("%v", entries)
	}
	for _, name := range []string{"a.svg", "c.svg"} {
		if text := readText(t, filepath.Join(dir, name)); !strings.Contains(text, "<svg") {
			t.Errorf("%s is no SVG", name)
		}
	}
}
