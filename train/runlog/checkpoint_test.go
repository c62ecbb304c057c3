package runlog

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/data/array/safetensors"
)

// twoCheckpoints returns a run with the checkpoints of steps 2 and 4, not complete, and its
// simulation.
func twoCheckpoints(t *testing.T) *simulation {
	t.Helper()
	s := newSimulation(filepath.Join(fastDir(t), "run"), Options{wrap: lazy})
	r, _, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= 4; step++ {
		err := r.Append(s.records(step)...)
		if err == nil && step%2 == 0 {
			err = r.SaveCheckpoint(step, s.state(step), map[string]string{"pe": "learn"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// load loads a run's checkpoint without its lock.
func load(t *testing.T, dir string) (*Checkpoint, error) {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.LoadCheckpoint()
}

// TestEveryBitOfACheckpoint flips each bit of the newest checkpoint in turn. Each flip must be
// found, named, and answered with the checkpoint before.
func TestEveryBitOfACheckpoint(t *testing.T) {
	s := twoCheckpoints(t)
	path := filepath.Join(s.dir, checkpointFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	payload := 8 + int(binary.LittleEndian.Uint64(whole))
	for bit := range len(whole) * 8 {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := load(t, s.dir)
		if err != nil || c.Step != 2 || c.Name != previousFile || s.checkState(c) != nil {
			t.Fatalf("bit %d: loaded %+v, %v", bit, c, err)
		}
		if !strings.Contains(c.Warning, path) || !strings.Contains(c.Warning, "step 2") {
			t.Fatalf("bit %d: warning %q", bit, c.Warning)
		}
		if bit/8 >= payload && !strings.Contains(c.Warning, `tensor "`) {
			t.Fatalf("bit %d, of the data: warning %q names no tensor", bit, c.Warning)
		}
	}
}

// TestEveryCutOfACheckpoint does the same with each number of bytes cut off the end, and with bytes
// added.
func TestEveryCutOfACheckpoint(t *testing.T) {
	s := twoCheckpoints(t)
	path := filepath.Join(s.dir, checkpointFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 2 {
		if n == len(whole) {
			continue
		}
		if err := os.WriteFile(path, append(slices.Clone(whole), 0)[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if c, err := load(t, s.dir); err != nil || c.Step != 2 || c.Warning == "" {
			t.Fatalf("%d of %d bytes: loaded %+v, %v", n, len(whole), c, err)
		}
	}
}

// TestNoGoodCheckpoint damages both: loading and saving must fail, and every file must stay as it
// is.
func TestNoGoodCheckpoint(t *testing.T) {
	s := twoCheckpoints(t)
	for _, name := range []string{checkpointFile, previousFile} {
		if err := os.Truncate(filepath.Join(s.dir, name), 100); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, s.dir)
	r, err := Resume(s.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.LoadCheckpoint()
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), checkpointFile) ||
		!strings.Contains(err.Error(), previousFile) {
		t.Errorf("LoadCheckpoint: %v", err)
	}
	if err := r.SaveCheckpoint(6, s.state(6), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("SaveCheckpoint: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	after := snapshot(t, s.dir)
	delete(before, environmentFile) // Resume adds to it
	delete(after, environmentFile)
	if !maps.Equal(before, after) {
		t.Errorf("files changed: %v, were %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// snapshot returns the content of each file in a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// TestDamagedCheckpointIsReplaced checks that after a fallback the good checkpoint is not pushed
// out by the damaged one, whatever operation the process dies at.
func TestDamagedCheckpointIsReplaced(t *testing.T) {
	for n := 1; ; n++ {
		s := twoCheckpoints(t)
		if err := os.Truncate(filepath.Join(s.dir, checkpointFile), 100); err != nil {
			t.Fatal(err)
		}
		faulty, d := faulty(t, s.dir, faultDisk{n: n, err: errCrash, crash: true})
		err := faulty.run()
		c, loadErr := load(t, s.dir)
		if loadErr != nil {
			t.Fatalf("operation %d: %v", n, loadErr)
		}
		if c.Step < max(2, faulty.saved) {
			t.Errorf("operation %d (%s): loaded step %d, saved was %d", n, d.log[len(d.log)-1], c.Step, faulty.saved)
		}
		if err == nil {
			return
		}
	}
}

// TestNewestByStep checks that the step decides between two good checkpoints, not the name and not
// the clock.
func TestNewestByStep(t *testing.T) {
	s := twoCheckpoints(t)
	a, b := filepath.Join(s.dir, checkpointFile), filepath.Join(s.dir, previousFile)
	day := 24 * time.Hour
	times := []time.Time{time.Unix(0, 0), time.Now().Add(3650 * day)}
	for range 2 {
		for i, path := range []string{a, b} {
			if err := os.Chtimes(path, times[i], times[i]); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := load(t, s.dir); err != nil || c.Step != 4 || c.Warning != "" {
			t.Errorf("times %v: %+v, %v", times, c, err)
		}
		slices.Reverse(times)
	}
	swap := b + ".swap"
	for _, names := range [][2]string{{a, swap}, {b, a}, {swap, b}} {
		if err := os.Rename(names[0], names[1]); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := load(t, s.dir); err != nil || c.Step != 4 || c.Name != previousFile {
		t.Errorf("names swapped: %+v, %v", c, err)
	}
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	if c, err := load(t, s.dir); err != nil || c.Step != 4 || c.Warning != "" {
		t.Errorf("only the previous one: %+v, %v", c, err)
	}
}

// TestSaveCheckpointRefuses checks wrong steps, wrong tensors, reserved keys and a disk that is
// known to be too small: nothing may change.
func TestSaveCheckpointRefuses(t *testing.T) {
	s := twoCheckpoints(t)
	var free fixedFree
	wrap := func(d disk) disk { free = fixedFree{d, 1 << 40}; return &free }
	r, err := Resume(s.dir, Options{wrap: wrap})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := snapshot(t, s.dir)
	twice := append(s.state(6), s.state(6)...)
	free.bytes = 1_500_000
	big, err := safetensors.New("big", []int{500_000}, make([]float64, 500_000))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		step     int
		tensors  []safetensors.Tensor
		metadata map[string]string
		want     string
	}{
		{3, s.state(3), nil, "step 3 comes after step 4"},
		{-1, s.state(3), nil, "step -1"},
		{6, twice, nil, "two tensors have this name"},
		{6, s.state(6), map[string]string{"torchpe.step": "7"}, `"torchpe." is reserved`},
		{6, []safetensors.Tensor{big}, nil, "no space left: needs 5 MB, has 1 MB in " + s.dir},
	}
	for _, test := range tests {
		err := r.SaveCheckpoint(test.step, test.tensors, test.metadata)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.dir) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	if err := r.SaveProbes([]safetensors.Tensor{big}, nil); err == nil ||
		!strings.Contains(err.Error(), "needs 5 MB") {
		t.Errorf("SaveProbes: %v", err)
	}
	if after := snapshot(t, s.dir); !maps.Equal(before, after) {
		t.Error("files changed")
	}
}

// fixedFree is a disk that tells how much space it has.
type fixedFree struct {
	disk
	bytes int64
}

func (d *fixedFree) Free() (int64, error) { return d.bytes, nil }

// TestCheckpointSchema checks that a checkpoint of a newer program is refused, not passed over for
// an older one, and that one without checksums is no checkpoint.
func TestCheckpointSchema(t *testing.T) {
	s := twoCheckpoints(t)
	path := filepath.Join(s.dir, checkpointFile)
	sealed := map[string]string{stepKey: "6", checkpointKey: "3"}
	if err := addChecksums(s.state(6), sealed); err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Write(path, s.state(6), sealed); err != nil {
		t.Fatal(err)
	}
	if c, err := load(t, s.dir); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), path) {
		t.Errorf("newer schema: %+v, %v", c, err)
	}
	if err := safetensors.Write(path, s.state(6), map[string]string{"torchpe.step": "6"}); err != nil {
		t.Fatal(err)
	}
	if c, err := load(t, s.dir); err != nil || c.Step != 2 || !strings.Contains(c.Warning, "no checksum") {
		t.Errorf("without checksums: %+v, %v", c, err)
	}
}

// TestProbes checks that probes come back, and that there are none before they are saved.
func TestProbes(t *testing.T) {
	s := twoCheckpoints(t)
	r, err := Resume(s.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.LoadProbes(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := r.SaveProbes(s.state(1), map[string]string{"layer": "0"}); err != nil {
		t.Fatal(err)
	}
	f, err := r.LoadProbes()
	if err != nil || f.Metadata["layer"] != "0" || len(f.Tensors) != 2 {
		t.Errorf("after: %+v, %v", f, err)
	}
}

// TestKnownChecksum compares the checksum with the check value of CRC-32C in RFC 3720, appendix B.4
// (32 bytes of zeros, here as a number, and of 0 to 31).
func TestKnownChecksum(t *testing.T) {
	count := make([]byte, 32)
	for i := range count {
		count[i] = byte(i)
	}
	if a, b := checksum(make([]byte, 32)), checksum(count); a != "8a9136aa" || b != "46dd794e" {
		t.Errorf("got %s and %s", a, b)
	}
}

// BenchmarkSaveCheckpoint saves 16 MB, the parameters and optimizer of 15 members of the paper's
// size several times over.
func BenchmarkSaveCheckpoint(b *testing.B) {
	r, err := Create(filepath.Join(b.TempDir(), "run"), []byte("{}"), Environment{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	w, err := safetensors.New("w", []int{4 << 20}, make([]float32, 4<<20))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(w.Data)))
	for step := 0; b.Loop(); step++ {
		if err := r.SaveCheckpoint(step, []safetensors.Tensor{w}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Records of later steps may be appended while a checkpoint is written: the checkpoint holds its
// own step, and the records stay.
func TestAppendBesideCheckpoint(t *testing.T) {
	s := newSimulation(filepath.Join(t.TempDir(), "run"), Options{})
	s.size = 1 << 16
	r, _, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	step := 0
	for range 5 {
		at := step
		write, err := r.BeginCheckpoint(at, s.state(at), map[string]string{"pe": "learn"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- write() }()
		for range 40 {
			step++
			if err := r.Append(s.records(step)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c, err := r.LoadCheckpoint()
		if err != nil || c.Step != at {
			t.Fatalf("checkpoint of step %v, want %d: %v", c, at, err)
		}
		if err := s.checkState(c); err != nil {
			t.Error(err)
		}
	}
	records, err := ReadMetrics[Record](r.Reader)
	if err != nil || len(records) != 2*step {
		t.Errorf("%d records, want %d: %v", len(records), 2*step, err)
	}
}
