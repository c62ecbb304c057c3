package runlog

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// twoCheckpoints returns a run with the checkpoints of steps 2 and 4, not complete, and its
// simulation.
func twoCheckpoints(t *testing.T) *simulation {
	t.Helper()
	s := newSimulation(filepath.Join(fastDir(t), "run"))
	r, _, err := s.begin()
	expect.NoError(t, err)
	for step := 1; step <= 4; step++ {
		expect.NoError(t, r.Append(s.records(step)...))
		if step%2 == 0 {
			expect.NoError(t, r.SaveCheckpoint(step, s.state(step), map[string]string{"pe": "learn"}))
		}
	}
	expect.NoError(t, r.Close())
	return s
}

// load loads a run's checkpoint without its lock.
func load(t *testing.T, dir string) (*Checkpoint, error) {
	t.Helper()
	r := expect.Must(Open(dir))
	defer r.Close()
	return r.LoadCheckpoint()
}

// TestDamagedCheckpoints flips each bit of the newest checkpoint in turn, cuts each number of bytes off
// its end, and adds one. Each damage must be found, named, and answered with the checkpoint before.
func TestDamagedCheckpoints(t *testing.T) {
	s := twoCheckpoints(t)
	path := filepath.Join(s.dir, checkpointFile)
	whole := expect.Must(os.ReadFile(path))
	payload := 8 + int(binary.LittleEndian.Uint64(whole))
	check := func(what string, damaged []byte, names string) {
		t.Helper()
		expect.NoError(t, os.WriteFile(path, damaged, 0o666))
		c, err := load(t, s.dir)
		if err != nil || c.Step != 2 || c.Name != previousFile || s.checkState(c) != nil {
			t.Fatalf("%s: loaded %+v, %v", what, c, err)
		}
		for _, want := range []string{path, "step 2", names} {
			if !strings.Contains(c.Warning, want) {
				t.Fatalf("%s: warning %q lacks %q", what, c.Warning, want)
			}
		}
	}
	for bit := range len(whole) * 8 {
		damaged, names := slices.Clone(whole), ""
		damaged[bit/8] ^= 1 << (bit % 8)
		if bit/8 >= payload {
			names = `tensor "`
		}
		check(fmt.Sprintf("bit %d", bit), damaged, names)
	}
	for n := range whole {
		check(fmt.Sprintf("%d of %d bytes", n, len(whole)), whole[:n], "")
	}
	check("a byte too many", append(slices.Clone(whole), 0), "")
}

// TestNoGoodCheckpoint damages both: loading and saving must fail, and every file must stay as it
// is.
func TestNoGoodCheckpoint(t *testing.T) {
	s := twoCheckpoints(t)
	for _, name := range []string{checkpointFile, previousFile} {
		expect.NoError(t, os.Truncate(filepath.Join(s.dir, name), 100))
	}
	before := snapshot(t, s.dir)
	r := expect.Must(Resume(s.dir, Options{}))
	expect.ErrorIs(t, expect.ErrorOf(r.LoadProbes()), fs.ErrNotExist) // saved at the end
	expect.ErrorIs(t, expect.ErrorOf(r.LoadCheckpoint()), ErrDamaged, checkpointFile, previousFile)
	expect.ErrorIs(t, r.SaveCheckpoint(6, s.state(6), nil), ErrDamaged)
	expect.NoError(t, r.Close())
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
	files := map[string]string{}
	for _, e := range expect.Must(os.ReadDir(dir)) {
		files[e.Name()] = string(expect.Must(os.ReadFile(filepath.Join(dir, e.Name()))))
	}
	return files
}

