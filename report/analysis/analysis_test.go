package analysis

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	_ "torchpe/internal/golden" // the flag -update
	"torchpe/internal/metrics"
)

func write(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(body), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestParsePositions(t *testing.T) {
	for value, want := range map[string][2]int{"": {0, 0}, "0:128": {0, 128}, "1:": {1, 0},
		":5": {0, 5}, "3:5": {3, 5}} {
		if from, to, err := ParsePositions(value); err != nil || from != want[0] || to != want[1] {
			t.Errorf("%q: %d, %d, %v", value, from, to, err)
		}
	}
	for _, bad := range []string{"5", "5:3", "-1:3", "a:b", "0:0", "1:2:3", "99999999999999999999:"} {
		if _, _, err := ParsePositions(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestNumbersThatHaveNoValue(t *testing.T) {
	body, err := json.Marshal([]Number{1.5, None, Number(math.Inf(1))})
	if err != nil || string(body) != "[1.5,null,null]" {
		t.Errorf("%s, %v", body, err)
	}
	if None.known() || None.String() != "–" {
		t.Errorf("None is %v", None)
	}
	if meanOf([]Number{1, None}, func(n Number) Number { return n }).known() {
		t.Error("a mean of what has no value")
	}
}

// Positions that count from elsewhere, and halves in another order, are turned columns: a
// Procrustes transform undoes them.
func TestSinusoids(t *testing.T) {
	const side, d = 4, 16
	code, err := sinusoid2D(side, side, d)
	if err != nil {
		t.Fatal(err)
	}
	other := make([]float64, len(code)) // the text's: rows and columns from 1, halves swapped
	for i := range side * side {
		sinusoid(float64(i%side+1), other[i*d:i*d+d/2])
		sinusoid(float64(i/side+1), other[i*d+d/2:(i+1)*d])
	}
	p, err := metrics.Procrustes(other, code, side*side, d)
	if err != nil || p.Raw > 1e-7 || p.Disparity > 1e-12 {
		t.Errorf("%+v, %v", p, err)
	}
	// Vaswani et al.: position 0 is 0, 1, 0, 1...; the norm of each row is sqrt(d/2).
	line, err := sinusoid1D(3, 6)
	if err != nil || !slices.Equal(line[:6], []float64{0, 1, 0, 1, 0, 1}) ||
		math.Abs(floats.Norm(line[6:12], 2)-math.Sqrt(3)) > 1e-15 || line[6] != math.Sin(1) {
		t.Errorf("%v, %v", line, err)
	}
	for _, bad := range [][2]int{{0, 4}, {3, 5}, {3, 0}} {
		if _, err := sinusoid1D(bad[0], bad[1]); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if _, err := sinusoid2D(2, 2, 6); err == nil {
		t.Error("6 dimensions were accepted")
	}
}

// Rows (3, 4) and 0 times 1e200: norms 5e200 and mean 2.5e200, one dimension used.
func TestRankOfLargeNumbers(t *testing.T) {
	models, _, err := Tables(Selection{Files: []string{write(t, "t.csv", "3e200,4e200\n0,0\n")},
		Member: All, Block: All})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Ranks(models)
	if err != nil || math.Abs(float64(got[0].Frobenius)/5e200-1) > 1e-15 ||
		math.Abs(float64(got[0].MeanRowNorm)/2.5e200-1) > 1e-15 || math.Abs(float64(got[0].EffectiveRank)-1) > 1e-12 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of nine orders none or all reach an R^2: the order itself counts among them, so that no p is 0.
func TestChanceOfToeplitz(t *testing.T) {
	for r2, want := range map[float64]Number{2: 0.1, -1: 1} {
		if _, p, err := (Shuffles{Count: 9}).meanR2([]float64{1, 2, 4, 5}, 2, r2); err != nil || p != want {
			t.Errorf("R^2 of %g: p %v, %v; want %v", r2, p, err, want)
		}
	}
}

// Arrays of the readers' own tests: HDF5 by path, MATLAB 5 and 7.3 with MATLAB's shape.
func TestFormats(t *testing.T) {
	anything := func([]int) error { return nil }
	const other = "../../data/series/testdata/" // one matrix in three formats, MATLAB's with the axes swapped
	hdf5, err := arrayfile.Read(other+"one.h5", text.Auto, isTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v5.mat", "v73.mat:tc"} {
		if a, err := arrayfile.Read(other+name, text.Auto, isTable); err != nil ||
			!slices.Equal(a.Data, hdf5.Data) || !slices.Equal(a.Shape, hdf5.Shape) {
			t.Errorf("%s: %v unlike %v, %v", name, a.Shape, hdf5.Shape, err)
		}
	}
	if a, err := arrayfile.Read("../../data/array/hdf5/testdata/layouts-new.h5:chunked", text.Auto,
		isTable); err != nil || !slices.Equal(a.Shape, []int{5, 7}) {
		t.Errorf("%v, %v", a.Shape, err)
	}
	for reference, least := range map[string]int{"testdata/table.mat:table": 72,
		"testdata/arrays.npz:query": 48, "testdata/named.csv": 72} {
		a, err := arrayfile.Read(reference, text.Auto, anything)
		if err != nil || len(a.Data) != least {
			t.Errorf("%s: %d numbers, %v", reference, len(a.Data), err)
		}
	}
	if _, err := arrayfile.Read("testdata/table.mat:note", text.Auto, anything); err == nil ||
		!strings.Contains(err.Error(), "char") {
		t.Errorf("letters: %v", err)
	}
	a, err := arrayfile.Read("testdata/table.mat", text.Auto, isTable) // the one that fits
	if err != nil || a.Source != "testdata/table.mat:table" {
		t.Errorf("%q, %v", a.Source, err)
	}
}
