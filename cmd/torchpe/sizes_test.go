package main

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Each flag about sizes changes the configuration.
func TestSizeFlags(t *testing.T) {
	for _, c := range []struct{ flags, want string }{ // part of the configuration, without space
		{"--eval-tokens 36,25", `"eval_tokens":[25,36],"rename_symbols":true`},
		{"--eval-tokens 25 --rename-symbols false", `"eval_tokens":[25],"rename_symbols":false`},
		{"--lst-side 6 --eval-tokens 16", `"lst_side":6,"eval_tokens":[16],"log_every"`},
		{"--rename-symbols true", `"data_seed":0,"rename_symbols":true`},
		{"--lst-side 4 --eval-tokens none --rename-symbols auto", `"data_seed":0,"log_every"`},
	} {
		out := says(t, t.TempDir(), "train --dry-run --preset quick --noise none --pe rope "+c.flags, 0)
		text := strings.Replace(strings.Join(strings.Fields(out), ""), `"noise":[],"noise_repeats":10,`, "", 1)
		expect.Contains(t, text, c.want)
	}
}

// A run with other sizes prints them, resumes without flags, and is listed.
func TestTrainAtOtherSizes(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "train --pe rope+t5 --eval-tokens 9,25 --out run --quiet --epochs 2 --noise none"+smallSet(t, dir), 0,
		"at 9 tokens", "at 25 tokens")
	says(t, dir, "train --resume --out run --eval-tokens 25,9", 0)
	says(t, dir, "train --resume --out run --eval-tokens 25", exitUsage,
		"eval_tokens was [9,25] and would be [25]")
	says(t, dir, "runs list run", 0, "tokens_9,tokens_25")
}
