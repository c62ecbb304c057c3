package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Errors that a caller may want to tell apart, with errors.Is.
var (
	// ErrExists says that Create was given a directory that holds a run.
	ErrExists = errors.New("holds a run already")
	// ErrNoRun says that there is no run in a directory.
	ErrNoRun = errors.New("holds no run")
	// ErrComplete says that Resume was given a run that has its result.
	ErrComplete = errors.New("the run is complete")
	// ErrNoCheckpoint says that a run has no checkpoint yet: training starts at the beginning.
	ErrNoCheckpoint = errors.New("the run has no checkpoint")
	// ErrNoResult says that a run is not complete.
	ErrNoResult = errors.New("the run has no result")
	// ErrDamaged says that a file is there and cannot be trusted.
	ErrDamaged = errors.New("damaged")
	// ErrSchema says that a newer torchpe wrote a file.
	ErrSchema = errors.New("written by a newer torchpe")
)

// Options say what Create and Resume may override.
type Options struct {
	Force     bool // Create: remove the run that is there
	BreakLock bool // take over a lock that a process on another host left; see [LockedError]

	wrap func(disk) disk // tests put a failing disk in between
}

// Reader reads a run directory. It takes no lock, and may read while the run is being written.
type Reader struct {
	dir    string
	root   *os.Root
	config Config
}

// Run is a run directory that this process writes to, until Close.
type Run struct {
	*Reader
	disk    disk
	lock    *flock.Flock
	metrics metricsWriter
	head    head
}

// Create makes dir the directory of a new run with this configuration, any JSON object. It fails with ErrExists when
// there is a run already, unless opts.Force removes it, and with a [LockedError] when another process has it.
func Create(dir string, config []byte, env Environment, opts Options) (*Run, error) {
	text, err := stampSchema(config)
	if err != nil {
		return nil, fmt.Errorf("create run %s: %w", dir, err)
	}
	dir = filepath.Clean(dir)
	if err := ValidateName(filepath.Base(dir)); err != nil {
		return nil, fmt.Errorf("create run %s: %w", dir, err)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	r, err := lockDir(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	if err := r.start(text, env, opts.Force); err != nil {
		return nil, fmt.Errorf("create run: %w", errors.Join(err, r.Close()))
	}
	return r, nil
}

// Resume locks the run in dir to go on with it, and adds env to its environments. It fails with ErrNoRun, ErrComplete,
// ErrSchema or a [LockedError]. Before the first Append call LoadCheckpoint and TruncateMetrics.
func Resume(dir string, env Environment, opts Options) (*Run, error) {
	dir = filepath.Clean(dir)
	r, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	// Looked at before the lock, to leave alone what is no run or needs no resuming; and again below, when nobody else can
	// change it.
	err = errors.Join(checkDir(dir), r.checkIncomplete(), r.Close())
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	run, err := lockDir(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	if err := run.goOn(env); err != nil {
		return nil, fmt.Errorf("resume run: %w", errors.Join(err, run.Close()))
	}
	return run, nil
}

// Open opens the run in dir for reading. It fails with ErrNoRun or ErrSchema.
func Open(dir string) (*Reader, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: no such directory", dir, ErrNoRun)
	}
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, Cause(err))
	}
	r := &Reader{dir: dir, root: root}
	if err := r.readConfig(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return r, nil
}

// Dir returns the run directory.
func (r *Reader) Dir() string { return r.dir }

// Close releases the directory.
func (r *Reader) Close() error { return r.root.Close() }

// Close gives up the lock and releases the directory. What was written before is safe without it.
func (r *Run) Close() error {
	return errors.Join(r.closeMetrics(), r.release(), r.Reader.Close())
}

// lockDir opens a directory that exists for writing and takes its lock.
func lockDir(dir string, opts Options) (*Run, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, Cause(err))
	}
	r := &Run{Reader: &Reader{dir: dir, root: root}, disk: rootDisk{root}}
	if opts.wrap != nil {
		r.disk = opts.wrap(r.disk)
	}
	if err := r.acquire(opts.BreakLock); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return r, nil
}

// start writes the first files of a run. The environment comes before config.json, which makes the directory a run, and
// the metrics after it, because they can be made anew: a crash on the way leaves no run, or one that Resume goes on with.
func (r *Run) start(config []byte, env Environment, force bool) error {
	held, err := r.held()
	if err != nil {
		return err
	}
	if len(held) > 0 && !force {
		return fmt.Errorf("%s: %w (%s): resume it, choose another directory, or use --force to remove it",
			r.dir, ErrExists, strings.Join(held, ", "))
	}
	for _, name := range held {
		if err := r.remove(name); err != nil {
			return err
		}
	}
	if force {
		_ = r.removeBoard(nil) // OpenBoard tries again, and says what is in the way
	}
	if err := r.removeTemps(); err != nil {
		return err
	}
	// This syncs the directory, so that no removed checkpoint comes back under the new configuration.
	if err := r.writeEnvironments([]Environment{env}); err != nil {
		return err
	}
	if err := r.writeText(configFile, config); err != nil {
		return err
	}
	if err := r.openMetrics(noStep, os.O_CREATE); err != nil {
		return err
	}
	if err := r.syncDir(); err != nil {
		return err
	}
	r.head = head{state: headNone, step: noStep}
	return r.readConfig()
}

// goOn checks a run that was just locked and notes that it goes on in another environment.
func (r *Run) goOn(env Environment) error {
	if err := errors.Join(r.readConfig(), r.checkIncomplete()); err != nil {
		return err
	}
	if err := r.removeTemps(); err != nil {
		return err
	}
	envs, err := r.Environments()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.head = head{state: headUnknown, step: noStep}
	return r.writeEnvironments(append(envs, env))
}

// held returns which of a run's files are in the directory.
func (r *Reader) held() ([]string, error) {
	var held []string
	for _, name := range runFiles {
		_, err := r.root.Lstat(name)
		switch {
		case err == nil:
			held = append(held, name)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, r.failed("look for", name, err)
		}
	}
	return held, nil
}

// Complete reports whether the run has its result.
func (r *Reader) Complete() bool {
	_, err := r.root.Lstat(resultFile)
	return err == nil
}

// checkIncomplete returns ErrComplete for a run with a result.
func (r *Reader) checkIncomplete() error {
	if r.Complete() {
		return fmt.Errorf("%s: %w (%s): use --force to do it again", r.dir, ErrComplete, resultFile)
	}
	return nil
}

// readJSON reads a JSON file of the run into v.
func (r *Reader) readJSON(name string, v any) error {
	text, err := r.root.ReadFile(name)
	if err != nil {
		return r.failed("read", name, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", r.path(name), ErrDamaged, err)
	}
	return nil
}

// writeJSON writes a JSON file of the run atomically.
func (r *Run) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return r.failed("write", name, err)
	}
	return r.writeText(name, append(text, '\n'))
}
