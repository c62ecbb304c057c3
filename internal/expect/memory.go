package expect

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// AllocationsAtMost calls f and fails the test if f allocates more than the given number of bytes in
// total, freed memory included. Tests use it to show that a damaged file does not make a reader allocate
// more than its size justifies. The count includes the allocations of other goroutines, so f gets up to
// three tries.
func AllocationsAtMost(t testing.TB, bytes int, f func()) {
	t.Helper()
	allocated := 0
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if allocated = int(after.TotalAlloc - before.TotalAlloc); allocated <= bytes {
			return
		}
	}
	t.Fatalf("allocated %d bytes, want at most %d", allocated, bytes)
}

// Resident returns the memory of the process in bytes, after Go has given back what it does not use. It
// skips the test on a system without /proc.
func Resident(t testing.TB) int {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	return Must(strconv.Atoi(strings.Fields(string(text))[1])) * os.Getpagesize()
}
