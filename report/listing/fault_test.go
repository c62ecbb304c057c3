package listing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/report/listing"
)

// csvOf returns the averaged list of a directory as CSV.
func csvOf(l *listing.List) string { return expect.Written(l.Average().Table().CSV) }

// A run of which the n-th read fails, n = 1, 2, ..., is named with the reason, or its row is there
// with all its numbers.
func TestReadFaults(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "lst", PE: "rope", Seeds: []int{5}})
	half(t, filepath.Join(dir, "stopped")).Close()
	want := csvOf(read(dir))
	for _, fault := range []error{syscall.EIO, atomicfile.ErrShort} {
		for n, more := 1, true; more; n++ {
			var l *listing.List
			x := expect.Faults{N: n, Err: fault}
			err := x.During(func() (err error) {
				l, err = listing.Read(dir)
				return err
			})
			more = x.Done >= n
			switch {
			case err != nil:
				t.Errorf("%v at %s: %v", fault, x.First, err)
			case len(l.Skipped) > 0:
				if s := l.Skipped[0]; !strings.Contains(s.Reason, fault.Error()) || !strings.HasPrefix(s.Dir, dir) {
					t.Errorf("%v at %s: %+v", fault, x.First, s)
				}
			case csvOf(l) != want:
				t.Errorf("%v at %s: %s", fault, x.First, csvOf(l))
			}
			if !more {
				t.Logf("%v: %d reads", fault, x.Done)
			}
		}
	}
}

// A finished run whose settings were edited is not listed with them, but named.
func TestEditedRunIsSkipped(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{5}},
		synthetic.Run{Name: "b", Task: "lst", PE: "rope", Seeds: []int{5}})
	path := filepath.Join(dir, "a", "config.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(text, []byte("0.2"), []byte("0.3"), 1), 0o666)
	}
	expect.NoError(t, err)
	l := read(dir)
	if len(l.Rows) != 1 || len(l.Skipped) != 1 || l.Skipped[0].Dir != filepath.Join(dir, "a") ||
		!strings.Contains(l.Skipped[0].Reason, "config.json: it was edited after the run was finished") {
		t.Errorf("%d rows, skipped %+v", len(l.Rows), l.Skipped)
	}
	found, skipped, err := cohort.Find(dir)
	if err != nil || len(found) != 1 || found[0].Name != "b" || len(skipped) != 1 {
		t.Errorf("%v, %+v, %v", found, skipped, err)
	}
}
