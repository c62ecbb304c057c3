package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torchpe/internal/expect"
)

// inherit makes the program begin in a state that a shell command sets up.
func inherit(dir, setup, line string) *exec.Cmd {
	cmd := program(dir, line)
	cmd.Args = append([]string{"sh", "-c", setup + `; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// A run comes to the same numbers whatever state the program inherits: limits, closed descriptors,
// masks, terminals, a missing home, and what might be taken for defaults of flags.
func TestInheritedState(t *testing.T) {
	dir := t.TempDir()
	line := "train" + smallSet(t, dir) + "--epochs 2 --out "
	want := ""
	for i, c := range []struct{ name, setup string }{
		{"as it is", ":"},
		{"64 open files, 4 GB of addresses", "ulimit -n 64; ulimit -v 4000000"},
		{"no home, no folder for temporary files, standard input closed",
			"unset HOME; TMPDIR=/nowhere; export TMPDIR; exec 0<&-"},
		{"a home that cannot be written, umask 077, standard output closed",
			"HOME=/proc; export HOME; umask 077; exec 1>&-"},
		{"all three closed", "exec 0<&- 1>&- 2>&-"},
		{"a dumb terminal, no colours, no columns", "TERM=dumb NO_COLOR=1 COLUMNS=0; export TERM NO_COLOR COLUMNS"},
		{"20 columns, another locale and time zone, what looks like defaults",
			"COLUMNS=20 LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 TZ=Pacific/Kiritimati TORCHPE_LR=1; " +
				"export COLUMNS LC_ALL LANG TZ TORCHPE_LR; echo lr: 1 >torchpe.yaml"},
	} {
		out := fmt.Sprintf("run%d", i)
		printed, err := inherit(dir, c.setup, line+out).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", c.name, err, printed)
			continue
		}
		if strings.Contains(string(printed), "\x1b") {
			t.Errorf("%s: escape codes in %q", c.name, printed)
		}
		if got := membersOf(t, filepath.Join(dir, out)); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if strings.Contains(c.setup, "umask 077") {
			checkPrivate(t, filepath.Join(dir, out))
		}
	}
}

// membersOf returns the final numbers of a run.
func membersOf(t *testing.T, dir string) string {
	t.Helper()
	var result struct{ Members json.RawMessage }
	expect.NoError(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, "result.json"))), &result))
	return string(result.Members)
}

// checkPrivate checks that nobody else may read what was written.
func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	expect.NoError(t, err)
}

// A limit on the size of files, as a full disk, ends a run with a code of its own; what is left goes
// on once there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	line := "train" + strings.Replace(smallSet(t, dir), "--d-model 16", "--d-model 64", 1) + "--epochs 2 --out run"
	printed, err := inherit(dir, "ulimit -f 100", line).CombinedOutput()
	if code := exitStatus(err); code != exitDiskFull || !strings.Contains(string(printed), "ulimit -f") {
		t.Errorf("exit code %d: %s", code, printed)
	}
	says(t, dir, line+" --resume", 0)
}

// exitStatus returns the exit status that an error of a command carries.
func exitStatus(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// The clock may be wrong: durations come from a clock that never jumps.
func TestClockJumps(t *testing.T) {
	library := faketime(t)
	dir := t.TempDir()
	line := "train" + smallSet(t, dir) + "--epochs 2 --json --out "
	for i, when := range []string{"@1970-01-02 00:00:00", "-1h", "+10y", "@2026-03-29 01:59:58"} {
		setup := fmt.Sprintf("LD_PRELOAD=%s FAKETIME='%s'; export LD_PRELOAD FAKETIME", library, when)
		printed, err := inherit(dir, setup, line+fmt.Sprintf("run%d", i)).Output()
		if err != nil {
			t.Errorf("%s: %v", when, err)
			continue
		}
		if seconds := keys(t, string(printed), "wall_seconds")["wall_seconds"].(float64); seconds < 0 || seconds > 600 {
			t.Errorf("%s: %v s", when, seconds)
		}
	}
}

// faketime returns the path of a library that changes the time which programs see.
func faketime(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		t.Skip("a clock that jumps was not checked: there is no libfaketime (apt-get install libfaketime)")
	}
	return found[0]
}

// Too few addresses for libtorch, or for Go, are named as the cause.
func TestLittleAddressSpace(t *testing.T) {
	for _, kilobytes := range []string{"400000", "1200000", "1300000", "1900000"} {
		printed, err := inherit(t.TempDir(), "ulimit -v "+kilobytes, "doctor").CombinedOutput()
		if text := string(printed); exitStatus(err) != exitFailed || !strings.Contains(text, "(ulimit -v)") ||
			strings.Contains(text, "make build") || strings.Count(text, "\n") != 1 {
			t.Errorf("%s kB: %v: %s", kilobytes, err, text)
		}
	}
}

// A pipe in the place of a file or a folder is refused at once.
func TestPipesAreRefused(t *testing.T) {
	dir := put(t, map[string]string{"run/config.json": `{"schema": 1, "members": [{"seed": 1}]}`, "export/x": ""})
	for _, pipe := range []string{"pipe", "run/result.json", "export/config.json"} {
		expect.NoError(t, syscall.Mkfifo(filepath.Join(dir, pipe), 0o666))
	}
	for _, line := range []string{"train --task text --data pipe", "train --config pipe", "analyze rank run",
		"import export --out new", "export pipe --out new", "sweep status pipe"} {
		cmd := program(dir, line)
		ends := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		printed, err := cmd.CombinedOutput()
		ends.Stop()
		if code := exitStatus(err); code != exitFailed && code != exitUsage ||
			!strings.Contains(string(printed), "a pipe, not a regular file") {
			t.Errorf("%s: %v: %s", line, err, printed)
		}
	}
}

// A signal ends the program while it reads data: here of a file that a lease keeps from being opened, as
// a file server can that does not answer.
func TestSignalWhileReading(t *testing.T) {
	dir := t.TempDir()
	f := expect.Must(os.OpenFile(filepath.Join(dir, "text"), os.O_CREATE|os.O_RDWR, 0o666))
	defer f.Close()
	signal.Ignore(syscall.SIGIO) // somebody wants the file
	defer signal.Reset(syscall.SIGIO)
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("a read that waits was not checked: no lease: %v", err)
	}
	cmd := program(dir, "train --task text --data text --out run")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	expect.NoError(t, cmd.Start())
	waitFor(filepath.Join(dir, "run"))
	time.Sleep(500 * time.Millisecond)
	start := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitTerminated || time.Since(start) > 10*time.Second ||
		!strings.Contains(errs.String(), "interrupted while reading data") {
		t.Errorf("exit code %d after %v: %s", code, time.Since(start), errs.String())
	}
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "run"))), os.ErrNotExist)
}

// A perplexity that overflows ends no member: its loss is finite.
func TestPerplexityOverflows(t *testing.T) {
	dir := put(t, map[string]string{"text": strings.Repeat("the quick brown fox jumps over the lazy dog ", 50)})
	says(t, dir, "train --task text --data text --d-model 8 --layers 1 --batch 2 --train-length 8 --test-length 16 "+
		"--test-sequences 4 --pe rope --members 2 --steps 6 --log-every 3 --lr 100 --schedule constant --threads 1 "+
		"--out run", 0)
	got := strings.Join(strings.Fields(membersOf(t, filepath.Join(dir, "run"))), "")
	if strings.Count(got, `"perplexity/16":null,"perplexity/8":null`) != 2 ||
		strings.Count(got, `"status":"done"`) != 2 {
		t.Error(got)
	}
}
