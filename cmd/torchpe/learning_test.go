package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestOwnLearningFlags: flags of the PE's learning become keys of config.json, values a member;
// what a scheme has nothing for is refused with exit code 2, and sigma that has no effect is said.
func TestOwnLearningFlags(t *testing.T) {
	dir := t.TempDir()
	small := append([]string{"train", "--preset", "quick", "--layers", "1", "--d-model", "16",
		"--limit-steps", "3", "--threads", "1", "--device", "cpu", "--noise", "none", "--quiet"}, smallSet(t, dir)...)
	with := func(more ...string) []string { return append(append([]string{}, small...), more...) }
	_, stderr, code := torchpeIn(t, dir, with("--out", "run", "--pe-init", "matched:2d-fixed",
		"--sigma", "1", "--pe-lr", "1e-4,0", "--pe-weight-decay", "0.1",
		"--pe-warmup-steps", "0", "--warmup-steps", "5", "--pe-dropout", "0.2", "--init-scale", "0.5")...)
	if code != 0 || !strings.Contains(stderr, "--sigma has no effect with --pe-init matched:2d-fixed") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"pe_init": "matched:2d-fixed", "pe_warmup_steps": 0.0,
		"pe_dropout": 0.2, "init_scale": 0.5} {
		if !reflect.DeepEqual(c[key], want) {
			t.Errorf("%s is %v, want %v", key, c[key], want)
		}
	}
	members := c["members"].([]any)
	for i, lr := range []float64{1e-4, 0} {
		if m := members[i].(map[string]any); len(members) != 2 || m["pe_lr"] != lr ||
			m["pe_weight_decay"] != 0.1 || m["seed"] != 1.0 {
			t.Errorf("member %d is %v", i, m)
		}
	}
	for says, args := range map[string][]string{
		"rope: --pe-init zeros: it has no learned table": {"--pe", "rope", "--pe-init", "zeros"},
		"nope has no trained parameters":                 {"--pe", "nope", "--pe-lr", "1e-4"},
		"at most rank 16":                                {"--pe-init", "low-rank:17"},
		"rope has no fixed table":                        {"--pe-init", "matched:rope"},
		"--pe-lr: 2 values for 3 members":                {"--pe-lr", "1e-4,1e-5", "--members", "3"},
		"would be 0.3":                                   {"--out", "run", "--resume", "--pe-dropout", "0.3"},
	} {
		args := with(args...)
		if !strings.Contains(strings.Join(args, " "), "--out") {
			args = append(args, "--out", "refused")
		}
		if _, stderr, code := torchpeIn(t, dir, args...); code == 0 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d, %s; want %q", args, code, stderr, says)
		}
		if _, err := os.Stat(filepath.Join(dir, "refused")); err == nil {
			t.Fatalf("%v leaves a run behind", args)
		}
	}
}
