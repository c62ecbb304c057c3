package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// roles lists what this test binary does when a test starts it again as another process.
var roles = map[string]func(dir string) error{
	"create": func(dir string) error { return raceFor(dir, createEmpty) },
	"resume": func(dir string) error { return raceFor(dir, resumeIt) },
}

// TestMain runs the tests, or a role.
func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv("RUNLOG_TEST_ROLE")]; ok {
		if err := role(os.Getenv("RUNLOG_TEST_DIR")); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child returns the command that starts this binary in a role.
func child(role, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// GORACE: the race detector would keep each process for a second after its end.
	cmd.Env = append(os.Environ(), "RUNLOG_TEST_ROLE="+role, "RUNLOG_TEST_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func createEmpty(dir string) (*Run, error) {
	return Create(dir, []byte("{}"), Environment{}, Options{})
}
func resumeIt(dir string) (*Run, error) { return Resume(dir, Options{}) }

// raceFor waits for a line on standard input, tries to get the run, says how that went, and keeps
// the run until standard input ends.
func raceFor(dir string, get func(string) (*Run, error)) error {
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	r, err := get(dir)
	if err != nil {
		fmt.Println("lost:", err)
		return nil
	}
	fmt.Println("won")
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	return r.Close()
}

// racer is a process that waits to race.
type racer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startRacer starts a process and waits until it is ready.
func startRacer(t *testing.T, role, dir string) *racer {
	t.Helper()
	r := &racer{cmd: child(role, dir)}
	in := expect.Must(r.cmd.StdinPipe())
	r.in, r.out = in, startAndWait(t, r.cmd)
	return r
}

// startAndWait starts a process and waits until it says that it is ready. It returns what the
// process prints after that.
func startAndWait(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	pipe := expect.Must(cmd.StdoutPipe())
	expect.NoError(t, cmd.Start())
	out := bufio.NewReader(pipe)
	if got, err := out.ReadString('\n'); err != nil || got != "ready\n" {
		t.Fatalf("the other process said %q (%v)", got, err)
	}
	return out
}

// line returns the next line that the process prints.
func (r *racer) line(t *testing.T) string {
	t.Helper()
	s := expect.Must(r.out.ReadString('\n'))
	return strings.TrimSuffix(s, "\n")
}

// race lets processes compete for a directory and checks that one gets it and that the others name
// it.
func race(t *testing.T, role, dir string, processes int) {
	t.Helper()
	racers := make([]*racer, processes)
	for i := range racers {
		racers[i] = startRacer(t, role, dir)
	}
	for _, r := range racers {
		expect.Must(io.WriteString(r.in, "go\n"))
	}
	winner, lines := 0, make([]string, processes)
	for i, r := range racers {
		if lines[i] = r.line(t); lines[i] == "won" {
			expect.Equal(t, "two processes have the run", winner, 0)
			winner = r.cmd.Process.Pid
		}
	}
	want := fmt.Sprintf("locked by pid %d on host %s since 20", winner, expect.Must(os.Hostname()))
	for _, line := range lines {
		if line != "won" && !strings.Contains(line, want) {
			t.Errorf("a loser said %q, want %q", line, want)
		}
	}
	if winner == 0 {
		t.Errorf("nobody has the run: %q", lines)
	}
	for _, r := range racers {
		expect.NoError(t, errors.Join(r.in.Close(), r.cmd.Wait()))
	}
}

// TestRaces lets two or three processes create the same run at the same moment, or resume one that was
// stopped, many times.
func TestRaces(t *testing.T) {
	stopped := twoCheckpoints(t)
	for i := range 30 {
		race(t, "create", filepath.Join(t.TempDir(), fmt.Sprint("run", i)), 2+i%2)
		race(t, "resume", stopped.dir, 2+i%2)
	}
}

// TestLockedByThisProcess checks that a second Run is refused in the process that has the first,
// also with Force and BreakLock, and that the files of the first are untouched.
func TestLockedByThisProcess(t *testing.T) {
	s := twoCheckpoints(t)
	r := expect.Must(Resume(s.dir, Options{}))
	before := snapshot(t, s.dir)
	opts := Options{Force: true, BreakLock: true}
	_, err := Create(s.dir, []byte("{}"), Environment{}, opts)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Stale || locked.Holder.PID != os.Getpid() {
		t.Errorf("Create: %v", err)
	}
	if _, err := Resume(s.dir, opts); !errors.As(err, &locked) {
		t.Errorf("Resume: %v", err)
	}
	expect.Equal(t, "files changed", fmt.Sprint(snapshot(t, s.dir)) != fmt.Sprint(before), false)
	expect.NoError(t, r.Close())
	expect.Equal(t, "after Close the lock says", snapshot(t, s.dir)[lockFile], "")
	expect.NoError(t, expect.Must(Resume(s.dir, Options{})).Close())
}

// TestStaleLock checks what a dead process left: on this host it is ignored, on another it needs
// BreakLock.
func TestStaleLock(t *testing.T) {
	host := expect.Must(os.Hostname())
	s := twoCheckpoints(t)
	leave := func(text string) {
		expect.NoError(t, os.WriteFile(filepath.Join(s.dir, lockFile), []byte(text), 0o666))
	}
	for _, text := range []string{"", "garbage",
		fmt.Sprintf(`{"pid":1,"host":%q,"since":"2031-02-03T04:05:06Z"}`, host)} {
		leave(text)
		expect.NoError(t, expect.Must(Resume(s.dir, Options{})).Close())
	}
	const foreign = `{"pid":77,"host":"node-that-died","since":"2031-02-03T04:05:06Z"}`
	leave(foreign)
	_, err := Resume(s.dir, Options{})
	var locked *LockedError
	if !errors.As(err, &locked) || !locked.Stale {
		t.Fatalf("foreign lock: %v", err)
	}
	expect.Contains(t, err.Error(), s.dir, "locked by pid 77 on host node-that-died since 2031-02-03T04:05:06Z",
		"--break-lock")
	expect.Equal(t, "the lock became", snapshot(t, s.dir)[lockFile], foreign)
	r := expect.Must(Resume(s.dir, Options{BreakLock: true}))
	if h := r.holder(); h.PID != os.Getpid() || h.Host != host || time.Since(h.Since) > time.Hour {
		t.Errorf("holder %+v", h)
	}
	_ = r.Close()
}

// Where the file system has no locks, the error says what to do.
func TestLockCause(t *testing.T) {
	for _, none := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP} {
		err := LockCause(&fs.PathError{Op: "flock", Path: "x", Err: none})
		expect.ErrorIs(t, err, none, "Lustre with flock")
	}
	if err := LockCause(&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}); err != syscall.EACCES {
		t.Error(err)
	}
}

