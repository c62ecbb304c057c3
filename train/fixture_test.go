package train

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// runTiny trains in a new directory.
func runTiny(t *testing.T, c Config) (string, runlog.Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	return dir, expect.Must(Run(t.Context(), c, dir, Options{}))
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

// stopAfter begins a run in a directory, or goes on with it, for a number of steps.
func stopAfter(t *testing.T, c Config, dir string, steps int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Run(ctx, c, dir, Options{Resume: true, Observer: &stopper{after: steps, cancel: cancel}})
	if stopped := (*Interrupted)(nil); !errors.As(err, &stopped) {
		t.Fatalf("%s: not interrupted after %d steps: %v", c.PE, steps, err)
	}
}

// resume goes on with a run to its end.
func resume(t *testing.T, c Config, dir string) runlog.Result {
	t.Helper()
	return expect.Must(Run(t.Context(), c, dir, Options{Resume: true}))
}

// listener keeps what it is told.
type listener struct {
	noopObserver
	notices []string
}

func (l *listener) Noticed(m string) { l.notices = append(l.notices, m) }

// opened returns a run for reading.
func opened(t *testing.T, dir string) *runlog.Reader {
	t.Helper()
	r := expect.Must(runlog.Open(dir))
	t.Cleanup(func() { r.Close() })
	return r
}

func checkpointOf(t *testing.T, dir string) *runlog.Checkpoint {
	t.Helper()
	return expect.Must(opened(t, dir).LoadCheckpoint())
}

func recordsOf(t *testing.T, dir string) []runlog.Record {
	t.Helper()
	return expect.Must(runlog.ReadMetrics[runlog.Record](opened(t, dir)))
}

// environments returns what a run says of where it was computed.
func environments(t *testing.T, dir string) []runlog.Environment {
	t.Helper()
	return expect.Must(opened(t, dir).Environments())
}

// probed returns a tensor of a run's probes.
func probed(t *testing.T, dir, name string) (shape []int, values []float64) {
	t.Helper()
	x, ok := expect.Must(opened(t, dir).LoadProbes()).Tensor(name)
	if !ok {
		t.Fatalf("no %s in the probes", name)
	}
	return x.Shape, expect.Must(x.Float64s())
}

// floats returns a tensor of a checkpoint.
func floats(t *testing.T, c *runlog.Checkpoint, name string) []float64 {
	t.Helper()
	x, ok := c.Tensor(name)
	if !ok {
		t.Fatalf("no %s in %v", name, c.Names())
	}
	return expect.Must(x.Float64s())
}

// resumesTo checks that a run that stops after each of these numbers of steps, and goes on in the end with the
// configuration that it stored, ends with the bits of a whole one.
func resumesTo(t *testing.T, c Config, whole string, stops ...int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "parts")
	for _, steps := range stops {
		stopAfter(t, c, dir, steps)
	}
	resume(t, expect.Must(ReadConfig(filepath.Join(dir, "config.json"))), dir)
	sameFinal(t, readFinal(t, dir), readFinal(t, whole))
}
