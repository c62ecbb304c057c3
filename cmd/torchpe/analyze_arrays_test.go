package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// analyzed is where report/analysis/testdata/make.py keeps arrays and what numpy and scipy make of
// them.
var analyzed = func() string {
	dir, err := filepath.Abs("../../report/analysis/testdata")
	if err != nil {
		panic(err)
	}
	return dir
}()

// analyzeIn runs "torchpe analyze ... --json" in a folder and returns the object that it prints.
func analyzeIn(t *testing.T, dir string, args ...string) map[string]any {
	t.Helper()
	var object map[string]any
	saysJSON(t, dir, "analyze "+strings.Join(args, " "), &object)
	return object
}

// model returns the one model of a result.
func model(t *testing.T, result map[string]any) map[string]any {
	t.Helper()
	models := result["models"].([]any)
	if len(models) != 1 {
		t.Fatalf("%d models: %v", len(models), models)
	}
	return models[0].(map[string]any)
}

// near compares all that want holds, numbers to 1e-9.
func near(t *testing.T, what string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
			t.Errorf("%s: %v, want %v", what, got, w)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			t.Errorf("%s: %v, want %v", what, got, w)
			return
		}
		for i := range w {
			near(t, fmt.Sprintf("%s[%d]", what, i), g[i], w[i])
		}
	case map[string]any:
		for key := range w {
			near(t, what+"."+key, got.(map[string]any)[key], w[key])
		}
	}
}

// Numbers are printed as tables or as JSON, and written to files; what is wrong with the input ends
// with exit code 2. (What they are is tested in report/analysis.)
func TestAnalyzeArrays(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want []string // in what is printed
		file string   // what --out begins with
	}{
		{"rank --table table.npy --table named.csv", 0, []string{"effective rank", "table.npy", "named.csv"}, ""},
		{"rank --table table.npy --json", 0, []string{`"effective_rank": `}, ""},
		{"attention attention.npz:maps --reference attention.safetensors:maps", 0, []string{"each",
			"0.4485", "!>seed"}, ""}, // by scipy
		{"network --table named.csv --modules modules.csv", 0, []string{"9 tokens, modules.csv"}, ""},
		{"network --weights weights.csv --modules modules.csv --json", 0, []string{`"modularity": `}, ""},
		{"distances --table named.csv --out d.csv", 0, []string{"9 tokens of named.csv, block 0: "}, "\"\",t0,t1,"},
		{"distances --table named.csv --out d.npy", 0, []string{"d.npy"}, "\x93NUMPY"},
		{"distances --table named.csv --out d.npy", 2, []string{"--force"}, ""},
		{"distances --table named.csv --out d.npy --force --json", 0, []string{`"distances": [`}, "\x93NUMPY"},
		{"distances --table named.csv --out d.txt", 2, []string{".csv or .npy"}, ""},
		{"map --table named.csv --modules modules.csv --out map.csv", 0,
			[]string{"variance explained: PC 1 ", " %, PC 2 "},
			"token,module,x1,x2\nt0,a,"},
		{"map --table named.csv --out map.pdf", 0, []string{"map.pdf"}, "%PDF"},
		{"map --table named.csv --out map.svg", 0, []string{"map.svg"}, "<?xml"},
		{"map --table named.csv --out map.png", 0, []string{"map.png"}, "\x89PNG"},
		{"map --table named.csv --dim 2", 2, []string{"did you mean --dims?"}, ""},
		{"rank --tables x", 2, []string{"--table"}, ""},
		{"rank nowhere", 2, []string{"nowhere"}, ""},
		{"ranks", 2, []string{`"rank"`}, ""},
	} {
		line, out, _ := strings.Cut("analyze "+c.args, "--out ")
		if out != "" {
			name, more, _ := strings.Cut(out, " ")
			out = filepath.Join(dir, name)
			line += "--out " + out + " " + more
		}
		says(t, analyzed, line, c.code, c.want...)
		if c.file != "" && !strings.HasPrefix(readText(t, out), c.file) {
			t.Errorf("%s: the file does not begin with %q", c.args, c.file)
		}
	}
}

// A note is printed before the numbers.
func TestAnalyzeNotes(t *testing.T) {
	dir := put(t, map[string]string{"zero.csv": "1,2\n0,0\n3,1\n2,2\n"})
	says(t, dir, "analyze distances --table zero.csv --distance cosine", 0, "–",
		"2>torchpe: zero.csv: row 1 is all zeros")
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b := expect.Must(os.ReadFile(path))
	return string(b)
}
