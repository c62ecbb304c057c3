package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

// Of many that make a file one does, with and without hard links, and the file holds what that one
// wrote; nothing else stays.
func TestCreateIn(t *testing.T) {
	defer func() { atomicfile.Fault = nil }()
	for _, links := range []error{nil, syscall.EPERM, syscall.ENOTSUP} {
		atomicfile.Fault = func(operation, _ string) error {
			if operation == "link" {
				return links
			}
			return nil
		}
		dir := t.TempDir()
		root := expect.Must(atomicfile.OpenRoot(dir))
		defer root.Close()
		var made atomic.Value
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				text := fmt.Sprint("made by ", i)
				switch err := atomicfile.CreateIn(root, "a", []byte(text)); {
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
		atomicfile.Fault = func(operation, _ string) error {
			if operation == "write" {
				return syscall.ENOSPC
			}
			return nil
		}
		expect.ErrorIs(t, atomicfile.CreateIn(root, "b", []byte("text")), syscall.ENOSPC)
		onlyFile(t, dir, "a")
	}
}
