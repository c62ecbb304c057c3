package runlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// finished returns the directory of a closed run with event files and a file of somebody's.
func finished(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	r, _ := boarded(t, dir, 10, 20)
	result := Result{Members: []MemberResult{{Status: StatusDone}}}
	if err := errors.Join(r.SaveResult(result), r.Close(), os.WriteFile(filepath.Join(dir, "notes.txt"),
		nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRemove(t *testing.T) {
	dir := finished(t)
	keep := filepath.Join(filepath.Dir(dir), "keep")
	if err := errors.Join(os.WriteFile(keep, nil, 0o666), os.Symlink(keep, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
	if _, err := os.Lstat(keep); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
	if err := Remove(dir, Options{}); err == nil {
		t.Error("removed twice")
	}
}

func TestRemoveRefuses(t *testing.T) {
	dir := finished(t)
	link := filepath.Join(filepath.Dir(dir), "link")
	plain := t.TempDir()
	other := filepath.Join(plain, "config.json")
	if err := errors.Join(os.Symlink(dir, link), os.WriteFile(other, []byte(`{"name":"x"}`), 0o666)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "symbolic link", plain: "not written by torchpe",
		filepath.Join(plain, "none"): "no such file"} {
		if err := Remove(path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "papers"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, Options{}); err == nil || !strings.Contains(err.Error(), "papers") {
		t.Errorf("a folder that is not of a run: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "papers")); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	r, err := lockDir(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := Remove(dir, Options{BreakLock: true}); !errors.As(err, &locked) || locked.Stale {
		t.Errorf("a run that is written to: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(`{"pid":1,"host":"elsewhere.example"}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, Options{}); !errors.As(err, &locked) || !locked.Stale {
		t.Errorf("a lock of another host: %v", err)
	}
	if after := files(t, dir); len(after) != len(before) {
		t.Errorf("%v are left of %v", after, before)
	}
	if err := Remove(dir, Options{BreakLock: true}); err != nil {
		t.Error(err)
	}
}

func TestWriter(t *testing.T) {
	dir := finished(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if h, ok := r.Writer(); ok {
		t.Errorf("a finished run is written to by %+v", h)
	}
	run, err := lockDir(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := r.Writer(); !ok || h.PID != os.Getpid() {
		t.Errorf("this process is %d, the writer %+v, %v", os.Getpid(), h, ok)
	}
	text, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err := errors.Join(err, run.Close()); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct {
		text string
		want bool
	}{
		"left by a process whose number another has": {string(text), false},
		// above the largest number on Linux
		"left by a process that is gone": {`{"pid":4194305,"host":"` + host + `"}`, false},
		"of another host":                {`{"pid":1,"host":"elsewhere.example"}`, true},
		"nonsense":                       {"xx", false},
	} {
		if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(v.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if h, ok := r.Writer(); ok != v.want {
			t.Errorf("%s: %+v, %v", name, h, ok)
		}
	}
}

func TestLastRecords(t *testing.T) {
	long := strings.Repeat("x", 3*tailBytes)
	for name, v := range map[string]struct {
		text    string
		step, n int
	}{
		"empty":            {"", 0, 0},
		"one":              {text(5), 5, 1},
		"two members":      {text(5, 5, 9, 9), 9, 2},
		"half a record":    {text(5, 5, 9, 9) + `{"step":1`, 9, 2},
		"damaged":          {"xx\n", 0, 0},
		"beyond the first": {text(5) + `{"step":7,"pe":"` + long + "\"}\n" + text(7), 7, 2},
	} {
		r := resumed(t, v.text)
		got, err := LastRecords(r.Reader)
		if err != nil || len(got) != v.n || v.n > 0 && got[0].Step != v.step {
			t.Errorf("%s: %d records, %v, want %d of step %d", name, len(got), err, v.n, v.step)
		}
	}
}
