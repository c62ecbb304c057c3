// Package alloctest bounds the memory that a reader asks for, in tests: a damaged file must not
// make it ask for more than the bytes of the file justify. It imports the standard library alone,
// and only tests import it.
package alloctest

import (
	"runtime"
	"testing"
)

// AtMost calls f and fails the test where that allocates more than so many bytes, whether they are
// in use at the end or not. What else the process does at the same time is counted too; f is
// therefore called again, up to two times, where it seems to be too much.
func AtMost(t testing.TB, bytes int, f func()) {
	t.Helper()
	spent := 0
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if spent = int(after.TotalAlloc - before.TotalAlloc); spent <= bytes {
			return
		}
	}
	t.Fatalf("allocated %d bytes, %d are justified", spent, bytes)
}
