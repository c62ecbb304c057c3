package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
)

// publishedLST returns the published puzzle files, which are not part of this repository: they are
// looked for in $TORCHPE_LST, else in shared/lst beside the repository. Without them the test is
// skipped.
func publishedLST(t *testing.T) (train []string, validation string) {
	t.Helper()
	dir := cmp.Or(os.Getenv("TORCHPE_LST"), "../../../shared/lst")
	validation = filepath.Join(dir, "puzzle_data_original.csv")
	if _, err := os.Stat(validation); err != nil {
		t.Skipf("the published puzzles are not here (set TORCHPE_LST to their directory): %v", err)
	}
	for _, c := range []string{"binary", "ternary", "quaternary"} {
		train = append(train, filepath.Join(dir, "generated_puzzle_data_"+c+"_dist80.csv"))
	}
	return train, validation
}

// writePuzzles writes a file of puzzles and returns its path.
func writePuzzles(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "puzzles.csv")
	text := "ID,LST_num,condition,puzzles,solutions\n" + strings.Join(lines, "\n") + "\n"
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLSTCheckPublished(t *testing.T) {
	train, validation := publishedLST(t)
	line := "data lst check --validation " + validation + " " + strings.Join(train, " ")
	var got map[string]any
	saysJSON(t, ".", line, &got)
	// Sizes of the published files and facts on them.
	for key, want := range map[string]float64{
		"puzzles": 9108, "valid": 9108, "condition_agrees": 9108, "answer_agrees": 9108, "duplicates": 0,
		"min_dissimilarity": 0.8125, "isomorphic_to_validation": 115,
	} {
		expect.Equal(t, key, got[key], any(want))
	}
	// Counted by brute force over rows and columns: TestLinesPublished of package lst.
	two, _ := got["two_lines"].(map[string]any)
	expect.Equal(t, "two_lines", fmt.Sprint(two["training"], two["validation"]), "594 0")
	conditions, _ := got["per_condition"].(map[string]any)
	for _, label := range []string{"Binary", "Ternary", "Quaternary"} {
		if conditions[label] == nil {
			t.Errorf("per_condition has no %s: %v", label, conditions)
		}
	}
	says(t, ".", line, 0, "│ have the condition that the published classifier finds ", "│ 0.8125 ",
		"│ 8.15 (3-11) ", "│ 43-357 ",
		"│ 3-vector training puzzles that two rows or columns decide   │ 594 ")
}

func TestLSTCheckDefault(t *testing.T) {
	var got lst.Report
	saysJSON(t, ".", "data lst check --seed 4", &got)
	if got.Puzzles != 9108 || got.AnswerAgrees != 9108 || got.IsomorphicToValidation != 0 {
		t.Errorf("%+v", got)
	}
}

// A set with a wrong answer is reported and then refused; a wrong label or a leak is only reported.
func TestLSTCheckVerdict(t *testing.T) {
	good := writePuzzles(t, "0,,Binary,1532000000000000,4")
	for _, c := range []struct {
		line   string
		code   int
		report string
	}{
		{"0,,Binary,1532000000000000,4", exitDone, `"duplicates": 1`},
		{"0,,Ternary,1532000000000000,4", exitDone, `"condition_agrees": 1`},
		{"0,,Binary,1532000000000000,1", exitFailed, `"answer_agrees": 1`},
		{"0,,Binary,1502000000000000,3", exitFailed, `"valid": 1`},
		{"0,,Binary,15,3", exitFailed, ``},
	} {
		says(t, ".", "data lst check --json --validation "+good+" "+writePuzzles(t, c.line), c.code, "1>"+c.report)
	}
}

func TestLSTGenerate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	line := "data lst generate --out " + dir + " --train 60 --validation 12 --seed "
	var summary struct {
		Train, Validation string
		Seed              uint64
		Report            lst.Report
	}
	const large = "18446744073709551615"
	saysJSON(t, ".", line+large, &summary)
	if summary.Train != filepath.Join(dir, "train.csv") || summary.Report.Valid != 72 || summary.Seed != 1<<64-1 {
		t.Errorf("summary %+v", summary)
	}
	first := readSets(t, dir)

	// The files hold what the check reports, and what a program would load.
	var report lst.Report
	saysJSON(t, ".", "data lst check --validation "+summary.Validation+" "+summary.Train, &report)
	if report.AnswerAgrees != 72 || report.MinDissimilarity <= 0.8 ||
		report.IsomorphicToValidation != 0 || report.Duplicates != 0 {
		t.Errorf("report %+v", report)
	}
	d := expect.Must(lst.Load([]string{summary.Train}, summary.Validation, 0))
	expect.Equal(t, "puzzles", [2]int{len(d.Train), len(d.Validation)}, [2]int{54, 12})

	// Files are overwritten on request only; the same flags give the same bytes.
	says(t, ".", line+large, exitUsage, "train.csv exists: choose another --out or pass --force")
	says(t, ".", line+large+" --force", 0, "wrote 60 puzzles of side 4 to "+summary.Train)
	expect.Equal(t, "the same flags gave other bytes", readSets(t, dir), first)
	if says(t, ".", line+"1 --force", 0); readSets(t, dir) == first {
		t.Error("another seed gave the same bytes")
	}
}

// readSets returns the bytes of the files that generate wrote, and fails if it left others.
func readSets(t *testing.T, dir string) (text string) {
	t.Helper()
	files := filesIn(t, dir)
	if len(files) != 3 { // with the folder
		t.Fatalf("%v, want two files", files)
	}
	return readText(t, files[1]) + readText(t, files[2])
}

// Puzzles of another side are written, checked and trained on.
func TestLSTOtherSides(t *testing.T) {
	dir := t.TempDir()
	const line = "data lst generate --train 30 --validation 6 --side "
	says(t, dir, line+"5 --out five", 0, "wrote 30 puzzles of side 5")
	text := readText(t, filepath.Join(dir, "five", "train.csv"))
	if strings.Count(text, "\n") != 31 || !strings.HasPrefix(text, "ID,LST_num,condition,puzzles,solutions\n0,,") {
		t.Errorf("%.100s", text)
	}
	says(t, dir, line+"5 --out five", exitUsage, "--force")
	const files = "five/train.csv --lst-validation five/validation.csv "
	says(t, dir, "data lst check --validation five/validation.csv five/train.csv", 0,
		"│ have the answer that follows from the grid                  │ 36 ", "!>isomorphic")
	train := "train --preset quick --d-model 16 --layers 1 --epochs 1 --noise none --quiet --lst-train " + files
	says(t, dir, train+"--lst-side 5 --out run", 0, "validation")
	says(t, dir, train+"--out other", exitFailed, "has side 5, but --lst-side is 4: give the side of the files")
	var summary map[string]any
	if saysJSON(t, dir, line+"6 --out six", &summary); summary["side"] != 6. {
		t.Errorf("%v", summary)
	}
}

// Examples of a task of sequences are those of train.
func TestDataSequence(t *testing.T) {
	if out := says(t, ".", "data sequence list", 0); strings.Count(out, "\n") < 15 {
		t.Error(out)
	}
	out := says(t, ".", "data sequence show reverse-string --length 3 --count 2", 0)
	expect.Equal(t, out, strings.Count(out, " -> "), 2)
}

// A command that only holds others shows them.
func TestDataParents(t *testing.T) {
	says(t, ".", "data", 0, "Available Commands:")
	says(t, ".", "data lst", 0, "Available Commands:")
}
