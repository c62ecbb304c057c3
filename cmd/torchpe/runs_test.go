package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
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
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		r := expect.Must(runlog.Create(path,
			[]byte(`{"task":"lst","pe":"learn","pe_options":{},"members":[`+members+`],"d_model":`+
				map[bool]string{true: "64", false: "160"}[name == "a"]+`}`), runlog.Environment{}, runlog.Options{}))
		expect.NoError(t, r.Close())
	}
}

func TestRunsList(t *testing.T) {
	dir := t.TempDir()
	someRuns(t, dir)
	var got []map[string]any
	saysJSON(t, dir, "runs list runs --where sigma<=0.5,seed=1 --sort -d_model", &got)
	if len(got) != 2 || got[0]["run"] != "c" || got[0]["d_model"] != 160. || got[0]["sigma"] != .2 ||
		got[0]["status"] != "stopped" || got[0]["steps"] != 0. {
		t.Errorf("%v", got)
	}
	out := says(t, dir, "runs list runs --columns run,sigma --csv -", 0)
	expect.Equal(t, "listed", out, "run,sigma\na,0.2\nb,1\nc,0.2\nc,0.2\n")
	says(t, dir, "runs list runs --csv m.csv", 0, "m.csv: 4 rows\n")
	head := "run,task,pe,sigma,seed,d_model,status,steps\n"
	if text := readText(t, filepath.Join(dir, "m.csv")); !strings.HasPrefix(text, head) {
		t.Errorf("m.csv: %.80q", text)
	}
	says(t, dir, "runs list", 0, head+"a,lst,learn,0.2,1,64,") // piped
	says(t, dir, "runs compare", 0, "run,task,pe,sigma,seed,n,d_model,status,steps\n")
	says(t, t.TempDir(), "runs list", exitUsage, "no folder runs here")
	says(t, t.TempDir(), "runs compare", exitUsage)
	says(t, dir, "sweep --launcher none --pe nope --out s"+smallSet(t, dir), 0)
	says(t, dir, "runs list s", exitUsage, "s: no finished run yet; see torchpe sweep status s")
	t.Setenv("COLUMNS", "80")
	says(t, dir, "runs list runs/a runs/c", 0, "runs/c", "3 models of 2 runs\n")
	says(t, dir, "runs compare runs/a runs/b", 0, "d_model", "σ")
}
