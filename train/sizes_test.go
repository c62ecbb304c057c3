package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// tinySizes is tiny, evaluated at 25 and 36 tokens too.
func tinySizes(t *testing.T, pe string) Config {
	c := tiny(t, pe)
	c.Epochs, c.EvalTokens, c.Noise = 3, []int{36, 25}, nil
	return c
}

// What a configuration without sizes trains on is what it always was.
func TestDefaultDataAreUnchanged(t *testing.T) {
	c, four := expect.Must(Preset("quick", "code")), expect.Must(Preset("quick", "code"))
	four.LSTSide = 4
	expect.NoError(t, errors.Join(c.Resolve(), four.Resolve()))
	// The SHA-256 of lst.Default: if it changes, so do the results of all who train on it.
	got := expect.Must(load(c)).fingerprint
	expect.Equal(t, "fingerprint", got, "d858ce73a8016f34a5d46197ca82cf7755129ca368ed97a766f5b30615651cf1")
	text := string(expect.Must(c.JSON()))
	if text != string(expect.Must(four.JSON())) || strings.Contains(text, "lst_side") ||
		strings.Contains(text, "eval_tokens") || strings.Contains(text, "rename_symbols") {
		t.Errorf("config.json names sizes: %s", text)
	}
}

func TestResolveSizes(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Config)
		tokens  []int
		rename  *bool
		symbols int
		err     string
	}{
		{"larger", func(c *Config) { c.EvalTokens = []int{36, 25} }, []int{25, 36}, new(true), 6, ""},
		{"smaller", func(c *Config) { c.LSTSide, c.EvalTokens = 6, []int{16} }, []int{16}, nil, 6, ""},
		{"as large", func(c *Config) { c.EvalTokens = []int{16} }, []int{16}, nil, 4, ""},
		{"not renamed", func(c *Config) { c.EvalTokens, c.RenameSymbols = []int{25}, new(false) }, []int{25},
			new(false), 5, ""},
		{"renamed alone", func(c *Config) { c.RenameSymbols = new(true) }, nil, new(true), 4, ""},
		{"nothing to leave", func(c *Config) { c.RenameSymbols = new(false) }, nil, nil, 4, ""},
		{"none", func(c *Config) { c.EvalTokens = []int{} }, nil, nil, 4, ""},
		{"side", func(c *Config) { c.LSTSide = 9 }, nil, nil, 0, "--lst-side: 9 is not in [4, 8]"},
		{"small", func(c *Config) { c.LSTSide = 3 }, nil, nil, 0, "--lst-side: 3 is not in [4, 8]"},
		{"files", func(c *Config) { c.LSTSide, c.LSTTrain, c.LSTValidation = 5, []string{"a"}, "b" }, nil,
			nil, 5, ""},
		{"tied", func(c *Config) { c.PE, c.EvalTokens = "learn", []int{25, 36} }, nil, nil, 0,
			"--eval-tokens: learn cannot be evaluated at 25 tokens: it was trained on 16"},
		{"tied in part", func(c *Config) { c.PE, c.EvalTokens = "rope+learn", []int{25} }, nil, nil, 0,
			"learn's table is tied to their number"},
		{"tied with these options", func(c *Config) { c.PE, c.EvalTokens = "relative", []int{25} }, nil,
			nil, 0, "with other options it can"},
		{"a stack", func(c *Config) { c.PE, c.EvalTokens = "rope+t5", []int{25} }, []int{25}, new(true), 5, ""},
		{"fewer", func(c *Config) { c.PE, c.LSTSide, c.EvalTokens = "learn", 5, []int{16} }, []int{16}, nil, 5, ""},
	} {
		config := expect.Must(Preset("quick", "code"))
		config.PE = "rope"
		c.change(&config)
		err := config.Resolve()
		if c.err != "" {
			expect.Error(t, err, c.err)
			continue
		}
		if err != nil || !slices.Equal(config.EvalTokens, c.tokens) ||
			!reflect.DeepEqual(config.RenameSymbols, c.rename) || config.Symbols() != c.symbols {
			t.Errorf("%s: %v; sizes %v, renamed %v, %d symbols", c.name, err, config.EvalTokens,
				config.RenameSymbols, config.Symbols())
		}
		text := expect.Must(config.JSON())
		again, err := ParseConfig(text)
		if err == nil {
			err = again.Resolve()
		}
		if err != nil || !reflect.DeepEqual(again, config) {
			t.Errorf("%s: config.json gives %v, %+v", c.name, err, again)
		}
	}
	masked := expect.Must(Preset("nmar", "code"))
	masked.EvalTokens = []int{25}
	expect.Error(t, masked.Resolve(), "task nmar has data of one size")
}

