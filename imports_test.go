package torchpe_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers lists the folders of the module from the ground up: a package may import packages of its
// own layer and of those below, and the third-party modules of thirdParty. A folder that is not
// listed fails the test. See ARCHITECTURE.md.
var layers = [][]string{
	{"internal/atomicfile", "internal/expect", "internal/layers", "internal/machine", "internal/number",
		"internal/paper", "internal/wording"},
	{"internal/stats", "internal/metrics"},
	{"data"},
	{"torchpe"},
	{"models"},
	{"train/runlog"},
	{"train/config"},
	{"train/sweep"},
	{"train"},
	{"report/cohort"},
	{"report/internal"},
	{"report/figure", "report/table"},
	{"report/page"},
	{"report/catalogue", "report/document", "report/item"},
	{"report/analysis", "report/listing", "report/paper", "report/own", "report/lengths", "report/ranking",
		"report/advice"},
	{"cmd", "scripts", "results"},
}

// meet are the layers of which one may not import the other though it lies above: they meet in the
// run directory, its format and its configuration, alone.
var meet = map[string]string{"report": "train", "torchpe": "data"}

// withoutTorch are the folders that build and test with no libtorch.
var withoutTorch = []string{"data", "models/arch", "train/runlog", "train/config", "train/sweep", "report", "internal"}

// needsTorch are the exceptions within them.
var needsTorch = []string{"report/catalogue", "report/ranking"}

// thirdParty are the modules that each folder may import; cmd may import all of them.
var thirdParty = map[string][]string{
	"internal/expect":  {"github.com/google/go-cmp"},
	"internal/metrics": {"gonum.org/v1/gonum"}, "internal/stats": {"gonum.org/v1/gonum"},
	"data":        {"golang.org/x/text"},
	"data/masked": {"gonum.org/v1/gonum"}, "data/nmar": {"gonum.org/v1/gonum"}, "data/hcp": {"gonum.org/v1/gonum"},
	"models/pe":    {"go.yaml.in/yaml/v3", "gonum.org/v1/gonum"},
	"train/runlog": {"golang.org/x/sys", "github.com/gofrs/flock"},
	"train/sweep":  {"github.com/gofrs/flock", "go.yaml.in/yaml/v3", "golang.org/x/sync"},
	"report/figure": {"gonum.org/v1/plot", "codeberg.org/go-pdf/fpdf",
		"codeberg.org/go-fonts/liberation", "golang.org/x/image"},
	"report/table":    {"github.com/olekukonko/tablewriter", "golang.org/x/term"},
	"report/analysis": {"gonum.org/v1/gonum", "github.com/spf13/pflag"}, "report/paper": {"golang.org/x/sync"},
	"report/listing": {"golang.org/x/sync"},
}

// within says whether a package lies in a folder.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// inAny says whether a package lies in one of the folders.
func inAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(path, f) })
}

// layerOf returns the number of the layer of a package, the most particular folder's; -1 for none.
func layerOf(path string) int {
	layer, longest := -1, ""
	for i, folders := range layers {
		for _, f := range folders {
			if within(path, f) && len(f) > len(longest) {
				layer, longest = i, f
			}
		}
	}
	return layer
}

// Imports go down only.
func TestImports(t *testing.T) {
	for _, line := range list(t, "{{.ImportPath}} {{join .Imports \" \"}}") {
		path, imports, _ := strings.Cut(line, " ")
		if path == "torchpe" {
			continue // this test
		}
		from := strings.TrimPrefix(path, "torchpe/")
		layer := layerOf(from)
		if layer < 0 {
			t.Errorf("%s lies on no layer: add its folder to layers", from)
			continue
		}
		for _, i := range strings.Fields(imports) {
			if i == "C" && from != "torchpe/internal/ctorch" {
				t.Errorf("%s imports C; only torchpe/internal/ctorch may", from)
			}
			to, ours := strings.CutPrefix(i, "torchpe/")
			first, _, _ := strings.Cut(from, "/")
			switch {
			case ours && layerOf(to) > layer:
				t.Errorf("%s imports %s, which lies above it", from, to)
			case ours && meet[first] != "" && within(to, meet[first]) &&
				!inAny(to, []string{"train/runlog", "train/config"}):
				t.Errorf("%s imports %s: they meet in the run directory alone", from, to)
			case !ours && strings.Contains(i, ".") && !inThirdParty(from, i):
				t.Errorf("%s imports %s, which thirdParty does not give it", from, i)
			}
		}
	}
}

// inThirdParty says whether a package may import a third-party one.
func inThirdParty(from, path string) bool {
	if within(from, "cmd") {
		return true
	}
	for folder, modules := range thirdParty {
		if within(from, folder) && inAny(path, modules) {
			return true
		}
	}
	return false
}

func TestNoTorchBelow(t *testing.T) {
	for _, line := range list(t, "{{.ImportPath}} {{join .Deps \" \"}}") {
		path, deps, _ := strings.Cut(line, " ")
		from := strings.TrimPrefix(path, "torchpe/")
		if inAny(from, withoutTorch) && !inAny(from, needsTorch) &&
			slices.Contains(strings.Fields(deps), "torchpe/torchpe/internal/ctorch") {
			t.Errorf("%s depends on libtorch", path)
		}
	}
}

// list runs go list over the module with a format, a line a package.
func list(t *testing.T, format string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", format, "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
