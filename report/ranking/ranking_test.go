package ranking

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/report/cohort"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// saveRun writes a run on puzzles whose members have these validation accuracies; those below 0 have not fitted, and
// have the accuracy without its sign.
func saveRun(t *testing.T, dir, pe string, accuracies ...float64) {
	t.Helper()
	saveRunOf(t, dir, func(c *config.Config) { c.PE = pe }, accuracies...)
}

func saveRunOf(t *testing.T, dir string, set func(*config.Config), accuracies ...float64) {
	t.Helper()
	c := expect.Must(config.Preset("quick", "code"))
	c.Members, c.Until = []config.Member{{LR: 1e-3}}, "train=0.99"
	set(&c)
	rate := c.Members[0].LR
	c.Members = nil
	scheme := expect.Must(pe.Find(c.PE))
	result := runlog.Result{StepsPerSecond: 50}
	if scheme.Name == "nope" {
		result.StepsPerSecond = 100
	}
	for i, v := range accuracies {
		seed, train := uint64(i+1), 1.
		if v < 0 {
			train = .5
		}
		c.Members = append(c.Members, config.Member{Seed: seed, LR: rate})
		result.Members = append(result.Members, runlog.MemberResult{PE: scheme.Name, Seed: int64(seed), Epochs: 30 + i,
			Status: runlog.StatusDone, Fit: &runlog.Fit{Criterion: "train=0.99", Reached: v > 0, Epoch: 20 + i},
			Measures: runlog.Numbers{"train": train, "iid": .9, "validation": max(v, -v)}})
	}
	save(t, dir, c, result)
}

func save(t *testing.T, dir string, c config.Config, result runlog.Result) {
	t.Helper()
	run := expect.Must(runlog.Create(dir, expect.Must(c.JSON()), runlog.Environment{}, runlog.Options{}))
	defer run.Close()
	// The trained parameters of a block, as results/schemes-cpu has them.
	size := map[string]int{"swin": 49, "relative": 1024, "t5": 8}[c.PE]
	shape := []int{len(c.Members), 4, size}
	table := expect.Must(safetensors.New("adam.m/pe.table", shape, make([]float32, 4*size*len(c.Members))))
	err := run.SaveCheckpoint(1, []safetensors.Tensor{table}, map[string]string{runlog.DataKey: "same"})
	expect.NoError(t, errors.Join(err, run.SaveResult(result)))
}

var encodings = []string{"nope", "rope", "t5", "alibi", "2d-fixed", "1d-fixed", "relative", "random", "swin", "xpos"}

// Masked prediction is ranked where most is masked, beside the error at the share of training.
func TestMaskedIsRankedWhereMostIsMasked(t *testing.T) {
	if rows := rankMasked(t, nil); rows[1][slices.Index(rows[0], "encoding")] != "nope" ||
		!slices.Contains(rows[0], "test_mse_50") {
		t.Errorf("%q", rows[:2])
	}
	rows := rankMasked(t, []float64{.5})
	expect.Equal(t, fmt.Sprintf("tests with half masked alone: %q", rows[:2]),
		rows[1][slices.Index(rows[0], "encoding")], "xpos")
}

// Ranks where the visible tokens tell nothing would be of noise.
func TestHardestShareThatIsNotNoise(t *testing.T) {
	c := expect.Must(config.Preset("nmar", "code"))
	mean := runlog.Numbers{"0.15": 1, "0.50": 1, "0.75": 1, "0.90": 1}
	for want, gaussian := range map[string]runlog.Numbers{
		"0.90": {"0.15": .8, "0.50": .85, "0.75": .9, "0.90": .97},
		"0.75": {"0.15": .8, "0.50": .85, "0.75": .9, "0.90": .99},
		"0.50": {"0.15": 1, "0.50": 1.01, "0.75": 1.1, "0.90": 1.2}, // as in training
	} {
		run := &cohort.Run{Config: cohort.Config{Config: c}, Result: runlog.Result{
			Baselines: map[string]runlog.Numbers{"gaussian": gaussian, "mean": mean}}}
		expect.Equal(t, fmt.Sprint(gaussian), hardest(run), want)
	}
	expect.Equal(t, "no baselines", hardest(&cohort.Run{Config: cohort.Config{Config: c}}), "0.90")
}