// A renaming takes the symbols to different ones of those that the model knows, all choices alike,
// and leaves blank and probe.
func TestDrawNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	counts := map[string]int{}
	names := make([]int64, 5)
	const n, choices = 24_000, 24 // 4 x 3 x 2 ways to name 3 symbols with 4
	for range n {
		drawPermutation(rng, names, 4)
		if names[0] != 0 || names[4] != 5 || names[1] == names[2] || names[1] == names[3] || names[2] == names[3] {
			t.Fatalf("%v is no renaming", names)
		}
		for _, v := range names[1:4] {
			if v < 1 || v > 4 {
				t.Fatalf("%v names a symbol that there is not", names)
			}
		}
		counts[fmt.Sprint(names)]++
	}
	sum := 0.0
	for _, count := range counts {
		sum += float64((count-n/choices)*(count-n/choices)) / (n / choices)
	}
	// the chi-square quantile of 1 - 1e-6 with 23 degrees of freedom is 70.6
	if len(counts) != choices || sum > 68.2 {
		t.Errorf("%d renamings, chi-square %.1f", len(counts), sum)
	}
	drawPermutation(nil, names, 6)
	expect.Equal(t, "names that stay", names, []int64{0, 1, 2, 3, 7})
}

// A training batch with its names undone is the batch as the files have it, answer and all; names
// differ between members, puzzles and epochs.
func TestRenamedBatches(t *testing.T) {
	c := tinySizes(t, "rope")
	e := started(t, c)
	task := e.task.(*lstTask)
	const n, at = 32, 64
	names := map[string]bool{}
	for _, epoch := range []int{0, 1, 0} {
		s := e.resident.ChildNoGrad()
		in := task.inputs(e, epoch*task.stepsPerEpoch()+at/n)
		places := allocateInputs(s, e.device, in)
		places.write(in)
		plain, b := task.gather(e, s, task.train, places["index"]), task.gather(e, s, task.train, places["index"])
		task.permuteSymbols(s, places, &b)
		symbols, target := torchpe.Values[int64](b.Symbols), torchpe.Values[int64](b.target)
		was, answer := torchpe.Values[int64](plain.Symbols), torchpe.Values[int64](plain.target)
		expect.Equal(t, "the probe moved", torchpe.Values[int64](b.Probe), torchpe.Values[int64](plain.Probe))
		for p := range len(target) {
			undo := map[int64]int64{}
			for i := range 16 {
				v, w := symbols[16*p+i], was[16*p+i]
				if before, ok := undo[v]; ok && before != w {
					t.Fatalf("puzzle %d: %d stands for %d and %d", p, v, before, w)
				}
				undo[v] = w
				if (w == 0) != (v == 0) || (w == 5) != (v == 7) || v < 0 || v > 7 {
					t.Fatalf("puzzle %d: token %d is now %d", p, w, v)
				}
			}
			if w, shown := undo[target[p]+1]; shown && w != answer[p]+1 || target[p] < 0 || target[p] > 5 {
				t.Fatalf("puzzle %d: the answer %d is %d, and that stands for %d", p, answer[p]+1, target[p]+1, w)
			}
			seen := map[int64]bool{}
			for v, w := range undo {
				if seen[w] {
					t.Fatalf("puzzle %d: two names of %d (%d)", p, w, v)
				}
				seen[w] = true
			}
			if w := answer[p] + 1; seen[w] && undo[target[p]+1] != w {
				t.Fatalf("puzzle %d: the answer has another name than its symbol", p)
			}
		}
		key := fmt.Sprint(symbols)
		expect.Equal(t, fmt.Sprintf("epoch %d: names that were there", epoch), names[key],
			epoch == 0 && len(names) == 2)
		names[key] = true
		half := len(symbols) / 2
		expect.Equal(t, "both members have the same", slices.Equal(symbols[:half], symbols[half:]), false)
		s.Close()
	}
}