// A directory that is claimed for a run that never starts is left as it was.
func TestClaim(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "runs", "run")
	r := expect.Must(Claim(dir, Options{}))
	var locked *LockedError
	if _, err := Claim(dir, Options{}); !errors.As(err, &locked) {
		t.Errorf("claimed twice: %v", err)
	}
	expect.NoError(t, r.Close())
	expect.Equal(t, "files that stay", len(expect.Must(os.ReadDir(base))), 0)
	expect.NoError(t, expect.Must(Create(dir, []byte(`{"task":"lst"}`), Environment{}, Options{})).Close())
	expect.ErrorIs(t, expect.ErrorOf(Claim(dir, Options{})), ErrExists)
	expect.NoError(t, expect.Must(Claim(dir, Options{Force: true})).Close())
	expect.Equal(t, "after a claim with Force", string(expect.Must(Open(dir)).Config().JSON), `{"task":"lst"}`)
}

// A run in a folder of runs, of sweeps or of other people's files.
func TestRunsBelow(t *testing.T) {
	for _, below := range []string{"a", "a/b", "sweep/runs/a"} {
		dir := t.TempDir()
		expect.NoError(t, expect.Must(createEmpty(filepath.Join(dir, below))).Close())
		for _, force := range []bool{false, true} {
			_, err := Create(dir, []byte("{}"), Environment{}, Options{Force: force})
			expect.ErrorIs(t, err, ErrRunsBelow, below)
		}
		expect.Equal(t, below, len(expect.Must(os.ReadDir(dir))), 1)
	}
	dir := t.TempDir()
	expect.NoError(t, os.Mkdir(filepath.Join(dir, "other"), 0o777))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "other", "config.json"), []byte(`{"name": "npm"}`), 0o666))
	expect.NoError(t, expect.Must(createEmpty(dir)).Close())
}
