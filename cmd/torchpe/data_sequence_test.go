package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What generate writes passes check, and a changed line does not.
func TestDataSequence(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) (string, string, int) {
		return here(t, dir, append([]string{"data", "sequence"}, args...)...)
	}
	if out, errs, code := run("list"); code != 0 || strings.Count(out, "\n") < 15 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if out, errs, code := run("show", "reverse-string", "--length", "3", "--count", "2"); code != 0 ||
		strings.Count(out, " -> ") != 2 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if _, errs, code := run("generate", "odds-first", "--count", "9", "--out", "x.txt"); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	if out, errs, code := run("check", "odds-first", "x.txt"); code != 0 ||
		!strings.HasPrefix(out, "9 examples of odds-first, lengths 10 to 10") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if _, errs, code := run("generate", "odds-first", "--out", "x.txt"); code == 0 || !strings.Contains(errs, "x.txt") {
		t.Errorf("%d: %s", code, errs)
	}
	file := filepath.Join(dir, "x.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := map[byte]string{'0': "1", '1': "0"}[text[0]] + string(text[1:])
	for want, body := range map[string]string{
		"line 1: the output to ": flipped, "line 1: 2 words": "01 10\n", "line 1: character 2": "0a 10 2\n",
		"no lines": "", "line 1: 2 characters": "01 10 1\n",
	} {
		if err := os.WriteFile(file, []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := run("check", "odds-first", "x.txt"); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%d: %s; want %q", code, errs, want)
		}
	}
}
