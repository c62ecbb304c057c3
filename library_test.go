package torchpe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"torchpe/internal/expect"
)

// The module of docs/go-library.md builds outside of the tree and runs.
func TestLibraryPage(t *testing.T) {
	if testing.Short() {
		t.Skip("links libtorch")
	}
	root := expect.Must(filepath.Abs("."))
	page := expect.Must(os.ReadFile("docs/go-library.md"))
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("no program")
	}
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o666))
	sums, err := os.ReadFile("go.sum") // as go mod tidy would get them, without a network
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666))
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
	expect.Contains(t, string(out), "rope epoch 2: training", "2d-fixed epoch 2: training")
}
