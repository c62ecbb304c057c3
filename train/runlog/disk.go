package runlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"torchpe/internal/atomicfile"
)

// The names of files in a run directory.
const (
	configFile      = "config.json"
	environmentFile = "environment.json"
	metricsFile     = "metrics.jsonl"
	checkpointFile  = "checkpoint.safetensors"
	previousFile    = "checkpoint.prev.safetensors"
	probesFile      = "probes.safetensors"
	resultFile      = "result.json"
	lockFile        = "lock"

	// tempSuffix marks a file that the process with the lock is writing.
	tempSuffix = atomicfile.TempSuffix
)

// runFiles are the files that make a directory a run, in the order in which [Options].Force removes
// them: a crash in between leaves a run that can be resumed or forced again.
var runFiles = []string{resultFile, probesFile, previousFile, checkpointFile, metricsFile, configFile}

// freeSpace is FreeSpace; tests set it.
var freeSpace = FreeSpace

// FreeSpace returns the bytes that an unprivileged process may still write to the file system of a
// directory; math.MaxInt64 if the file system does not report it.
func FreeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	if s.Blocks == 0 {
		return math.MaxInt64, nil // some network file systems do not report it
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// makeDir creates the directory with one mkdir, so that only one of two processes succeeds, and its
// parents as needed. An existing directory is fine; a file or a symbolic link is not.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return checkDir(dir)
	}
	if err != nil {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// checkDir returns an error if a run cannot be written to dir: if it is not a directory, or a
// symbolic link.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: give the directory that it points to", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory (%s)", dir, info.Mode())
	}
	return nil
}

// path returns the path of a file of the run, for messages.
func (r *Reader) path(name string) string { return filepath.Join(r.dir, name) }

// writeTemp writes a file of size bytes under its temporary name and syncs it. After an error it
// removes the temporary file, to free the space on a full disk.
func (r *Run) writeTemp(name string, size int64, write func(io.Writer) error) error {
	if err := r.remove(name + tempSuffix); err != nil { // may be a link
		return err
	}
	if err := atomicfile.StageIn(r.root, name, true, write); err != nil {
		return r.writeError(name, size, err)
	}
	return nil
}

// writeFile writes a file atomically, even if the power fails.
func (r *Run) writeFile(name string, size int64, write func(io.Writer) error) error {
	if err := r.writeTemp(name, size, write); err != nil {
		return err
	}
	if err := r.rename(name+tempSuffix, name); err != nil {
		_ = r.remove(name + tempSuffix)
		return err
	}
	return r.syncDir()
}

func (r *Run) writeText(name string, text []byte) error {
	return r.writeFile(name, int64(len(text)), atomicfile.Text(text))
}

func (r *Run) rename(from, to string) error {
	if err := r.root.Rename(from, to); err != nil {
		return r.fileError("rename "+from+" to", to, err)
	}
	return nil
}

// remove removes a file of the run, if there is one.
func (r *Run) remove(name string) error {
	if err := r.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.fileError("remove", name, err)
	}
	return nil
}

func (r *Run) syncDir() error {
	if err := r.root.SyncDir("."); err != nil {
		return r.fileError("sync", ".", err)
	}
	return nil
}

// removeTemps removes temporary files that a crash left in the run directory.
func (r *Run) removeTemps() error {
	for _, name := range append([]string{environmentFile}, runFiles...) {
		temp := name + tempSuffix
		if _, err := r.root.Lstat(temp); err != nil {
			continue
		}
		if err := r.remove(temp); err != nil {
			return err
		}
	}
	return nil
}

// fileError says which file of the run could not be changed, and why.
func (r *Reader) fileError(verb, name string, err error) error {
	return fmt.Errorf("%s %s: %w", verb, r.path(name), Cause(err))
}

// Cause strips the file names of package os from an error: in an os.Root they are relative.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// SpaceError says that a disk is full. errors.Is matches it with syscall.ENOSPC.
type SpaceError struct {
	Dir  string
	Need int64 // bytes
	Have int64 // bytes
	err  error
}

// Error gives both sizes in megabytes, the first rounded up and the second down.
func (e *SpaceError) Error() string {
	const mb = 1_000_000
	return fmt.Sprintf("no space left: needs %d MB, has %d MB in %s", (e.Need+mb-1)/mb, e.Have/mb, e.Dir)
}

// Unwrap returns the error of the system, or ENOSPC if nothing was written.
func (e *SpaceError) Unwrap() error { return e.err }

// needSpace checks before a large write that it fits on the disk.
func (r *Run) needSpace(need int64) error {
	have, err := freeSpace(r.dir)
	if err != nil || have >= need {
		return nil // unknown: the write itself may fail
	}
	return &SpaceError{Dir: r.dir, Need: need, Have: have, err: syscall.ENOSPC}
}

// writeError describes a failed write, as a [SpaceError] if the disk or a quota is full.
func (r *Run) writeError(name string, need int64, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		have, _ := freeSpace(r.dir)
		err = &SpaceError{Dir: r.dir, Need: need, Have: have, err: Cause(err)}
	}
	if errors.Is(err, syscall.EFBIG) {
		err = fmt.Errorf("%w: %d bytes exceed the limit on the size of files "+
			"(ulimit -f)", Cause(err), need)
	}
	return r.fileError("write", name, err)
}
