package torchpe_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists what each package of the module may import of the module, and its third-party modules. Imports go downwards
// only; a package that is not listed fails the test.
var allowed = map[string][]string{
	"torchpe/internal/alloctest":         nil,
	"torchpe/internal/nearest":           nil,
	"torchpe/torchpe/internal/ctorch":    nil,
	"torchpe/torchpe":                    {"torchpe/torchpe/internal/ctorch"},
	"torchpe/models/pe":                  {"torchpe/torchpe"},
	"torchpe/models/pe/petest":           {"torchpe/torchpe", "torchpe/models/pe", "torchpe/models"},
	"torchpe/models/pe/catalogue":        {"torchpe/internal/nearest", "torchpe/torchpe", "torchpe/models/pe", "torchpe/data/array", "torchpe/data/array/npy", "torchpe/train/runlog/safetensors", "torchpe/report/table", "torchpe/report/figure"},
	"torchpe/models":                     {"torchpe/torchpe", "torchpe/models/pe"},
	"torchpe/data":                       nil,
	"torchpe/data/lst":                   {"torchpe/data"},
	"torchpe/data/lst/sized":             {"torchpe/data/lst"},
	"torchpe/data/array":                 nil,
	"torchpe/data/array/arrayfile":       {"torchpe/internal/nearest", "torchpe/data/array", "torchpe/data/array/hdf5", "torchpe/data/array/mat", "torchpe/data/array/npy", "torchpe/data/array/text"},
	"torchpe/data/array/cifti":           {"torchpe/data/array"},
	"torchpe/data/array/hdf5":            {"torchpe/data/array", "torchpe/internal/nearest"},
	"torchpe/data/array/mat":             {"torchpe/data/array"},
	"torchpe/data/array/npy":             {"torchpe/data/array"},
	"torchpe/data/array/text":            {"torchpe/data/array"},
	"torchpe/data/masked":                {"torchpe/data", "gonum.org/v1/gonum"},
	"torchpe/data/nmar":                  {"gonum.org/v1/gonum"},
	"torchpe/data/partition":             {"torchpe/data/array", "torchpe/data/array/cifti", "torchpe/data/array/mat", "torchpe/data/array/npy"},
	"torchpe/data/positions":             {"torchpe/data/array/arrayfile", "torchpe/data/array/text", "torchpe/data/partition"},
	"torchpe/data/series":                {"torchpe/data/partition", "torchpe/data/array", "torchpe/data/array/cifti", "torchpe/data/array/hdf5", "torchpe/data/array/mat", "torchpe/data/array/npy", "torchpe/data/array/text"},
	"torchpe/data/hcp":                   {"torchpe/data/partition"},
	"torchpe/data/hcp/clean":             {"gonum.org/v1/gonum"},
	"torchpe/train/runlog/safetensors":   nil,
	"torchpe/train/runlog/tensorboard":   nil,
	"torchpe/train/runlog":               {"torchpe/train/runlog/safetensors", "torchpe/train/runlog/tensorboard", "golang.org/x/sys", "github.com/gofrs/flock"},
	"torchpe/train/sweep":                {"torchpe/internal/nearest", "torchpe/train/runlog", "torchpe/train/runlog/safetensors", "github.com/gofrs/flock", "go.yaml.in/yaml/v3"},
	"torchpe/train/sweep/slurm":          nil,
	"torchpe/train":                      {"torchpe/internal/nearest", "torchpe/torchpe", "torchpe/models", "torchpe/models/pe", "torchpe/data", "torchpe/data/array/arrayfile", "torchpe/data/lst", "torchpe/data/lst/sized", "torchpe/data/masked", "torchpe/data/nmar", "torchpe/data/hcp", "torchpe/data/positions", "torchpe/data/series", "torchpe/train/runlog", "torchpe/train/runlog/safetensors", "torchpe/report/metrics"},
	"torchpe/report/internal/atomicfile": nil,
	"torchpe/report/internal/outdir":     {"torchpe/report/internal/atomicfile"},
	"torchpe/report/internal/chromium":   nil,
	"torchpe/report/internal/golden":     {"github.com/google/go-cmp"},
	"torchpe/report/internal/poppler":    nil,
	"torchpe/report/internal/synthetic":  {"torchpe/report/runs", "torchpe/train/runlog", "torchpe/train/runlog/safetensors"},
	"torchpe/report/page":                {"torchpe/report/internal/atomicfile"},
	"torchpe/report/pdfcanvas":           {"gonum.org/v1/plot", "codeberg.org/go-pdf/fpdf", "codeberg.org/go-fonts/liberation", "golang.org/x/image"},
	"torchpe/report/figure":              {"torchpe/report/internal/atomicfile", "torchpe/report/pdfcanvas", "gonum.org/v1/plot", "codeberg.org/go-fonts/liberation", "golang.org/x/image"},
	"torchpe/report/metrics":             {"torchpe/internal/nearest", "gonum.org/v1/gonum"},
	"torchpe/report/stats":               {"gonum.org/v1/gonum"},
	"torchpe/report/runs":                {"torchpe/train/runlog", "torchpe/train/runlog/safetensors"},
	"torchpe/report/paper":               {"torchpe/report/runs", "torchpe/report/metrics", "torchpe/report/stats", "torchpe/report/figure", "torchpe/report/table", "torchpe/report/page", "torchpe/report/internal/atomicfile", "torchpe/report/internal/outdir", "torchpe/data/lst", "torchpe/data/nmar", "torchpe/train/runlog"},
	"torchpe/report/listing":             {"torchpe/internal/nearest", "torchpe/report/runs", "torchpe/report/table", "torchpe/report/internal/atomicfile", "torchpe/train/runlog", "github.com/parquet-go/parquet-go"},
	"torchpe/report/compare":             {"torchpe/report/runs", "torchpe/report/figure", "torchpe/report/table", "torchpe/report/page", "torchpe/report/internal/atomicfile", "torchpe/report/internal/outdir", "torchpe/train/runlog"},
	"torchpe/report":                     {"torchpe/report/table"},
	"torchpe/report/table":               {"torchpe/report/internal/atomicfile", "github.com/olekukonko/tablewriter"},
	"torchpe/report/analysis":            {"torchpe/internal/nearest", "torchpe/report/metrics", "torchpe/report/runs", "torchpe/data/array", "torchpe/data/array/arrayfile", "torchpe/data/array/npy", "torchpe/data/array/text", "torchpe/data/partition", "torchpe/train/runlog", "torchpe/train/runlog/safetensors", "gonum.org/v1/gonum"},
	"torchpe/cmd/torchpe":                {"torchpe", "github.com", "golang.org"},
}

