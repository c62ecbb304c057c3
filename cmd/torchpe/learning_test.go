package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Flags of the PE's learning become keys of config.json, and a note says that sigma has no effect.
func TestOwnLearningFlags(t *testing.T) {
	dir := t.TempDir()
	small := append([]string{"train", "--preset", "quick", "--layers", "1", "--d-model", "16",
		"--limit-steps", "3", "--threads", "1", "--device", "cpu", "--noise", "none", "--quiet"}, smallSet(t, dir)...)
	with := func(more ...string) []string { return append(append([]string{}, small...), more...) }
	_, stderr, code := here(t, dir, with("--out", "run", "--pe-init", "matched:2d-fixed",
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
	_, stderr, code = here(t, dir, with("--out", "run", "--resume", "--pe-dropout", "0.3")...)
	if code != exitUsage || !strings.Contains(stderr, "would be 0.3") {
		t.Errorf("resumed with another dropout: exit %d, %s", code, stderr)
	}
}
