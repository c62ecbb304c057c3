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
