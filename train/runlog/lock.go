package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"torchpe/internal/atomicfile"
)

// Holder identifies the process with the lock of a run directory.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// LockedError says that another process writes to a run directory, or may do so on another host.
type LockedError struct {
	Dir    string
	Holder Holder // zero if unknown
	// Stale: no process of this host holds the lock; [Options].BreakLock takes it over.
	Stale bool
}

// Error names the holder and what to do.
func (e *LockedError) Error() string {
	s := fmt.Sprintf("%s: locked by another process", e.Dir)
	if e.Holder != (Holder{}) {
		s = fmt.Sprintf("%s: locked by pid %d on host %s since %s", e.Dir, e.Holder.PID,
			e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
	}
	if e.Stale {
		return s + "; if that process is dead, continue with --break-lock"
	}
	return s + "; wait for it or stop it"
}

// Writer returns the process that is writing to the run; ok is false if there is none. A process on
// another host cannot be checked from here, and may be dead.
func (r *Reader) Writer() (Holder, bool) {
	h := r.holder()
	if h.PID <= 0 || checkLockFile(r.root) != nil {
		return Holder{}, false
	}
	if host, err := os.Hostname(); err != nil || h.Host != host {
		return h, true
	}
	// Look for the process first: trying the lock holds it for a moment, during which no run can start.
	p, err := os.FindProcess(h.PID)
	if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return Holder{}, false
	}
	locked, err := IsLocked(r.path(lockFile))
	return h, locked || err != nil
}

// IsLocked reports whether a process holds the lock of a file. It takes a shared lock for a moment.
func IsLocked(path string) (bool, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	if ok {
		err = l.Unlock()
	}
	return err == nil && !ok, err
}

// TryLock takes the lock of a file, which it creates. It returns nil if another process has the
// lock. It retries for a while, because IsLocked holds the lock for a moment.
func TryLock(path string) (*flock.Flock, error) {
	l := flock.New(path, flock.SetPermissions(0o666))
	if ok, err := l.TryLock(); ok {
		return l, nil
	} else if err != nil {
		return nil, LockCause(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 15*time.Millisecond)
	switch {
	case ok:
		return l, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	return nil, LockCause(err)
}

// acquire takes the lock of the run directory. The kernel drops it when the process dies, so the
// file of a dead process on this host is ignored. File systems may not share locks between hosts,
// so a file that names a holder on another host counts as locked unless breakLock is set.
func (r *Run) acquire(breakLock bool) error {
	if err := checkLockFile(r.root); err != nil {
		return r.fileError("lock", lockFile, err)
	}
	l, err := TryLock(r.path(lockFile))
	if err != nil {
		return r.fileError("lock", lockFile, err)
	}
	if l == nil {
		return &LockedError{Dir: r.dir, Holder: r.holder()}
	}
	if err := r.claim(l, breakLock); err != nil {
		return errors.Join(err, l.Unlock())
	}
	r.lock = l
	return nil
}

// LockCause returns the system's reason why it cannot lock a file, with advice if the file system
// has no locks.
func LockCause(err error) error {
	for _, none := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP} {
		if errors.Is(err, none) {
			return fmt.Errorf("%w: the file system there has no locks: choose another folder, or have it "+
				"mounted with locks (NFS without nolock, Lustre with flock)", none)
		}
	}
	return Cause(err)
}

// checkLockFile refuses a lock file that is not a regular file: opening it could write elsewhere or block.
func checkLockFile(root atomicfile.Root) error {
	info, err := root.Lstat(lockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file (%s)", info.Mode())
	}
	return err
}

// claim writes this process into the lock file, which it has just locked.
func (r *Run) claim(l *flock.Flock, breakLock bool) error {
	locked, err := l.Stat()
	if err != nil {
		return r.fileError("lock", lockFile, err)
	}
	present, err := r.root.Lstat(lockFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.fileError("lock", lockFile, err)
	}
	if err != nil || !os.SameFile(locked, present) {
		return fmt.Errorf("lock %s: the file was replaced meanwhile: try again", r.path(lockFile))
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("lock %s: cannot find this host's name: %w", r.path(lockFile), err)
	}
	if old := r.holder(); old.Host != "" && old.Host != host && !breakLock {
		return &LockedError{Dir: r.dir, Holder: old, Stale: true}
	}
	text, err := json.Marshal(Holder{PID: os.Getpid(), Host: host,
		Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return r.fileError("lock", lockFile, err)
	}
	return r.fillLock(append(text, '\n'))
}

// fillLock replaces the content of the lock file in place: the lock belongs to the file, not its name.
func (r *Run) fillLock(text []byte) error {
	f, err := r.root.OpenFile(lockFile, os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return r.fileError("lock", lockFile, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return r.writeError(lockFile, int64(len(text)), err)
	}
	return nil
}

// holder returns the content of the lock file, or a zero Holder.
func (r *Reader) holder() Holder {
	var h Holder
	text, err := r.root.ReadFile(lockFile)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}

// release releases the lock. The file stays: if it were removed and created again, it could be locked twice.
func (r *Run) release() error {
	if r.lock == nil {
		return nil
	}
	err := errors.Join(r.fillLock(nil), r.lock.Unlock())
	r.lock = nil
	return err
}
