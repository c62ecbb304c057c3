package train

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"torchpe/data/array/safetensors"
	"torchpe/data/lst"
	"torchpe/internal/expect"
	"torchpe/models/arch"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Environment of a worker process: the run directory and the configuration file.
const (
	workerDir    = "TORCHPE_TEST_RUN"
	workerConfig = "TORCHPE_TEST_CONFIG"
)

// tinySet generates the puzzles of tiny, once for all tests.
var tinySet = sync.OnceValues(func() (sets [2][]lst.Puzzle, err error) {
	sets[0], sets[1], err = lst.Generate(lst.Options{Train: 300, Validation: 12}, 3)
	return sets, err
})

// tiny returns a configuration that trains in about a second, on files of a few hundred puzzles.
func tiny(t *testing.T, pe string) Config {
	t.Helper()
	dir := t.TempDir()
	sets := expect.Must(tinySet())
	c := expect.Must(Preset("quick", "code"))
	c.LSTTrain, c.LSTValidation = []string{filepath.Join(dir, "train.csv")}, filepath.Join(dir, "validation.csv")
	expect.NoError(t, lst.WriteFiles(lst.File{Path: c.LSTTrain[0], Puzzles: sets[0]},
		lst.File{Path: c.LSTValidation, Puzzles: sets[1]}))
	c.PE, c.Layers, c.DModel, c.Batch, c.Epochs, c.Threads, c.Device = pe, 2, 16, 32, 12, 1, "cpu"
	c.Members, c.Dropout = twoMembers(), 0.1
	return c
}

// twoMembers differ in all that members differ in.
func twoMembers() []Member {
	return []Member{{Seed: 5, Sigma: new(0.2), LR: 1e-3}, {Seed: 9, Sigma: new(1.0), LR: 3e-4, WeightDecay: 0.1}}
}

// final holds the results that must not depend on how often a run was stopped.
type final struct {
	weights map[string][]byte
	metrics []map[string]any // without times
	probes  []byte
	events  map[string]any // by file, without times
}

func readFinal(t *testing.T, dir string) final {
	t.Helper()
	r := opened(t, dir)
	f := final{weights: map[string][]byte{}, metrics: expect.Must(runlog.ReadMetrics[map[string]any](r))}
	for _, x := range expect.Must(r.LoadCheckpoint()).Tensors {
		f.weights[x.Name] = x.Data
	}
	for _, m := range f.metrics {
		delete(m, "wall_seconds")
		delete(m, "step_ms")
	}
	f.probes = expect.Must(os.ReadFile(filepath.Join(dir, "probes.safetensors")))
	f.events = readEvents(t, dir)
	return f
}

func sameFinal(t *testing.T, got, want final) {
	t.Helper()
	if len(got.weights) != len(want.weights) || len(want.weights) == 0 {
		t.Errorf("%d tensors in the checkpoint, want %d", len(got.weights), len(want.weights))
	}
	for name, w := range want.weights {
		expect.Equal(t, name+" differs", !bytes.Equal(got.weights[name], w), false)
	}
	if !reflect.DeepEqual(got.metrics, want.metrics) || len(want.metrics) == 0 {
		t.Errorf("metrics differ:\n%v\nwant\n%v", got.metrics, want.metrics)
	}
	expect.Equal(t, "probes differ", !bytes.Equal(got.probes, want.probes), false)
	expect.Equal(t, "events for TensorBoard differ", got.events, want.events)
}

// A worker that is killed with SIGKILL at random moments and started again ends with the same bits
// as one that is not. TORCHPE_KILLS gives the number of kills for each of four encodings.
func TestKilledRunsResume(t *testing.T) {
	kills, encodings := 6, []string{"learn"}
	if given := os.Getenv("TORCHPE_KILLS"); given != "" {
		kills = expect.Must(strconv.Atoi(given))
		encodings = []string{"learn", "relative", "rope", "random"}
	}
	for _, encoding := range encodings {
		c := tiny(t, encoding)
		if encoding != "learn" {
			c.Members[0].Sigma, c.Members[1].Sigma = nil, nil
		}
		c.CheckpointEvery = config.Duration(time.Millisecond)
		undisturbed := filepath.Join(t.TempDir(), "run")
		start := time.Now()
		expect.Must(Run(t.Context(), c, undisturbed, Options{}))
		took, want := time.Since(start), readFinal(t, undisturbed)
		killed, runs := 0, 0
		for ; killed < kills; runs++ {
			dir := filepath.Join(t.TempDir(), "run")
			killed += killUntilDone(t, c, dir, kills-killed, took)
			sameFinal(t, readFinal(t, dir), want)
		}
		t.Logf("%s: killed %d times in %d runs", encoding, killed, runs)
	}
}

