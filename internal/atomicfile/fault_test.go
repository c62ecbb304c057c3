package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

// Each way to write a file whose n-th operation fails, or is the last of the process, n = 1, 2, ...,
// leaves the old contents or the new; an error that names what failed comes back, and no litter stays
// but that of a dead process.
func TestFaultAtEveryOperation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	root := expect.Must(atomicfile.OpenRoot(filepath.Dir(path)))
	defer root.Close()
	for name, write := range map[string]func(text string) error{
		"Write": func(text string) error {
			return atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		},
		"WriteIn": func(text string) error { return atomicfile.WriteIn(root, "file", []byte(text), true) },
	} {
		for _, fault := range []error{expect.ErrCrash, syscall.EIO} {
			var operations []string
			for n, more := 1, true; more; n++ {
				expect.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
				x := expect.Faults{N: n, Err: fault}
				err := x.During(func() error { return write("new and longer") })
				if more = x.Done >= n; !more {
					if text, err2 := os.ReadFile(path); err != nil || string(text) != "new and longer" {
						t.Errorf("%s: holds %q, %v, %v", name, text, err, err2)
					}
					break
				}
				operation, file, _ := strings.Cut(x.First, " ")
				operations = append(operations, operation)
				if !errors.Is(err, fault) || !strings.Contains(err.Error(), filepath.Base(file)) {
					t.Errorf("%s, %v at %s: %v", name, fault, x.First, err)
				}
				text, err := os.ReadFile(path)
				if err != nil || string(text) != "old" && string(text) != "new and longer" {
					t.Errorf("%s, %v at %s: holds %q, %v", name, fault, x.First, text, err)
				}
				left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*torchpe*"))
				hidden, err2 := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
				if left = append(left, hidden...); err != nil || err2 != nil || len(left) > 0 && fault == syscall.EIO {
					t.Errorf("%s, %v at %s: left %v", name, fault, x.First, left)
				}
				for _, file := range left {
					os.Remove(file)
				}
			}
			if got := strings.Join(operations, " "); !strings.HasPrefix(got, "create write sync close rename") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// What is no regular file is refused before it is opened, which would wait for a pipe's writer.
func TestPipesAndDevices(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	expect.NoError(t, syscall.Mkfifo(pipe, 0o666))
	root := expect.Must(atomicfile.OpenRoot(dir))
	defer root.Close()
	for name, open := range map[string]func() error{
		"a pipe":                       func() error { _, err := atomicfile.ReadFile(pipe); return err },
		"a device":                     func() error { _, err := atomicfile.ReadFile("/dev/zero"); return err },
		"a pipe as a folder":           func() error { _, err := atomicfile.OpenRoot(pipe); return err },
		"a pipe in a folder":           func() error { _, err := root.ReadFile("pipe"); return err },
		"a pipe in a folder, to write": func() error { _, err := root.OpenFile("pipe", os.O_WRONLY, 0); return err },
	} {
		ended := make(chan error, 1)
		go func() { ended <- open() }()
		select {
		case err := <-ended:
			expect.Error(t, err, "not a regular file")
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it waits", name)
		}
	}
}
