// Package poppler reads PDFs with poppler's tools: pdftotext, pdffonts, pdfinfo or pdftoppm. Only
// tests import it.
package poppler

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// File stands for the PDF among the arguments of Run.
const File = "\x00file"

// Run runs one of poppler's tools on pdf and returns what it prints. It skips the test where the
// tool is not installed.
func Run(t *testing.T, pdf []byte, tool string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed (Debian: poppler-utils): it does not check the PDF", tool)
	}
	path := filepath.Join(t.TempDir(), "figure.pdf")
	if err := os.WriteFile(path, pdf, 0o666); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		if arg == File {
			args[i] = path
		}
	}
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
	return string(out)
}
