package runlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

func init() {
	roles["limited"] = childWithFileLimit
	roles["write"] = childWrites
}

// twoMB returns a tensor of 2 MB.
func twoMB() []safetensors.Tensor {
	return []safetensors.Tensor{expect.Must(safetensors.New("w", []int{1 << 18}, make([]float64, 1<<18)))}
}

// childWithFileLimit writes a checkpoint that is larger than the files that this process may write.
func childWithFileLimit(dir string) error {
	r, small := expect.Must(createEmpty(dir)), expect.Must(safetensors.New("w", []int{1}, []float64{1}))
	if err := errors.Join(r.SaveCheckpoint(1, []safetensors.Tensor{small}, nil),
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20})); err != nil {
		return err
	}
	fmt.Println("got:", r.SaveCheckpoint(2, twoMB(), nil))
	return r.Close()
}

// TestFileSizeLimit checks ulimit -f: an error that names the file, no death by SIGXFSZ, and the
// checkpoint before stays.
func TestFileSizeLimit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	out, err := child("limited", dir).Output()
	if err != nil || !strings.Contains(string(out), filepath.Join(dir, checkpointFile)+": file too large") {
		t.Errorf("%s (%v)", out, err)
	}
	expect.Equal(t, "step of the checkpoint", expect.Must(load(t, dir)).Step, 1)
}

// TestSmallDisk fills a real file system of 5 MB: before a write that cannot fit, and in the middle
// of one that could have.
func TestSmallDisk(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=5m"); err != nil {
		t.Skip("cannot mount a small file system (needs root):", err)
	}
	defer func() {
		expect.NoError(t, syscall.Unmount(mount, syscall.MNT_DETACH))
	}()
	dir := filepath.Join(mount, "run")
	boast := func(string) (int64, error) { return math.MaxInt64, nil }
	defer func() { freeSpace = FreeSpace }()
	for name, free := range map[string]func(string) (int64, error){"asked first": FreeSpace, "tried": boast} {
		freeSpace = free
		r := expect.Must(Create(dir, []byte("{}"), Environment{}, Options{Force: true}))
		for step := 1; step <= 2; step++ {
			expect.NoError(t, r.SaveCheckpoint(step, twoMB(), nil))
		}
		err := r.SaveCheckpoint(3, twoMB(), nil)
		var space *SpaceError
		if !errors.As(err, &space) || !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), "no space left: needs 3 MB, has ") {
			t.Errorf("%s: %v", name, err)
		}
		if c := expect.Must(r.LoadCheckpoint()); c.Step != 2 || c.Warning != "" {
			t.Errorf("%s: then loaded %+v", name, c)
		}
		if temps, _ := filepath.Glob(filepath.Join(dir, "*"+tempSuffix)); len(temps) > 0 {
			t.Errorf("%s: left %v", name, temps)
		}
		expect.NoError(t, os.Remove(filepath.Join(dir, previousFile))) // free some space
		expect.NoError(t, r.SaveCheckpoint(3, twoMB(), nil))
		expect.NoError(t, r.Close())
	}
}

// childWrites tries to create a run, and to resume one.
func childWrites(dir string) error {
	_, err := createEmpty(filepath.Join(dir, "new", "run"))
	_, err2 := resumeIt(filepath.Join(dir, "old"))
	fmt.Println(err)
	fmt.Println(err2)
	return nil
}

// TestReadOnly checks, as a user without privileges, a directory in which nothing may be written.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	r := expect.Must(createEmpty(filepath.Join(dir, "old")))
	expect.NoError(t, errors.Join(r.Close(), os.Chmod(dir, 0o555), os.Chmod(filepath.Join(dir, "old"), 0o555)))
	defer os.Chmod(dir, 0o755)
	cmd := child("write", dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Path = publicCopy(t, os.Args[0])
		expect.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	}
	out, err := cmd.CombinedOutput()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		t.Fatalf("%s (%v)", out, err)
	}
	for i, path := range []string{filepath.Join(dir, "new"), filepath.Join(dir, "old", lockFile)} {
		expect.Contains(t, lines[i], path, "permission denied")
	}
}