// killUntilDone trains a configuration in worker processes, of which it kills as many as most at
// random moments, until one of them has finished the run. It returns the number of kills.
func killUntilDone(t *testing.T, c Config, dir string, most int, took time.Duration) (killed int) {
	t.Helper()
	text := expect.Must(c.JSON())
	path := filepath.Join(t.TempDir(), "config.json")
	expect.NoError(t, os.WriteFile(path, text, 0o666))
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerDir+"="+dir, workerConfig+"="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		expect.NoError(t, cmd.Start())
		kill := killed < most
		if kill {
			// Start-up takes some tenths of a second; most kills fall into training, some before
			// it.
			time.Sleep(rand.N(400*time.Millisecond + took/4))
			cmd.Process.Kill()
			killed++
		}
		if err := cmd.Wait(); err != nil && !kill {
			t.Fatalf("worker: %v: %s", err, stderr.String())
		}
		if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
			return killed
		}
	}
}

// Runs of each task that stop several times, in the middle of epochs and intervals, end with the same bits:
// with schemes that act at each place and those that draw, with other sizes, and with dropout at evaluation.
func TestInterruptedRunsResume(t *testing.T) {
	runs := map[string]Config{"text rope": tinyText(t, "rope"), "text alibi": tinyText(t, "alibi"),
		"decoder abacus": decoder(t, "addition", "abacus")}
	for _, pe := range []string{"learn", "1d-fixed", "random", "relative"} {
		c := tiny(t, pe)
		if c.Epochs = 3; pe == "random" {
			c.PEOptions = map[string]string{"random": "ruoss"}
		}
		runs["puzzles "+pe] = c
	}
	for pe, fidelity := range map[string]string{"rope": "code", "t5": "text", "2d-fixed": "code", "random": "text"} {
		c := tinySizes(t, pe)
		if c.Fidelity = fidelity; fidelity == "text" {
			c.TokenInput, c.ReadOut = arch.Embedding, arch.ProbeToken
		}
		runs["other sizes "+pe] = c
	}
	for _, pe := range []string{"learn", "rope", "t5", "random", "cape", "forgetting"} {
		runs["sequence "+pe] = tinySequence(t, "stack-manipulation", pe)
	}
	layered := tiny(t, "nope@1,learn@2")
	layered.Window, layered.Epochs = "5@1,0@2", 3
	runs["puzzles, two layers that differ"] = layered
	for name, c := range runs {
		t.Run(name, func(t *testing.T) {
			whole, result := runTiny(t, c)
			resumesTo(t, c, whole, 1, 4, 6)
			if c.EvalTokens != nil {
				sizeNumbers(t, whole, result)
			}
		})
	}
}

// A run that lacks its result alone writes it again, and its speed with it.
func TestResultIsWrittenAgain(t *testing.T) {
	c := tiny(t, "learn")
	dir, result := runTiny(t, c)
	expect.NoError(t, os.Remove(filepath.Join(dir, "result.json")))
	again := expect.Must(Run(t.Context(), c, dir, Options{Resume: true}))
	again.PeakRSSMB = result.PeakRSSMB
	if again.StepsPerSecond <= 0 || !reflect.DeepEqual(again, result) {
		t.Errorf("%+v, want %+v", again, result)
	}
}

// A damaged newest checkpoint costs the steps since the one before, not the run.
func TestResumeFallsBack(t *testing.T) {
	c := tiny(t, "learn")
	c.Epochs, c.CheckpointEvery = 3, config.Duration(time.Nanosecond)
	whole, _ := runTiny(t, c)
	before := expect.Must(safetensors.Read(filepath.Join(whole, "checkpoint.prev.safetensors")))
	// Of 27: checkpoints are due at every step.
	expect.Equal(t, "step of the last checkpoint but one", before.Metadata["torchpe.step"], "26")
	dir := filepath.Join(t.TempDir(), "run")
	stopAfter(t, c, dir, 11)
	path := filepath.Join(dir, "checkpoint.safetensors")
	text := expect.Must(os.ReadFile(path))
	text[len(text)/2] ^= 1
	expect.NoError(t, os.WriteFile(path, text, 0o666))
	heard := &listener{}
	expect.Must(Run(t.Context(), c, dir, Options{Resume: true, Observer: heard}))
	expect.Equal(t, heard.notices, len(heard.notices), 1) // about the damaged checkpoint
	sameFinal(t, readFinal(t, dir), readFinal(t, whole))
}

