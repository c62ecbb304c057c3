package expect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/atomicfile"
)

// recorder notes what a check says of a test.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Error(args ...any)            { r.said = append(r.said, "error: "+fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.Error(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.said = append(r.said, "fatal: "+fmt.Sprint(args...)) }

func (r *recorder) Fatalf(f string, args ...any) { r.Fatal(fmt.Sprintf(f, args...)) }

// What other tests rely on fails where it should, and only there.
func TestChecks(t *testing.T) {
	bad := errors.New("no such file")
	path := filepath.Join(t.TempDir(), "golden")
	if err := os.WriteFile(path, []byte("as committed"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		check func(r *recorder)
		want  string // empty: it passes
	}{
		"no error":           {func(r *recorder) { NoError(r, nil) }, ""},
		"an error":           {func(r *recorder) { NoError(r, bad) }, "fatal: no such file"},
		"the right error":    {func(r *recorder) { Error(r, bad, "no such", "file") }, ""},
		"the wrong error":    {func(r *recorder) { Error(r, bad, "no", "folder") }, `want one with "folder"`},
		"no error to expect": {func(r *recorder) { Error(r, nil, "file") }, `error: error <nil>, want one with "file"`},
		"a refusal":          {func(r *recorder) { Refused(r, "x", bad) }, ""},
		"none":               {func(r *recorder) { Refused(r, "x", nil) }, "error: x: no error"},
		"the message":        {func(r *recorder) { Message(r, bad, "no such file") }, ""},
		"a part of it":       {func(r *recorder) { Message(r, bad, "no such") }, "got  no such file\nwant no such"},
		"the right text":     {func(r *recorder) { Contains(r, "no such file", "no such", "file") }, ""},
		"the wrong text":     {func(r *recorder) { Contains(r, "no such file", "no", "folder") }, `no "folder" in`},
		"equal":              {func(r *recorder) { Equal(r, "x", []int{1}, []int{1}) }, ""},
		"not equal":          {func(r *recorder) { Equal(r, "x", []int{1}, []int{2}) }, "error: x: [1], want [2]"},
		"equal bytes":        {func(r *recorder) { report(r, compare(path, []byte("as committed"))) }, ""},
		"other text":         {func(r *recorder) { report(r, compare(path, []byte("made"))) }, "differs (- comm"},
		"other bytes":        {func(r *recorder) { report(r, compare(path, []byte("\xff"))) }, "differs; if that"},
		"no golden file":     {func(r *recorder) { report(r, compare(path+"2", nil)) }, "with -update to write it"},
	} {
		r := &recorder{}
		c.check(r)
		if said := strings.Join(r.said, "\n"); c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
	if !errors.Is(ErrorOf(3, bad), bad) || Must(3, nil) != 3 {
		t.Error("a value or its error is lost")
	}
	defer func() {
		if recover() != bad {
			t.Error("Must took an error")
		}
	}()
	Must(3, bad)
}

func report(r *recorder, err error) {
	if err != nil {
		r.Error(err)
	}
}

// The N-th operation that counts fails, and after a crash all later ones.
func TestFaults(t *testing.T) {
	writes := func(operation, _ string) bool { return operation == "write" }
	full := errors.New("no space left")
	for _, c := range []struct {
		of     func(operation, name string) bool
		err    error
		fails  string // which of the operations below fail
		counts int
	}{
		{nil, full, "write b", 4}, {writes, full, "write c", 2},
		{nil, ErrCrash, "write b, write c, read c", 4}, {Reads, full, "read c", 2},
		{nil, atomicfile.ErrShort, "read c", 2},
	} {
		x := Faults{N: 2, Err: c.err, Of: c.of}
		var failed []string
		err := x.During(func() error {
			for _, o := range []string{"read a", "write b", "write c", "read c"} {
				operation, name, _ := strings.Cut(o, " ")
				if err := atomicfile.Fault(operation, name); err != nil {
					failed = append(failed, o)
				}
			}
			return full
		})
		if !errors.Is(err, full) || atomicfile.Fault != nil ||
			strings.Join(failed, ", ") != c.fails || x.Done != c.counts ||
			!strings.HasPrefix(c.fails, x.First) {
			t.Errorf("%v: %q failed, %d counted, the first %q; want %s, %d", c.err, failed, x.Done, x.First,
				c.fails, c.counts)
		}
	}
	for operation, want := range map[string]bool{"open": true, "read": true, "lstat": true, "write": false} {
		Equal(t, operation, Reads(operation, ""), want)
	}
}
