package figure

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
)

// pdfFile stands for the file among the arguments of poppler.
const pdfFile = "\x00file"

// poppler runs one of poppler's tools (pdftotext, pdffonts, pdfinfo, pdftoppm) on pdf and returns what
// it prints. It skips the test if the tool is not installed.
func poppler(t *testing.T, pdf []byte, tool string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed (Debian: poppler-utils): it does not check the PDF", tool)
	}
	path := filepath.Join(t.TempDir(), "figure.pdf")
	expect.NoError(t, os.WriteFile(path, pdf, 0o666))
	for i, arg := range args {
		if arg == pdfFile {
			args[i] = path
		}
	}
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
	return string(out)
}
