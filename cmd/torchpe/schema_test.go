package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFiles are the files of runs and sweeps by the name of their schema.
var schemaFiles = map[string]string{"config.json": "config", "environment.json": "environment",
	"metrics.jsonl": "record", "result.json": "result", "sweep.json": "sweep"}

// printedSchemas returns what `torchpe schema` prints, ready to validate.
func printedSchemas(t *testing.T) map[string]*jsonschema.Resolved {
	t.Helper()
	out := map[string]*jsonschema.Resolved{}
	for _, name := range schemaFiles {
		text, stderr, code := here(t, t.TempDir(), "schema", name)
		if code != 0 {
			t.Fatal(stderr)
		}
		var s jsonschema.Schema
		err := json.Unmarshal([]byte(text), &s)
		if err == nil {
			out[name], err = s.Resolve(&jsonschema.ResolveOptions{})
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out
}

// Every file of the released runs, and of new ones of each task, is as its schema says.
func TestSchemas(t *testing.T) {
	released, err := filepath.Abs("testdata/released")
	if err != nil {
		t.Fatal(err)
	}
	all, dir := printedSchemas(t), t.TempDir()
	small := slices.Clip(append(smallSet(t, dir), "--epochs", "2", "--noise", "0.1", "--tangent-puzzles", "4",
		"--quiet"))
	masked := strings.Fields("--d-model 16 --layers 1 --threads 1 --limit-steps 4 --quiet")
	for out, args := range map[string][]string{
		"puzzles": small, "rope": append(small, "--pe", "rope"),
		"swept":    append(small, "--heads", "1,2", "--workers", "2"),
		"diverged": append(small, "--lr", "1e6,1e-3", "--optimizer", "sgd"),
		"nmar":     append([]string{"--task", "nmar"}, masked...),
		"fmri":     append(strings.Fields("--task fmri --surrogate subjects=4,frames=60"), masked...),
		"sequence": append(strings.Fields("--preset sequence-quick --sequence even-pairs"), masked...),
	} {
		command := map[bool]string{true: "sweep", false: "train"}[out == "swept"]
		if _, stderr, code := torchpeIn(t, dir, append([]string{command, "--out", out}, args...)...); code != 0 {
			t.Errorf("%s: %s", out, stderr)
		}
	}
	seen := map[string]int{}
	for _, root := range []string{released, dir} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			name, ok := schemaFiles[filepath.Base(path)]
			if err != nil || !ok {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts := []string{string(text)}
			if name == "record" {
				texts = strings.Split(strings.TrimSpace(texts[0]), "\n")
			}
			for i, text := range texts {
				if text == "" { // stopped before its first record
					continue
				}
				var value any
				if err := json.Unmarshal([]byte(text), &value); err != nil {
					return err
				}
				if err := all[name].Validate(value); err != nil {
					t.Errorf("%s, line %d: %v", path, i+1, err)
				}
				seen[name]++
				for key := range value.(map[string]any) { // what the schema forbids
					changed := strings.Replace(text, `"`+key+`":`, `"`+key+`s":`, 1)
					if json.Unmarshal([]byte(changed), &value) == nil && all[name].Validate(value) == nil {
						t.Errorf("%s: a key %ss is taken", path, key)
					}
					break
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range schemaFiles {
		if seen[name] < 2 {
			t.Errorf("%d files of schema %s", seen[name], name)
		}
	}
}
