package document_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/document"
	"torchpe/report/table"
)

// files returns the files of a folder, but for those that a dead process was writing.
func files(dir string) map[string]string {
	entries := expect.Must(os.ReadDir(dir))
	all := map[string]string{}
	for _, e := range entries {
		text := expect.Must(os.ReadFile(filepath.Join(dir, e.Name())))
		if !strings.HasPrefix(e.Name(), ".torchpe-") {
			all[e.Name()] = string(text)
		}
	}
	return all
}

// A page whose writer dies at its n-th operation, n = 1, 2, ..., has each file of before or the new
// one, whole; written again it is that of a writer which nothing stopped.
func TestCrashWhileWriting(t *testing.T) {
	write := func(dir string, pages ...float64) error {
		d, err := document.Open(dir, "Test")
		if err != nil {
			return err
		}
		for _, v := range pages {
			name := fmt.Sprint("table", v)
			one := document.Named{Name: name, Table: table.Table{
				Columns: []table.Column{{Heading: "a", Name: "a"}}, Rows: []table.Row{{table.Number(v)}}}}
			item := document.Item{ID: name, Section: "Tables", Title: name, Tables: []document.Named{one}}
			if _, err := d.Add(item); err != nil {
				return err
			}
		}
		return d.Close()
	}
	base, err := os.MkdirTemp("/dev/shm", "document") // many small files, none of which must last
	if err != nil {
		base = t.TempDir()
	}
	defer os.RemoveAll(base)
	before, after := filepath.Join(base, "before"), filepath.Join(base, "after")
	expect.NoError(t, errors.Join(write(before, 1, 2), write(after, 2, 3)))
	old, want := files(before), files(after)
	for n, more := 1, true; more; n++ {
		out := filepath.Join(base, fmt.Sprint(n))
		expect.NoError(t, write(out, 1, 2))
		x := expect.Faults{N: n, Err: expect.ErrCrash}
		err := x.During(func() error { return write(out, 2, 3) })
		if more = x.Done >= n; !more {
			t.Logf("%d operations", x.Done)
		}
		expect.Equal(t, fmt.Sprintf("%s: %v: a crash", x.First, err), errors.Is(err, expect.ErrCrash), more)
		for name, text := range files(out) {
			if text != want[name] && text != old[name] {
				t.Errorf("%s: %s is neither the old file nor the new one", x.First, name)
			}
		}
		expect.NoError(t, write(out, 2, 3))
		if got := files(out); !maps.Equal(got, want) {
			t.Errorf("%s: written again it has other files: %q", x.First, slices.Sorted(maps.Keys(got)))
		}
	}
}
