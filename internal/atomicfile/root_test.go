package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A file is new, then replaced; what fails leaves the old one and nothing else.
func TestWriteIn(t *testing.T) {
	dir := t.TempDir()
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, text := range []string{"old", "new and longer", ""} {
		if err := WriteIn(root, "a", []byte(text), text != ""); err != nil {
			t.Fatal(err)
		}
		if got, err := root.ReadFile("a"); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if err := root.MkdirAll("folder/full", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteIn(root, "folder", []byte("x"), true); err == nil {
		t.Error("replaced a folder")
	}
	if err := WriteIn(root, "../outside", []byte("x"), true); err == nil {
		t.Error("wrote outside the root")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v: want a and folder alone", files, err)
	}
}

// Of many that make a file one does, with and without hard links, and the file holds what that one
// wrote; nothing else stays.
func TestCreateIn(t *testing.T) {
	defer func() { Fault = nil }()
	for _, links := range []error{nil, syscall.EPERM, syscall.ENOTSUP} {
		Fault = func(operation, _ string) error {
			if operation == "link" {
				return links
			}
			return nil
		}
		dir := t.TempDir()
		root, err := OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		var made atomic.Value
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				text := fmt.Sprint("made by ", i)
				switch err := CreateIn(root, "a", []byte(text)); {
				case err == nil && made.Swap(text) != nil:
					t.Error("was made twice")
				case err != nil && !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, err := root.ReadFile("a"); err != nil || string(got) != made.Load() {
			t.Errorf("%q, %v, want %q", got, err, made.Load())
		}
		onlyFile(t, dir, "a")
		Fault = func(operation, _ string) error {
			if operation == "write" {
				return syscall.ENOSPC
			}
			return nil
		}
		if err := CreateIn(root, "b", []byte("text")); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		onlyFile(t, dir, "a")
	}
}
