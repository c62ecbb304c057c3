package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/report/advice"
	"torchpe/train/sweep"
)

// tinyAdvice asks about a network with a tiny model.
var tinyAdvice = []string{"advise", "--task", "nmar", "--d-model", "8", "--layers", "1", "--batch", "8", "--threads",
	"1", "--workers", "1"}

// The answer, its table and its page come from an ordinary sweep; done again it trains nothing, with
// --budget too, and it refuses other settings.
func TestAdvise(t *testing.T) {
	dir := t.TempDir()
	args := with(tinyAdvice, "--pe", "rope,learn-1", "--out", "my advice")
	out, errs, code := here(t, dir, with(args, "--steps", "20")...)
	if code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	for _, want := range []string{"learn-1.0", "rope", "nope", "without a model: conditional Gaussian",
		"my advice/advice/index.html"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "my advice", "advice", "index.html"))
	if err != nil || !strings.Contains(string(page), "Held-out error during training") {
		t.Errorf("%v: the page has no curves", err)
	}
	again, errs, code := here(t, dir, with(args, "--budget", "100h", "--json")...)
	var a advice.Advice
	if err := json.Unmarshal([]byte(again), &a); err != nil || code != 0 || !strings.Contains(out, a.Text) ||
		!strings.Contains(errs, "(0 new, 9 planned before)") {
		t.Errorf("%d, %v: %s%s", code, err, again, errs)
	}
	out, _, code = here(t, dir, "runs", "list", "my advice", "--json")
	if code != 0 || strings.Count(out, `"learn"`) != 3 {
		t.Errorf("%d: runs list: %s", code, out)
	}
	_, errs, code = here(t, dir, with(args, "--steps", "30")...)
	if code != exitUsage || !strings.Contains(errs, "my advice has runs of other settings") {
		t.Errorf("%d: %s", code, errs)
	}
}

// Where no encodings are named, those are compared that suit the tokens, one of known places among them.
func TestAdviseCandidates(t *testing.T) {
	dir := t.TempDir()
	small := smallSet(t, dir)
	table := "a,b,c,d\n"
	for i := range 60 {
		table += fmt.Sprintf("%d,%d,%d,%d\n", i%7, i*i%5, i%3, i%11)
	}
	for name, text := range map[string]string{"x.csv": table,
		"grid.csv":   "name,row,column\na,0,0\nb,0,1\nc,1,0\nd,1,1\n",
		"points.csv": "name,x,y\na,0.1,0.3\nb,0,1.2\nc,1.4,0\nd,1,1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	masked := []string{"--task", "masked", "--data", "x.csv", "--d-model", "8", "--layers", "1", "--threads", "1"}
	const usual = "nope random learn-0.2 learn-0.5 learn-1.0 rope"
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{masked, usual},
		{small, usual + " 2d-fixed"},
		{with(masked, "--positions", "grid.csv"), usual + " 2d-fixed"},
		{with(masked, "--positions", "points.csv"), usual + " fourier-features"},
		{[]string{"--preset", "sequence-quick", "--sequence", "even-pairs", "--train-length", "4", "--test-length", "8",
			"--layers", "1", "--d-model", "8", "--batch", "2", "--test-sequences", "4"}, "nope rope 1d-fixed"},
	} {
		out, errs, code := here(t, dir, with([]string{"advise", "--dry-run"}, c.flags...)...)
		if code != 0 {
			t.Fatal(errs)
		}
		if c.want == usual+" fourier-features" && (!strings.Contains(errs, "left out: 2d-fixed needs tokens on a grid") ||
			!strings.Contains(errs, "has 4 points in 2 dimensions\n") || strings.Contains(errs, "nope knows")) {
			t.Error(errs)
		}
		var found []string
		_, tasks, _ := strings.Cut(out, "task 0:")
		for _, run := range regexp.MustCompile(`([\w.-]+)_seed=`).FindAllStringSubmatch(tasks, -1) {
			if !slices.Contains(found, run[1]) {
				found = append(found, run[1])
			}
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%v: %s; want %s\n%s%s", c.flags, got, c.want, out, errs)
		}
	}
}

// --budget chooses from the times that the plan has, which are measured once. A budget that was much exceeded
// is said to be.
func TestAdviseBudget(t *testing.T) {
	args := with(tinyAdvice, "--pe", "rope,learn-1", "--budget", "2m", "--dry-run")
	out, errs, code := here(t, t.TempDir(), with(args, "--json")...)
	var e sweep.Estimate
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || len(e.Steps) != 1 ||
		3600*e.Hours < 80 || 3600*e.Hours > 150 || e.RecordHours <= 0 || strings.Count(errs, "timing a step of") != 1 {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	out, _, _ = here(t, t.TempDir(), args...)
	if !regexp.MustCompile(`with 1 worker, timed on \S+; \d+ steps a model`).MatchString(out) {
		t.Error(out)
	}
	said := overBudget(time.Minute, 6*time.Minute)
	if !slices.Equal(said, []string{"budget 60.0 seconds, took 6 minutes"}) ||
		overBudget(time.Minute, 61*time.Second) != nil || overBudget(0, time.Hour) != nil {
		t.Error(said)
	}
}

// Runs of other data or of an earlier version are not gone on with.
func TestAdviseOtherRuns(t *testing.T) {
	dir := t.TempDir()
	write := func(first int) {
		text := "a,b,c\n"
		for i := range 100 {
			text += fmt.Sprintf("%d,%d,%d\n", (first+i*i)%17, i*7%13, i*i*i%11)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(0)
	args := []string{"advise", "--task", "masked", "--data", "x.csv", "--steps", "10", "--d-model", "8",
		"--layers", "1", "--batch", "8", "--threads", "1", "--workers", "1", "--pe", "rope", "--out", "a"}
	if _, errs, code := here(t, dir, args...); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	write(1)
	if _, errs, code := here(t, dir, args...); code != exitUsage ||
		!strings.Contains(errs, "the content of the data has changed: give another --out") {
		t.Errorf("other data: %d: %s", code, errs)
	}
	if err := os.Remove(filepath.Join(dir, "a", "sweep.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "advice.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a", "tasks")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := here(t, dir, args...); code != exitUsage || !strings.Contains(errs, "an earlier version") {
		t.Errorf("an earlier version: %d: %s", code, errs)
	}
}

// Where none is left to compare with, there is no answer.
func TestAdviseDiverged(t *testing.T) {
	out, errs, code := here(t, t.TempDir(), with(tinyAdvice, "--steps", "30", "--pe", "rope", "--optimizer", "sgd",
		"--lr", "1e6", "--log-every", "1", "--quiet")...)
	if code != exitFailed || strings.Contains(out, "better") || !strings.Contains(errs, "no run of nope is left") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