// rankMasked ranks encodings whose errors with .9 masked rise, and with .5 masked fall, in tests of these levels; nil
// are those of the preset. It draws held-out against IID errors where there are two levels.
func rankMasked(t *testing.T, levels []float64) [][]string {
	t.Helper()
	dir := t.TempDir()
	for i, pe := range encodings {
		c := expect.Must(config.Preset("nmar", "code"))
		c.PE, c.Members = pe, []config.Member{{Seed: 1, LR: 1e-3}, {Seed: 2, LR: 1e-3}}
		if levels != nil {
			c.Masked.TestLevels = levels
		}
		var result runlog.Result
		for _, m := range c.Members {
			v := .1*float64(i+1) + .01*float64(m.Seed)
			result.Members = append(result.Members, runlog.MemberResult{PE: pe, Seed: int64(m.Seed),
				Status: runlog.StatusDone, Measures: runlog.Numbers{"train_mse": .1, "test_mse/0.15": .1,
					"test_mse/0.50": 2 - v, "test_mse/0.75": .1, "test_mse/0.90": v}})
		}
		save(t, filepath.Join(dir, "runs", pe), c, result)
	}
	out := filepath.Join(dir, "out")
	expect.Must(expect.Must(Read(dir)).Write(out))
	_, err := os.Stat(filepath.Join(out, "iid_nmar.csv"))
	expect.Equal(t, fmt.Sprintf("test levels %v: held-out against IID (%v)", levels, err), err == nil,
		levels == nil)
	return expect.Must(csv.NewReader(expect.Must(os.Open(filepath.Join(out, "ranks_nmar.csv")))).ReadAll())
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	for i, pe := range encodings {
		v := .3 + .02*float64(i)
		accuracies := []float64{v, v + .01, v - .01}
		switch pe {
		case "2d-fixed":
			accuracies = []float64{.97, .98, .99}
		case "swin":
			accuracies = []float64{.99, .97, .97}
		case "alibi":
			accuracies = []float64{.9, -.9, .9}
		case "xpos":
			accuracies = []float64{.9}
		}
		saveRun(t, filepath.Join(dir, "runs", pe), pe, accuracies...)
	}
	r := expect.Must(Read(dir))
	if r.IsEmpty() || len(r.Notes) != 0 {
		t.Fatalf("%+v", r)
	}
	out := filepath.Join(dir, "out")
	expect.Must(r.Write(out))
	rows := expect.Must(csv.NewReader(expect.Must(os.Open(filepath.Join(out, "ranks_lst.csv")))).ReadAll())
	column := func(name string) int { return slices.Index(rows[0], name) }
	var got []string
	for _, row := range rows[1:] {
		got = append(got, strings.Join([]string{row[column("rank")], row[column("encoding")], row[column("fitted")],
			row[column("differs")], row[column("step_times_nope")], row[column("parameters")]}, " "))
	}
	// Three models share the 20 ms of a step, or 10 of nope; xpos has one.
	want := []string{"1 2d-fixed 3  2 0", "2 swin 3 no 2 196", "3 random 3 yes 2 0", "4 relative 3 yes 2 4096",
		"5 1d-fixed 3 yes 2 0", "6 t5 3 yes 2 32", "7 rope 3 yes 2 0", "8 nope 3 yes 1 0", " alibi 2  2 0",
		" xpos 1  6 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	page := string(expect.Must(os.ReadFile(filepath.Join(out, "index.html"))))
	expect.Contains(t, page, "2d-fixed is first of 8 that are ranked. Not shown to differ from it (1): swin.",
		"Families of encodings", "Kruskal and Wallis")
}

// Accuracy on longer inputs is no validation accuracy. Texts are ranked by perplexity alone, without other numbers
// of the same windows.
func TestSequences(t *testing.T) {
	for preset, want := range map[string][]string{
		"sequence-quick": {"Encodings by accuracy on longer inputs", "IID test</th>", "longer</th>"},
		"text":           {"Encodings by perplexity at 64", "perplexity at 64</th>"},
	} {
		dir := t.TempDir()
		for _, pe := range encodings {
			c := expect.Must(config.Preset(preset, "code"))
			c.PE, c.Members = pe, []config.Member{{Seed: 1, LR: 1e-3}, {Seed: 2, LR: 1e-3}}
			if c.Sequence.Name = "even-pairs"; preset == "text" {
				c.Sequence.Name, c.Sequence.Text = "", []string{"book.txt"}
			}
			var result runlog.Result
			for _, m := range c.Members {
				result.Members = append(result.Members, runlog.MemberResult{PE: pe, Seed: int64(m.Seed),
					Status: runlog.StatusDone, Measures: runlog.Numbers{"train": 1, "iid": 1, "validation": .5,
						"perplexity/64": 5}})
			}
			save(t, filepath.Join(dir, "runs", pe), c, result)
		}
		out := filepath.Join(dir, "out")
		expect.Must(expect.Must(Read(dir)).Write(out))
		page := string(expect.Must(os.ReadFile(filepath.Join(out, "index.html"))))
		expect.Contains(t, page, want...)
		scatters := expect.Must(filepath.Glob(filepath.Join(out, "iid_*.svg")))
		expect.Equal(t, preset+": figures of IID", len(scatters), map[bool]int{true: 1}[preset != "text"])
		for _, file := range scatters {
			expect.Contains(t, string(expect.Must(os.ReadFile(file))), "Accuracy on longer inputs", "IID test accuracy")
		}
		if preset == "text" && strings.Contains(page, "IID") {
			t.Error("a text has IID numbers")
		}
	}
}

// Encodings of one task that were trained in two ways are two tables.
func TestTasksAreApart(t *testing.T) {
	dir := t.TempDir()
	for _, pe := range encodings {
		saveRun(t, filepath.Join(dir, "long", pe), pe, .5, .6)
		saveRunOf(t, filepath.Join(dir, "short", pe), func(c *config.Config) { c.PE, c.Epochs = pe, 7 }, .5, .6)
	}
	saveRunOf(t, filepath.Join(dir, "one"), func(c *config.Config) { c.PE, c.Batch = "rope", 7 }, .5, .6)
	r := expect.Must(Read(dir))
	expect.Contains(t, strings.Join(r.Notes, "; "), "not ranked, such as rope: fewer than 10 encodings with batch 7")
	if len(r.tasks) != 2 || r.tasks[0].name == r.tasks[1].name || !strings.Contains(r.tasks[1].name, "epochs 7") {
		t.Fatalf("%d tasks", len(r.tasks))
	}
	expect.Must(r.Write(filepath.Join(dir, "out")))
}

// Encodings of other learning rates are ranked together, and the page says so.
func TestLearningRatesAreNamed(t *testing.T) {
	dir := t.TempDir()
	for i, pe := range encodings {
		saveRunOf(t, filepath.Join(dir, pe), func(c *config.Config) {
			c.PE, c.Members[0].LR = pe, []float64{1e-3, .01}[i/9]
		}, .5, .6)
	}
	r := expect.Must(Read(dir))
	const want = "these encodings differ in more than the encoding: lr 0.001 ("
	if len(r.tasks) != 1 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) ||
		!strings.HasSuffix(r.Notes[0], "lr 0.01 (xpos)") {
		t.Errorf("%d tasks, %q", len(r.tasks), r.Notes)
	}
}

// Fewer than ten encodings, or ten σ of one scheme, are not ranked.
func TestFewAreNotRanked(t *testing.T) {
	dir := t.TempDir()
	for _, pe := range encodings[1:] {
		saveRun(t, filepath.Join(dir, pe), pe, .5, .6)
	}
	found, _, err := cohort.Find(dir)
	expect.NoError(t, err)
	if HasMany(found) || !expect.Must(Read(dir)).IsEmpty() {
		t.Error("nine encodings are ranked")
	}
}

// If no encoding has fitted, the page lists all of them without ranks.
func TestNoneHasFitted(t *testing.T) {
	dir := t.TempDir()
	for _, pe := range encodings {
		saveRun(t, filepath.Join(dir, pe), pe, -.5, -.6)
	}
	out := filepath.Join(dir, "out")
	expect.Must(expect.Must(Read(dir)).Write(out))
	page := string(expect.Must(os.ReadFile(filepath.Join(out, "index.html"))))
	expect.Contains(t, page, "No encoding has two models or more that have all fitted.")
}
