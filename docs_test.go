package torchpe_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/faults.md names is there.
func TestFaultsPage(t *testing.T) {
	page, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
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
