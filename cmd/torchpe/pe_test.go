package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models/pe"
)

func TestPEList(t *testing.T) {
	dir := t.TempDir()
	var all []map[string]any
	saysJSON(t, dir, "pe list --tokens 512 --dim 768 --heads 12 --layers 12", &all)
	expect.Equal(t, "number", len(all), len(pe.Names()))
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
	out := says(t, dir, "pe list --where data_driven=no --where printed=yes", 0)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "name,year,acts_on,parameters,causal") ||
		!strings.HasPrefix(lines[1], "1d-fixed,2017,embedding,0,no,yes,yes,no") {
		t.Errorf("%s", out)
	}
	t.Setenv("COLUMNS", "100")
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

// Values are those of the papers: the sinusoids of Vaswani et al. 2017, section 3.5, from position 1 on in
// the text's reading; ALiBi's slopes of 8 heads, 1/2, 1/4, ..., 1/256 (Press et al. 2022, section 3); and
// for two dimensions a head a query at place p that is turned by the angle p (Su et al. 2021, equation 34).
func TestPEValues(t *testing.T) {
	dir := put(t, map[string]string{"q.csv": "3,4\n3,4\n3,4\n3,4\n3,4\n"})
	for _, c := range []struct {
		line, says string
		shape      []int
		want       func(i int) float64 // of value i; NaN for any
	}{
		{"pe values 1d-fixed --tokens 7 --dim 10 --fidelity text", "table of 1d-fixed", []int{7, 10},
			func(i int) float64 {
				sin, cos := math.Sincos(float64(i/10+1) / math.Pow(10000, float64(i%10/2*2)/10))
				return []float64{sin, cos}[i%2]
			}},
		{"pe values alibi --tokens 4 --dim 16 --heads 8", "bias of alibi", []int{8, 4, 4}, func(i int) float64 {
			if query, key := i/4%4, i%4; query >= key {
				return -math.Ldexp(1, -i/16-1) * float64(query-key)
			}
			return math.NaN()
		}},
		{"pe values rope --tokens 5 --dim 2 --q q.csv --what q", "rope", []int{1, 5, 2}, func(i int) float64 {
			sin, cos := math.Sincos(float64(i / 2))
			return []float64{3*cos - 4*sin, 3*sin + 4*cos}[i%2]
		}},
	} {
		says(t, dir, c.line+" --force --out p.npy", 0, c.says)
		a := expect.Must(npy.Read(filepath.Join(dir, "p.npy")))
		expect.Equal(t, c.line, a.Shape, c.shape)
		for i, v := range a.Data {
			if want := c.want(i); math.Abs(v-want) > 1e-14 {
				t.Errorf("%s: value %d is %v, want %v", c.line, i, v, want)
			}
		}
	}
	says(t, dir, "pe values 1d-fixed --out p.npy", exitUsage, "--force")
}

// Parameters are given as tensors with their names.
func TestPEValuesOfGivenParameters(t *testing.T) {
	dir := t.TempDir()
	table := expect.Must(safetensors.New("pe.table", []int{1, 3, 2}, []float32{1, 2, 3, 4, 5, 6}))
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "p.safetensors"), []safetensors.Tensor{table}, nil))
	says(t, dir, "pe values learn --tokens 3 --dim 2 --fidelity text --params p.safetensors --out table.npy", 0)
	a, err := npy.Read(filepath.Join(dir, "table.npy"))
	if err != nil || !slices.Equal(a.Data, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", a, err)
	}
	// Drawn ones are taken, too; those that positions and options decide are not.
	says(t, dir, "pe values random --layers 1 --tokens 3 --dim 2 --params p.safetensors --out drawn.npy", 0)
	a, err = npy.Read(filepath.Join(dir, "drawn.npy"))
	if err != nil || !slices.Equal(a.Data, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", a, err)
	}
	fixed := expect.Must(safetensors.New("pe.fixed", []int{1, 3, 2}, []float32{1, 2, 3, 4, 5, 6}))
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "f.safetensors"), []safetensors.Tensor{fixed}, nil))
	says(t, dir, "pe values 1d-fixed --layers 1 --tokens 3 --dim 2 --params f.safetensors --out fixed.npy", exitUsage,
		"--params: pe.fixed is computed from positions and options, and the file has other numbers")
	// A check computes them by its flags.
	says(t, dir, "pe values 1d-fixed --layers 1 --tokens 3 --dim 2 --out own.npy", 0)
	says(t, dir, "pe check 1d-fixed --layers 1 --against own.npy --params f.safetensors", 0, "follows 1d-fixed")
}

// Flags that change nothing are refused.
func TestPEIdleFlags(t *testing.T) {
	dir := put(t, map[string]string{"q.csv": "3,4\n3,4\n"})
	const small = " --tokens 2 --dim 2 --out "
	for line, want := range map[string]string{
		"pe values rope --what q --q q.csv --x q.csv":     "--x does not change q of rope in layer 0",
		"pe values rope --q q.csv --k q.csv --v q.csv":    "--v does not change logits of rope",
		"pe values alibi --what bias --q q.csv --k q.csv": "--q does not change bias of alibi",
		"pe values 1d-fixed --what table --x q.csv":       "--x does not change table of 1d-fixed",
		"pe values learn --member 3":                      "--member 3: it picks one of the members",
		"pe values rope --q q.csv --sigma 9":              "--sigma 9 has no effect on rope",
		"pe values learn-0.5 --sigma 3":                   "--sigma 3 has no effect on learn-0.5",
		"pe values learn --sigma 3 --params gone.npz":     "--sigma 3 has no effect on learn",
	} {
		says(t, dir, line+small+"p.npy", exitUsage, want)
	}
	says(t, dir, "pe plot learn rope --sigma 3"+small+"p.svg", 0)
}

// Rows of two whole numbers are places to a scheme of grids, and edges or places to one of graphs, which is asked.
func TestPEEdgesOrGrid(t *testing.T) {
	dir := put(t, map[string]string{"star.txt": "0 1\n0 2\n0 3\n0 4\n", "square.txt": "0 0\n0 1\n1 0\n1 1\n"})
	const graph = "pe values rwse --rwse-steps 1 --dim 2 --layers 1 --force --out p.npy --positions "
	says(t, dir, graph+"star.txt", exitUsage, "say which with --positions-as grid or edges")
	says(t, dir, graph+"star.txt --positions-as edges", 0, "[5 2]")
	says(t, dir, graph+"star.txt --positions-as grid", 0, "[4 2]")
	says(t, dir, graph+"square.txt", 0, "[4 2]")
	says(t, dir, "pe values 2d-fixed --dim 4 --layers 1 --out q.npy --positions star.txt", 0, "[4 4]")
}

func TestPEPictures(t *testing.T) {
	dir := t.TempDir()
	const small = " --tokens 6 --dim 8 --heads 2 --out "
	expect.Equal(t, "plot", says(t, dir, "pe plot alibi"+small+"a.svg", 0), "a.svg: alibi, layer 0\n")
	says(t, dir, "pe plot learn rope tisa --tisa-kernels 1"+small+"c.svg", 0, "c.svg: learn, rope, tisa, layer 0\n")
	var entries []struct{ Name string }
	saysJSON(t, dir, "pe plot learn rope --out d.svg", &entries)
	if len(entries) != 2 || entries[1].Name != "rope" {
		t.Errorf("%v", entries)
	}
	for _, name := range []string{"a.svg", "c.svg"} {
		expect.Contains(t, readText(t, filepath.Join(dir, name)), "<svg")
	}
}