// edit returns a configuration with another value of a key of config.json, of any kind.
func edit(t *testing.T, c Config, key string) []byte {
	t.Helper()
	text := expect.Must(c.JSON())
	var all map[string]any
	expect.NoError(t, json.Unmarshal(text, &all))
	object := all
	for {
		outer, inner, found := strings.Cut(key, ".")
		if !found {
			break
		}
		if list, ok := object[outer].([]any); ok {
			object = list[len(list)-1].(map[string]any)
		} else if object, ok = object[outer].(map[string]any); !ok {
			return nil // another task's
		}
		key = inner
	}
	switch v := object[key].(type) {
	case float64:
		object[key] = v + 1
	case bool:
		object[key] = !v
	case string:
		object[key] = v + "x"
	case []any:
		object[key] = append(v, v...)
	case map[string]any:
		object[key] = map[string]any{"x": "1"}
	case nil:
		object[key] = 0.25
	}
	return expect.Must(json.Marshal(all))
}

// interrupted returns the directory of a run that stopped after two steps, and its configuration.
func interrupted(t *testing.T) (dir string, c Config) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	stopAfter(t, tiny(t, "learn"), dir, 2)
	return dir, expect.Must(ReadConfig(filepath.Join(dir, "config.json")))
}

// Whatever setting of config.json is edited between two parts of a run, the run does not go on
// without saying so.
func TestResumeRefusesEditedSettings(t *testing.T) {
	dir, c := interrupted(t)
	edits, refused := 0, 0
	for _, s := range config.Settings() {
		text := edit(t, c, s.Key)
		if text == nil || s.Effect == config.Nothing || s.Path {
			continue
		}
		edits++
		changed, err := ParseConfig(text)
		if err == nil {
			_, err = Run(t.Context(), changed, dir, Options{Resume: true})
			if err != nil && strings.Contains(err.Error(), "--allow-changed "+s.Key) {
				refused++
			}
		}
		expect.Refused(t, s.Key, err)
	}
	// The others make no valid configuration.
	if edits < 40 || refused < 20 {
		t.Errorf("of %d edited settings %d were compared with the checkpoint", edits, refused)
	}
	expect.Equal(t, "status", resume(t, c, dir).Members[0].Status, runlog.StatusDone)
}

// A setting that is allowed to change is used from there on, and recorded.
func TestResumeAllowsChangedSettings(t *testing.T) {
	dir, c := interrupted(t)
	c.LogEvery, c.Epochs, c.Members[1].LR = 1, 2, 0.5
	_, err := Run(t.Context(), c, dir, Options{Resume: true, AllowChanged: []string{"epochs"}})
	if err == nil || !strings.Contains(err.Error(), "members.lr was 0.001, 0.0003 and is 0.001, 0.5") ||
		strings.Contains(err.Error(), "epochs was") {
		t.Fatal(err)
	}
	result := expect.Must(Run(t.Context(), c, dir, Options{Resume: true,
		AllowChanged: []string{"epochs", "members.lr", "log_every"}}))
	expect.Equal(t, "epochs", result.Members[0].Epochs, 2)
	envs := environments(t, dir)
	if !slices.Contains(envs[len(envs)-1].Changed, "epochs was 12 and is 2 after step 2") {
		t.Errorf("%+v", envs)
	}
	if now := expect.Must(ReadConfig(filepath.Join(dir, "config.json"))); now.Epochs != 2 || now.Members[1].LR != 0.5 {
		t.Errorf("config.json: %+v", now)
	}
}