// Held-out puzzles are renamed once: with their symbols numbered in order of appearance they are
// what the generator made.
func TestRenamedHeldOut(t *testing.T) {
	c := tinySizes(t, "rope")
	expect.NoError(t, c.Resolve())
	s := expect.Must(load(c))
	plain := c
	plain.EvalTokens, plain.RenameSymbols = nil, nil
	was := expect.Must(load(plain))
	canonical := func(x examples, side int) (all []string) {
		for i := range x.n {
			number := map[int64]int{}
			of := func(v int64) int {
				if number[v] == 0 {
					number[v] = len(number) + 1
				}
				return number[v]
			}
			text := ""
			for _, v := range append(slices.Clone(x.symbols[i*side*side:(i+1)*side*side]), x.target[i]+1) {
				if v == 0 {
					text += "."
				} else {
					text += fmt.Sprint(of(v))
				}
			}
			all = append(all, text)
		}
		return all
	}
	for name, pair := range map[string][2]examples{"validation": {s.validation, was.validation},
		"iid": {s.iid, was.iid}} {
		expect.Equal(t, name, canonical(pair[0], 4), canonical(pair[1], 4))
		if slices.Equal(pair[0].symbols, pair[1].symbols) || slices.Max(pair[0].symbols) != 7 ||
			slices.Max(pair[0].target) < 4 {
			t.Errorf("%s: symbols up to %d, classes up to %d", name, slices.Max(pair[0].symbols),
				slices.Max(pair[0].target))
		}
	}
	for i, side := range []int{5, 6} {
		made := expect.Must(lst.Puzzles(side, 108, c.DataSeed))
		want := newExamples("", made)
		if !slices.Equal(canonical(s.sizes[i], side), canonical(want, side)) || s.sizes[i].n != 108 {
			t.Errorf("%d tokens: other puzzles than the generator's", side*side)
		}
		count := map[lst.Condition]int{}
		for _, k := range s.sizes[i].condition {
			count[k]++
		}
		if count[lst.OneVector] != 36 || count[lst.TwoVector] != 36 || count[lst.ThreeVector] != 36 {
			t.Errorf("%d tokens: %v", side*side, count)
		}
	}
	kept := c
	kept.RenameSymbols = new(false) // only the probe, 5 of 4 symbols, is another of 6
	expect.NoError(t, kept.Resolve())
	k, want := expect.Must(load(kept)), slices.Clone(was.train.symbols)
	for i, v := range want {
		if v == 5 {
			want[i] = 7
		}
	}
	if !slices.Equal(k.train.symbols, want) || !slices.Equal(k.train.target, was.train.target) {
		t.Error("symbols that keep their names are not those of the files")
	}
	expect.Equal(t, "the same fingerprint as without other sizes", s.fingerprint == was.fingerprint, false)
	expect.Equal(t, "fingerprint, loaded again", expect.Must(load(c)).fingerprint, s.fingerprint)
}

// sizeNumbers checks that records, probes and result of a run say the same.
func sizeNumbers(t *testing.T, dir string, result runlog.Result) {
	t.Helper()
	records, probes := recordsOf(t, dir), expect.Must(opened(t, dir).LoadProbes())
	for m, member := range result.Members {
		last := records[len(records)-len(result.Members)+m]
		if !reflect.DeepEqual(last.Measures.Of("tokens"), member.Measures.Of("tokens")) ||
			len(member.Measures.Of("tokens")) != 2 {
			t.Errorf("member %d: the last record has %v, the result %v", m, last.Measures.Of("tokens"),
				member.Measures.Of("tokens"))
		}
		for tokens, a := range member.Measures.Of("tokens") {
			by := member.Measures.Of("tokens/" + tokens)
			// 36 puzzles of each
			if mean := (by["1-vector"] + by["2-vector"] + by["3-vector"]) / 3; len(by) != 3 ||
				math.Abs(mean-a) > 1e-12 {
				t.Errorf("member %d, %s tokens: %v, by condition %v", m, tokens, a, by)
			}
			x, ok := probes.Tensor("prediction/tokens" + tokens)
			if !ok || !slices.Equal(x.Shape, []int{len(result.Members), 108}) {
				t.Fatalf("prediction/tokens%s has shape %v", tokens, x.Shape)
			}
			right, ok := probes.Tensor("target/tokens" + tokens)
			if !ok {
				t.Fatalf("no target/tokens%s", tokens)
			}
			n, target := 0, expect.Must(right.Float64s())
			for i, class := range expect.Must(x.Float64s())[m*108 : (m+1)*108] {
				if class == target[i] {
					n++
				}
			}
			expect.Near(t, fmt.Sprintf("member %d: share of right predictions for %s tokens", m, tokens),
				float64(n)/108, a, 1e-12)
		}
	}
	for _, rec := range records {
		expect.Equal(t, fmt.Sprint("step ", rec.Step), len(rec.Measures.Of("tokens")), 2)
	}
}

