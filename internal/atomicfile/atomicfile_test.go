package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	return string(expect.Must(os.ReadFile(path)))
}

// onlyFile fails where dir holds anything but the named file: a temporary one left behind.
func onlyFile(t *testing.T, dir string, names ...string) {
	t.Helper()
	var got []string
	for _, e := range expect.Must(os.ReadDir(dir)) {
		got = append(got, e.Name())
	}
	expect.Equal(t, "the directory holds", strings.Join(got, " "), strings.Join(names, " "))
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a figure.pdf")
	for _, want := range []string{"old", "new and longer", ""} {
		expect.NoError(t, atomicfile.Write(path, text(want)))
		expect.Equal(t, "contents", contents(t, path), want)
	}
	onlyFile(t, dir, "a figure.pdf")
}

func TestModes(t *testing.T) {
	umask := syscall.Umask(0o027)
	defer syscall.Umask(umask)
	path := filepath.Join(t.TempDir(), "f")
	mode := func() fs.FileMode {
		return expect.Must(os.Stat(path)).Mode().Perm()
	}
	expect.NoError(t, atomicfile.Write(path, text("")))
	expect.Equal(t, "mode of a new file under umask 027", mode(), 0o640)
	expect.NoError(t, os.Chmod(path, 0o664))
	expect.NoError(t, atomicfile.Write(path, text("again")))
	expect.Equal(t, "mode of a file that had 664", mode(), 0o664)
}

func TestFailedBodyKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	expect.NoError(t, atomicfile.Write(path, text("old")))
	broken := errors.New("broken")
	err := atomicfile.Write(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	expect.ErrorIs(t, err, broken, path)
	expect.Equal(t, "contents", contents(t, path), "old")
	onlyFile(t, dir, "f")
}

func TestSymlinkStays(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	target := filepath.Join(dir, "target")
	expect.NoError(t, os.WriteFile(target, []byte("old"), 0o666))
	expect.NoError(t, os.Symlink("target", link))
	expect.NoError(t, atomicfile.Write(link, text("new")))
	expect.Equal(t, "the link's target", contents(t, target), "new")
	expect.Equal(t, "the link is no link any more", expect.ErrorOf(os.Readlink(link)), nil)
}

func TestDevicesAreOpenedNotReplaced(t *testing.T) {
	expect.NoError(t, atomicfile.Write("/dev/null", text("x")))
	info, err := os.Stat("/dev/null")
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is %v (%v), want a device still", info.Mode(), err)
	}

	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(pipe)
		read <- string(b)
	}()
	expect.NoError(t, atomicfile.Write(pipe, text("through")))
	expect.Equal(t, "the pipe's reader", <-read, "through")
}

// /dev/full refuses every byte: an error that only closing or flushing shows must not be lost.
func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	expect.ErrorIs(t, atomicfile.Write("/dev/full", text("x")), syscall.ENOSPC)
}

func TestErrorsNameThePath(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "f.pdf")
	if err := atomicfile.Write(missing, text("")); err == nil || !strings.Contains(err.Error(), missing) ||
		!strings.Contains(err.Error(), "create it first") {
		t.Errorf("in a missing directory: %v", err)
	}
	expect.Error(t, atomicfile.Write(dir, text("")), "is a directory")
	onlyFile(t, dir)
}

// With `torchpe … > out.pdf`, /dev/stdout leads to a regular file that the shell holds open: it
// must be that very file that is written to, after what is there already.
func TestStreamToRegularFile(t *testing.T) {
	f := expect.Must(os.Create(filepath.Join(t.TempDir(), "out")))
	defer f.Close()
	stream := fmt.Sprintf("/dev/fd/%d", f.Fd())
	if _, err := os.Stat(stream); err != nil {
		t.Skip("no /dev/fd here:", err)
	}
	io.WriteString(f, "before ")
	expect.NoError(t, atomicfile.Write(stream, text("after")))
	f.Seek(0, io.SeekStart)
	expect.Equal(t, "the open file holds", string(expect.Must(io.ReadAll(f))), "before after")
}
