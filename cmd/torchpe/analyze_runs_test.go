package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// trainFor trains a model in dir.
func trainFor(t *testing.T, dir, out, flags string) {
	t.Helper()
	says(t, dir, "train --quiet --device cpu --threads 1 --out "+out+" "+flags, 0)
}

// The scores of a run of masked prediction are those that the run itself recorded.
func TestAnalyzeMaskedRun(t *testing.T) {
	dir := t.TempDir()
	trainFor(t, dir, "run", "--task nmar --nmar-frames 600 --test-frames 40 --steps 8 --batch 16 --d-model 16 "+
		"--layers 2 --heads 2 --sigma 0.1,2")
	var result struct {
		Members []struct{ Measures map[string]float64 }
	}
	expect.NoError(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, "run", "result.json"))), &result))
	models := analyzeIn(t, dir, "network", "run")["models"].([]any)
	if len(models) != 2 {
		t.Fatalf("%v", models)
	}
	for i, m := range models {
		got, want := m.(map[string]any), result.Members[i].Measures
		near(t, "modularity", got["modularity"], want["modularity"])
		near(t, "clustering", got["clustering"], want["clustering"])
		near(t, "block 1", got["blocks"].([]any)[1].(map[string]any)["modularity"], want["modularity/1"])
		if got["member"] != float64(i) || got["seed"] != 1.0 || got["pe"] != []string{"learn-0.1", "learn-2.0"}[i] {
			t.Errorf("member %d: %v", i, got)
		}
	}
	// Distances of both members, each as it is alone.
	both := analyzeIn(t, dir, "distances", "run", "--positions", "0:3")["models"].([]any)
	if len(both) != 2 {
		t.Fatalf("distances of %d of 2 members", len(both))
	}
	second := model(t, analyzeIn(t, dir, "distances", "run", "--positions", "0:3", "--member", "1"))
	near(t, "distances of member 1", both[1].(map[string]any)["distances"], second["distances"])
	says(t, dir, "analyze distances run --out d.npy", 0)
	if d, err := npy.Read(filepath.Join(dir, "d.npy")); err != nil || !slices.Equal(d.Shape, []int{2, 15, 15}) ||
		d.Data[225+1] != second["distances"].([]any)[0].([]any)[1] || d.Data[1] == d.Data[226] {
		t.Errorf("%v, %v", d.Shape, err)
	}
	expect.Equal(t, "maps", len(analyzeIn(t, dir, "map", "run")["models"].([]any)), 2)
	if m := model(t, analyzeIn(t, dir, "map", "run", "--member", "1")); len(m["modules"].([]any)) != 15 ||
		m["pe"] != "learn-2.0" {
		t.Errorf("map: %v", m)
	}
	// Each member has its own weights: both heads of both blocks.
	for i, m := range analyzeIn(t, dir, "toeplitz", "run", "--shuffles", "5")["models"].([]any) {
		for _, b := range m.(map[string]any)["blocks"].([]any) {
			heads := b.(map[string]any)["attention"].([]any)
			if len(heads) != 2 || heads[0] == heads[1] {
				t.Errorf("member %d: %v", i, b)
			}
		}
	}
	projectionsAsFiles(t, dir)
	// The tensors of the probes as a user's own arrays give the same scores.
	want := models[0].(map[string]any)["blocks"].([]any)[0]
	var network struct {
		Modules []int `json:"order_modules"`
	}
	saysJSON(t, dir, "data nmar show --frames 2", &network)
	labels := ""
	for _, module := range network.Modules {
		labels += fmt.Sprintln(module)
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "modules.txt"), []byte(labels), 0o666))
	stack := model(t, analyzeIn(t, dir, "network", "--table", "run/probes.safetensors:pe/0",
		"--modules", "modules.txt", "--block", "0"))
	near(t, "probes as a file", stack["blocks"].([]any)[0], want)
}

