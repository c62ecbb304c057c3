package train

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// tinySequence is a small run on a formal language.
func tinySequence(t testing.TB, name, scheme string) Config {
	t.Helper()
	c := expect.Must(Preset("sequence-quick", "code"))
	c.PE, c.Layers, c.DModel, c.Heads, c.Batch, c.Steps, c.LogEvery = scheme, 1, 16, 2, 8, 12, 5
	c.Threads, c.Device = 1, "cpu"
	c.Sequence.Name, c.Sequence.Tests = name, 6
	c.Sequence.TrainLength, c.Sequence.TestLength, c.Sequence.TestLengths = 4, 9, 2
	c.Members = twoMembers()
	return c
}

// The model at a shorter length has the loss and the gradients of one that was built for it.
func TestSequenceGradientsAtEachLength(t *testing.T) {
	for _, scheme := range []string{"t5", "rope", "fire", "kerple", "nope"} {
		c := tinySequence(t, "reverse-string", scheme)
		c.DType = "float64"
		long := started(t, c)
		c.Sequence.TrainLength = 3
		short := started(t, c)
		step := stepOfLength(long, 3)
		in := long.task.inputs(long, step)
		var losses, gradients [][]float64
		for _, e := range []*ensemble{long, short} {
			atStep(t, e, step, in, func(s *torchpe.Scope, loss stepLoss) {
				losses = append(losses, loss.each.Float64s())
				loss.each.Sum().Backward()
				gradients = append(gradients, e.model.Params.Grads(s).Float64s())
			})
		}
		if !near(losses[0], losses[1]) || !near(gradients[0], gradients[1]) {
			t.Errorf("%s: losses %v and %v, or other gradients", scheme, losses[0], losses[1])
		}
	}
}

// stepOfLength returns the first step whose inputs have a length.
func stepOfLength(e *ensemble, length int) (step int) {
	for e.task.(*sequenceTask).source.length(e.config.DataSeed, step) != length {
		step++
	}
	return step
}

// near reports whether numbers agree to twelve digits.
func near(a, b []float64) bool {
	largest := 0.0
	for i := range a {
		largest = max(largest, math.Abs(a[i]))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*largest })
}

// A model that answers one class whatever it sees is right where that class is and counts, and has
// the cross-entropy of its head's bias over all outputs.
func TestSequenceAccuracyOfAConstantModel(t *testing.T) {
	c := tinySequence(t, "stack-manipulation", "alibi")
	c.DType = "float64"
	e := started(t, c)
	bias := []float64{0.5, 2, -1} // class 1 is the largest
	constantModel(t, e, bias)
	task := e.task.(*sequenceTask)
	for length, set := range task.tests {
		want, counted := 0.0, 0.0
		for i := range set.n {
			var text []int
			for _, s := range set.symbols[i*set.tokens:][:length] {
				text = append(text, int(s))
			}
			answer := task.source.(*languageSource).task.Answer(text)
			for _, class := range answer.Output[:answer.Scored] {
				if counted++; class == 1 {
					want++
				}
			}
		}
		got, _, err := task.test(e, set)
		if err != nil || !near(got, []float64{want / counted, want / counted}) {
			t.Errorf("length %d: %v, %v; want %g", length, got, err, want/counted)
		}
	}
	step := stepOfLength(e, 4)
	in := task.inputs(e, step)
	atStep(t, e, step, in, func(_ *torchpe.Scope, loss stepLoss) {
		target, counted := in.arrays[1].ints, in.arrays[2].ints
		for m := range 2 {
			sum, right, n := 0.0, 0.0, 0.0
			each := len(target) / 2
			for k, class := range target[m*each : (m+1)*each] {
				sum += math.Log(math.Exp(bias[0])+math.Exp(bias[1])+math.Exp(bias[2])) - bias[class]
				if counted[m*each+k] >= 0 {
					n++
				}
				if counted[m*each+k] == 1 {
					right++
				}
			}
			if l, r := loss.each.Float64s()[m], loss.correct.Float64s()[m]; math.Abs(l-sum/float64(each)) > 1e-12 ||
				math.Abs(r-right/n) > 1e-12 || n == float64(each) {
				t.Errorf("member %d: loss %g, right %g of %g; want %g and %g", m, l, r, n, sum/float64(each), right/n)
			}
		}
	})
}