// TestDamagedCheckpointIsReplaced checks that after a fallback the good checkpoint is not pushed
// out by the damaged one, whatever operation the process dies at.
func TestDamagedCheckpointIsReplaced(t *testing.T) {
	for n := 1; ; n++ {
		s := twoCheckpoints(t)
		expect.NoError(t, os.Truncate(filepath.Join(s.dir, checkpointFile), 100))
		x, again := faults(n, expect.ErrCrash), newSimulation(s.dir)
		err := x.During(again.run)
		if c := expect.Must(load(t, s.dir)); c.Step < max(2, again.saved) {
			t.Errorf("%s: loaded step %d, saved was %d", where(x), c.Step, again.saved)
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
			expect.NoError(t, os.Chtimes(path, times[i], times[i]))
		}
		c := expect.Must(load(t, s.dir))
		expect.Equal(t, fmt.Sprint("times ", times), fmt.Sprint(c.Step, c.Warning), "4")
		slices.Reverse(times)
	}
	swap := b + ".swap"
	for _, names := range [][2]string{{a, swap}, {b, a}, {swap, b}} {
		expect.NoError(t, os.Rename(names[0], names[1]))
	}
	c := expect.Must(load(t, s.dir))
	expect.Equal(t, "names swapped", fmt.Sprint(c.Step, c.Name), fmt.Sprint(4, previousFile))
	expect.NoError(t, os.Remove(a))
	c = expect.Must(load(t, s.dir))
	expect.Equal(t, "only the previous one", fmt.Sprint(c.Step, c.Warning), "4")
}

// TestSaveCheckpointRefuses checks wrong steps, wrong tensors, reserved keys and a disk that is
// known to be too small: nothing may change.
func TestSaveCheckpointRefuses(t *testing.T) {
	s := twoCheckpoints(t)
	r := expect.Must(Resume(s.dir, Options{}))
	defer r.Close()
	before := snapshot(t, s.dir)
	twice := append(s.state(6), s.state(6)...)
	defer func() { freeSpace = FreeSpace }()
	freeSpace = func(string) (int64, error) { return 1_500_000, nil }
	big := expect.Must(safetensors.New("big", []int{500_000}, make([]float64, 500_000)))
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
		expect.Error(t, err, test.want, s.dir)
	}
	expect.Error(t, r.SaveProbes([]safetensors.Tensor{big}, nil), "needs 5 MB")
	expect.Equal(t, "files changed", !maps.Equal(before, snapshot(t, s.dir)), false)
}

// TestCheckpointSchema checks that a checkpoint of a newer program is refused, not passed over for
// an older one, and that one without checksums is no checkpoint.
func TestCheckpointSchema(t *testing.T) {
	s := twoCheckpoints(t)
	path := filepath.Join(s.dir, checkpointFile)
	sealed := map[string]string{stepKey: "6", checkpointKey: "3"}
	expect.NoError(t, addChecksums(s.state(6), sealed))
	expect.NoError(t, safetensors.Write(path, s.state(6), sealed))
	expect.ErrorIs(t, expect.ErrorOf(load(t, s.dir)), ErrSchema, path)
	expect.NoError(t, safetensors.Write(path, s.state(6), map[string]string{"torchpe.step": "6"}))
	if c, err := load(t, s.dir); err != nil || c.Step != 2 || !strings.Contains(c.Warning, "no checksum") {
		t.Errorf("without checksums: %+v, %v", c, err)
	}
}

// Records of later steps may be appended while a checkpoint is written: the checkpoint holds its
// own step, and the records stay.
func TestAppendBesideCheckpoint(t *testing.T) {
	s := newSimulation(filepath.Join(t.TempDir(), "run"))
	s.size = 1 << 16
	r, _, err := s.begin()
	expect.NoError(t, err)
	defer r.Close()
	step := 0
	for range 5 {
		at := step
		write := expect.Must(r.BeginCheckpoint(at, s.state(at), map[string]string{"pe": "learn"}))
		done := make(chan error, 1)
		go func() { done <- write() }()
		for range 40 {
			step++
			expect.NoError(t, r.Append(s.records(step)...))
		}
		expect.NoError(t, <-done)
		c, err := r.LoadCheckpoint()
		if err != nil || c.Step != at {
			t.Fatalf("checkpoint of step %v, want %d: %v", c, at, err)
		}
		expect.NoError(t, s.checkState(c))
	}
	expect.Equal(t, "records", len(expect.Must(ReadMetrics[Record](r.Reader))), 2*step)
}
