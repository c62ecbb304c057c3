package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	var got struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Rows) != 2 {
		t.Fatalf("%d: %s%s, %v", code, out, errs, err)
	}
	if r := got.Rows[0]; r["run"] != "c" || r["d_model"] != 160. || r["sigma"] != .2 ||
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
	if out, _, code = here(t, dir, "runs", "list", "runs/a", "runs/c"); code != 0 ||
		!strings.Contains(out, "runs/c") || !strings.HasSuffix(out, "3 models of 2 runs\n") {
		t.Errorf("%d: %s", code, out)
	}
	if out, _, code = here(t, dir, "report", "compare", "runs/a", "runs/b"); code != 0 ||
		!strings.Contains(out, "d_model") || !strings.Contains(out, "σ") {
		t.Errorf("%d: %s", code, out)
	}
}

func TestRunsMistakesExitWithTwo(t *testing.T) {
	dir := t.TempDir()
	someRuns(t, dir)
	for _, v := range []struct {
		args []string
		want string
	}{
		{[]string{"runs", "list"}, "at least one"},
		{[]string{"runs", "lst", "runs"}, "did you mean"},
		{[]string{"runs", "list", "none"}, "none"},
		{[]string{"runs", "list", "runs", "--where", "sigmma=1"}, `did you mean "sigma"`},
		{[]string{"runs", "list", "runs", "--where", "sigma"}, "KEY OP VALUE"},
		{[]string{"runs", "list", "runs", "--sort", "x"}, "is no column"},
		{[]string{"runs", "rm", "runs/a"}, "--yes"},
		{[]string{"runs", "rm", "runs", "--where", "sigmma=1", "--yes"}, `did you mean "sigma"`},
	} {
		if out, errs, code := here(t, dir, v.args...); code != 2 ||
			!strings.Contains(errs, v.want) || out != "" {
			t.Errorf("%v: %d, %s%s, want %q", v.args, code, out, errs, v.want)
		}
	}
	if left := runsLeft(t, dir); left != "a b c" {
		t.Errorf("left: %s", left)
	}
}

// runsLeft are the runs in dir/runs.
func runsLeft(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRunsRemove(t *testing.T) {
	dir := t.TempDir()
	someRuns(t, dir)
	out, _, code := here(t, dir, "runs", "rm", "runs", "--where", "sigma=0.2", "--dry-run")
	if code != 0 || out != "would remove runs/a\nwould remove runs/c\n" || runsLeft(t, dir) != "a b c" {
		t.Errorf("%d: %s, left: %s", code, out, runsLeft(t, dir))
	}
	out, errs, code := here(t, dir, "runs", "rm", "runs", "--where", "seed=1", "--dry-run", "--json")
	var done removed
	if err := json.Unmarshal([]byte(out), &done); err != nil || code != 0 || !done.DryRun ||
		fmt.Sprint(done.Removed) != "[runs/a runs/b]" || done.Kept["runs/c"] == "" {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if _, errs, code = here(t, dir, "runs", "rm", "runs", "--json"); code != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("%d: %s", code, errs)
	}
	// A run of which some models only are chosen, and one that a process writes to, stay.
	held, err := runlog.Resume(filepath.Join(dir, "runs", "b"), runlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code = here(t, dir, "runs", "rm", "runs", "--where", "seed=1", "--yes")
	if code != 1 || out != "removed runs/a\n" || !strings.Contains(errs,
		"runs/c: --where chooses some") || !strings.Contains(errs, "locked by pid") || runsLeft(t, dir) != "b c" {
		t.Errorf("%d: %s%s, left: %s", code, out, errs, runsLeft(t, dir))
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	// A symbolic link is no run, wherever it leads.
	if err := os.Symlink(filepath.Join(dir, "runs"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code = here(t, dir, "runs", "rm", "link", "--yes"); code != 2 ||
		!strings.Contains(errs, "symbolic link") {
		t.Errorf("%d: %s", code, errs)
	}
	if err := os.Symlink(filepath.Join(dir, "runs", "c"), filepath.Join(dir, "runs", "d")); err != nil {
		t.Fatal(err)
	}
	if _, _, code = here(t, dir, "runs", "rm", "runs/b", "--yes"); code != 0 || runsLeft(t, dir) != "c d" {
		t.Errorf("%d, left: %s", code, runsLeft(t, dir))
	}
	// On a terminal the command asks.
	for _, answer := range []string{"", "n\n", "yesterday\n"} {
		var out, notes bytes.Buffer
		r := removal{in: strings.NewReader(answer), terminal: true, out: &out, notes: &notes}
		if err := r.run([]string{filepath.Join(dir, "runs")}); err != nil ||
			!strings.Contains(out.String(), "Remove 1 run for good? [y/N] nothing was removed") {
			t.Errorf("%q: %s%s, %v", answer, &out, &notes, err)
		}
	}
	var said bytes.Buffer
	r := removal{in: strings.NewReader("Yes\n"), terminal: true, out: &said, notes: &said}
	if err := r.run([]string{filepath.Join(dir, "runs")}); err != nil ||
		!strings.Contains(said.String(), "removed ") || runsLeft(t, dir) != "d" {
		t.Errorf("%s, %v", &said, err)
	}
}