// A small model learns short strings, and records say how it does on longer ones: nothing where its
// table ends, and a mean where --places makes it long enough for all of them.
func TestSequencesAreLearned(t *testing.T) {
	c := tinySequence(t, "reverse-string", "learn")
	c.Layers, c.DModel, c.Batch, c.Steps, c.Sequence.TrainLength = 2, 32, 32, 300, 3
	c.Until, c.LogEvery, c.Members = "iid=0.95", 50, c.Members[:1]
	for _, places := range []int{0, 6, 9} {
		c.Sequence.Places = places
		var l listener
		result := expect.Must(Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{Observer: &l}))
		m := result.Members[0]
		if !m.Fit.Reached || m.Measures["iid"] < 0.95 {
			t.Errorf("places %d: %+v", places, m)
		}
		_, measured := m.Measures.Of("length")["9"]
		_, some := m.Measures.Of("length")["6"]
		notices := strings.Join(l.notices, "\n")
		noted := strings.Contains(notices, "no longer input is measured") ||
			strings.Contains(notices, "inputs above 6 are not measured")
		if longer := places == 9; math.IsNaN(m.Measures.Get("validation")) == longer || measured != longer ||
			noted == longer || some != (places > 0) {
			t.Errorf("places %d: longer %g, %v, notices %q", places, m.Measures["validation"], m.Measures.Of("length"),
				l.notices)
		}
	}
}

// constantModel gives both members logits that are constants.
func constantModel(t *testing.T, e *ensemble, bias []float64) {
	t.Helper()
	for name, values := range map[string][]float64{
		"head.weight": make([]float64, 2*len(bias)*e.config.DModel), "head.bias": slices.Repeat(bias, 2),
	} {
		expect.NoError(t, e.model.Params.Set(name, values))
	}
}

// tinyText is a small run on a text of three characters.
func tinyText(t testing.TB, scheme string) Config {
	t.Helper()
	c := expect.Must(Preset("text", "code"))
	path := filepath.Join(t.TempDir(), "text")
	expect.NoError(t, os.WriteFile(path, []byte(strings.Repeat("abcacb", 60)), 0o600))
	c.PE, c.Layers, c.DModel, c.Heads, c.Batch, c.Steps, c.LogEvery = scheme, 1, 16, 2, 8, 12, 5
	c.Threads, c.Device = 1, "cpu"
	c.Sequence.Text, c.Sequence.Tests, c.Sequence.TrainLength, c.Sequence.TestLength = []string{path}, 5, 6, 30
	c.Members = twoMembers()
	return c
}

func decoder(t testing.TB, name, scheme string) Config {
	c := tinySequence(t, name, scheme)
	c.Sequence.Form = "decoder"
	return c
}

