package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// TestPEExport: a module is written with its numbers where it has some, those of --params too, or
// printed; it holds the formula, the paper, what differs, and no other scheme.
func TestPEExport(t *testing.T) {
	dir := t.TempDir()
	given := expect.Must(safetensors.New("pe.table", []int{1, 2, 2}, []float32{1, 2, 3, 4}))
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "p.safetensors"), []safetensors.Tensor{given}, nil))
	says(t, dir, "pe export rope --rope-base 500", 0, "theta_k = base^(-2k/Dh)", "arXiv 2104.09864",
		"Implementations differ: pairs", `"rope-base":"500"`, `NUMBERS = "rope.safetensors"`, "!>class ALiBi")
	out := says(t, dir, "pe export rope+learn --tokens 4 --dim 8 --out m.py", 0)
	if text := readText(t, filepath.Join(dir, "m.py")); out != "m.py\nm.safetensors\n" ||
		!strings.Contains(text, `NUMBERS = "m.safetensors"`) {
		t.Error(out)
	}
	file, err := safetensors.Read(filepath.Join(dir, "m.safetensors"))
	if err != nil || strings.Join(slices.Sorted(slices.Values(file.Names())), " ") != "learn.table rope.cos rope.sin" {
		t.Errorf("%v, %v", file.Names(), err)
	}
	says(t, dir, "pe export learn --tokens 2 --dim 2 --layers 1 --params p.safetensors --out l.py", 0)
	file = expect.Must(safetensors.Read(filepath.Join(dir, "l.safetensors")))
	table, _ := file.Tensor("table")
	if values, err := table.Float64s(); err != nil || len(values) != 4 || values[3] != 4 {
		t.Errorf("%v, %v", values, err)
	}
}
