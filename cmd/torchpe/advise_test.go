package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/report/advice"
	"torchpe/train/sweep"
)

// tinyModel are flags of masked prediction by a model that trains in no time.
const tinyModel = " --d-model 8 --layers 1 --batch 8 --threads 1 "

// ownTable is a table of four series, which begin at a time.
func ownTable(first int) string {
	text := "a,b,c,d\n"
	for i := first; i < first+60; i++ {
		text += fmt.Sprintf("%d,%d,%d,%d\n", i%7, i*i%5, i%3, i%11)
	}
	return text
}

// The answer, its table and its page come from an ordinary sweep; done again it trains nothing, with
// --budget too. It refuses other settings, other data, and runs of an earlier version.
func TestAdvise(t *testing.T) {
	dir := put(t, map[string]string{"x.csv": ownTable(0)})
	line := "advise --task masked --data x.csv --workers 1 --pe rope,learn-1 --out a" + tinyModel
	out := says(t, dir, line+"--steps 20", 0, "learn-1.0", "rope", "nope", "without a model: conditional Gaussian",
		"a/advice/index.html")
	page := readText(t, filepath.Join(dir, "a", "advice", "index.html"))
	expect.Contains(t, page, "Held-out error during training")
	var a advice.Advice
	if saysJSON(t, dir, line+"--budget 100h", &a); !strings.Contains(out, a.Text) {
		t.Errorf("again: %s", a.Text)
	}
	says(t, dir, line+"--steps 20", 0, "2>(0 new, 9 planned before)")
	says(t, dir, line+"--steps 20 --limit-steps 2", exitUsage, "--limit-steps 2 ends training before its last records")
	var listed []map[string]any
	if saysJSON(t, dir, "runs list a", &listed); len(listed) != 9 {
		t.Errorf("runs list: %v", listed)
	}
	says(t, dir, line+"--steps 30", exitUsage, "a has runs of other settings")
	change := func(err error) {
		t.Helper()
		expect.NoError(t, err)
	}
	change(os.WriteFile(filepath.Join(dir, "x.csv"), []byte(ownTable(1)), 0o666))
	says(t, dir, line+"--steps 20", exitUsage, "the content of the data has changed: give another --out")
	change(os.Remove(filepath.Join(dir, "a", "sweep.json")))
	change(os.RemoveAll(filepath.Join(dir, "a", "tasks")))
	change(os.WriteFile(filepath.Join(dir, "a", "advice.json"), []byte("[]"), 0o666))
	says(t, dir, line+"--steps 20", exitUsage, "an earlier version")
}

// Where no encodings are named, those are compared that suit the tokens, one of known places among them.
func TestAdviseCandidates(t *testing.T) {
	dir := put(t, map[string]string{"x.csv": ownTable(0),
		"grid.csv":   "name,row,column\na,0,0\nb,0,1\nc,1,0\nd,1,1\n",
		"points.csv": "name,x,y\na,0.1,0.3\nb,0,1.2\nc,1.4,0\nd,1,1\n"})
	const usual, masked = "nope random learn-0.2 learn-0.5 learn-1.0 rope", "--task masked --data x.csv" + tinyModel
	for _, c := range []struct{ flags, want string }{
		{masked, usual},
		{smallSet(t, dir), usual + " 2d-fixed"},
		{masked + "--positions grid.csv", usual + " 2d-fixed"},
		{masked + "--positions points.csv", usual + " fourier-features"},
		{"--preset sequence-quick --sequence even-pairs --train-length 4 --test-length 8 --layers 1 --d-model 8 " +
			"--batch 2 --test-sequences 4", "nope rope 1d-fixed"},
	} {
		out, notes, code := here(t, dir, strings.Fields("advise --dry-run "+c.flags)...)
		expect.Equal(t, notes, code, 0)
		if c.want == usual+" fourier-features" &&
			(!strings.Contains(notes, "left out: 2d-fixed needs tokens on a grid") ||
				!strings.Contains(notes, "has 4 points in 2 dimensions\n") || strings.Contains(notes, "nope knows")) {
			t.Error(notes)
		}
		var found []string
		_, tasks, _ := strings.Cut(out, "task 0:")
		for _, run := range regexp.MustCompile(`([\w.-]+)_seed=`).FindAllStringSubmatch(tasks, -1) {
			if !slices.Contains(found, run[1]) {
				found = append(found, run[1])
			}
		}
		expect.Equal(t, c.flags, strings.Join(found, " "), c.want)
	}
}

// --budget chooses from the times that the plan has, which are measured once. A budget that was much exceeded
// is said to be.
func TestAdviseBudget(t *testing.T) {
	line := "advise --task nmar --workers 1 --pe rope,learn-1 --budget 2m --dry-run" + tinyModel
	var e sweep.Estimate
	errs := saysJSON(t, t.TempDir(), line, &e)
	if len(e.Steps) != 1 || 3600*e.Hours < 80 || 3600*e.Hours > 150 || e.RecordHours <= 0 ||
		strings.Count(errs, "timing a step of") != 1 {
		t.Errorf("%+v: %s", e, errs)
	}
	out := says(t, t.TempDir(), line, 0)
	if !regexp.MustCompile(`with 1 worker, timed on \S+: \d+ steps per model.* come on top`).MatchString(out) {
		t.Error(out)
	}
	budget := func(text string) string { return strings.Replace(line, "2m", text, 1) }
	_, errs, _ = here(t, t.TempDir(), strings.Fields(budget("1ms"))...)
	found := regexp.MustCompile(`--budget 1ms is too short for 9 steps of each .*: give --budget (\S+) or more`).
		FindStringSubmatch(errs)
	if found == nil {
		t.Fatal(errs)
	}
	twice := 2 * expect.Must(time.ParseDuration(found[1])) // the time of a step is measured again
	says(t, t.TempDir(), budget(twice.String()), 0)
	e = sweep.Estimate{}
	errs = saysJSON(t, t.TempDir(), budget("100000h"), &e)
	if !slices.Equal(e.Steps, []int{1e8}) ||
		!strings.Contains(errs, "more than the largest --steps, 100000000, takes") {
		t.Errorf("%v: %s", e.Steps, errs)
	}
	said := overBudget(time.Minute, 6*time.Minute)
	if !slices.Equal(said, []string{"budget 60.0 seconds, took 6 minutes"}) ||
		overBudget(time.Minute, 61*time.Second) != nil || overBudget(0, time.Hour) != nil {
		t.Error(said)
	}
}

// Where none is left to compare with, there is no answer.
func TestAdviseDiverged(t *testing.T) {
	line := "advise --task nmar --workers 1 --steps 9 --pe rope --optimizer sgd --lr 1e6 --log-every 1 --quiet" +
		tinyModel
	says(t, t.TempDir(), line, exitFailed, "no run of nope is left", "!>better")
}