// In a decoder the logits of a token are a function of those before it: another character changes
// only what follows.
func TestCausalModelsDoNotLookAhead(t *testing.T) {
	all := []Config{decoder(t, "reverse-string", "t5")}
	for _, scheme := range pe.Schemes() {
		c := tinyText(t, scheme.Name)
		if !scheme.Learned {
			c.Members[0].Sigma, c.Members[1].Sigma = nil, nil
		}
		switch options := expect.Must(scheme.Resolve(c.Fidelity, nil)); {
		case scheme.LooksAhead(options):
			expect.Error(t, c.Resolve(), "depends on later ones")
		case scheme.Needs <= pe.NeedsOrder || scheme.Needs == pe.NeedsGraph ||
			scheme.Needs == pe.NeedsPoints && scheme.Name != "rope-3d":
			all = append(all, c)
		}
	}
	ahead := tinyText(t, "rope*1,cope(direction=bidirectional)")
	ahead.Layers = 2
	expect.Error(t, ahead.Resolve(), "depends on later ones")
	for _, c := range all {
		c.DType = "float64"
		e, end := build(t, c)
		task := e.task.(*sequenceTask)
		set := task.tests[c.Sequence.TrainLength].part(0, 1)
		logits := func(set sequences) (out []float64) {
			expect.NoError(t, torchpe.Catch(func() {
				s := e.resident.ChildNoGrad()
				defer s.Close()
				s.Seed(e.seeds, 0)
				out = task.model(e, set.tokens).Forward(s, task.testInput(e, s, set), nil).Float64s()
			}))
			return out[:len(out)/2] // of the first member
		}
		before := logits(set)
		changed := set
		changed.symbols = slices.Clone(set.symbols)
		last := len(changed.symbols) - 2
		changed.symbols[last] = (changed.symbols[last] + 1) % 3
		after := logits(changed)
		classes := len(before) / set.outputs
		same := (set.outputs - 2) * classes
		if !near(before[:same], after[:same]) || near(before[same:], after[same:]) {
			t.Errorf("%s: %v and %v after the last character but one has changed", c.PE, before, after)
		}
		end()
	}
}

// More --places change nothing of an encoding without a table of places: not what depends on the number of tokens
// in training, and not what it gives longer inputs.
func TestPlacesOfComputedTables(t *testing.T) {
	for _, scheme := range []string{"tape", "rope-yarn", "logn"} {
		var all [2][]float64
		for i, places := range []int{0, 30} {
			c := tinySequence(t, "reverse-string", scheme)
			c.DType, c.Sequence.Places = "float64", places
			c.Members[0].Sigma, c.Members[1].Sigma = nil, nil
			if scheme == "logn" {
				c.PEOptions = map[string]string{"logn": "qwen"}
			}
			e := started(t, c)
			task := e.task.(*sequenceTask)
			for _, length := range []int{c.Sequence.TrainLength, 9} {
				set := task.tests[length].part(0, 1)
				expect.NoError(t, torchpe.Catch(func() {
					s := e.resident.ChildNoGrad()
					defer s.Close()
					s.Seed(e.seeds, 0)
					y := task.model(e, set.tokens).Forward(s, task.testInput(e, s, set), nil)
					all[i] = append(all[i], y.Float64s()...)
				}))
			}
		}
		if !near(all[0], all[1]) {
			t.Errorf("%s: other outputs with --places", scheme)
		}
	}
}

// Places of digits are not coordinates: only abacus uses them.
func TestDigitsAreNoCoordinates(t *testing.T) {
	source := expect.Must(newLanguageSource(tinySequence(t, "addition", "abacus")))
	at := source.positions(3)
	if len(at.Runs) != at.Tokens() || at.Points != nil {
		t.Errorf("%+v", at)
	}
	same := at.Permuted([]int{1, 0})
	expect.Equal(t, "runs of tokens in another order", same.Runs, []int{at.Runs[1], at.Runs[0]})
}

// The windows of texts are doublings: of another length a note says which is the longest.
func TestNoDoubling(t *testing.T) {
	c := tinyText(t, "rope")
	expect.NoError(t, c.Resolve())
	notes := strings.Join(expect.Must(newTextSource(c)).notes(), " ")
	expect.Contains(t, notes, "24 characters: --test-length 30 is no doubling")
}

