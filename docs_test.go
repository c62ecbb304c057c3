package torchpe_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Every test that docs/faults.md names is there.
func TestFaultsPage(t *testing.T) {
	page := expect.Must(os.ReadFile("docs/faults.md"))
	out, err := exec.Command("git", "grep", "-hoE", `^func Test\w+`, "--", "*_test.go").Output()
	if err != nil {
		t.Skipf("the names in docs/faults.md were not checked: git grep: %v", err)
	}
	known := map[string]bool{}
	for _, line := range strings.Fields(string(out)) {
		known[line] = true
	}
	for _, name := range regexp.MustCompile(`\bTest\w+`).FindAllString(string(page), -1) {
		if !known[name] {
			t.Errorf("docs/faults.md: there is no %s", name)
		}
	}
}

// sourceBlock matches a fenced block that begins with the path of the file that it is, or ends.
var sourceBlock = regexp.MustCompile("(?ms)^```\\w+\n(?://|#) (\\S+\\.(?:go|yaml|py))\n(.*?)^```$")

// The files of docs/adding-a-scheme.md, in the place that the page gives them, build and pass their tests.
func TestAddingASchemePage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds models/pe and models/export with the scheme of docs/adding-a-scheme.md")
	}
	page := expect.Must(os.ReadFile("docs/adding-a-scheme.md"))
	root := expect.Must(os.Getwd())
	dir := t.TempDir()
	replace := map[string]string{}
	for _, block := range sourceBlock.FindAllStringSubmatch(string(page), -1) {
		path, text := block[1], block[2]
		if before, err := os.ReadFile(path); err == nil {
			text = string(before) + map[string]string{".py": "\n\n"}[filepath.Ext(path)] + text
		}
		replace[filepath.Join(root, path)] = filepath.Join(dir, filepath.Base(path))
		expect.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(text), 0o666))
	}
	expect.Equal(t, fmt.Sprint("files of the page, want the scheme, its facts, its test and its class: ", replace),
		len(replace), 4)
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o666)
	}
	expect.NoError(t, err)
	out, err := exec.Command("go", "test", "-v", "-overlay", overlay, "-run",
		"^(TestGaussian.*|TestSchemes|TestOptions|TestEverySchemeHasAPart|TestConformance)$/^gaussian$",
		"./models/pe", "./models/export").CombinedOutput()
	for _, want := range []string{"TestConformance/gaussian", "TestGaussianFormula", "TestSchemes",
		"TestEverySchemeHasAPart"} {
		expect.Contains(t, string(out), "--- PASS: "+want+" ")
	}
	if err != nil || t.Failed() {
		t.Errorf("%v:\n%s", err, out)
	}
}
