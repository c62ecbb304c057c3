package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// untilTiny trains until the loss is low, which its two members reach at different epochs.
func untilTiny(t *testing.T) Config {
	c := tiny(t, "learn")
	c.Until, c.Epochs, c.Dropout, c.DType, c.Noise = "loss=1.36", 60, 0, "float64", nil
	c.Members[1] = Member{Seed: 9, Sigma: c.Members[0].Sigma, LR: 2e-3}
	return c
}

// memberRecords returns a member's records without times.
func memberRecords(t *testing.T, dir string, member int) []map[string]any {
	var own []map[string]any
	for _, r := range readFinal(t, dir).metrics {
		if int(r["member"].(float64)) == member {
			delete(r, "member")
			own = append(own, r)
		}
	}
	return own
}

// A member stops at the first record that reaches the bound, with the weights and records that it
// has alone; the run ends with the last of them, also where it is resumed.
func TestUntil(t *testing.T) {
	c := untilTiny(t)
	dir, result := runTiny(t, c)
	steps := map[int]bool{}
	for m, r := range result.Members {
		own := memberRecords(t, dir, m)
		for i, record := range own {
			expect.Equal(t, fmt.Sprintf("member %d: record %d of %d, the first with a loss of 1.36 or less: %v", m,
				i+1, len(own), record["measures"]), record["measures"].(map[string]any)["loss"].(float64) <= 1.36,
				i == len(own)-1)
		}
		// 270 puzzles in batches of 32
		want := runlog.Fit{Criterion: "loss=1.36", Reached: true, Epoch: len(own), Step: 9 * len(own)}
		if r.Fit == nil || *r.Fit != want || r.Steps != want.Step || r.Epochs != want.Epoch ||
			r.Status != runlog.StatusDone {
			t.Errorf("member %d: %+v of %d steps, want %+v", m, r.Fit, r.Steps, want)
		}
		expect.Equal(t, fmt.Sprintf("member %d: its accuracy", m),
			r.Measures["train"], own[len(own)-1]["measures"].(map[string]any)["train"].(float64))
		steps[r.Steps] = true
		if x, err := Export(dir, m, t.TempDir()); err != nil || x.Step != want.Step {
			t.Errorf("member %d: exported %+v, %v", m, x, err)
		}
		alone := c
		alone.Members = c.Members[m : m+1]
		aloneDir, _ := runTiny(t, alone)
		expect.Equal(t, fmt.Sprintf("member %d has other records beside another", m),
			own, memberRecords(t, aloneDir, 0))
		both, one := readFinal(t, dir).weights["w/head.weight"], readFinal(t, aloneDir).weights["w/read_out.weight"]
		expect.Equal(t, fmt.Sprintf("member %d has other weights beside another than alone", m),
			!bytes.Equal(both[m*len(one):(m+1)*len(one)], one), false)
	}
	expect.Equal(t, fmt.Sprint("both members stop after steps ", steps), len(steps), 2)
	expect.Equal(t, "the run ended after step",
		checkpointOf(t, dir).Step, max(result.Members[0].Steps, result.Members[1].Steps))
	parts := filepath.Join(t.TempDir(), "parts")
	first := min(result.Members[0].Steps, result.Members[1].Steps)
	for _, after := range []int{15, first - 11, 1000} { // one stops in time, one after a member has fitted
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Run(ctx, c, parts, Options{Resume: true, Observer: &stopper{after: after, cancel: cancel}})
		cancel()
		if stopped := new(*Interrupted); err != nil && !errors.As(err, stopped) {
			t.Fatal(err)
		}
	}
	sameFinal(t, readFinal(t, parts), readFinal(t, dir))
}