// publicCopy returns a copy of a program that any user may start.
func publicCopy(t *testing.T, program string) string {
	t.Helper()
	dir := expect.Must(os.MkdirTemp("", "runlog"))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := expect.Must(os.Open(program))
	defer in.Close()
	out := expect.Must(os.OpenFile(filepath.Join(dir, "program"), os.O_WRONLY|os.O_CREATE, 0o755))
	expect.Must(io.Copy(out, in))
	expect.NoError(t, errors.Join(out.Close(), os.Chmod(dir, 0o755)))
	return out.Name()
}

// TestBadPaths checks paths that cannot become a run directory.
func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	link := filepath.Join(dir, "link")
	real := filepath.Join(dir, "real")
	expect.NoError(t, errors.Join(os.WriteFile(plain, nil, 0o666), os.Mkdir(real, 0o777),
		os.Symlink(real, link)))
	for path, want := range map[string]string{
		plain:                        "not a directory",
		filepath.Join(plain, "run"):  "not a directory",
		link:                         "symbolic link",
		filepath.Join(dir, "a\x00b"): "the character",
		"":                           "a dot",
		"/":                          "the character",
	} {
		_, err := createEmpty(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Create(%q): %v, want %q", path, err, want)
		}
	}
	for _, path := range []string{filepath.Join(dir, "deep", "er", "run"), real} { // without parents, and empty
		expect.NoError(t, expect.Must(createEmpty(path)).Close())
	}
	expect.Error(t, expect.ErrorOf(resumeIt(link)), "symbolic link")
	expect.NoError(t, expect.Must(Open(link)).Close())
}

// TestPlantedLinks puts a symbolic link in the place of each file in turn: nothing outside the
// directory may change.
func TestPlantedLinks(t *testing.T) {
	for _, name := range append([]string{environmentFile, lockFile, checkpointFile + tempSuffix,
		metricsFile + tempSuffix}, runFiles...) {
		base := t.TempDir()
		outside := filepath.Join(base, "outside")
		dir := filepath.Join(base, "run")
		expect.NoError(t, errors.Join(os.WriteFile(outside, []byte("precious"), 0o666), os.Mkdir(dir, 0o777),
			os.Symlink("../outside", filepath.Join(dir, name))))
		s := newSimulation(dir)
		s.opts.Force = true
		err := s.run()
		if b, readErr := os.ReadFile(outside); readErr != nil || string(b) != "precious" {
			t.Errorf("%s: the file outside became %q (%v); run: %v", name, b, readErr, err)
		}
		if name == lockFile && (err == nil || !strings.Contains(err.Error(), "not a regular file")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForceAndForeignFiles checks that Force removes a run and leaves what is not ours, as every
// start does.
func TestForceAndForeignFiles(t *testing.T) {
	s := twoCheckpoints(t)
	foreign := []string{"slurm-12.out", "notes" + tempSuffix, "checkpoint.safetensors.tmp",
		"checkpoint.best.safetensors"}
	for _, name := range append(foreign, checkpointFile+tempSuffix, resultFile+tempSuffix) {
		expect.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte("x"), 0o666))
	}
	expect.ErrorIs(t, expect.ErrorOf(createEmpty(s.dir)), ErrExists, "--force")
	r := expect.Must(Create(s.dir, []byte(`{"new":true}`), Environment{}, Options{Force: true}))
	want := map[string]bool{configFile: true, environmentFile: true, metricsFile: true, lockFile: true}
	for _, name := range foreign {
		want[name] = true
	}
	for name := range snapshot(t, s.dir) {
		if !want[name] {
			t.Errorf("%s is left", name)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	expect.ErrorIs(t, expect.ErrorOf(r.LoadCheckpoint()), ErrNoCheckpoint)
	expect.NoError(t, os.WriteFile(filepath.Join(s.dir, checkpointFile+tempSuffix), []byte("x"), 0o666))
	expect.NoError(t, r.Close())
	r = expect.Must(resumeIt(s.dir))
	defer r.Close()
	files := snapshot(t, s.dir)
	if _, left := files[checkpointFile+tempSuffix]; left || files[foreign[1]] != "x" {
		t.Errorf("after Resume: %v", files)
	}
	// A directory that holds only a checkpoint is somebody's too.
	alone := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(alone, checkpointFile), []byte("x"), 0o666))
	expect.ErrorIs(t, expect.ErrorOf(createEmpty(alone)), ErrExists)
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(alone, configFile))), fs.ErrNotExist)
}
