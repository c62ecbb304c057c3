package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each flag about sizes changes the configuration.
func TestSizeFlags(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string // part of the configuration, without space
	}{
		{[]string{"--eval-tokens", "36,25"}, `"eval_tokens":[25,36],"rename_symbols":true`},
		{[]string{"--eval-tokens", "25", "--rename-symbols", "false"}, `"eval_tokens":[25],"rename_symbols":false`},
		{[]string{"--lst-side", "6", "--eval-tokens", "16"}, `"lst_side":6,"eval_tokens":[16],"log_every"`},
		{[]string{"--rename-symbols", "true"}, `"data_seed":0,"rename_symbols":true`},
		{[]string{"--lst-side", "4", "--eval-tokens", "none", "--rename-symbols", "auto"}, `"data_seed":0,"noise"`},
	} {
		stdout, stderr, code := here(t, t.TempDir(),
			append([]string{"train", "--dry-run", "--preset", "quick", "--pe", "rope"}, c.flags...)...)
		text := strings.Join(strings.Fields(stdout), "")
		if code != 0 || !strings.Contains(text, c.want) && !strings.Contains(strings.Replace(text,
			`"noise":[0.02,0.05,0.1,0.2,0.5,1],"noise_repeats":10,`, "", 1), c.want) {
			t.Errorf("%v: exit code %d, %s%s; want %s", c.flags, code, stdout, stderr, c.want)
		}
	}
}

// A run with other sizes prints them, resumes without flags, and is listed.
func TestTrainAtOtherSizes(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "2", "--noise", "none")
	stdout, stderr, code := here(t, dir, with(flags, "train", "--pe", "rope+t5",
		"--eval-tokens", "9,25", "--out", "run", "--quiet")...)
	if code != 0 || !strings.Contains(stdout, "at 9 tokens") || !strings.Contains(stdout, "at 25 tokens") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := here(t, dir, "train", "--resume", "--out", "run", "--eval-tokens", "25,9"); code != 0 {
		t.Errorf("resumed with the same sizes: %s", stderr)
	}
	if _, stderr, code := here(t, dir, "train", "--resume", "--out", "run", "--eval-tokens",
		"25"); code != 2 || !strings.Contains(stderr, "eval_tokens was [9,25] and would be [25]") {
		t.Errorf("resumed with other sizes: exit code %d, %s", code, stderr)
	}
	stdout, stderr, code = here(t, dir, "runs", "list", "run")
	if code != 0 || !strings.Contains(stdout, "tokens_9,tokens_25") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestDataLSTOtherSides(t *testing.T) {
	dir := t.TempDir()
	out, err := runData(t, "lst", "generate", "--side", "5", "--train", "30", "--validation", "6",
		"--out", filepath.Join(dir, "five"))
	if err != nil || !strings.Contains(out, "wrote 30 puzzles of side 5") {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "five", "train.csv"))
	if err != nil || strings.Count(string(text), "\n") != 31 ||
		!strings.HasPrefix(string(text), "ID,LST_num,condition,puzzles,solutions\n0,,") {
		t.Errorf("%v: %.100s", err, text)
	}
	if _, err := runData(t, "lst", "generate", "--side", "5", "--train", "30", "--validation", "6",
		"--out", filepath.Join(dir, "five")); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("files that are there: %v", err)
	}
	var summary map[string]any
	runDataJSON(t, &summary, "lst", "generate", "--side", "6", "--train", "30", "--validation", "6",
		"--json", "--out", filepath.Join(dir, "six"))
	if summary["side"] != 6. {
		t.Errorf("%v", summary)
	}
	out, err = runData(t, "lst", "show", "--side", "5", filepath.Join(dir, "five", "train.csv"), "--index", "3")
	if err != nil || !strings.Contains(out, "puzzle 3 of") || !strings.Contains(out, "force") {
		t.Errorf("%v: %s", err, out)
	}
	var shown []map[string]any
	runDataJSON(t, &shown, "lst", "show", "--side", "6", "--json")
	if text, _ := json.Marshal(shown); len(shown) != 3 || shown[2]["condition"] != "Quaternary" ||
		len(shown[0]["puzzle"].(string)) != 36 {
		t.Errorf("%s", text)
	}
}