// A member that has stopped keeps the answers of its last record where evaluations draw numbers, too, as the
// dropout of sinusoids does: those that it has alone.
func TestAnswersOfStoppedMembers(t *testing.T) {
	c := untilTiny(t)
	c.PE, c.Members[0].Sigma, c.Members[1].Sigma, c.Noise = "1d-fixed", nil, nil, []float64{0.1}
	dir, result := runTiny(t, c)
	if a, b := result.Members[0].Steps, result.Members[1].Steps; a == b {
		t.Fatalf("both members stop after %d steps: the test shows nothing", a)
	}
	for m := range c.Members {
		alone := c
		alone.Members = c.Members[m : m+1]
		aloneDir, _ := runTiny(t, alone)
		for _, name := range []string{"prediction/validation", "attention/1", "noise/accuracy"} {
			_, together := probed(t, dir, name)
			_, want := probed(t, aloneDir, name)
			expect.Equal(t, fmt.Sprintf("member %d has other %s beside another than alone", m, name),
				!slices.Equal(together[m*len(want):(m+1)*len(want)], want), false)
		}
	}
}

// newest keeps what an observer was shown last.
type newest struct {
	noopObserver
	records []runlog.Record
}

func (n *newest) Logged(rs []runlog.Record) { n.records = rs }

// An observer is shown the last record of a member that was stopped.
func TestStoppedMembersAreShown(t *testing.T) {
	var shown newest
	result := expect.Must(Run(t.Context(), untilTiny(t), filepath.Join(t.TempDir(), "run"), Options{Observer: &shown}))
	for m, want := range result.Members {
		if r := shown.records[m]; r.Member != m || r.Step != want.Fit.Step || !r.Fit.Reached {
			t.Errorf("member %d: shown %+v, want its record after step %d", m, r, want.Fit.Step)
		}
	}
}

// Where the bound is not reached a run has its whole length, and says so. Without --until, puzzles
// say when they were fitted.
func TestUntilTheEnd(t *testing.T) {
	c := untilTiny(t)
	c.Until, c.Epochs = "train=1", 3
	_, result := runTiny(t, c)
	for _, r := range result.Members {
		if want := (runlog.Fit{Criterion: "train=1"}); r.Fit == nil || *r.Fit != want || r.Epochs != 3 {
			t.Errorf("%+v after %d epochs, want not reached after 3", r.Fit, r.Epochs)
		}
	}
	c.Until = ""
	_, result = runTiny(t, c)
	if f := result.Members[0].Fit; f == nil || f.Criterion != runlog.DefaultCriterion || f.Reached {
		t.Errorf("without --until: %+v, want %s, not reached", f, runlog.DefaultCriterion)
	}
	for _, bad := range []string{"train", "trian=1", "train=nan"} {
		c.Until = bad
		expect.Error(t, c.Resolve(), "--until")
	}
}