// Training on 5 x 5, measured at fewer and more tokens; at fewer, tables that are tied to 25 tokens
// serve with their first rows.
func TestTrainOnLargerPuzzles(t *testing.T) {
	for pe, tokens := range map[string][]int{"alibi": {9, 16, 36}, "learn": {9, 16}, "learn-2d": {16}} {
		c := expect.Must(Preset("quick", "code"))
		c.PE, c.LSTSide, c.EvalTokens, c.Layers, c.DModel, c.LimitSteps = pe, 5, tokens, 1, 16, 3
		c.Threads, c.Device, c.Noise, c.NoiseRepeats = 1, "cpu", []float64{0.1}, 1
		_, result := runTiny(t, c)
		if m := result.Members[0]; len(m.Measures.Of("tokens")) != len(tokens) ||
			math.IsNaN(m.Measures.Get("validation")) || len(m.Measures.Of("noise")) != 1 {
			t.Errorf("%s: %+v", pe, m)
		}
	}
	c := expect.Must(Preset("quick", "code"))
	c.PE, c.EvalTokens, c.Device = "random", []int{25}, "cpu"
	c.PEOptions = map[string]string{"random": "ruoss", "random-max": "20"}
	_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
	expect.Error(t, err, "--eval-tokens 25: random: --random-max 20")
}

// Rotations that depend on how many tokens they were trained on (rope-yarn, rope-longrope) do so at
// other sizes too: the angles of the first places are those of training.
func TestRotationsRememberTheirLength(t *testing.T) {
	for _, name := range []string{"rope", "rope-yarn", "rope-longrope", "rope-pi", "rope-ntk"} {
		c := tinySizes(t, name)
		c.DModel, c.Dropout = 32, 0
		e := started(t, c)
		task := e.task.(*lstTask)
		var at *models.Model
		for _, r := range task.sizes {
			at = r.at
		}
		// The first 16 places of 36 are turned as in training: the same logits of q and k.
		s := torchpe.NewScopeNoGrad()
		q := torchpe.RandN(s, 1, torchpe.Float32, torchpe.CPU, 2, 1, 1, 16, 32)
		turn := func(m *models.Model) []float64 {
			q, k, _ := m.Encoding.Begin(s, pe.Line(16)).QKV(pe.Attn{Q: q, K: q, V: q})
			return torchpe.AttentionLogits(q, k, 1).Float64s()
		}
		if a, b := turn(e.model), turn(at); !slices.Equal(a, b) {
			t.Errorf("%s: the model at 36 tokens turns the first 16 in another way", name)
		}
		s.Close()
	}
}

// Training puzzles are evaluated as training shows them: the probe is the model's, not the file's.
func TestShownTrainingHasTheProbeOfTheModel(t *testing.T) {
	c := tiny(t, "rope")
	c.EvalTokens, c.Noise = []int{25}, nil
	e := started(t, c)
	task := e.task.(*lstTask)
	x := task.shownTraining(e)
	for i, probe := range x.probe {
		if got := x.symbols[i*16+int(probe)]; got != int64(c.Symbols()+1) {
			t.Fatalf("puzzle %d: the probe is token %d, want %d", i, got, c.Symbols()+1)
		}
	}
	expect.Equal(t, "the file's symbols were changed", slices.Equal(x.symbols, task.train.symbols), false)
	sums := expect.Must(task.trainingSums(e)) // of a model that was not trained
	if share := sums.correct[0] / sums.examples; share < .1 || share > .5 {
		t.Errorf("an untrained model is right in %v of the training puzzles", share)
	}
}
