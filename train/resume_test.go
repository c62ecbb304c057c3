package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	sets, err := tinySet()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Preset("quick", "code")
	if err != nil {
		t.Fatal(err)
	}
	c.LSTTrain, c.LSTValidation = []string{filepath.Join(dir, "train.csv")}, filepath.Join(dir, "validation.csv")
	if err := lst.WriteFiles(lst.File{Path: c.LSTTrain[0], Puzzles: sets[0]},
		lst.File{Path: c.LSTValidation, Puzzles: sets[1]}); err != nil {
		t.Fatal(err)
	}
	c.PE, c.Layers, c.DModel, c.Batch, c.Epochs, c.Threads, c.Device = pe, 2, 16, 32, 12, 1, "cpu"
	sigmas := []float64{0.2, 1}
	c.Members = []Member{{Seed: 5, Sigma: &sigmas[0], LR: 1e-3}, {Seed: 9, Sigma: &sigmas[1], LR: 3e-4,
		WeightDecay: 0.1}}
	c.Dropout = 0.1
	return c
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
	r, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := r.LoadCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	f := final{weights: map[string][]byte{}}
	for _, name := range c.Names() {
		x, _ := c.Tensor(name)
		f.weights[name] = x.Data
	}
	if f.metrics, err = runlog.ReadMetrics[map[string]any](r); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.metrics {
		delete(m, "wall_seconds")
		delete(m, "step_ms")
	}
	if f.probes, err = os.ReadFile(filepath.Join(dir, "probes.safetensors")); err != nil {
		t.Fatal(err)
	}
	f.events = readEvents(t, dir)
	return f
}

func sameFinal(t *testing.T, got, want final) {
	t.Helper()
	if len(got.weights) != len(want.weights) || len(want.weights) == 0 {
		t.Errorf("%d tensors in the checkpoint, want %d", len(got.weights), len(want.weights))
	}
	for name, w := range want.weights {
		if !bytes.Equal(got.weights[name], w) {
			t.Errorf("%s differs", name)
		}
	}
	if !reflect.DeepEqual(got.metrics, want.metrics) || len(want.metrics) == 0 {
		t.Errorf("metrics differ:\n%v\nwant\n%v", got.metrics, want.metrics)
	}
	if !bytes.Equal(got.probes, want.probes) {
		t.Error("probes differ")
	}
	if !reflect.DeepEqual(got.events, want.events) {
		t.Errorf("events for TensorBoard differ:\n%v\nwant\n%v", got.events, want.events)
	}
}