func TestAnalyzeLSTRuns(t *testing.T) {
	dir := learnedRun(t)
	small := strings.Replace(smallSet(t, dir), "--layers 1", "--layers 2", 1) + "--seed 5 --noise none --pe "
	trainFor(t, dir, "runs/fixed", small+"2d-fixed --epochs 2")
	trainFor(t, dir, "nope", small+"nope --epochs 1")

	// The run's table is the closed form, whatever the order of its halves.
	fixed := model(t, analyzeIn(t, dir, "procrustes", "runs/fixed"))
	if raw := fixed["raw"].(float64); raw > 1e-5 || len(fixed["blocks"].([]any)) != 2 {
		t.Errorf("2d-fixed against itself: %v", fixed)
	}
	byForm := analyzeIn(t, dir, "procrustes", "runs/learned")["models"].([]any)
	byRun := analyzeIn(t, dir, "procrustes", "runs/learned", "--reference", "runs/fixed")["models"].([]any)
	for i := range byForm {
		f, r := byForm[i].(map[string]any), byRun[i].(map[string]any)
		for _, key := range []string{"raw", "norm_matched", "disparity"} {
			expect.Near(t, fmt.Sprint("member ", i), f[key].(float64), r[key].(float64), 1e-5)
		}
	}
	// A member is compared with that of its seed; if there is none, with the first, with a
	// note.
	out, stderr, code := here(t, dir, "analyze", "attention", "runs/learned", "--reference", "runs/fixed", "--json")
	if code != 0 || !strings.Contains(stderr, "no member of seed 4") || strings.Contains(stderr, "seed 5:") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	models := keys(t, out)["models"].([]any)
	for i, m := range models {
		a := m.(map[string]any)
		cosine := a["cosine"].(float64)
		if a["same_seed"] != (i == 1) || a["examples"] != 12.0 || len(a["layers"].([]any)) != 2 ||
			!(cosine > 0 && cosine < 1) {
			t.Errorf("member %d: %v", i, a)
		}
	}
	for _, pooling := range []string{"each", "layers", "puzzles", "all"} {
		same := model(t, analyzeIn(t, dir, "attention", "runs/fixed", "--reference", "runs/fixed",
			"--pooling", pooling))
		near(t, pooling, same, map[string]any{"cosine": 1.0, "jsd": 0.0, "same_seed": true})
	}
	perPuzzle(t, dir)
	recordedRank(t, dir)
	expect.Equal(t, "a folder of two runs", len(analyzeIn(t, dir, "rank", "runs")["models"].([]any)), 3)
	b := analyzeIn(t, dir, "network", "runs/fixed", "--modules", "columns", "--block", "1", "--permutations", "99")
	if m := model(t, b); m["modules"] != 4.0 || len(m["blocks"].([]any)) != 1 {
		t.Errorf("columns: %v", m)
	}
	for args, want := range map[string]string{
		"rank nope":                                 "has no table of positions",
		"network runs/fixed":                        "--modules rows or columns",
		"rank runs/learned --member 2":              "member 2: the run has 2",
		"distances runs/learned --block 2":          "block 2",
		"distances runs":                            "choose one run",
		"distances runs/learned --out d.csv":        "--member",
		"attention runs/fixed --reference nope/no":  "reference",
		"procrustes runs/fixed --reference nope":    "has no table of positions",
		"map runs/fixed --modules absent.txt":       "absent.txt",
		"procrustes runs/fixed --reference absents": "absents",
	} {
		says(t, dir, "analyze "+args, exitUsage, want)
	}
	says(t, dir, "analyze rank runs/fixed nope", 0, "2d-fixed", "2>nope")
}

// The maps of a run's probes as a user's own arrays, a file a layer, give what the run gives; so
// does their mean over puzzles.
func perPuzzle(t *testing.T, dir string) {
	t.Helper()
	run := model(t, analyzeIn(t, dir, "attention", "runs/learned", "--member", "1", "--reference", "runs/fixed"))
	layers, puzzles := run["layers"].([]any), run["by_example"].([]any)
	if len(layers) != 2 || len(puzzles) != 12 {
		t.Fatalf("%d layers, %d puzzles", len(layers), len(puzzles))
	}
	for _, key := range []string{"cosine", "jsd"} {
		mean := 0.0
		for _, p := range puzzles {
			mean += p.(map[string]any)[key].(float64) / 12
		}
		near(t, "mean "+key+" of puzzles", mean, run[key])
	}
	part := func(run string, members, member, layer int) string {
		f := expect.Must(safetensors.Read(filepath.Join(dir, "runs", run, "probes.safetensors")))
		x, ok := f.Tensor(fmt.Sprintf("attention/%d", layer)) // [members,puzzles,heads,tokens,tokens]
		if !ok || x.Shape[0] != members {
			t.Fatalf("%v of shape %v", ok, x.Shape)
		}
		values := expect.Must(x.Float64s())
		size := len(values) / members
		own := expect.Must(safetensors.New("maps", append([]int{1}, x.Shape[1:]...),
			values[member*size:(member+1)*size]))
		name := fmt.Sprintf("%s%d.safetensors", run, layer)
		expect.NoError(t, safetensors.Write(filepath.Join(dir, name), []safetensors.Tensor{own}, nil))
		return name
	}
	for layer := range layers {
		array := model(t, analyzeIn(t, dir, "attention", part("learned", 2, 1, layer),
			"--reference", part("fixed", 1, 0, layer)))
		near(t, "a layer as a file", array["cosine"], layers[layer].(map[string]any)["cosine"])
		near(t, "a layer as a file", array["jsd"], layers[layer].(map[string]any)["jsd"])
	}
	says(t, dir, "analyze attention learned0.safetensors --reference runs/fixed", exitUsage, "1 layer, 12 examples",
		"2 layers, 12 examples")
}

