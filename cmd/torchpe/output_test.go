package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Whatever names files hold, no control character but line ends and tabs is printed, and JSON
// means the same.
func TestEscaped(t *testing.T) {
	const hostile = "a\x1b]0;title\x07b\rc\u009bd\u202ee\x7ff\u2028g\tσ\xff\n"
	file := expect.Must(os.Create(filepath.Join(t.TempDir(), "out")))
	defer file.Close()
	if n, err := (&escaped{file: file}).Write([]byte(hostile)); n != len(hostile) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	expect.NoError(t, printJSON(&escaped{file: file}, hostile[:len(hostile)-2]))
	text := readText(t, file.Name())
	const want = `a\u001b]0;title\u0007b\u000dc\u009bd\u202ee\u007ff\u2028g` + "\tσ\xff\n"
	plain, inJSON, _ := strings.Cut(text, "\n")
	expect.Equal(t, "printed", plain+"\n", want)
	var got string
	if err := json.Unmarshal([]byte(inJSON), &got); err != nil || got+hostile[len(hostile)-2:] != hostile {
		t.Errorf("%q means %q, %v", inJSON, got, err)
	}
}

// Of several values of a flag that takes one the last counts, and a note says so.
func TestRepeatedFlags(t *testing.T) {
	for _, c := range []struct{ command, note string }{
		{"train --dry-run --pe learn --pe rope", "torchpe: --pe is given 2 times: the last, rope, counts\n"},
		{"train --dry-run --pe rope --layers 1 --layers 2", "--layers is given 2 times: the last, 2, counts\n"},
		{"train --dry-run --pe rope --pe rope", ""},
		{"train --dry-run --sigma 0.1 --sigma 0.2", ""}, // two models
		{"sweep --dry-run --no-calibrate --pe nope --pe rope", ""},
		{"sweep --dry-run --no-calibrate --pe nope --seeds 1 --seeds 2",
			"--seeds is given 2 times: the last, 2, counts\n"},
	} {
		_, notes, code := here(t, ".", strings.Fields(c.command)...)
		if code != 0 || !strings.HasSuffix(notes, c.note) || c.note == "" && strings.Contains(notes, "times") {
			t.Errorf("%s: exit code %d, %q; want %q", c.command, code, notes, c.note)
		}
	}
}
