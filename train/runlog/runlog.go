package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"torchpe/internal/atomicfile"
)

// Errors that callers may distinguish with errors.Is.
var (
	// ErrExists says that the directory passed to Create holds a run.
	ErrExists = errors.New("holds a run already")
	// ErrRunsBelow says that folders of the directory passed to Create hold runs.
	ErrRunsBelow = errors.New("holds other runs")
	// ErrNoRun says that a directory holds no run.
	ErrNoRun = errors.New("holds no run")
	// ErrComplete says that the run passed to Resume has its result.
	ErrComplete = errors.New("the run is complete")
	// ErrNoCheckpoint says that a run has no checkpoint yet: training starts from the beginning.
	ErrNoCheckpoint = errors.New("the run has no checkpoint")
	// ErrNoResult says that a run is not complete.
	ErrNoResult = errors.New("the run has no result")
	// ErrConfigChanged says that config.json was edited after the run finished.
	ErrConfigChanged = errors.New("it was edited after the run was finished")
	// ErrDamaged says that a file cannot be trusted.
	ErrDamaged = errors.New("damaged")
	// ErrSchema says that a newer torchpe wrote a file.
	ErrSchema = errors.New("written by a newer torchpe")
)

// Options say which refusals Create and Resume ignore.
type Options struct {
	Force     bool // Create: remove an existing run
	BreakLock bool // take over a lock that a process on another host left; see [LockedError]
}

// Reader reads a run directory. It takes no lock, and may read while the run is being written.
type Reader struct {
	dir    string
	root   atomicfile.Root
	config Config
}

// Run is a run directory that this process writes to until Close.
type Run struct {
	*Reader
	lock    *flock.Flock
	metrics metricsWriter
	head    atomic.Pointer[head]
	claimed bool     // not started yet
	made    []string // directories that Claim made, innermost first
	force   bool     // Start removes an existing run
	hidden  bool     // config.json has its temporary name: see StartHidden
}