// withoutTorch are the packages that build and test with no libtorch.
var withoutTorch = []string{"torchpe/data", "torchpe/train/runlog", "torchpe/train/sweep", "torchpe/report", "torchpe/internal"}

func TestImports(t *testing.T) {
	for _, line := range list(t, "{{.ImportPath}} {{join .Imports \" \"}}") {
		path, imports, _ := strings.Cut(line, " ")
		rules, known := allowed[path]
		if !known && path != "torchpe" {
			t.Errorf("%s is not in the table of allowed imports", path)
		}
		for _, i := range strings.Fields(imports) {
			if standard(i) || slices.ContainsFunc(rules, func(r string) bool {
				return i == r || (strings.Contains(r, ".") || r == "torchpe") && strings.HasPrefix(i, r+"/")
			}) {
				continue
			}
			t.Errorf("%s imports %s", path, i)
		}
		if slices.Contains(strings.Fields(imports), "C") && path != "torchpe/torchpe/internal/ctorch" {
			t.Errorf("%s imports C; only internal/ctorch may", path)
		}
	}
}

func TestNoTorchBelow(t *testing.T) {
	for _, line := range list(t, "{{.ImportPath}} {{join .Deps \" \"}}") {
		path, deps, _ := strings.Cut(line, " ")
		pure := slices.ContainsFunc(withoutTorch, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
		if pure && slices.Contains(strings.Fields(deps), "torchpe/torchpe/internal/ctorch") {
			t.Errorf("%s depends on libtorch", path)
		}
	}
}

// standard says whether an import is of the standard library, whose paths have no dot in their first part.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "torchpe" && !strings.Contains(first, ".")
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
