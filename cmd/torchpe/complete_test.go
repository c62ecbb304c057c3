package main

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// completed returns what a shell would offer for the last of some words, without the descriptions.
func completed(t *testing.T, words ...string) (values []string) {
	t.Helper()
	out, stderr, code := here(t, ".", append([]string{"__complete"}, words...)...)
	expect.Equal(t, fmt.Sprintf("%q: %s: exit code", words, stderr), code, 0)
	for line := range strings.Lines(out) {
		if value, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(value, ":") {
			values = append(values, value)
		}
	}
	return values
}

// Each list is what docs/settings.md, docs/encodings.md and `torchpe data sequence list` have.
func TestCompletion(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"train --optimizer |", "adam adamw sgd"},
		{"train --optimizer ad|", "adam adamw"},
		{"train --task s|", "sequence"},
		{"train --preset s|", "sequence sequence-quick"},
		{"train --task te|", "text"},
		{"train --tensorboard=|", "true false"},
		{"train --pe rope-l|", "rope-llama3 rope-longrope"},
		{"train --pe learn+kerp|", "learn+kerple"},
		{"sweep --pe alibi,tis|", "alibi,tisa"},
		{"bench step --pe alibi,tis|", "alibi,tisa"},
		{"train --pe-placement |", "input block"},
		{"train --pe-init gr|", "gradients gradients:K"},
		{"data sequence show rev|", "reverse-string"},
		{"sweep table|", "table1"},
		{"sweep resume --launcher s|", "slurm"},
		{"data positions --method |", "gradients mds graph"},
		{"analyze map --method |", "pca mds"},
	} {
		words := strings.Split(strings.TrimSuffix(c.words, "|"), " ")
		expect.Equal(t, c.words, completed(t, words...), strings.Fields(c.want))
	}
}
