package main

import (
	"slices"
	"strings"
	"testing"
)

// A member goes to a folder and back to a run that lists beside the first; mistakes exit with two and
// write nothing.
func TestExportAndImport(t *testing.T) {
	dir := t.TempDir()
	args := slices.Concat([]string{"train", "--members", "2", "--epochs", "1", "--out", "run"}, smallSet(t, dir))
	if _, stderr, code := here(t, dir, args...); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := here(t, dir, "export", "run", "--member", "2", "--out", "twin"); code != exitUsage ||
		!strings.Contains(stderr, "members 0 to 1") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	export := []string{"export", "run", "--member", "1", "--out", "twin"}
	if stdout, stderr, code := here(t, dir, export...); code != 0 ||
		!strings.Contains(stdout, "member 1 of run after 9 steps") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := here(t, dir, export...); code != exitUsage || !strings.Contains(stderr, "--force") {
		t.Errorf("over an export: exit code %d: %s", code, stderr)
	}
	stdout, stderr, code := here(t, dir, "import", "twin", "--out", "back")
	if code != 0 || !strings.Contains(stdout, "with the weights of twin, validation accuracy") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	list := []string{"runs", "list", "back", "--columns", "seed,steps,status", "--csv", "-"}
	if stdout, _, code = here(t, dir, list...); code != 0 || !strings.Contains(stdout, "2,9,done") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
