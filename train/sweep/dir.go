package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"torchpe/internal/atomicfile"
	"torchpe/train/runlog"
)

// The names in the directory of a sweep and of a task.
const (
	planFile     = "sweep.json"
	planLock     = "sweep.lock"
	tasksDir     = "tasks"
	runsDir      = "runs"
	cancelFile   = "cancel"
	beatFile     = "heartbeat.json"
	logFile      = "log.txt"
	ensembleDir  = "run"
	splitDir     = "split"
	doneFile     = "done"
	failedFile   = "failed.json"
	resultFile   = "result.json" // of a finished run
	tempSuffix   = atomicfile.TempSuffix
	indexPattern = "%06d"
)

// lockFile is the name of a task's lock. Tests use another name for each host.
var lockFile = "lock"

// attemptFile returns the name of the file of the n-th attempt at a task. Only one worker, on any
// host, can create it. It is never removed.
func attemptFile(n int) string { return fmt.Sprintf("attempt-%d.json", n) }

// ErrNoSweep says that a directory has no plan.
var ErrNoSweep = errors.New("holds no sweep")

// Sweep is a sweep's directory.
type Sweep struct {
	Dir  string // absolute
	Plan *Plan
	root atomicfile.Root
}

// Open opens the sweep in dir. It fails with ErrNoSweep if there is none.
func Open(dir string) (*Sweep, error) {
	s, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	if s.Plan == nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: it has no %s", dir, ErrNoSweep, planFile), s.Close())
	}
	return s, nil
}

// openDir opens a directory with its plan, if it has one.
func openDir(dir string) (*Sweep, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := atomicfile.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: no such directory", dir, ErrNoSweep)
	}
	if err != nil {
		return nil, err
	}
	s := &Sweep{Dir: dir, root: root}
	text, err := root.ReadFile(planFile)
	if errors.Is(err, fs.ErrNotExist) {
		if s.exists(tasksDir) { // else they would count as those of a new plan
			err := fmt.Errorf("%s has the tasks of a sweep in %s, but no %s: restore it, or give "+
				"another directory", dir, tasksDir, planFile)
			return nil, errors.Join(err, root.Close())
		}
		return s, nil
	}
	if err == nil {
		s.Plan, err = decode(text)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Join(dir, planFile), err), root.Close())
	}
	return s, nil
}

// Extend makes dir a sweep, or appends to the existing one, and opens it. change adds to the plan; if it
// adds no task, the plan is not written. If two processes call Extend, one waits for the other.
func Extend(dir, name string, change func(*Plan) error) (*Sweep, error) {
	if err := runlog.ValidateName(filepath.Base(filepath.Clean(dir))); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	lock, err := lockPlan(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process releases it too
	s, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	if s.Plan == nil {
		s.Plan = &Plan{Name: name}
	}
	before := len(s.Plan.Tasks)
	if err := change(s.Plan); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(s.Plan.Tasks) == 0 {
		return nil, errors.Join(errors.New("nothing to train"), s.Close())
	}
	if len(s.Plan.Tasks) > before {
		text, err := s.Plan.encode()
		if err == nil {
			err = s.Write(planFile, text, true)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func lockPlan(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, planLock), flock.SetPermissions(0o666))
	err := atomicfile.CheckOpening(lock.Path(), os.Stat)
	if err == nil {
		err = lock.Lock()
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), runlog.LockCause(err))
	}
	return lock, nil
}

// Exclusive calls f while no other process is in Exclusive or Extend of this sweep.
func (s *Sweep) Exclusive(f func() error) error {
	lock, err := lockPlan(s.Dir)
	if err != nil {
		return err
	}
	return errors.Join(f(), lock.Unlock())
}

// Close releases the directory.
func (s *Sweep) Close() error { return s.root.Close() }

// taskDir returns the directory of a task, relative to the sweep's.
func taskDir(index int) string { return filepath.Join(tasksDir, fmt.Sprintf(indexPattern, index)) }

// taskFile returns the path of a file of a task, relative to the sweep's directory.
func taskFile(index int, name string) string { return filepath.Join(taskDir(index), name) }

// Log returns the path of a task's log.
func (s *Sweep) Log(index int) string { return filepath.Join(s.Dir, taskFile(index, logFile)) }

// OpenLog opens a task's log for appending.
func (c *Claim) OpenLog() (*os.File, error) {
	f, err := c.root.OpenFile(taskFile(c.Index, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, c.fileError("open", taskFile(c.Index, logFile), err)
	}
	return f.File, nil
}

// EnsembleDir returns the run directory in which a task's ensemble trains.
func (s *Sweep) EnsembleDir(index int) string {
	return filepath.Join(s.Dir, taskFile(index, ensembleDir))
}

// RunDir returns the directory of a finished run.
func (s *Sweep) RunDir(name string) string { return filepath.Join(s.Dir, runsDir, name) }

// Check returns an error if no task has this index.
func (s *Sweep) Check(index int) error {
	if n := len(s.Plan.Tasks); index < 0 || index >= n {
		return fmt.Errorf("task %d: the sweep has %d tasks, from 0 to %d", index, n, n-1)
	}
	return nil
}

// Read reads a file of the sweep; the error matches fs.ErrNotExist if it does not exist.
func (s *Sweep) Read(name string) ([]byte, error) {
	text, err := s.root.ReadFile(name)
	if err != nil {
		return nil, s.fileError("read", name, err)
	}
	return text, nil
}

// List returns the names in a folder of the sweep, or none if the folder does not exist.
func (s *Sweep) List(folder string) ([]string, error) {
	f, err := s.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fileError("read", folder, err)
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Write replaces a file of the sweep atomically. If durable, the file is on disk when Write returns.
func (s *Sweep) Write(name string, text []byte, durable bool) error {
	if err := atomicfile.WriteIn(s.root, name, text, durable); err != nil {
		return s.fileError("write", name, err)
	}
	return nil
}

// MakeDir makes a directory of the sweep, unless it exists.
func (s *Sweep) MakeDir(name string) error {
	if err := s.root.MkdirAll(name, 0o777); err != nil {
		return s.fileError("make", name, err)
	}
	return nil
}

// remove removes a file or folder of the sweep, if there is one.
func (s *Sweep) remove(name string) error {
	if err := s.root.RemoveAll(name); err != nil {
		return s.fileError("remove", name, err)
	}
	return nil
}

func (s *Sweep) exists(name string) bool {
	_, err := s.root.Lstat(name)
	return err == nil
}

// Cancel asks the workers on all hosts to save and stop. The next launch revokes it.
func (s *Sweep) Cancel() error {
	return s.Write(cancelFile, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), false)
}

// Cancelled reports whether Cancel was called.
func (s *Sweep) Cancelled() bool { return s.exists(cancelFile) }

// Uncancel revokes Cancel. It writes nothing if nothing was cancelled.
func (s *Sweep) Uncancel() error {
	if !s.Cancelled() {
		return nil
	}
	return s.remove(cancelFile)
}