// A bound that no record can reach is refused before training, with the numbers that records have.
func TestUntilThatIsNeverMet(t *testing.T) {
	sized := tiny(t, "1d-fixed")
	sized.EvalTokens = []int{25}
	short, drawn := tinySequence(t, "reverse-string", "learn"), tiny(t, "random")
	drawn.PEOptions = map[string]string{"random": "ruoss"}
	oneKind := tiny(t, "learn")
	sets := expect.Must(tinySet())
	expect.NoError(t, lst.WriteFiles(lst.File{Path: oneKind.LSTValidation, Puzzles: slices.DeleteFunc(
		slices.Clone(sets[1]), func(p lst.Puzzle) bool { return p.Condition != lst.OneVector })}))
	noModules, _ := tinyFiles(t, map[string]string{"x.csv": tableText(80, 1)})
	for _, c := range []struct {
		config      Config
		until, want string // "" where it is measured
	}{
		{tiny(t, "learn"), "validation_Binary=0.9", ""}, // as in torchpe 0.1.0
		{tiny(t, "learn"), "validation/1-vector=0.9", ""},
		{tiny(t, "learn"), "pe_norm=30", ""},
		{tiny(t, "learn"), "pe_norm=0.3", "before training, so training would stop at once"},
		{tiny(t, "learn"), "pe_disparity/0=0.01", ""},
		{tiny(t, "learn"), "pe_disparity/0=1", "before training"},
		{tiny(t, "rope"), "pe_norm=3", "they have loss, train, iid, validation, validation/1-vector"},
		{tiny(t, "learn"), "pe_gradient_share=0.1", ""},
		{tiny(t, "learn"), "pe_effective_rank=16", ""}, // tables of 16 tokens
		{tiny(t, "learn"), "pe_effective_rank=16.1", "have a rank of at most 16"},
		{tiny(t, "2d-fixed"), "pe_norm=100", ""},
		{tiny(t, "2d-fixed"), "pe_gradient_share=0.1", "have no number pe_gradient_share"},
		{tiny(t, "learn"), "train=99", "train=99 never passes 1"},
		{tiny(t, "learn"), "iid=-1", "iid=-1 holds before training"},
		{tiny(t, "learn"), "loss=-1", "loss=-1 never passes 0"},
		{tiny(t, "learn"), "test_mse_0.50=1", "test_mse/0.50 is not a number at which"},
		{tiny(t, "learn"), "tokens_25=0.9", "have no number tokens/25"},
		{tiny(t, "learn"), "noise/0.1=0.9", "noise/0.1 is not a number at which"},
		{sized, "tokens_25=0.9", ""},
		{sized, "tokens_36=0.9", `did you mean "tokens/25"?`},
		{tinyMasked(t, "learn"), "train=0.5", "these are loss, train_mse, test_mse/LEVEL"},
		{tinyMasked(t, "learn"), "test_mse_0.33=0.5", "test_mse/0.33 is not measured: add 0.33 to"},
		{tinyMasked(t, "learn"), "test_mse_0.50=0.1", ""},
		{tinyMasked(t, "learn"), "modularity=0.1", ""},
		{noModules, "modularity=0.1", "have no number modularity"},
		{oneKind, "validation/1-vector=0.9", ""},
		{oneKind, "validation/3-vector=0.9", "have no number validation/3-vector"},
		{drawn, "pe_norm=1", "have no number pe_norm"},
		{tinyMasked(t, "alibi"), "modularity=0.1", "have no number modularity"},
		{short, "validation=0.9", "have no number validation"},
		{tinySequence(t, "reverse-string", "rope"), "validation=0.9", ""},
		{tinyText(t, "alibi"), "perplexity_7=2", "have no number perplexity/7"},
		{tinyText(t, "alibi"), "perplexity_12=0.5", "perplexity/12=0.5 never passes 1"},
	} {
		c.config.Until, c.config.LimitSteps = c.until, 1
		dir := filepath.Join(t.TempDir(), "run")
		_, err := Run(t.Context(), c.config, dir, Options{})
		if c.want == "" {
			expect.NoError(t, err)
			continue
		}
		expect.Error(t, err, "--until", c.want)
		expect.ErrorIs(t, expect.ErrorOf(os.Stat(dir)), os.ErrNotExist)
	}
}

// A run that goes on ends later than its checkpoint, and by one criterion: its members did not train for as long as
// its numbers would say.
func TestResumeRefusesAnEarlierEnd(t *testing.T) {
	c := untilTiny(t)
	c.LogEvery = 1
	fitted := expect.Must(Run(t.Context(), c, filepath.Join(t.TempDir(), "whole"), Options{})).Members
	first := min(fitted[0].Steps, fitted[1].Steps)
	dir, early := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "early")
	stopAfter(t, c, early, 20)
	stopAfter(t, c, dir, first+2)
	met := fmt.Sprintf("has met %s at step %d, and the run is at step %d", c.Until, first, first+2)
	for _, test := range []struct {
		dir, until string
		limit      int
		want       string
	}{{dir, "train=1", 0, met}, {dir, "", 0, met}, {early, "train=0.01", 0, "has met train=0.01 at step 9, and"},
		{dir, c.Until, first + 1, fmt.Sprintf("at step %d, and would end at step %d", first+2, first+1)},
		{dir, c.Until, first + 2, fmt.Sprintf("at step %d, and would end at step %d", first+2, first+2)}} {
		now := Config{c.Clone()}
		now.Until, now.LimitSteps = test.until, test.limit
		_, err := Run(t.Context(), now, test.dir, Options{Resume: true, AllowChanged: []string{"until", "limit_steps"}})
		expect.Error(t, err, test.want)
	}
	expect.Equal(t, "members", resume(t, c, dir).Members, fitted)
}
