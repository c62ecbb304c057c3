package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --header reaches the commands that read tables: those of series and those of arrays.
func TestHeaderFlag(t *testing.T) {
	dir := t.TempDir()
	text := "0,2,4\n0.5,1.5,0.25\n3.5,0.75,1.25\n1.5,0.25,2.25\n"
	if err := os.WriteFile(filepath.Join(dir, "x.csv"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for command, shape := range map[string][2]string{ // with a header, and without
		"data info x.csv --axes frames,tokens --json": {
			"[\n      3,\n      3\n    ]", "[\n      4,\n      3\n    ]"},
		"analyze rank --table x.csv --json": {`"tokens": 3`, `"tokens": 4`},
		"pe values 1d-fixed --positions x.csv --positions-as coordinates --dim 12 --out -": {
			`"tokens":3`, `"tokens":4`},
	} {
		stdout, stderr, _ := here(t, dir, strings.Fields(command)...)
		if !strings.Contains(stdout+stderr, "--header yes or --header no") {
			t.Errorf("%s: %s%s", command, stdout, stderr)
		}
		for i, header := range []string{"yes", "no"} {
			stdout, stderr, code := here(t, dir, append(strings.Fields(command), "--header", header)...)
			if code != 0 || !strings.Contains(stdout, shape[i]) {
				t.Errorf("%s --header %s: exit code %d, %s%s", command, header, code, stdout, stderr)
			}
		}
		if _, _, code := here(t, dir, append(strings.Fields(command), "--header", "x")...); code != exitUsage {
			t.Errorf("%s --header x: exit code %d", command, code)
		}
	}
}

// Training reads positions with the header that is said; both counts of rows differ from the 16
// tokens of a puzzle, which the refusal names.
func TestHeaderOfTrainingPositions(t *testing.T) {
	dir := put(t, map[string]string{"x.csv": "0,2,4\n0.5,1.5,0.25\n3.5,0.75,1.25\n1.5,0.25,2.25\n"})
	for header, want := range map[string]string{"auto": "--header yes or --header no",
		"yes": "positions of 3 tokens", "no": "positions of 4 tokens", "x": "one of auto, yes, no"} {
		stdout, stderr, code := here(t, dir, "train", "--pe", "rope-3d", "--positions", "x.csv",
			"--positions-as", "coordinates", "--header", header)
		if code == 0 || !strings.Contains(stdout+stderr, want) {
			t.Errorf("--header %s: exit code %d, %s%s; want %s", header, code, stdout, stderr, want)
		}
	}
}
