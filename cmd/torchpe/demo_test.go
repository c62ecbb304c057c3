package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The demo trains on the puzzles of --lst, all files of training puzzles and the one of validation puzzles;
// where one is missing it says so.
func TestDemoOnPublishedPuzzles(t *testing.T) {
	dir := t.TempDir()
	f := demoFlags{lst: dir, epochs: 1, workers: 1, fidelity: "code"}
	validation := filepath.Join(dir, "puzzle_data_original.csv")
	for _, name := range []string{filepath.Join(dir, "generated_puzzle_data_a.csv"), validation} {
		if _, err := f.trainArguments(); exitCode(err) != exitUsage {
			t.Errorf("without %s: %v", name, err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args, err := f.trainArguments()
	if err != nil || !slices.Contains(args, validation) || !slices.Contains(args, "--lst-train") {
		t.Errorf("%q, %v", args, err)
	}
}
