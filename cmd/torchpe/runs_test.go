package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/train/runlog"
)

// someRuns writes runs to dir/runs: two of one member and one of two, none of which is finished.
func someRuns(t *testing.T, dir string) {
	t.Helper()
	for name, members := range map[string]string{
		"a": `{"seed":1,"sigma":0.2,"lr":0.0001,"weight_decay":0}`,
		"b": `{"seed":1,"sigma":1,"lr":0.0001,"weight_decay":0}`,
		"c": `{"seed":1,"sigma":0.2,"lr":0.0001,"weight_decay":0},{"seed":2,"sigma":0.2,"lr":0.0001,"weight_decay":0}`,
	} {
		path := filepath.Join(dir, "runs", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		r, err := runlog.Create(path,
			[]byte(`{"task":"lst","pe":"learn","pe_options":{},"members":[`+members+`],"d_model":`+
				map[bool]string{true: "64", false: "160"}[name == "a"]+`}`), runlog.Environment{}, runlog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunsList(t *testing.T) {
	dir := t.TempDir()
	someRuns(t, dir)
	out, errs, code := here(t, dir, "runs", "list", "runs", "--where", "sigma<=0.5,seed=1",
		"--sort", "-d_model", "--json")
	var got []map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got) != 2 {
		t.Fatalf("%d: %s%s, %v", code, out, errs, err)
	}
	if r := got[0]; r["run"] != "c" || r["d_model"] != 160. || r["sigma"] != .2 ||
		r["status"] != "stopped" || r["steps"] != 0. {
		t.Errorf("%v", r)
	}
	out, errs, code = here(t, dir, "runs", "list", "runs", "--columns", "run,sigma", "--csv", "-")
	if want := "run,sigma\na,0.2\nb,1\nc,0.2\nc,0.2\n"; out != want || code != 0 {
		t.Errorf("%d: %s%s, want %s", code, out, errs, want)
	}
	out, _, code = here(t, dir, "runs", "list", "runs", "--csv", "m.csv")
	if code != 0 || out != "m.csv: 4 models\n" {
		t.Errorf("%d: %s", code, out)
	}
	want := "run,task,pe,sigma,seed,d_model,status,steps\n"
	if text, err := os.ReadFile(filepath.Join(dir, "m.csv")); err != nil || !bytes.HasPrefix(text, []byte(want)) {
		t.Errorf("m.csv: %.80q, %v", text, err)
	}
	if out, _, code = here(t, dir, "runs", "list"); code != 0 || !strings.HasPrefix(out, want+"a,lst,learn,0.2,1,64,") {
		t.Errorf("piped: %d: %s", code, out)
	}
	for _, command := range []string{"list", "compare"} {
		_, errs, code := here(t, t.TempDir(), "runs", command)
		if code != exitUsage || !strings.Contains(errs, "no folder runs here") && command == "list" {
			t.Errorf("%s without runs: %d: %s", command, code, errs)
		}
	}
	t.Setenv("COLUMNS", "80")
	if out, _, code = here(t, dir, "runs", "list", "runs/a", "runs/c"); code != 0 ||
		!strings.Contains(out, "runs/c") || !strings.HasSuffix(out, "3 models of 2 runs\n") {
		t.Errorf("%d: %s", code, out)
	}
	if out, _, code = here(t, dir, "runs", "compare", "runs/a", "runs/b"); code != 0 ||
		!strings.Contains(out, "d_model") || !strings.Contains(out, "σ") {
		t.Errorf("%d: %s", code, out)
	}
}
