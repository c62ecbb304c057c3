package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"torchpe/data/lst"
	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// Environment of a worker process: the run directory and the configuration file.
const (
	workerDir    = "TORCHPE_TEST_RUN"
	workerConfig = "TORCHPE_TEST_CONFIG"
)

// tiny returns a configuration that trains in about a second, on files of a few hundred puzzles.
func tiny(t *testing.T, pe string) Config {
	t.Helper()
	dir := t.TempDir()
	train, validation, err := lst.Generate(lst.Options{Train: 300, Validation: 12}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Preset("quick", "code")
	if err != nil {
		t.Fatal(err)
	}
	c.LSTTrain, c.LSTValidation = []string{filepath.Join(dir, "train.csv")}, filepath.Join(dir, "validation.csv")
	if err := lst.WriteFiles(lst.File{Path: c.LSTTrain[0], Puzzles: train}, lst.File{Path: c.LSTValidation, Puzzles: validation}); err != nil {
		t.Fatal(err)
	}
	c.PE, c.Layers, c.DModel, c.Batch, c.Epochs, c.Threads, c.Device = pe, 2, 16, 32, 12, 1, "cpu"
	sigmas := []float64{0.2, 1}
	c.Members = []Member{{Seed: 5, Sigma: &sigmas[0], LR: 1e-3}, {Seed: 9, Sigma: &sigmas[1], LR: 3e-4, WeightDecay: 0.1}}
	c.Dropout = 0.1
	return c
}

// final is what must not depend on how often a run was stopped.
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

// A worker that is killed with SIGKILL at random moments and started again ends with the same bits as one that is not.
func TestKilledRunsResume(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 4
	}
	c := tiny(t, "learn")
	c.CheckpointEvery = Duration(time.Millisecond)
	undisturbed := filepath.Join(t.TempDir(), "run")
	start := time.Now()
	if _, err := Run(context.Background(), c, undisturbed, Options{}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)

	config := filepath.Join(t.TempDir(), "config.json")
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o666); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	dir := filepath.Join(t.TempDir(), "run")
	killed := 0
	for done := false; !done; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerDir+"="+dir, workerConfig+"="+config)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := killed < kills
		if kill {
			// Start-up takes some tenths of a second; most kills fall into training, some before it.
			time.Sleep(time.Duration(rng.Int64N(int64(400*time.Millisecond + took/4))))
			cmd.Process.Kill()
			killed++
		}
		if err := cmd.Wait(); err != nil && !kill {
			t.Fatalf("worker: %v: %s", err, stderr.String())
		}
		_, statErr := os.Stat(filepath.Join(dir, "result.json"))
		done = statErr == nil
	}
	t.Logf("killed %d times", killed)
	sameFinal(t, readFinal(t, dir), readFinal(t, undisturbed))
}

// stopper cancels a context after a number of steps.
type stopper struct {
	silent
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
	c.CheckpointEvery = Duration(time.Nanosecond)
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
	silent
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
		"w/embed.weight": {2, 16, 5}, "w/pe.table": {2, 2, 16, 16}, "adam.m/pe.table": {2, 2, 16, 16}, "w/head.bias": {2, 4},
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
