// Package expect has checks for tests: what a function returns, writes and allocates, and what it
// does when a file operation fails. Only tests import it.
//
// It registers the test flag -update. Every test package below report imports it, so that
// `go test ./report/... -update` is accepted by all of them.
package expect

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false,
	"rewrite the golden files in testdata instead of comparing with them")

// Golden fails t if got differs from testdata/name. Under -update it writes that file instead.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if err := CompareGolden(name, got); err != nil {
		t.Error(err)
	}
}

// CompareGolden returns an error if got differs from testdata/name. Under -update it writes that file
// instead. An Example, which has no testing.T, calls it and prints the error.
func CompareGolden(name string, got []byte) error {
	return compare(filepath.Join("testdata", name), got)
}

// GoldenFile is [Golden] for a file outside testdata, such as a generated page.
func GoldenFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if err := compare(path, got); err != nil {
		t.Error(err)
	}
}

func compare(path string, got []byte) error {
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, got, 0o666)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: run `go test` on its package with -update to write it", err)
	}
	if !bytes.Equal(want, got) && !utf8.Valid(got) {
		return fmt.Errorf("%s differs; if that is intended, run `go test` on its package with -update", path)
	}
	if !bytes.Equal(want, got) {
		return fmt.Errorf(
			"%s differs (- committed, + now); if that is intended, run `go test` on its package with -update:\n%s",
			path, cmp.Diff(string(want), string(got)))
	}
	return nil
}
