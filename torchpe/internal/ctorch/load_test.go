package ctorch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A program starts without the library. Where it computes, the first call loads it and arrives whole, or
// the program ends with what is wrong.
func TestLoadedByFirstCall(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("builds a program, and there is no go here")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "bin/first")
	build := exec.Command("go", "build", "-tags", "installed", "-o", program, "./testdata/first")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(what string, wantCode int, wantText string, args ...string) {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != wantCode || !strings.Contains(string(out), wantText) {
			t.Errorf("%s: exit code %d, want %d; %s, want %s", what, code, wantCode, out, wantText)
		}
	}
	run("no library, no call", 0, "")
	run("no library", 1, "torchpe: libtorchpe.so: cannot open shared object file", "compute")

	library := filepath.Join(dir, "lib/libtorchpe.so")
	expect.NoError(t, os.Mkdir(filepath.Dir(library), 0o777))
	if here, err := filepath.Abs("../../../lib/libtorchpe.so"); err != nil {
		t.Fatal(err)
	} else if err := os.Symlink(here, library); err != nil {
		t.Fatal(err)
	}
	run("the library", 0, "[2.5 2.5] <nil>", "compute")

	for _, other := range []struct{ source, says string }{
		{"int tp_abi(void) { return 7; }", "libtorchpe.so has interface 7, this program needs"},
		{"int nothing;", "libtorchpe.so has interface 0, this program needs"},
	} {
		cc := exec.Command("cc", "-shared", "-fPIC", "-x", "c", "-o", library+".new", "-")
		cc.Stdin = strings.NewReader(other.source)
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		expect.NoError(t, os.Rename(library+".new", library))
		run(other.source, 1, other.says, "compute")
	}
}
