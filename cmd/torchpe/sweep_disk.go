package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"torchpe/train/sweep"
)

// freeMB is what may still be written below a directory that may not be there yet; 0 where the file system does not say.
func freeMB(dir string) float64 {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0
	}
	return float64(s.Bavail) * float64(s.Bsize) / (1 << 20)
}

// openTask says which tasks of a sweep are not done.
func openTask(st sweep.Status) func(task int) bool {
	return func(task int) bool { return task >= len(st.Tasks) || st.Tasks[task].Done == nil }
}

// warnOfDisk says when the disk has no room for the runs that are left. The need is an estimate, so it stops nothing.
func warnOfDisk(progress io.Writer, s *sweep.Sweep) error {
	st, err := s.Status(nil)
	if err != nil {
		return err
	}
	need, err := s.Plan.DiskMB(openTask(st))
	if err != nil {
		return err
	}
	if text := shortOfDisk(s.Dir, need, freeMB(s.Dir)); text != "" {
		fmt.Fprintln(progress, "torchpe: "+text)
	}
	return nil
}

// shortOfDisk says that the disk at dir does not suffice, or nothing.
func shortOfDisk(dir string, needMB, freeMB float64) string {
	if freeMB == 0 || needMB <= freeMB {
		return ""
	}
	return fmt.Sprintf("the disk at %s has %s free, and what is left to train takes about %s: free some, or give another --out", dir, diskText(freeMB), diskText(needMB))
}

// diskText writes a size in the unit that suits it.
func diskText(mb float64) string {
	switch {
	case mb >= 1024:
		return fmt.Sprintf("%.1f GB", mb/1024)
	case mb >= 1:
		return fmt.Sprintf("%.0f MB", mb)
	}
	return fmt.Sprintf("%.0f kB", mb*1024)
}

// timeText writes hours in the unit that suits them.
func timeText(hours float64) string {
	switch {
	case hours >= 2:
		return fmt.Sprintf("%.1f hours", hours)
	case hours >= 2./60:
		return fmt.Sprintf("%.0f minutes", hours*60)
	}
	return fmt.Sprintf("%.1f seconds", hours*3600)
}
