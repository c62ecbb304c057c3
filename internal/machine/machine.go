// Package machine reads what the operating system says of the machine.
package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// CPU returns the name of the processor, or "" if it is unknown.
func CPU() string {
	for line := range strings.Lines(content("/", "proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Memory returns the memory of the machine in bytes, 0 if unknown, and the bytes available to the process: those of the
// machine, within the limits of its control groups and of RLIMIT_AS; -1 if unknown. System files are read below root.
func Memory(root string) (total, free int64) {
	free = math.MaxInt64
	for line := range strings.Lines(content(root, "proc/meminfo")) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "MemTotal:":
			total = 1024 * number(fields[1])
		case fields[0] == "MemAvailable:":
			free = 1024 * number(fields[1])
		}
	}
	for line := range strings.Lines(content(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, most, used := "sys/fs/cgroup", "memory.max", "memory.current"
		if parts[1] == "memory" { // version 1
			base, most, used = base+"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			limit := number(content(root, filepath.Join(base, group, most)))
			used := content(root, filepath.Join(base, group, used))
			if limit < math.MaxInt64 && used != "" {
				free = min(free, max(0, limit-number(used)))
			}
			if group == "/" {
				break
			}
		}
	}
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && space.Cur < math.MaxInt64 {
		free = min(free, int64(space.Cur))
	}
	if free == math.MaxInt64 {
		free = -1
	}
	return total, free
}

// content returns a system file, or "" if it cannot be read.
func content(root, path string) string {
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return ""
	}
	return string(b)
}

// number returns a number in a system file, or MaxInt64 for other text, such as "max".
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
