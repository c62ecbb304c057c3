package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/lst"
)

// runData runs "torchpe data ARGS" and returns what it printed and its error.
func runData(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"data"}, args...))
	root.SetOut(&b)
	root.SetErr(&b)
	_, err = execute(root)
	return b.String(), err
}

// runDataJSON runs a command that must succeed and decodes its output into v.
func runDataJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	out, err := runData(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
}

// publishedLST returns the published puzzle files, which are not part of this repository: they are
// looked for in $TORCHPE_LST, else in shared/lst beside the repository. Without them the test is
// skipped.
func publishedLST(t *testing.T) (train []string, validation string) {
	t.Helper()
	dir := os.Getenv("TORCHPE_LST")
	if dir == "" {
		dir = "../../../shared/lst"
	}
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
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLSTCheckPublished(t *testing.T) {
	train, validation := publishedLST(t)
	var got map[string]any
	runDataJSON(t, &got, append([]string{"lst", "check", "--json", "--validation", validation}, train...)...)
	// Sizes of the published files and facts on them.
	for key, want := range map[string]float64{
		"puzzles": 9108, "valid": 9108, "condition_agrees": 9108, "answer_agrees": 9108, "duplicates": 0,
		"min_dissimilarity": 0.8125, "isomorphic_to_validation": 115,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	// Counted by brute force over rows and columns: TestLinesPublished of package lst.
	two, _ := got["two_lines"].(map[string]any)
	if two["training"] != 594. || two["validation"] != 0. {
		t.Errorf("two_lines is %v, want 594 and 0", two)
	}
	conditions, _ := got["per_condition"].(map[string]any)
	for _, label := range []string{"Binary", "Ternary", "Quaternary"} {
		if conditions[label] == nil {
			t.Errorf("per_condition has no %s: %v", label, conditions)
		}
	}
	text, err := runData(t, append([]string{"lst", "check", "--validation", validation}, train...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"│ have the condition that the published classifier finds ", "│ 0.8125 ",
		"│ 8.15 (3-11) ", "│ 43-357 ",
		"│ 3-vector training puzzles that two lines decide by a rule it lacks   │ 594 "} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestLSTCheckDefault(t *testing.T) {
	var got lst.Report
	runDataJSON(t, &got, "lst", "check", "--json", "--seed", "4")
	if got.Puzzles != 9108 || got.AnswerAgrees != 9108 || got.IsomorphicToValidation != 0 {
		t.Errorf("%+v", got)
	}
}

// A set with a wrong answer is reported and then refused; a wrong label or a leak is only reported.
func TestLSTCheckVerdict(t *testing.T) {
	good := writePuzzles(t, "0,,Binary,1532000000000000,4")
	for _, c := range []struct {
		name, line string
		code       int
		report     string
	}{
		{"leak", "0,,Binary,1532000000000000,4", exitDone, `"duplicates": 1`},
		{"wrong label", "0,,Ternary,1532000000000000,4", exitDone, `"condition_agrees": 1`},
		{"wrong answer", "0,,Binary,1532000000000000,1", exitFailed, `"answer_agrees": 1`},
		{"no answer", "0,,Binary,1502000000000000,3", exitFailed, `"valid": 1`},
		{"unreadable", "0,,Binary,15,3", exitFailed, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := runData(t, "lst", "check", "--json", "--validation", good, writePuzzles(t, c.line))
			if exitCode(err) != c.code || !strings.Contains(out, c.report) {
				t.Errorf("exit %d (%v), want %d; the report lacks %s:\n%s", exitCode(err), err, c.code, c.report, out)
			}
		})
	}
}

func TestLSTGenerate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	args := []string{"lst", "generate", "--out", dir, "--seed", "18446744073709551615", "--train",
		"60", "--validation", "12"}
	var summary struct {
		Train, Validation string
		Seed              uint64
		Report            lst.Report
	}
	runDataJSON(t, &summary, append(args, "--json")...)
	if summary.Train != filepath.Join(dir, "train.csv") || summary.Report.Valid != 72 || summary.Seed != 1<<64-1 {
		t.Errorf("summary %+v", summary)
	}
	first := readSets(t, dir)

	// The files hold what the check reports, and what a program would load.
	var report lst.Report
	runDataJSON(t, &report, "lst", "check", "--json", "--validation", summary.Validation, summary.Train)
	if report.AnswerAgrees != 72 || report.MinDissimilarity <= 0.8 ||
		report.IsomorphicToValidation != 0 || report.Duplicates != 0 {
		t.Errorf("report %+v", report)
	}
	if d, err := lst.Load([]string{summary.Train}, summary.Validation, 0); err != nil ||
		len(d.Train) != 54 || len(d.Validation) != 12 {
		t.Errorf("%d and %d puzzles, %v", len(d.Train), len(d.Validation), err)
	}

	// Files are overwritten on request only; the same flags give the same bytes.
	if _, err := runData(t, args...); exitCode(err) != exitUsage ||
		!strings.Contains(err.Error(), "train.csv exists: choose another --out or pass --force") {
		t.Errorf("a second run: %v", err)
	}
	if text, err := runData(t, append(args, "--force")...); err != nil ||
		!strings.HasPrefix(text, "wrote 60 puzzles to "+summary.Train) {
		t.Errorf("with --force: %v\n%s", err, text)
	}
	if readSets(t, dir) != first {
		t.Error("the same flags gave other bytes")
	}
	args[slices.Index(args, "--seed")+1] = "1"
	if _, err := runData(t, append(args, "--force")...); err != nil || readSets(t, dir) == first {
		t.Errorf("another seed: %v, or the same bytes", err)
	}
}

// readSets returns the bytes of the files that generate wrote, and fails if it left others.
func readSets(t *testing.T, dir string) (text string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v, want two files", entries, err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}

// The two flags that make a set like the published one reach the generator.
func TestLSTGenerateAsPublished(t *testing.T) {
	var plain, as struct{ Report lst.Report }
	args := []string{"lst", "generate", "--json", "--train", "3000", "--validation", "60", "--out"}
	runDataJSON(t, &plain, append(args, t.TempDir())...)
	runDataJSON(t, &as, append(args, t.TempDir(), "--published-imbalance", "--allow-isomorphic")...)
	if plain.Report.IsomorphicToValidation != 0 || as.Report.IsomorphicToValidation == 0 {
		t.Errorf("%d isomorphic puzzles without and %d with --allow-isomorphic",
			plain.Report.IsomorphicToValidation, as.Report.IsomorphicToValidation)
	}
	// A third of the published counts 43 and 357, and of an even 1000 over 16 cells.
	uneven, even := as.Report.PerCondition["Binary"].Training.Probes,
		plain.Report.PerCondition["Binary"].Training.Probes
	if uneven[15] != 14 || uneven[4] != 119 || slices.Min(even[:]) != 62 || slices.Max(even[:]) != 63 {
		t.Errorf("probes %v with and %v without --published-imbalance", uneven, even)
	}
}

func TestLSTShow(t *testing.T) {
	path := writePuzzles(t, "0,,Binary,1532000000000000,4", "1,,Quaternary,5000010000100001,1",
		"2,,Ternary,1532000000000000,3")
	out, err := runData(t, "lst", "show", path, "--index", "1")
	want := "puzzle 1 of " + path + `: Quaternary (3-vector), answer 1

    ? . . .
    . 1 . .
    . . 1 .
    . . . 1

    3-vector: row 1, column 2, column 3, column 4 force 1
    3-vector: column 1, row 2, row 3, row 4 force 1
`
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if out, err = runData(t, "lst", "show", path, "--index", "2"); err != nil ||
		!strings.Contains(out, "problem: ") || !strings.Contains(out, "answer 3 claimed, but the rules force 4") {
		t.Errorf("a wrong answer: %v\n%s", err, out)
	}

	// Labels are kept, and where two lines decide a 3-vector puzzle show says so: at side 5, too.
	four := writePuzzles(t, "0,,Quaternary,5120030000030030,3")
	five := writePuzzles(t, "0,,Quaternary,6123000400000040400000040,4")
	for side, path := range map[string]string{"4": four, "5": five} {
		out, err := runData(t, "lst", "show", path, "--index", "0", "--side", side)
		want := map[string]string{
			"4": "but two lines suffice: row 1, column 4 force 3\n",
			"5": "but two lines suffice: row 1, column 5 force 4\n",
		}[side]
		if err != nil || !strings.Contains(out, ": Quaternary (3-vector)") || !strings.Contains(out, want) {
			t.Errorf("side %s: %v\n%s\nlacks %s", side, err, out, want)
		}
		out, err = runData(t, "lst", "show", path, "--index", "0", "--side", side, "--json")
		if err != nil || !strings.Contains(out, `"two_lines": [`) {
			t.Errorf("side %s: %v\n%s", side, err, out)
		}
	}

	type shown struct {
		Index     int
		Puzzle    string
		Answer    int
		Condition string
		DecidedBy []struct {
			Condition string
			Answer    int
			Vectors   []string
		} `json:"decided_by"`
	}
	var got []shown
	runDataJSON(t, &got, "lst", "show", path, "--json")
	if len(got) != 3 || got[0].Puzzle != "1532000000000000" || got[1].Condition != "Ternary" || got[2].Index != 1 ||
		!slices.Equal(got[0].DecidedBy[0].Vectors, []string{"row 1"}) || got[0].DecidedBy[0].Answer != 4 {
		t.Errorf("%+v", got)
	}
	// Without a file: the generated validation set, the same for the same seed.
	var a, b, c []shown
	runDataJSON(t, &a, "lst", "show", "--json", "--seed", "5")
	runDataJSON(t, &b, "lst", "show", "--json", "--seed", "5")
	runDataJSON(t, &c, "lst", "show", "--json", "--seed", "6")
	text := func(list []shown) (s string) {
		for _, p := range list {
			s += p.Condition + p.Puzzle
		}
		return s
	}
	if len(a) != 3 || text(a) != text(b) || text(a) == text(c) {
		t.Errorf("%s, %s and %s, want the first two equal", text(a), text(b), text(c))
	}
}

// A command that only holds others shows them.
func TestDataParents(t *testing.T) {
	for _, args := range [][]string{{}, {"lst"}} {
		if out, err := runData(t, args...); err != nil || !strings.Contains(out, "Available Commands:") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}
