package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// eventFile is the file of a curve in a run that started at startOfRun.
func eventFile(dir, curve string) string {
	return filepath.Join(dir, "tensorboard", curve, "events.out.tfevents.1732181400.torchpe")
}

var startOfRun = Environment{StartTime: time.Unix(1732181400, 0).UTC()}

// measured returns records of two members in which everything is measured that a record of puzzles,
// or of masked prediction, may have, and some values are not finite.
func measured(step int) []Record {
	a := Record{Step: step, Epoch: step / 10, WallSeconds: float64(step) / 3, StepMS: 2, Measures: Numbers{
		"loss": 1 / float64(step+1), "train": .25, "iid": .5, "validation": math.Inf(1),
		"validation/2-vector": .5, "validation/1-vector": .75, "validation/3-vector": math.NaN(),
		"tokens/25": .5, "tokens/9": .25, "tokens/36": math.NaN(), "pe_norm": 1.5, "σ": 2, "big": 1e300}}
	b := Record{Step: step, Epoch: step / 10, Member: 1, StepMS: 1,
		Measures: Numbers{"train_mse": 1.5, "clustering": 1.5,
			"test_mse/0.50": .5, "test_mse/0.15": .25, "modularity/0": .5, "modularity/1": .25, "clustering/0": 1}}
	return []Record{a, b}
}

type decoded struct {
	WallTime    float64  `json:"wall_time"`
	Step        int      `json:"step"`
	FileVersion string   `json:"file_version"`
	Scalars     [][2]any `json:"scalars"`
}

// decode reads event files with testdata/decode.py, which knows the format and nothing of this
// package.
func decode(t *testing.T, paths ...string) [][]decoded {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to decode event files with")
	}
	decode := exec.Command(python, append([]string{filepath.Join("testdata", "decode.py")}, paths...)...)
	decode.Stderr = os.Stderr
	var files [][]decoded
	expect.NoError(t, json.Unmarshal(expect.Must(decode.Output()), &files))
	return files
}

// boarded returns a new run with records of these steps and their event files.
func boarded(t *testing.T, dir string, steps ...int) (*Run, *Board) {
	t.Helper()
	r := expect.Must(Create(dir, []byte("{}"), startOfRun, Options{}))
	t.Cleanup(func() { _ = r.Close() })
	b := expect.Must(r.OpenBoard([]string{"a", "b"}))
	for _, step := range steps {
		appendBoth(t, r, b, step)
	}
	return r, b
}

func appendBoth(t *testing.T, r *Run, b *Board, step int) {
	t.Helper()
	expect.NoError(t, r.Append(measured(step)...))
	expect.NoError(t, b.Append(measured(step)...))
}

// again closes a run and opens it and its board as a resumption after step does.
func again(t *testing.T, r *Run, step int) (*Run, *Board) {
	t.Helper()
	expect.NoError(t, r.Close())
	r = expect.Must(Resume(r.Dir(), Options{}))
	expect.NoError(t, r.AddEnvironment(Environment{StartTime: time.Unix(1732189999, 0)}))
	t.Cleanup(func() { _ = r.Close() })
	expect.Error(t, expect.ErrorOf(r.OpenBoard([]string{"a", "b"})), "TruncateMetrics")
	expect.Must(r.TruncateMetrics(step))
	return r, expect.Must(r.OpenBoard([]string{"a", "b"}))
}

func TestBoardIsDecoded(t *testing.T) {
	dir := filepath.Join(fastDir(t), "run")
	boarded(t, dir, 7, 300)
	files := decode(t, eventFile(dir, "a"), eventFile(dir, "b"))
	third := float64(float32(1. / 301))
	puzzles := func(loss, epoch float64) [][2]any {
		return [][2]any{{"σ", 2.}, {"loss", loss}, {"train", .25}, {"iid", .5}, {"validation/1-vector", .75},
			{"validation/2-vector", .5}, {"tokens/9", .25}, {"tokens/25", .5}, {"pe_norm", 1.5}, {"time/epoch", epoch},
			{"time/step_ms", 2.}}
	}
	want := []decoded{
		{WallTime: 1732181400, FileVersion: "brain.Event:2"},
		{WallTime: 1732181400 + 7./3, Step: 7, Scalars: puzzles(.125, 0)},
		{WallTime: 1732181400 + 300./3, Step: 300, Scalars: puzzles(third, 30)},
	}
	expect.Equal(t, "puzzles", files[0], want)
	masked := [][2]any{{"train_mse", 1.5}, {"test_mse/0.15", .25}, {"test_mse/0.50", .5}, {"modularity/0", .5},
		{"modularity/1", .25}, {"clustering", 1.5}, {"clustering/0", 1.}, {"time/epoch", 0.}, {"time/step_ms", 1.}}
	if got := files[1][1]; len(files[1]) != 3 || !slices.Equal(got.Scalars, masked) || got.WallTime != 1732181400 {
		t.Errorf("masked prediction: %+v", files[1])
	}
}

