package main

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// --header reaches the commands that read tables: those of series and those of arrays, and training. Both
// counts of rows differ from the 16 tokens of a puzzle, which the refusal names.
func TestHeaderFlag(t *testing.T) {
	dir := put(t, map[string]string{"x.csv": "0,2,4\n0.5,1.5,0.25\n3.5,0.75,1.25\n1.5,0.25,2.25\n"})
	for command, shape := range map[string][2]string{ // with a header, and without
		"data info x.csv --axes frames,tokens --json": {
			"[\n      3,\n      3\n    ]", "[\n      4,\n      3\n    ]"},
		"analyze rank --table x.csv --json": {`"tokens": 3`, `"tokens": 4`},
		"pe values 1d-fixed --positions x.csv --positions-as coordinates --dim 12 --out -": {
			`"tokens":3`, `"tokens":4`},
		"train --pe rope-3d --positions x.csv --positions-as coordinates": {"positions of 3 tokens",
			"positions of 4 tokens"},
	} {
		for header, want := range map[string]string{"": "--header yes or --header no", " --header yes": shape[0],
			" --header no": shape[1], " --header x": `"x" is `} {
			stdout, stderr, _ := here(t, dir, strings.Fields(command+header)...)
			expect.Contains(t, stdout+stderr, want)
		}
	}
}
