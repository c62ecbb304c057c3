package arrayfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(body), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A name ends at the last colon that leaves a file; tensors and files may have colons of their own.
func TestSplit(t *testing.T) {
	odd := write(t, "a:b.csv", "1,2\n2,3\n")
	for _, c := range []struct{ reference, file, selector string }{
		{odd, odd, ""}, {odd + ":x", odd, "x"}, {odd + ":x:y", odd, "x:y"}, {odd + ":", odd, ""},
	} {
		file, selector, err := Split(c.reference)
		if err != nil || file != c.file || selector != c.selector {
			t.Errorf("%s: %q, %q, %v", c.reference, file, selector, err)
		}
	}
	for _, bad := range []string{"", ":", "::", "nowhere:x", filepath.Dir(odd), filepath.Dir(odd) + ":x"} {
		if _, _, err := Split(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// A format of the caller's goes before those that are known, and only by its extension.
func TestOtherFormats(t *testing.T) {
	path := write(t, "x.own", "anything")
	own := Format{Extension: ".own", List: func(string) ([]Entry, error) { return nil, errors.New("asked") }}
	any := func([]int) error { return nil }
	if _, err := Read(path, any, own); err == nil || err.Error() != "asked" {
		t.Errorf("%v", err)
	}
	if _, err := Read(path, any); err == nil || !strings.Contains(err.Error(), "files called .own are not read") {
		t.Errorf("%v", err)
	}
	if _, err := Read(write(t, "x.zip", "x"), any, own); err == nil || !strings.Contains(err.Error(), ".own, .npy") {
		t.Errorf("%v", err)
	}
}
