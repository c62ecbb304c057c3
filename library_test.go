package torchpe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The module of docs/go-library.md builds outside of the tree and runs.
func TestLibraryPage(t *testing.T) {
	if testing.Short() {
		t.Skip("links libtorch")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/go-library.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("no program")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o666); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum") // as go mod tidy would get them, without a network
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, args := range [][]string{
		{"mod", "init", "example.org/mine"},
		{"mod", "edit", "-require", "torchpe@v0.0.0", "-replace", "torchpe=" + root},
		{"run", "-mod=mod", "."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, out)
		}
	}
	for _, want := range []string{"rope epoch 2: training", "2d-fixed epoch 2: training"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