// A model whose logits are constants has the perplexity of guessing by them, at all lengths and
// positions.
func TestPerplexityOfAConstantModel(t *testing.T) {
	c := tinyText(t, "nope")
	c.DType, c.Sequence.Tests = "float64", 2*evaluationTokens/24-7 // measured in two pieces, one shorter
	expect.NoError(t, os.WriteFile(c.Sequence.Text[0], []byte(strings.Repeat("abcacb", 20000)), 0o600))
	e := started(t, c)
	bias := []float64{0.5, -1, 2}
	constantModel(t, e, bias)
	task := e.task.(*sequenceTask)
	expect.Equal(t, "lengths", task.longer, []int{12, 24})
	fill := expect.Must(task.measure(e, peTables{}))
	got := runlog.Numbers{}
	fill(1, got, trainSums{correct: []float64{0, 0}, examples: 1})
	total := math.Log(math.Exp(bias[0]) + math.Exp(bias[1]) + math.Exp(bias[2]))
	for length, set := range task.tests {
		sum, twos := 0.0, 0.0
		for _, class := range set.target {
			if sum += total - bias[class]; class == 2 {
				twos++
			}
		}
		n := float64(len(set.target))
		value, right := got.Get(fmt.Sprint("perplexity/", length)), got.Get(fmt.Sprint("length/", length))
		if !near([]float64{value, right}, []float64{math.Exp(sum / n), twos / n}) {
			t.Errorf("length %d: perplexity %g and accuracy %g, want %g and %g", length, value, right,
				math.Exp(sum/n), twos/n)
		}
	}
	set := task.tests[24]
	expect.Equal(t, "texts held out", set.n, c.Sequence.Tests)
	for k := range 24 {
		want := 0.0
		for i := range set.n {
			want += (total - bias[set.target[i*24+k]]) / float64(set.n)
		}
		if value := got.Get(fmt.Sprint("position_loss/", k+1)); !near([]float64{value}, []float64{want}) {
			t.Errorf("loss %g at position %d, want %g", value, k+1, want)
		}
	}
	_, about, err := task.probes(e, 0)
	expect.NoError(t, err)
	expect.Equal(t, "attention maps are a", about["attention"], "mean over 64 held-out inputs of length 6")
}

// A window of the longest length and the character after it fit in what is held out, or it is refused.
func TestTextHoldsTheLongestWindow(t *testing.T) {
	c := tinyText(t, "nope") // lengths 6, 12 and 24
	for characters, want := range map[int]string{250: "", 240: "at most 24 characters of a file are held out"} {
		text := strings.Repeat("abcacb", 50)[:characters]
		expect.NoError(t, os.WriteFile(c.Sequence.Text[0], []byte(text), 0o600))
		_, err := newTextSource(c)
		if want == "" {
			expect.NoError(t, err)
			continue
		}
		expect.Error(t, err, want, "windows need 25")
	}
}

// Losses of more positions than bins are means over runs.
func TestLossByPosition(t *testing.T) {
	losses := make([]float64, 65)
	for i := range losses {
		losses[i] = float64(i)
	}
	by := lossByPosition(losses)
	if len(by) != positionBins || by[2] != 0.5 || by[65] != 63 {
		t.Errorf("%v", by)
	}
}

// Lengths that a language lacks are measured at a shorter one, so length 4 of modular arithmetic is that of training.
func TestLongerInputsAreLonger(t *testing.T) {
	c := tinySequence(t, "modular-arithmetic", "alibi")
	c.Sequence.TrainLength, c.Sequence.TestLength, c.Sequence.TestLengths = 3, 8, 5
	expect.Equal(t, "lengths", started(t, c).task.(*sequenceTask).longer, []int{5, 7})
}

// Encodings that can and that cannot be measured at longer windows have the same data.
func TestFingerprintOfDataAlone(t *testing.T) {
	var prints []string
	for _, pe := range []string{"alibi", "learn"} {
		c := tinyText(t, pe)
		c.Sequence.TestLength = 4 * c.Sequence.TrainLength
		if pe == "learn" {
			c.Sequence.Places = 0
		}
		prints = append(prints, started(t, c).task.fingerprint())
	}
	expect.Equal(t, "of learn", prints[1], prints[0])
}
