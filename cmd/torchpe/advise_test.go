package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/stats"
	"torchpe/train/advise"
)

// A network that has modules and no order: the advice names the candidates, what they cost, the best
// one and a command that confirms it; done again it trains nothing.
func TestAdvise(t *testing.T) {
	dir := t.TempDir()
	args := []string{"advise", "--task", "nmar", "--steps", "30", "--d-model", "8",
		"--layers", "1",
		"--batch", "8", "--threads", "1", "--members", "2", "--pe", "rope,learn", "--sigma", "0.1,1",
		"--out", "my advice"}
	out, errs, code := torchpeIn(t, dir, args...)
	if code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	for _, want := range []string{"Held-out error: mean squared error", "(nope)", ",nope ",
		"--seeds=3:17 --out='my advice-confirmed'"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "--members") {
		t.Errorf("the command to confirm has the members of the advice:\n%s", out)
	}
	// rope and nope have no sigma and are one candidate each.
	if want := "4 candidates, 2 seeds each: rope, learn_sigma=0.1, learn_sigma=1, nope\n" +
		"stages: 3 to 3, 2 to 6, 2 to 12, 1 to 30 steps, nope beside them\n" +
		"75 steps, of 120 "; !strings.Contains(errs, want) {
		t.Errorf("no %q in\n%s", want, errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "my advice", "advice.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []advised
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 4 {
		t.Fatalf("%v: %s", err, text)
	}
	if all[0].Length != 30 || all[1].Length != 30 || all[2].Length != 12 || all[3].Length != 3 ||
		len(all[0].Errors) != 2 {
		t.Errorf("%s", text)
	}
	again, errs, code := torchpeIn(t, dir, append(args, "--json")...)
	if code != 0 || again != string(text) || strings.Contains(errs, " s)") {
		t.Errorf("%d: %s%s; want what was stored", code, again, errs)
	}
}

// Where no encodings are named, those that do not suit the tokens are left out.
func TestAdviseCandidates(t *testing.T) {
	_, errs, code := torchpeIn(t, t.TempDir(), "advise", "--task", "nmar", "--d-model", "8", "--layers", "1", "--batch",
		"8", "--threads", "1", "--dry-run")
	for _, want := range []string{"torchpe: left out: 2d-fixed: 2d-fixed: it needs tokens on a grid",
		"\n13 candidates, 5 seeds each: nope, relative, random, rope, 1d-fixed, learn-0.01, "} {
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("%d: %s; want %s", code, errs, want)
		}
	}
}

// Sequences are compared by the accuracy on longer inputs: encodings that have no places for these are
// left out before training, or refused where they are named.
func TestAdviseLonger(t *testing.T) {
	args := []string{"advise", "--preset", "sequence-quick", "--sequence", "even-pairs", "--train-length", "4",
		"--test-length", "8", "--layers", "1", "--d-model", "8", "--batch", "2", "--steps", "10",
		"--test-sequences", "4", "--threads", "1", "--members", "2"}
	dir := t.TempDir()
	_, errs, code := torchpeIn(t, dir, append(args, "--dry-run")...)
	for _, want := range []string{"torchpe: left out: relative: relative cannot be evaluated at 6 tokens",
		"torchpe: left out: learn-0.01, learn-0.1, ", "--places 8",
		"3 candidates, 2 seeds each: nope, rope, 1d-fixed\n"} {
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("%d: %s; want %s", code, errs, want)
		}
	}
	for want, more := range map[string][]string{
		"learn: learn cannot be evaluated at 6 tokens": {"--pe", "rope,learn"},
		"no input longer than --train-length 4":        {"--pe", "rope", "--test-length", "4"},
	} {
		_, errs, code := torchpeIn(t, dir, append(args, more...)...)
		if code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: %d, %s; want %q", more, code, errs, want)
		}
	}
	if _, errs, code := torchpeIn(t, dir, append(args, "--pe", "learn", "--places", "8")...); code != 0 {
		t.Errorf("%d: %s", code, errs)
	}
}

// The answer claims no more than the trainings show.
func TestAdviseAnswer(t *testing.T) {
	o := outcome{Study: &advise.Study{Candidates: []advise.Candidate{{Name: "rope"}}}}
	gain := func(mean float64) advise.Difference {
		around := stats.Interval{Low: mean - 1, High: mean + 1, Level: 0.95}
		return advise.Difference{Mean: mean, Pairs: 5, Interval: &around}
	}
	for _, c := range []struct {
		gain    float64
		plateau bool
		begins  string
		cannot  bool
	}{
		{3, false, "rope is the best encoding, and better than none (nope)", false},
		{0.5, false, "5 seeds do not tell the best encoding, rope, from none (nope)", false},
		{0.5, true, "5 seeds do not tell the best encoding, rope, from none (nope)", true},
		{-3, false, "No candidate was better than none (nope) after ", false},
		{-3, true, "No candidate was better than none (nope) after ", true},
	} {
		o.advice.Gain, o.advice.Plateau = gain(c.gain), c.plateau
		got := o.answer("rope", "5 seeds")
		if !strings.HasPrefix(got, c.begins) || strings.Contains(got, "train longer") != c.cannot {
			t.Errorf("gain %g, plateau %v: %s", c.gain, c.plateau, got)
		}
	}
}

// A study goes on with its own settings and data alone.
func TestAdviseOtherStudy(t *testing.T) {
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
		"--layers", "1",
		"--batch", "8", "--threads", "1", "--members", "2", "--pe", "rope", "--out", "study"}
	if _, errs, code := torchpeIn(t, dir, append(args, "--lr", "1e-3")...); code != 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	_, errs, code := torchpeIn(t, dir, append(args, "--lr", "1e-2")...)
	if code != exitUsage || !strings.Contains(errs, "members.lr was 0.001, 0.001 and is 0.01, 0.01") {
		t.Errorf("another learning rate: %d: %s", code, errs)
	}
	write(1)
	_, errs, code = torchpeIn(t, dir, append(args, "--lr", "1e-3")...)
	if code != exitUsage || !strings.Contains(errs, "the content of the data has changed") {
		t.Errorf("other data: %d: %s", code, errs)
	}
}

// Where all diverge there is no advice, and no number.
func TestAdviseDiverged(t *testing.T) {
	out, errs, code := torchpeIn(t, t.TempDir(), "advise", "--task", "nmar", "--steps", "30", "--d-model", "8",
		"--layers",
		"1", "--batch", "8", "--threads", "1", "--members", "2", "--pe", "rope", "--optimizer", "sgd", "--lr", "1e6",
		"--log-every", "1", "--quiet")
	if code != exitFailed || strings.Contains(out, "NaN") || strings.Count(out, "diverged") != 2 ||
		!strings.Contains(errs, "every member of every candidate diverged: lower --lr") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
