//go:build linux || darwin

package runlog

import (
	"math"

	"golang.org/x/sys/unix"
)

// freeBytes returns the bytes that an unprivileged process may still write in dir.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	if s.Blocks == 0 {
		return math.MaxInt64, nil // some network file systems do not say
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