// A line behind the checkpoint that a crash garbled does not keep a run from going on.
func TestResumeCutsGarbledRecords(t *testing.T) {
	dir, c := interrupted(t)
	f := expect.Must(os.OpenFile(filepath.Join(dir, "metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0))
	expect.Must(f.WriteString("\x00\x00}\n"))
	expect.NoError(t, f.Close())
	expect.Equal(t, "status", resume(t, c, dir).Members[0].Status, runlog.StatusDone)
}

// A run whose attention is of a form that only earlier versions had is read, and goes on with another form
// where that is allowed.
func TestFormerAttention(t *testing.T) {
	dir, c := interrupted(t)
	c.Attention = config.AttentionProducts
	text := expect.Must(c.JSON())
	f := expect.Must(safetensors.Read(filepath.Join(dir, "checkpoint.safetensors")))
	r := expect.Must(runlog.Resume(dir, runlog.Options{}))
	checkpoint := expect.Must(r.LoadCheckpoint())
	checkpoint.Metadata[runlog.ConfigKey] = string(text)
	expect.NoError(t, r.SetConfig(text))
	expect.NoError(t, r.SaveCheckpoint(checkpoint.Step, f.Tensors, checkpoint.Metadata))
	expect.NoError(t, r.Close())

	expect.Must(Export(dir, 0, filepath.Join(t.TempDir(), "exported")))
	_, err := Run(t.Context(), c, dir, Options{Resume: true})
	expect.Error(t, err, `--attention: "products" is not one of auto, efficient, flash; earlier versions had it; `+
		`continue such a run with --attention efficient or flash and --allow-changed attention`)
	c.Attention = "efficient"
	_, err = Run(t.Context(), c, dir, Options{Resume: true})
	expect.Error(t, err, `attention was "products" and is "efficient"`, "--allow-changed attention")
	expect.Must(Run(t.Context(), c, dir, Options{Resume: true, AllowChanged: []string{"attention"}}))
}

// Another machine or program is one warning and a line in the run's environment. A run directory of an
// earlier version becomes one of this version.
func TestResumeNotesAnotherMachine(t *testing.T) {
	dir, c := interrupted(t)
	f := expect.Must(safetensors.Read(filepath.Join(dir, "checkpoint.safetensors")))
	r := expect.Must(runlog.Resume(dir, runlog.Options{}))
	checkpoint := expect.Must(r.LoadCheckpoint())
	metadata := checkpoint.Metadata
	metadata["environment"] = strings.Replace(metadata["environment"], `"libtorch":"`, `"libtorch":"9.`, 1)
	expect.NoError(t, r.SaveCheckpoint(checkpoint.Step, f.Tensors, metadata))
	expect.NoError(t, r.Close())
	path := filepath.Join(dir, "config.json")
	now := expect.Must(os.ReadFile(path))
	old := bytes.Replace(now, []byte(`"schema": 2`), []byte(`"schema": 1`), 1)
	expect.NoError(t, os.WriteFile(path, old, 0o600))
	l := &listener{}
	expect.Must(Run(t.Context(), c, dir, Options{Resume: true, Observer: l}))
	if text := expect.Must(os.ReadFile(path)); bytes.Equal(old, now) || !bytes.Equal(text, now) {
		t.Errorf("config.json: %s", text)
	}
	expect.Contains(t, strings.Join(l.notices, "\n"), `libtorch was "9.`)
	envs := environments(t, dir)
	if last := envs[len(envs)-1]; len(last.Changed) != 1 || !strings.HasPrefix(last.Changed[0], "libtorch was") {
		t.Errorf("%q", last.Changed)
	}
}

// A directory that cannot be had is found before the data are read.
func TestDirectoryFirst(t *testing.T) {
	dir, c := interrupted(t)
	c.LSTTrain = []string{"missing.csv"}
	expect.ErrorIs(t, expect.ErrorOf(Run(t.Context(), c, dir, Options{})), runlog.ErrExists)
	other := filepath.Join(t.TempDir(), "new")
	expect.Refused(t, "another folder", expect.ErrorOf(Run(t.Context(), c, other, Options{})))
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(other)), fs.ErrNotExist)
}

// A resume that is refused leaves the run as it was.
func TestRefusedResumeChangesNothing(t *testing.T) {
	dir, c := interrupted(t)
	read := func() string {
		t.Helper()
		all := ""
		for _, name := range []string{"config.json", "environment.json", "metrics.jsonl"} {
			all += string(expect.Must(os.ReadFile(filepath.Join(dir, name))))
		}
		return all
	}
	before := read()
	for name, change := range map[string]func(c *Config){
		"a setting":  func(c *Config) { c.Batch = 16 },
		"other data": func(c *Config) { c.DataSeed++ },
		"no data":    func(c *Config) { c.LSTTrain = []string{"missing.csv"} },
		"other files": func(c *Config) {
			c.LSTTrain = []string{tiny(t, "learn").LSTTrain[0], tiny(t, "learn").LSTValidation}
		},
	} {
		now := Config{c.Clone()}
		change(&now)
		options := Options{Resume: true, AllowChanged: []string{"data_seed"}}
		expect.Refused(t, name, expect.ErrorOf(Run(t.Context(), now, dir, options)))
		expect.Equal(t, name, read(), before)
	}
}

// The checkpoint is the state that Python can read: names, shapes and the ensemble's axis.
func TestCheckpointLayout(t *testing.T) {
	c := tiny(t, "learn")
	c.LimitSteps = 2
	dir, _ := runTiny(t, c)
	if r := recordsOf(t, dir); len(r) != 2 || r[1].Step != 2 || r[1].Epoch != 1 { // of 9 steps, the first under way
		t.Errorf("records %+v", r)
	}
	f := expect.Must(safetensors.Read(filepath.Join(dir, "checkpoint.safetensors")))
	for name, shape := range map[string][]int{"w/embed.weight": {2, 16, 5}, "w/pe.table": {2, 2, 16, 16},
		"adam.m/pe.table": {2, 2, 16, 16}, "w/head.bias": {2, 4}} {
		x, ok := f.Tensor(name)
		if !ok || !reflect.DeepEqual(x.Shape, shape) || x.DType != safetensors.F32 {
			t.Errorf("%s: %v %v, want float32 %v", name, x.DType, x.Shape, shape)
		}
	}
}