// Create makes dir the directory of a new run with this configuration, which is any JSON object. It
// claims the directory and starts the run.
func Create(dir string, config []byte, env Environment, opts Options) (*Run, error) {
	r, err := Claim(dir, opts)
	if err != nil {
		return nil, err
	}
	if err := r.Start(config, env); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Claim creates and locks dir for a new run and writes nothing else: without Start, Close leaves
// what was there before. It fails with ErrExists if dir holds a run, unless opts.Force lets Start
// remove it, with ErrRunsBelow if folders of dir hold runs, and with a [LockedError] if another
// process has locked it.
func Claim(dir string, opts Options) (*Run, error) {
	dir = filepath.Clean(dir)
	if err := ValidateName(filepath.Base(dir)); err != nil {
		return nil, fmt.Errorf("create run %s: %w", dir, err)
	}
	if err := checkBelow(dir); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	made := missing(dir)
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	r, err := lockDir(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	r.claimed, r.made, r.force = true, made, opts.Force
	if err := r.checkEmpty(); err != nil {
		return nil, fmt.Errorf("create run: %w", errors.Join(err, r.Close()))
	}
	return r, nil
}

// Resume locks the run in dir to continue it. It fails with ErrNoRun, ErrComplete, ErrSchema or a
// [LockedError]. Then call LoadCheckpoint, AddEnvironment and TruncateMetrics.
func Resume(dir string, opts Options) (*Run, error) {
	dir = filepath.Clean(dir)
	r, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	// Check before locking, to leave a directory alone that is not a run or need not be resumed.
	// The check is repeated below, when no other process can change the run.
	err = errors.Join(checkDir(dir), r.checkIncomplete(), r.Close())
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	run, err := lockDir(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("resume run: %w", err)
	}
	if err := run.resume(); err != nil {
		return nil, fmt.Errorf("resume run: %w", errors.Join(err, run.Close()))
	}
	return run, nil
}

// Open opens the run in dir for reading. It fails with ErrNoRun or ErrSchema.
func Open(dir string) (*Reader, error) {
	root, err := atomicfile.OpenRoot(dir)
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

// Close releases the lock and the directory. What was written before is safe without it.
func (r *Run) Close() error {
	err := r.closeMetrics()
	if r.claimed && r.made != nil && r.lock != nil {
		_ = r.root.Remove(lockFile) // if it stays, so does the directory: no harm
		err = errors.Join(err, r.lock.Unlock())
		r.lock = nil
		for _, made := range r.made {
			_ = os.Remove(made) // fails if it is not empty
		}
	}
	return errors.Join(err, r.release(), r.Reader.Close())
}

// lockDir opens an existing directory for writing and takes its lock.
func lockDir(dir string, opts Options) (*Run, error) {
	root, err := atomicfile.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, Cause(err))
	}
	r := &Run{Reader: &Reader{dir: dir, root: root}}
	r.head.Store(&head{step: noStep})
	if err := r.acquire(opts.BreakLock); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return r, nil
}

// checkEmpty returns ErrExists if the directory holds a run that may not be removed.
func (r *Run) checkEmpty() error {
	held, err := r.existingFiles()
	if err != nil {
		return err
	}
	_, noStart := r.root.Lstat(configFile + tempSuffix) // of StartHidden
	unfinished := noStart == nil && !slices.Contains(held, configFile)
	if len(held) > 0 && !unfinished && !r.force {
		return fmt.Errorf("%s: %w (%s): --resume continues it, --force replaces it, another --out keeps it",
			r.dir, ErrExists, strings.Join(held, ", "))
	}
	return nil
}

// missing lists dir and its parents that do not exist, innermost first.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// checkBelow returns ErrRunsBelow if a run in dir would hide runs in its folders.
func checkBelow(dir string) error {
	for _, pattern := range []string{"*", "*/*", "*/*/*"} { // in a folder of sweeps, runs are three levels down
		found, err := fs.Glob(os.DirFS(dir), pattern+"/"+configFile)
		if err != nil {
			return err
		}
		for _, name := range found {
			below := filepath.Join(dir, filepath.Dir(name))
			r, err := Open(below)
			if err != nil {
				continue // another program's file
			}
			return errors.Join(r.Close(),
				fmt.Errorf("%s: %w, such as %s, which lists and reports would then miss: "+
					"choose another directory", dir, ErrRunsBelow, below))
		}
	}
	return nil
}

// Start begins a claimed run with this configuration, any JSON object. It writes the environment
// before config.json, which makes the directory a run, and the metrics file last, because that can
// be created again. A crash in between leaves no run, or one that Resume accepts.
func (r *Run) Start(config []byte, env Environment) error {
	text, err := stampSchema(config)
	if err != nil {
		return fmt.Errorf("create run %s: %w", r.dir, err)
	}
	if err := r.start(text, env); err != nil {
		return fmt.Errorf("create run: %w", err)
	}
	r.claimed = false
	return nil
}

// StartHidden starts a claimed run as Start does, but the directory becomes a run only when SaveResult
// renames config.json at the end. What an earlier crash leaves is not a run: Claim starts anew.
func (r *Run) StartHidden(config []byte, env Environment) error {
	r.hidden = true
	return r.Start(config, env)
}

func (r *Run) start(config []byte, env Environment) error {
	held, err := r.existingFiles()
	if err != nil {
		return err
	}
	for _, name := range held {
		if err := r.remove(name); err != nil {
			return err
		}
	}
	if r.force {
		_ = r.removeBoard(nil) // OpenBoard tries again and reports errors
	}
	if err := r.removeTemps(); err != nil {
		return err
	}
	// This syncs the directory, so that removed checkpoints cannot reappear.
	if err := r.writeEnvironments([]Environment{env}); err != nil {
		return err
	}
	write := r.writeFile
	if r.hidden {
		write = r.writeTemp
	}
	if err := write(configFile, int64(len(config)), atomicfile.Text(config)); err != nil {
		return err
	}
	if err := r.openMetrics(noStep, os.O_CREATE); err != nil {
		return err
	}
	if err := r.syncDir(); err != nil {
		return err
	}
	r.head.Store(&head{known: true, step: noStep})
	return r.parseConfig(config)
}

// resume checks a run that has just been locked.
func (r *Run) resume() error {
	if err := errors.Join(r.readConfig(), r.checkIncomplete()); err != nil {
		return err
	}
	return r.removeTemps()
}

// existingFiles returns the files of a run that are in the directory.
func (r *Reader) existingFiles() ([]string, error) {
	var held []string
	for _, name := range runFiles {
		_, err := r.root.Lstat(name)
		switch {
		case err == nil:
			held = append(held, name)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, r.fileError("look for", name, err)
		}
	}
	return held, nil
}

// Complete reports whether the run has its result.
func (r *Reader) Complete() bool {
	_, err := r.root.Lstat(resultFile)
	return err == nil
}

// checkIncomplete returns ErrComplete if the run has a result.
func (r *Reader) checkIncomplete() error {
	if r.Complete() {
		return fmt.Errorf("%s: %w (%s): use --force to train it again", r.dir, ErrComplete, resultFile)
	}
	return nil
}

func (r *Reader) readJSON(name string, v any) error {
	text, err := r.root.ReadFile(name)
	if err != nil {
		return r.fileError("read", name, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", r.path(name), ErrDamaged, err)
	}
	return nil
}

func (r *Run) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return r.fileError("write", name, err)
	}
	return r.writeText(name, append(text, '\n'))
}

// maxName is the largest length of a name in bytes. File systems allow 255; sweeps append to names.
const maxName = 128

// windowsDevice matches names of devices on Windows and its file servers.
var windowsDevice = regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[1-9])(\.|$)`)

// ValidateName returns an error if name cannot be the name of a run or a sweep, which must be a
// path element with the same meaning in every shell, file system and script.
func ValidateName(name string) error {
	at := strings.IndexFunc(name, func(c rune) bool {
		// Combining marks could make two names look alike.
		isText := unicode.IsPrint(c) && !unicode.Is(unicode.Mn, c) && c != utf8.RuneError
		return !isText || c == '/' || c == '\\'
	})
	problem := ""
	switch {
	case name == "":
		problem = "is empty"
	case at >= 0:
		c, _ := utf8.DecodeRuneInString(name[at:])
		problem = fmt.Sprintf("has the character %+q", c)
	case len(name) > maxName:
		problem = fmt.Sprintf("has %d bytes, at most %d are allowed", len(name), maxName)
	case name[0] == '-':
		problem = "begins with '-', like an option"
	case name[0] == ' ' || strings.HasSuffix(name, " ") || strings.HasSuffix(name, "."):
		problem = "begins with a space, or ends with a space or a dot"
	case windowsDevice.MatchString(name):
		problem = "is the name of a device on Windows"
	default:
		return nil
	}
	return fmt.Errorf("name %+.60q: %s; use letters, digits, '.', '_', '=' and '-'", name, problem)
}