// The last record of a run has the norm and the rank that its probes have.
func recordedRank(t *testing.T, dir string) {
	t.Helper()
	var last [2]map[string]any // of each member
	for line := range strings.Lines(readText(t, filepath.Join(dir, "runs/learned/metrics.jsonl"))) {
		var r struct {
			Member, Step, Epoch float64
			Measures            map[string]any
		}
		expect.NoError(t, json.Unmarshal([]byte(line), &r))
		last[int(r.Member)] = r.Measures
	}
	for i, m := range analyzeIn(t, dir, "rank", "runs/learned")["models"].([]any) {
		for key, recorded := range map[string]string{"frobenius": "pe_norm", "effective_rank": "pe_effective_rank"} {
			want := m.(map[string]any)[key].(float64)
			if got, _ := last[i][recorded].(float64); !(math.Abs(got-want) <= 1e-5*want) {
				t.Errorf("member %d: %s ends at %v, and the probes have %v", i, recorded, got, want)
			}
		}
	}
}

// A run that is not finished, or whose files are damaged, is named with its reason.
func TestAnalyzeDamagedRun(t *testing.T) {
	dir := learnedRun(t)
	run := filepath.Join(dir, "runs", "learned")
	broken := func(name string, change func(path string) error, want string) {
		t.Helper()
		path := filepath.Join(run, name)
		before := readText(t, path)
		expect.NoError(t, change(path))
		says(t, dir, "analyze rank runs/learned", exitUsage, want)
		if name == "config.json" {
			_, listed, _ := here(t, dir, "runs", "list", "runs")
			expect.Contains(t, listed, want)
		}
		expect.NoError(t, os.WriteFile(path, []byte(before), 0o666))
	}
	cut := func(path string) error { return os.Truncate(path, 100) }
	broken("probes.safetensors", cut, "probes.safetensors")
	broken("probes.safetensors", os.Remove, "no probes")
	broken("result.json", cut, "result.json")
	broken("result.json", os.Remove, "torchpe train --resume --out runs/learned")
	broken("config.json", func(path string) error {
		text := strings.Replace(readText(t, path), `"epochs": 2,`, `"epochs": 3,`, 1)
		return os.WriteFile(path, []byte(text), 0o666)
	}, "config.json: it was edited after the run was finished")
	says(t, dir, "analyze rank runs/learned", 0)
	remove := func(name string) {
		t.Helper()
		expect.NoError(t, os.Remove(filepath.Join(run, name)))
	}
	remove("checkpoint.safetensors")
	says(t, dir, "analyze toeplitz runs/learned", 0, "2>is of step 0, but training ended after step 18")
	says(t, dir, "export runs/learned --out twin --json", 0, `"step": 0`, "2>is of step 0")
	remove("checkpoint.prev.safetensors")
	says(t, dir, "analyze toeplitz runs/learned", 0, "–", "2>no checkpoint")
}

// projectionsAsFiles checks the positional scores of member 1 in block 1 against those of its
// projections as a user's own files: the checkpoint's in-projection [E,3D,D] holds queries, keys
// and values, one after the other (torch.nn.MultiheadAttention).
func projectionsAsFiles(t *testing.T, dir string) {
	t.Helper()
	const member, d = 1, 16
	f := expect.Must(safetensors.Read(filepath.Join(dir, "run", "checkpoint.safetensors")))
	x, ok := f.Tensor("w/block1.attn.in.weight")
	if !ok || !slices.Equal(x.Shape, []int{2, 3 * d, d}) {
		t.Fatalf("%v of shape %v", ok, x.Shape)
	}
	values := expect.Must(x.Float64s())
	var tensors []safetensors.Tensor
	for i, name := range []string{"query", "key"} {
		from := (member*3 + i) * d * d
		tensors = append(tensors, expect.Must(safetensors.New(name, []int{d, d}, values[from:from+d*d])))
	}
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "projections.safetensors"), tensors, nil))
	joint := expect.Must(safetensors.New("joint", []int{3 * d, d}, values[:3*d*d]))
	expect.NoError(t, safetensors.Write(filepath.Join(dir, "joint.safetensors"), []safetensors.Tensor{joint}, nil))
	says(t, dir, "analyze toeplitz --table run/probes.safetensors:pe/1 --heads 2 --query joint.safetensors --key "+
		"joint.safetensors", exitUsage, "queries, keys and values in one")
	block := func(args ...string) any {
		return model(t, analyzeIn(t, dir, append([]string{"toeplitz", "--shuffles", "0"},
			args...)...))["blocks"].([]any)[0].(map[string]any)["attention"]
	}
	near(t, "positional scores", block("--table", "run/probes.safetensors:pe/1", "--block", "1", "--heads", "2",
		"--query", "projections.safetensors:query", "--key", "projections.safetensors:key"),
		block("run", "--member", "1", "--block", "1"))
}
