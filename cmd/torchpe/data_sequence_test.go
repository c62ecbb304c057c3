package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// What generate writes passes check, and a changed line does not.
func TestDataSequence(t *testing.T) {
	dir := t.TempDir()
	if out := says(t, dir, "data sequence list", 0); strings.Count(out, "\n") < 15 {
		t.Error(out)
	}
	out := says(t, dir, "data sequence show reverse-string --length 3 --count 2", 0)
	if strings.Count(out, " -> ") != 2 {
		t.Error(out)
	}
	says(t, dir, "data sequence generate odds-first --count 9 --out x.txt", 0)
	says(t, dir, "data sequence check odds-first x.txt", 0, "9 examples of odds-first, lengths 10 to 10")
	says(t, dir, "data sequence generate odds-first --out x.txt", exitUsage, "x.txt")
	file := filepath.Join(dir, "x.txt")
	text := readText(t, file)
	flipped := map[byte]string{'0': "1", '1': "0"}[text[0]] + text[1:]
	for want, body := range map[string]string{
		"line 1: the output to ": flipped, "line 1: 2 words": "01 10\n", "line 1: character 2": "0a 10 2\n",
		"no lines": "", "line 1: 2 characters": "01 10 1\n",
	} {
		expect.NoError(t, os.WriteFile(file, []byte(body), 0o666))
		says(t, dir, "data sequence check odds-first x.txt", exitFailed, want)
	}
}
