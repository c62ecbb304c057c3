package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A member goes to a folder and back to a run that lists beside the first; mistakes exit with two and
// write nothing.
func TestExportAndImport(t *testing.T) {
	dir := t.TempDir()
	args := slices.Concat([]string{"train", "--members", "2", "--epochs", "1", "--out", "run"}, smallSet(t, dir))
	if _, stderr, code := torchpeIn(t, dir, args...); code != 0 {
		t.Fatal(stderr)
	}
	for _, mistake := range []struct {
		args []string
		says string
	}{
		{[]string{"export", "run"}, "--out"},
		{[]string{"export", "run", "--member", "2", "--out", "twin"}, "members 0 to 1"},
		{[]string{"export", "--out", "twin"}, "name one run directory"},
		{[]string{"import", "twin"}, "--out"},
		{[]string{"import", "--out", "back"}, "name one folder"},
	} {
		_, stderr, code := torchpeIn(t, dir, mistake.args...)
		if code != exitUsage || !strings.Contains(stderr, mistake.says) {
			t.Errorf("%v: exit code %d: %s", mistake.args, code, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "twin")); err == nil {
		t.Error("a mistake wrote a folder")
	}
	export := []string{"export", "run", "--member", "1", "--out", "twin"}
	if stdout, stderr, code := torchpeIn(t, dir, export...); code != 0 ||
		!strings.Contains(stdout, "member 1 of run after 9 steps") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := torchpeIn(t, dir, export...); code != exitUsage || !strings.Contains(stderr, "--force") {
		t.Errorf("over an export: exit code %d: %s", code, stderr)
	}
	stdout, stderr, code := torchpeIn(t, dir, "import", "twin", "--out", "back")
	if code != 0 || !strings.Contains(stdout, "with the weights of twin, validation accuracy") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	list := []string{"runs", "list", "back", "--columns", "seed,steps,status", "--csv", "-"}
	if stdout, _, code = torchpeIn(t, dir, list...); code != 0 || !strings.Contains(stdout, "2,9,done") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