// A worker that is killed with SIGKILL at random moments and started again ends with the same bits
// as one that is not. TORCHPE_KILLS gives the number of kills for each of four encodings.
func TestKilledRunsResume(t *testing.T) {
	kills, encodings := 6, []string{"learn"}
	if given := os.Getenv("TORCHPE_KILLS"); given != "" {
		var err error
		if kills, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
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
		if _, err := Run(context.Background(), c, undisturbed, Options{}); err != nil {
			t.Fatal(err)
		}
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
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerDir+"="+dir, workerConfig+"="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
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

// stopper cancels a context after a number of steps.
type stopper struct {
	noopObserver
	after  int
	cancel context.CancelFunc
}

func (s *stopper) Stepped(int) {
	if s.after--; s.after == 0 {
		s.cancel()
	}
}

// Every scheme, stopped in the middle of epochs several times, ends with the same bits.
func TestInterruptedRunsResume(t *testing.T) {
	for _, pe := range []string{"learn", "1d-fixed", "random", "relative"} {
		t.Run(pe, func(t *testing.T) {
			c := tiny(t, pe)
			c.Epochs = 3
			if pe == "random" {
				c.PEOptions = map[string]string{"random": "ruoss"}
			}
			whole := filepath.Join(t.TempDir(), "whole")
			if _, err := Run(context.Background(), c, whole, Options{}); err != nil {
				t.Fatal(err)
			}
			parts := filepath.Join(t.TempDir(), "parts")
			for _, after := range []int{1, 4, 7, 1000} {
				ctx, cancel := context.WithCancel(context.Background())
				_, err := Run(ctx, c, parts, Options{Resume: true, Observer: &stopper{after: after, cancel: cancel}})
				cancel()
				var stopped *Interrupted
				if after < 1000 && !errors.As(err, &stopped) || after == 1000 && err != nil {
					t.Fatalf("after %d steps: %v", after, err)
				}
			}
			sameFinal(t, readFinal(t, parts), readFinal(t, whole))
		})
	}
}

// A damaged newest checkpoint costs the steps since the one before, not the run.
func TestResumeFallsBack(t *testing.T) {
	c := tiny(t, "learn")
	c.CheckpointEvery = config.Duration(time.Nanosecond)
	whole := filepath.Join(t.TempDir(), "whole")
	if _, err := Run(context.Background(), c, whole, Options{}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := Run(ctx, c, dir, Options{Observer: &stopper{after: 11, cancel: cancel}}); err == nil {
		t.Fatal("the run was not stopped")
	}
	path := filepath.Join(dir, "checkpoint.safetensors")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	heard := &listener{}
	if _, err := Run(context.Background(), c, dir, Options{Resume: true, Observer: heard}); err != nil {
		t.Fatal(err)
	}
	if len(heard.notices) != 1 {
		t.Errorf("notices %q, want one about the damaged checkpoint", heard.notices)
	}
	sameFinal(t, readFinal(t, dir), readFinal(t, whole))
}

// listener keeps what it is told.
type listener struct {
	noopObserver
	notices []string
}

func (l *listener) Noticed(m string) { l.notices = append(l.notices, m) }

// The data are part of what a run is.
func TestResumeRefusesOtherData(t *testing.T) {
	c := tiny(t, "learn")
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	Run(ctx, c, dir, Options{Observer: &stopper{after: 2, cancel: cancel}})
	c.DataSeed++
	if _, err := Run(context.Background(), c, dir, Options{Resume: true}); err == nil {
		t.Error("a run went on with another split of its puzzles")
	}
}

// edit returns a configuration with another value of a key of config.json, of any kind.
func edit(t *testing.T, c Config, key string) []byte {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
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
	if text, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return text
}

// interrupted returns the directory of a run that stopped after two steps, and its configuration.
func interrupted(t *testing.T) (dir string, c Config) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Run(ctx, tiny(t, "learn"), dir, Options{Observer: &stopper{after: 2, cancel: cancel}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	if c, err = ReadConfig(filepath.Join(dir, "config.json")); err != nil {
		t.Fatal(err)
	}
	return dir, c
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
			_, err = Run(context.Background(), changed, dir, Options{Resume: true})
			if err != nil && strings.Contains(err.Error(), "--allow-changed "+s.Key) {
				refused++
			}
		}
		if err == nil {
			t.Fatalf("%s: the run went on", s.Key)
		}
	}
	// The others make no valid configuration.
	if edits < 40 || refused < 20 {
		t.Errorf("of %d edited settings %d were compared with the checkpoint", edits, refused)
	}
	now, err := Run(context.Background(), c, dir, Options{Resume: true})
	if err != nil || now.Members[0].Status != runlog.StatusDone {
		t.Errorf("%v", err)
	}
}

// A setting that is allowed to change is used from there on, and recorded.
func TestResumeAllowsChangedSettings(t *testing.T) {
	dir, c := interrupted(t)
	c.LogEvery, c.Epochs, c.Members[1].LR = 1, 2, 0.5
	_, err := Run(context.Background(), c, dir, Options{Resume: true, AllowChanged: []string{"epochs"}})
	if err == nil || !strings.Contains(err.Error(), "members.lr was 0.001, 0.0003 and is 0.001, 0.5") ||
		strings.Contains(err.Error(), "epochs was") {
		t.Fatal(err)
	}
	result, err := Run(context.Background(), c, dir, Options{Resume: true,
		AllowChanged: []string{"epochs", "members.lr", "log_every"}})
	if err != nil || result.Members[0].Epochs != 2 {
		t.Fatalf("%v %+v", err, result)
	}
	r, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	envs, err := r.Environments()
	if err != nil || !slices.Contains(envs[len(envs)-1].Changed, "epochs was 12 and is 2 after step 2") {
		t.Errorf("%v %+v", err, envs)
	}
	if now, err := ParseConfig(r.Config().JSON); err != nil || now.Epochs != 2 || now.Members[1].LR != 0.5 {
		t.Errorf("config.json: %v %+v", err, now)
	}
}

// Another machine or program is one warning and a line in the run's environment.
func TestResumeNotesAnotherMachine(t *testing.T) {
	dir, c := interrupted(t)
	path := filepath.Join(dir, "checkpoint.safetensors")
	f, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runlog.Resume(dir, runlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, err := r.LoadCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	metadata := checkpoint.Metadata
	metadata["environment"] = strings.Replace(metadata["environment"], `"libtorch":"`, `"libtorch":"9.`, 1)
	if err := r.SaveCheckpoint(checkpoint.Step, f.Tensors, metadata); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	if _, err := Run(context.Background(), c, dir, Options{Resume: true, Observer: l}); err != nil {
		t.Fatal(err)
	}
	if n := slices.IndexFunc(l.notices,
		func(s string) bool { return strings.Contains(s, `libtorch was "9.`) }); n < 0 {
		t.Errorf("%q", l.notices)
	}
	now, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	envs, err := now.Environments()
	if last := envs[len(envs)-1]; err != nil || len(last.Changed) != 1 ||
		!strings.HasPrefix(last.Changed[0], "libtorch was") {
		t.Errorf("%v %q", err, last.Changed)
	}
}

// A directory that cannot be had is found before the data are read.
func TestDirectoryFirst(t *testing.T) {
	dir, c := interrupted(t)
	c.LSTTrain = []string{"missing.csv"}
	if _, err := Run(context.Background(), c, dir, Options{}); !errors.Is(err, runlog.ErrExists) {
		t.Errorf("%v", err)
	}
	other := filepath.Join(t.TempDir(), "new")
	if _, err := Run(context.Background(), c, other, Options{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of a run without data stays: %v", err)
	}
}

// A resume that is refused leaves the run as it was.
func TestRefusedResumeChangesNothing(t *testing.T) {
	dir, c := interrupted(t)
	read := func() string {
		t.Helper()
		all := ""
		for _, name := range []string{"config.json", "environment.json", "metrics.jsonl"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
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
		if _, err := Run(context.Background(), now, dir, options); err == nil {
			t.Errorf("%s: the run went on", name)
		}
		if read() != before {
			t.Errorf("%s: the refused run was changed", name)
		}
	}
}

// The checkpoint is the state that Python can read: names, shapes and the ensemble's axis.
func TestCheckpointLayout(t *testing.T) {
	c := tiny(t, "learn")
	c.LimitSteps = 2
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Run(context.Background(), c, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(filepath.Join(dir, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for name, shape := range map[string][]int{
		"w/embed.weight": {2, 16, 5}, "w/pe.table": {2, 2, 16, 16}, "adam.m/pe.table": {2, 2, 16,
			16}, "w/head.bias": {2, 4},
	} {
		x, ok := f.Tensor(name)
		if !ok || !reflect.DeepEqual(x.Shape, shape) || x.DType != safetensors.F32 {
			t.Errorf("%s: %v %v, want float32 %v", name, x.DType, x.Shape, shape)
		}
	}
	var config Config
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &config); err != nil || config.Members[1].Seed != 9 {
		t.Errorf("config.json: %v, %+v", err, config.Members)
	}
}
