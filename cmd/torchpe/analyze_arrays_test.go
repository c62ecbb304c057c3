package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/data/array/text"
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

// here runs the command line in this process, in dir, which saves the start of a program.
func here(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	message, err := execute(root)
	if err != nil {
		errs.WriteString("torchpe: " + message)
	}
	return out.String(), errs.String(), exitCode(err)
}

// expected reads a section of expected.json.
func expected(t *testing.T, section string) map[string]any {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(analyzed, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	return all[section]
}

// analyze runs "torchpe analyze ... --json" beside the arrays and returns the object that it
// prints.
func analyze(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return analyzeIn(t, analyzed, args...)
}

func analyzeIn(t *testing.T, dir string, args ...string) map[string]any {
	t.Helper()
	out, stderr, code := here(t, dir, append(append([]string{"analyze"}, args...), "--json")...)
	if code != 0 {
		t.Fatalf("%q: exit %d: %s", args, code, stderr)
	}
	return keys(t, out)
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

func TestAnalyzeNetworkOfArrays(t *testing.T) {
	want := expected(t, "network")
	for name, args := range map[string][]string{
		"euclidean": {"--table", "table.npy", "--modules", "labels.txt"},
		// by names, in another order
		"cosine":  {"--table", "named.csv", "--modules", "modules.csv", "--distance", "cosine"},
		"weights": {"--weights", "weights.csv", "--modules", "modules.csv"},
	} {
		near(t, name, model(t, analyze(t, append([]string{"network"}, args...)...)), want[name])
	}
	// The rows of the 3 x 3 grid as a file and by name; the test of labels repeats, and is that of
	// its seed.
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.txt")
	if err := os.WriteFile(rows, []byte("0\n0\n0\n1\n1\n1\n2\n2\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	score := func(modules, seed string) any {
		return model(t, analyze(t, "network", "--table", "table.npy", "--modules", modules,
			"--permutations", "199", "--seed", seed))["blocks"]
	}
	byName := score("rows", "1")
	near(t, "rows", score(rows, "1"), byName)
	p := byName.([]any)[0].(map[string]any)["p"].(float64)
	if p < 0.005 || p > 1 || math.Abs(p*200-math.Round(p*200)) > 1e-9 {
		t.Errorf("p = %v of 199 permutations", p)
	}
	// Two tight groups: of 6!/(3! 3! 2) = 10 ways to part six tokens one is theirs, so that p is
	// near 1/10.
	groups := filepath.Join(dir, "groups.csv")
	if err := os.WriteFile(groups, []byte("0,0.1\n0.1,0\n0,0\n5,5.1\n5.1,5\n5,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	labels := filepath.Join(dir, "labels.txt")
	if err := os.WriteFile(labels, []byte("1\n1\n1\n2\n2\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := model(t, analyze(t, "network", "--table", groups, "--modules", labels, "--permutations",
		"5000"))["blocks"].([]any)[0].(map[string]any)
	if p := b["p"].(float64); math.Abs(p-0.1) > 0.02 || b["modularity"].(float64) < 0.3 {
		t.Errorf("two groups: %v", b)
	}
}

func TestAnalyzeProcrustesOfArrays(t *testing.T) {
	want := expected(t, "procrustes")
	for _, reference := range []string{"arrays.npz:reference", "1d-fixed", "2d-fixed"} {
		name := strings.TrimPrefix(reference, "arrays.npz:")
		near(t, name, model(t, analyze(t, "procrustes", "--table", "table.mat", "--reference",
			reference)), want[name])
	}
	// A stack has a place for each table; the second is the reference itself.
	blocks := model(t, analyze(t, "procrustes", "--table", "model.safetensors:stack", "--reference",
		"arrays.npz:reference"))["blocks"].([]any)
	near(t, "stack[0]", blocks[0], want["reference"])
	near(t, "stack[1]", blocks[1], map[string]any{"block": 1.0, "raw": 0.0, "norm_matched": 0.0, "disparity": 0.0})
}

func TestAnalyzeDistancesOfArrays(t *testing.T) {
	want := expected(t, "distances")
	dir := t.TempDir()
	for _, kind := range []string{"euclidean", "cosine"} {
		near(t, kind, model(t, analyze(t, "distances", "--table", "named.csv", "--distance", kind))["distances"],
			want[kind])
		for _, extension := range []string{".csv", ".npy"} {
			out := filepath.Join(dir, kind+extension)
			args := []string{"analyze", "distances", "--table", "named.csv", "--distance", kind, "--out", out}
			if _, stderr, code := here(t, analyzed, args...); code != 0 {
				t.Fatal(stderr)
			}
			var values []float64
			if extension == ".npy" {
				a, err := npy.Read(out)
				if err != nil {
					t.Fatal(err)
				}
				values = a.Data
			} else {
				a, err := text.Read(out)
				if err != nil {
					t.Fatal(err)
				}
				if values = a.Data; len(a.Rows) != 9 || a.Rows[8] != "t8" || a.Columns[0] != "t0" {
					t.Errorf("names %q and %q", a.Rows, a.Columns)
				}
			}
			for i, row := range want[kind].([]any) {
				for j, v := range row.([]any) {
					if math.Abs(values[9*i+j]-v.(float64)) > 1e-12 {
						t.Errorf("%s: element %d, %d is %g, want %g", out, i, j, values[9*i+j], v)
					}
				}
			}
			if _, stderr, code := here(t, analyzed, args...); code != 2 || !strings.Contains(stderr, "--force") {
				t.Errorf("written twice: exit %d, %s", code, stderr)
			}
		}
	}
}

func TestAnalyzeToeplitzOfArrays(t *testing.T) {
	want := expected(t, "toeplitz")
	table := []string{"toeplitz", "--table", "model.safetensors:embeddings.position_embeddings.weight"}
	heads := []string{"--query", "model.safetensors:attention.query.weight", "--key",
		"model.safetensors:attention.key.weight", "--heads", "2"}
	got := model(t, analyze(t, append(table, heads...)...))
	b := got["blocks"].([]any)[0].(map[string]any)
	near(t, "R2", b, map[string]any{"r2": want["r2"], "r2_centred": want["r2_centred"],
		"attention": want["attention"]})
	b = model(t, analyze(t, append(append(table, heads...), "--words",
		"model.safetensors:embeddings.word_embeddings.weight")...))["blocks"].([]any)[0].(map[string]any)
	near(t, "with words", b["attention"], want["with_words"])
	near(t, "first five", model(t, analyze(t, append(table, "--positions", ":5")...))["r2"], want["first_five"])

	// Closed forms: sinusoids have P_i P_j = sum_k cos((i-j) theta_k), so R^2 = 1; of a random
	// table of 48 tokens and 16 dimensions the diagonal alone explains about d/(d+n) = 0.25, and no
	// more.
	dir := t.TempDir()
	var sinusoids, random strings.Builder
	state := uint64(1)
	for i := range 48 {
		for k := range 16 {
			angle := float64(i) / math.Pow(10000, float64(k/2*2)/16)
			value := math.Sin(angle)
			if k%2 == 1 {
				value = math.Cos(angle)
			}
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
			separator := ","
			if k == 15 {
				separator = "\n"
			}
			fmt.Fprintf(&sinusoids, "%.17g%s", value, separator)
			fmt.Fprintf(&random, "%.17g%s", float64(state>>11)/(1<<53)-0.5, separator)
		}
	}
	for name, body := range map[string]string{"sinusoids.csv": sinusoids.String(), "random.csv": random.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got = model(t, analyzeIn(t, dir, "toeplitz", "--table", "sinusoids.csv"))
	near(t, "sinusoids", got["r2"], 1.0)
	if shuffled := got["r2_shuffled"].(float64); shuffled > 0.6 {
		t.Errorf("sinusoids in random orders: R2 %g", shuffled)
	}
	got = model(t, analyzeIn(t, dir, "toeplitz", "--table", "random.csv"))
	r2, shuffled := got["r2"].(float64), got["r2_shuffled"].(float64)
	if math.Abs(r2-0.25) > 0.08 || math.Abs(r2-shuffled) > 0.03 {
		t.Errorf("a random table: R2 %g, shuffled %g", r2, shuffled)
	}
}

func TestAnalyzeMapAndRankOfArrays(t *testing.T) {
	want := expected(t, "map")
	got := model(t, analyze(t, "map", "--table", "arrays.npz:table"))
	near(t, "pca", got["coordinates"], want["pca"])
	near(t, "explained", got["explained"], want["explained"])
	got = model(t, analyze(t, "map", "--table", "arrays.npz:table", "--method", "mds"))
	near(t, "stress", got["stress"], want["stress"])
	near(t, "mds", got["coordinates"], want["pca"]) // of Euclidean distances
	out := filepath.Join(t.TempDir(), "map.csv")
	if _, stderr, code := here(t, analyzed, "analyze", "map", "--table", "named.csv", "--modules",
		"modules.csv", "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	if body, _ := os.ReadFile(out); !strings.HasPrefix(string(body), "token,module,x1,x2\nt0,a,") {
		t.Errorf("%s", body)
	}
	// What map wrote is read again: of the modules and the names of tokens, too, in any order.
	lines := strings.SplitAfter(strings.TrimSpace(readText(t, out))+"\n", "\n")
	mixed := filepath.Join(t.TempDir(), "mixed.csv")
	slices.Reverse(lines[1 : len(lines)-1])
	if err := os.WriteFile(mixed, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Fatal(err)
	}
	near(t, "a map in another order", model(t, analyze(t, "procrustes", "--table", out, "--reference", mixed)),
		map[string]any{"raw": 0.0, "norm_matched": 0.0, "disparity": 0.0, "dim": 2.0})
	for _, kind := range []string{".pdf", ".svg", ".png"} {
		drawn := filepath.Join(t.TempDir(), "map"+kind)
		if _, stderr, code := here(t, analyzed, "analyze", "map", "--table", "named.csv", "--out", drawn); code != 0 {
			t.Fatal(stderr)
		}
		if begin := map[string]string{".pdf": "%PDF", ".svg": "<?xml", ".png": "\x89PNG"}[kind]; !strings.HasPrefix(
			readText(t, drawn), begin) {
			t.Errorf("%s is no %s", drawn, kind)
		}
	}
	near(t, "rank", model(t, analyze(t, "rank", "--table", "table.npy")), expected(t, "rank"))
	if out, _, code := here(t, analyzed, "analyze", "rank", "--table", "table.npy", "--table",
		"named.csv"); code != 0 || strings.Count(out, "\n") != 6 || !strings.Contains(out, "effective rank") {
		t.Errorf("two tables: exit %d, %s", code, out)
	}
}

// Notes say why a score has no value, on stderr and in JSON.
func TestAnalyzeNotes(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"zero.csv": "1,2\n0,0\n3,1\n2,2\n", "same.csv": "1,2\n1,2\n1,2\n1,2\n",
		"labels.txt": "1\n1\n2\n2\n", "w.csv": "0,-1,.5,.5\n-1,0,.5,.5\n.5,.5,0,2\n.5,.5,2,0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"network --modules labels.txt --table zero.csv --distance cosine": "zero.csv: table 0: no scores: " +
			"row 1 is all zeros",
		"network --modules labels.txt --table same.csv": "same.csv: table 0: no scores: " +
			"all rows are the same",
		"network --modules labels.txt --weights w.csv": "w.csv: 2 weights below 0, to -1",
		"distances --table zero.csv --distance cosine": "zero.csv: row 1 is all zeros",
	} {
		out, stderr, code := here(t, dir, append([]string{"analyze"}, strings.Fields(args+" --json")...)...)
		if code != 0 || !strings.Contains(stderr, "note: "+want) {
			t.Fatalf("%s: exit %d: %s", args, code, stderr)
		}
		if notes, _ := keys(t, out)["notes"].([]any); len(notes) != 1 || !strings.HasPrefix(notes[0].(string), want) {
			t.Errorf("%s: notes %v", args, notes)
		}
	}
}

// Arrays of attention maps, whole, by layer and by example; without seeds there is no column for
// them.
func TestAnalyzeAttentionOfArrays(t *testing.T) {
	want := expected(t, "attention")
	for _, pooling := range []string{"each", "layers", "puzzles", "all"} {
		got := model(t, analyze(t, "attention", "attention.npz:maps", "--reference",
			"attention.safetensors:maps", "--pooling", pooling))
		near(t, pooling, got, want[pooling])
		near(t, pooling, got, map[string]any{"examples": 4.0, "heads": 2.0, "source": "attention.npz:maps"})
		if _, ok := got["same_seed"]; ok {
			t.Errorf("arrays have seeds: %v", got)
		}
	}
	near(t, "a map", model(t, analyze(t, "attention", "map.csv", "--reference",
		"attention.safetensors:map")), want["map"])
	out, stderr, code := here(t, analyzed, "analyze", "attention", "attention.npz:maps",
		"--reference", "attention.safetensors:maps")
	// scipy's mean over all maps
	if code != 0 || strings.Count(out, "\n") != 8 || strings.Contains(out, "seed") ||
		!strings.Contains(out, "0.4485") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

// What is wrong with the input is said, with what was wanted and what is there, with exit code 2.
func TestAnalyzeRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"nan.csv": "1.5,2\nnan,3\n4,5\n", "zeros.csv": "0,0\n0,0\n0,0\n", "labels.txt": "1\n1\n1\n",
		"three.txt": "1\n2\n2\n", "empty.csv": "", "cut.npy": "\x93NUMPY\x01\x00v\x00{'descr'",
		"words.csv": "pe,acc\nlearn,0.5\nrope,x\n", "odd.dat": "1", "good.csv": "2,2\n1,1\n3,5\n",
		"ragged.csv":      "a,b\n1,2\n3\n",
		"commas.csv":      "\"1,5\",2\n\"2,5\",3\n",
		"logits.csv":      "0.5,0.5\n1,3\n",
		"rows.csv":        "0.5,0.5\n0.25,0.75\n",
		"long.csv":        strings.Repeat("1.5,2\n", 10001),
		"cut.safetensors": "\x10\x00\x00\x00\x00\x00\x00\x00{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tensors := filepath.Join(analyzed, "model.safetensors")
	for _, c := range []struct {
		args string
		want []string
	}{
		{"rank", []string{"nothing to measure", "--table"}},
		{"rank --table missing.npy", []string{"missing.npy", "no such file"}},
		{"rank --table " + dir, []string{"a folder, not a regular file"}},
		{"rank --table " + tensors + ":embeddings.position_embedding.weight",
			[]string{"did you mean", "embeddings.position_embeddings.weight", "[9 8]"}},
		{"rank --table " + tensors, []string{"several tensors", "attention.key.weight [6 8]"}},
		{"rank --table " + tensors + ":attention.key.bias", []string{"shape [6]", "want a table"}},
		{"rank --table good.csv:x", []string{"good.csv", "leave out :x"}},
		{"rank --table odd.dat", []string{"odd.dat", ".safetensors"}},
		{"rank --table empty.csv", []string{"empty.csv"}},
		{"rank --table cut.npy", []string{"cut.npy"}},
		{"rank --table cut.safetensors", []string{"cut.safetensors"}},
		{"rank --table nan.csv", []string{"nan.csv", "row 1, column 0"}},
		{"rank --table zeros.csv", []string{"zeros.csv", "zeros"}},
		{"rank --table long.csv", []string{"long.csv", "at most 10000"}},
		{"rank --table good.csv --block 1", []string{"block 1", "it has 1 table,"}},
		{"rank --table good.csv --block -2", []string{"--block -2"}},
		{"rank --table good.csv --positions 2:1", []string{`"2:1"`, "FROM:TO"}},
		{"rank --table good.csv --positions 0:9", []string{"0:9 of 3"}},
		{"rank nowhere", []string{"nowhere"}},
		{"rank .", []string{"no run is there"}},
		{"rank --tables x", []string{"--table"}},
		{"network --table good.csv", []string{"good.csv", "--modules"}},
		{"network --table good.csv --modules labels.txt", []string{"module 1", "two modules"}},
		{"network --table good.csv --modules rows", []string{"3 tokens fill no square grid"}},
		{"network --table good.csv --modules three.txt --distance cosin", []string{`"cosine"`}},
		{"network --table good.csv --modules three.txt --permutations -1", []string{"--permutations -1"}},
		{"network --table good.csv --modules three.txt --null spn", []string{`"spn"`, `"spin"`}},
		{"network --table good.csv --modules three.txt --null moran --coordinates grid", []string{"--permutations"}},
		{"network --table good.csv --modules three.txt --permutations 9 --null moran", []string{"--coordinates"}},
		{"network --table good.csv --modules three.txt --permutations 9 --coordinates grid", []string{"--null moran"}},
		{"network --table good.csv --modules three.txt --permutations 9 --null moran --coordinates grid",
			[]string{"3 tokens fill no square grid"}},
		{"network --table good.csv --modules three.txt --permutations 9 --null moran --coordinates grid --distances x",
			[]string{"give one"}},
		{"network --table good.csv --modules three.txt --permutations 9 --null moran --distances good.csv",
			[]string{"square matrix"}},
		{"network --weights good.csv --modules three.txt --permutations 9 --null moran --coordinates grid",
			[]string{"--weights has none"}},
		{"network --table " + filepath.Join(analyzed, "table.npy") + " --modules three.txt",
			[]string{"9 tokens", "labels 3"}},
		{"network --weights good.csv --modules three.txt", []string{"[3 2]", "[n,n]"}},
		{"network --weights good.csv --table good.csv --modules three.txt", []string{"--weights"}},
		{"procrustes --table good.csv", []string{"3 tokens fill no square grid"}},
		{"procrustes --table good.csv --reference nowhere", []string{"reference", "nowhere"}},
		{"procrustes --table good.csv --reference " + filepath.Join(analyzed, "table.npy"),
			[]string{"[3,2]", "[9,8]"}},
		{"procrustes --table zeros.csv --reference good.csv", []string{"zeros"}},
		{"attention", []string{"no run"}},
		{"attention x", []string{"--reference"}},
		{"attention x --reference y --pooling layer", []string{`"layers"`}},
		{"distances --table good.csv --table good.csv", []string{"takes one"}},
		{"distances --table good.csv --out x.txt", []string{"x.txt", ".csv or .npy"}},
		{"toeplitz --table zeros.csv", []string{"zeros.csv", "equal"}},
		{"toeplitz --table good.csv --query good.csv", []string{"--key"}},
		{"toeplitz --table good.csv --query " + tensors + ":attention.query.weight --key good.csv",
			[]string{"[6 8]", "2 inputs"}},
		{"toeplitz --table good.csv --query good.csv --key good.csv --heads 2", []string{"2 heads for 3 outputs"}},
		{"toeplitz --table good.csv --query good.csv --key good.csv --heads 0", []string{"--heads 0"}},
		{"toeplitz --table good.csv --heads 2", []string{"--query"}},
		{"map --table good.csv --dim 2", []string{"did you mean --dims?"}},
		{"map --table good.csv --method tsne", []string{"pca and mds"}},
		{"map --table good.csv --dims 3", []string{"want 1 to 2"}},
		{"map --table zeros.csv", []string{"zeros.csv", "equal"}},
		{"rank --table commas.csv", []string{`commas.csv:1:1: the first cell is "1,5"`, "with a point"}},
		{"rank nowhere --over-training --block 0", []string{"--over-training", "--block"}},
		{"rank --over-training --table good.csv", []string{"--over-training", "--table"}},
		{"rank --over-training", []string{"no run is named"}},
		{"rank nowhere --over-training --out x.json", []string{"x.json", ".csv"}},
		{"rank --table good.csv --out x.csv", []string{"--over-training"}},
		{"attention good.csv --reference good.csv", []string{"good.csv", "[3 2]", "[examples,tokens,tokens]"}},
		{"attention logits.csv --reference good.csv", []string{"logits.csv: row 1 sums to 4",
			"sum to 1 within 0.001"}},
		{"attention rows.csv --reference nowhere.npy", []string{"reference", "nowhere.npy"}},
		{"ranks", []string{`"rank"`}},
	} {
		_, stderr, code := here(t, dir, append([]string{"analyze"}, strings.Fields(c.args)...)...)
		if code != exitUsage || strings.Contains(stderr, "panic") {
			t.Errorf("%s: exit %d, want 2: %s", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: no %q in %s", c.args, want, stderr)
			}
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
