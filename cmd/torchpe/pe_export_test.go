package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
)

// TestPEExport: a module is written with its numbers where it has some, those of --params too, or
// printed; it holds the formula, the paper, what differs, and no other scheme.
func TestPEExport(t *testing.T) {
	dir := t.TempDir()
	out := peRun(t, dir, "export", "rope", "--rope-base", "500")
	for _, want := range []string{"theta_k = base^(-2k/Dh)", "arXiv 2104.09864", "Implementations differ: pairs",
		`"rope-base":"500"`, `NUMBERS = "rope.safetensors"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out, "class ALiBi") {
		t.Error("it holds another scheme")
	}
	out = peRun(t, dir, "export", "rope+learn", "--tokens", "4", "--dim", "8", "--out", "m.py")
	if out != "m.py\nm.safetensors\n" {
		t.Error(out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "m.py"))
	if err != nil || !strings.Contains(string(text), `NUMBERS = "m.safetensors"`) {
		t.Errorf("%v", err)
	}
	file, err := safetensors.Read(filepath.Join(dir, "m.safetensors"))
	if err != nil || strings.Join(slices.Sorted(slices.Values(file.Names())), " ") != "learn.table rope.cos rope.sin" {
		t.Errorf("%v, %v", file.Names(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(`{"pe.table": [[[1, 2], [3, 4]]]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	peRun(t, dir, "export", "learn", "--tokens", "2", "--dim", "2", "--layers", "1",
		"--params", "p.json", "--out", "l.py")
	file, err = safetensors.Read(filepath.Join(dir, "l.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	table, _ := file.Tensor("table")
	if values, err := table.Float64s(); err != nil || len(values) != 4 || values[3] != 4 {
		t.Errorf("%v, %v", values, err)
	}
}
