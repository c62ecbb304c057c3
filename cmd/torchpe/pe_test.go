package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
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
	columns := strings.Split(lines[0], ",")
	slices.Sort(columns)
	expect.Equal(t, "columns", fmt.Sprint(columns), fmt.Sprint(catalogue.Keys()))
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
	says(t, dir, "pe values learn --tokens 3 --dim 2 --fidelity text --params p.safetensors --member 3 --out x.npy",
		exitUsage, "there is no member 3")
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "run.safetensors"), []safetensors.Tensor{table},
		map[string]string{"config": `{"pe": "t5", "pe_options": {"t5-max-distance": "16"}, "fidelity": "code"}`}))
	for line, want := range map[string]string{"learn": "its run has t5, not learn",
		"t5": "its run has --t5-max-distance 16, here it is 128"} {
		says(t, dir, "pe values "+line+" --tokens 3 --dim 2 --params run.safetensors --out x.npy", exitUsage, want)
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
		"--params: f.safetensors: pe.fixed is computed from positions and options, but the file has other numbers")
	// A check computes them by its flags.
	says(t, dir, "pe values 1d-fixed --layers 1 --tokens 3 --dim 2 --out own.npy", 0)
	says(t, dir, "pe check 1d-fixed --layers 1 --against own.npy --params f.safetensors", 0, "follows 1d-fixed")
}

// Rows with names are those of the tokens of these names: by the file of positions, else by the first input.
// What is not finite is refused.
func TestPEValuesMatchRows(t *testing.T) {
	dir := put(t, map[string]string{
		"at.csv": "name,place\na,2\nb,0\nc,1\n", "x.csv": "id,x1,x2\nc,300,0\nb,200,0\na,100,0\n",
		"k.csv": "id,x1,x2\na,1,0\nb,2,0\nc,3,0\n", "plain.csv": "x1,x2\n100,0\n200,0\n300,0\n",
		"p.csv": "id,x1,x2\np,1,0\nb,2,0\na,3,0\n", "nan.csv": "id,x1,x2\na,1,0\nb,2,nan\nc,3,0\n",
		"twice.csv": "id,x1,x2\na,1,0\nb,2,0\na,3,0\n", "four.csv": "id,x1,x2\na,1,0\nb,2,0\nc,3,0\nd,4,0\n",
	})
	table := expect.Must(safetensors.New("pe.table", []int{1, 3, 2}, []float32{1, 2, 3, float32(math.Inf(1)), 5, 6}))
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "t.safetensors"), []safetensors.Tensor{table}, nil))
	const x = "pe values 1d-fixed --fidelity text --dim 2 --what x --positions at.csv --x "
	const logits = "pe values nope --tokens 3 --heads 1 --dim 2 --q x.csv --k "
	// a, b and c at places 3, 1 and 2: x + sin, cos of the place
	byName := []float64{100 + math.Sin(3), math.Cos(3), 200 + math.Sin(1), math.Cos(1), 300 + math.Sin(2),
		math.Cos(2)}
	for _, c := range []struct {
		line, note string
		want       []float64
	}{
		{x + "x.csv", "", byName},
		{x + "plain.csv", "plain.csv has no names of rows: they are taken as those of at.csv, in its order", byName},
		// of c, b and a, the products over the root of two
		{logits + "k.csv", "", []float64{900, 600, 300, 600, 400, 200, 300, 200, 100}},
		{logits + "plain.csv", "those of x.csv", []float64{3e4, 6e4, 9e4, 2e4, 4e4, 6e4, 1e4, 2e4, 3e4}},
	} {
		_, errs, _ := here(t, dir, strings.Fields(c.line+" --force --out p.npy")...)
		if strings.Contains(errs, "names of rows") != (c.note != "") || !strings.Contains(errs, c.note) {
			t.Errorf("%s: %q, want %q", c.line, errs, c.note)
		}
		for i, v := range expect.Must(npy.Read(filepath.Join(dir, "p.npy"))).Data {
			want := c.want[i]
			if strings.HasPrefix(c.line, logits) {
				want /= math.Sqrt2
			}
			expect.Near(t, c.line, v, want, 1e-10)
		}
	}
	for line, want := range map[string]string{
		x + "p.csv":      `p.csv has no row "c", which at.csv has`,
		x + "four.csv":   `four.csv has a row "d", and at.csv has none`,
		x + "twice.csv":  `twice.csv: rows 1 and 3 are both named "a"`,
		x + "nan.csv":    "--x: nan.csv: row 1, column 1 (from 0) is NaN",
		logits + "p.csv": `p.csv has no row "c", which x.csv has`,
		"pe plot conv-pos --dim 2 --heads 1 --positions at.csv --x p.csv --out p.svg": `p.csv has no row "c"`,
		"pe values learn --layers 1 --tokens 3 --dim 2 --params t.safetensors":        "element [0 1 1] (from 0)",
	} {
		if !strings.HasPrefix(line, "pe plot") {
			line += " --out o.npy"
		}
		says(t, dir, line, exitUsage, want)
	}
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
		"pe values learn --member 3":                      "--member 3: it chooses a member in --params",
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
	says(t, dir, graph+"star.txt", exitUsage, "choose with --positions-as grid or edges")
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