// After a crash at any byte of the event files, and a resumption at any checkpoint, they are those
// of the undisturbed run.
func TestBoardAfterResume(t *testing.T) {
	whole := filepath.Join(fastDir(t), "whole")
	boarded(t, whole, 10, 20, 30, 40)
	var want [2][]byte
	for i, curve := range []string{"a", "b"} {
		want[i] = expect.Must(os.ReadFile(eventFile(whole, curve)))
	}
	for name, damage := range map[string]func(path string) error{
		"nothing":         func(string) error { return nil },
		"cut in an event": func(path string) error { return os.Truncate(path, int64(len(want[0])/2)) },
		"empty":           func(path string) error { return os.Truncate(path, 0) },
		"lost":            os.Remove,
		"a flipped bit": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[20] ^= 1
				err = os.WriteFile(path, b, 0o666)
			}
			return err
		},
	} {
		for _, step := range []int{-1, 10, 25, 40} {
			dir := filepath.Join(fastDir(t), "run")
			r, _ := boarded(t, dir, 10, 20, 30, 40)
			expect.NoError(t, damage(eventFile(dir, "a")))
			r, b := again(t, r, step)
			for _, s := range []int{10, 20, 30, 40} {
				if s > step {
					appendBoth(t, r, b, s)
				}
			}
			for i, curve := range []string{"a", "b"} {
				if got, err := os.ReadFile(eventFile(dir, curve)); err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%s, resumed at step %d: curve %s differs, %v", name, step, curve, err)
				}
			}
		}
	}
}

// A TensorBoard that has a file open goes on reading after a resumption: the file is the same one.
func TestBoardKeepsFiles(t *testing.T) {
	dir := filepath.Join(fastDir(t), "run")
	r, _ := boarded(t, dir, 10, 20, 30)
	before := expect.Must(os.Stat(eventFile(dir, "a")))
	again(t, r, 20)
	after, err := os.Stat(eventFile(dir, "a"))
	if err != nil || !os.SameFile(before, after) || after.Size() >= before.Size() {
		t.Errorf("%d bytes before, %d after, %v", before.Size(), after.Size(), err)
	}
}

// A run that replaces another has its own event files only; what others put there stays.
func TestForceRemovesTheBoard(t *testing.T) {
	dir := filepath.Join(fastDir(t), "run")
	r, _ := boarded(t, dir, 10)
	expect.NoError(t, r.Close())
	foreign := filepath.Join(dir, "tensorboard", "b", "events.out.tfevents.1.somebody")
	expect.NoError(t, os.WriteFile(foreign, nil, 0o666))
	r = expect.Must(Create(dir, []byte("{}"), Environment{StartTime: time.Unix(1732189999, 0)},
		Options{Force: true}))
	defer r.Close()
	if got := files(t, dir); !slices.Contains(got, "tensorboard/b/events.out.tfevents.1.somebody") ||
		slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, eventSuffix) }) {
		t.Errorf("after --force: %v", got)
	}
	expect.Must(r.OpenBoard([]string{"c"}))
	if got := files(t, dir); !slices.Contains(got, "tensorboard/c/events.out.tfevents.1732189999.torchpe") {
		t.Errorf("the new run: %v", got)
	}
}

// files lists the files in a directory and below it.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	expect.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// Links that lead out of the run, or to another of its files, are refused or replaced, and never
// written through.
func TestBoardLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	expect.NoError(t, os.Mkdir(outside, 0o777))
	for name, plant := range map[string]func(dir string) error{
		"the folder":  func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "tensorboard")) },
		"a curve":     func(dir string) error { return link(outside, filepath.Join(dir, "tensorboard", "a")) },
		"a file":      func(dir string) error { return link(filepath.Join(outside, "x"), eventFile(dir, "a")) },
		"within":      func(dir string) error { return link(filepath.Join(dir, configFile), eventFile(dir, "a")) },
		"a plain one": func(dir string) error { return os.WriteFile(filepath.Join(dir, "tensorboard"), nil, 0o666) },
	} {
		dir := filepath.Join(fastDir(t), "run")
		r := expect.Must(Create(dir, []byte("{}"), startOfRun, Options{}))
		defer r.Close()
		expect.NoError(t, plant(dir))
		b, err := r.OpenBoard([]string{"a"})
		expect.Equal(t, fmt.Sprintf("%s (%v) is refused", name, err), err != nil,
			!strings.HasPrefix(name, "a file") && name != "within")
		if err == nil {
			expect.Equal(t, name, b.Append(measured(1)[0]), nil)
		}
		if got := files(t, outside); len(got) > 0 {
			t.Errorf("%s: %v were written outside", name, got)
		}
		expect.Equal(t, name, expect.ErrorOf(Open(dir)), nil)
	}
}

// link makes a symbolic link and the folders above it.
func link(to, path string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.Symlink(to, path))
}

func TestBoardRefuses(t *testing.T) {
	dir := filepath.Join(fastDir(t), "run")
	r, b := boarded(t, dir, 10)
	for _, curves := range [][]string{{"a", "a"}, {"../a", "b"}, {"", "b"}, {"a/b", "b"}, {"a"}} {
		expect.Refused(t, fmt.Sprintf("curves %q", curves), expect.ErrorOf(r.OpenBoard(curves)))
	}
	rec := Record{Step: 20, Epoch: 0, Member: 2}
	expect.Error(t, b.Append(rec), "member 2")
	expect.NoError(t, os.RemoveAll(filepath.Join(dir, "tensorboard")))
	expect.Refused(t, "a file that is gone", b.Append(measured(30)...))
}
