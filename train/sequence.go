package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"torchpe/data/array/safetensors"
	"torchpe/data/sequence"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// sequenceTask answers the inputs of a formal-language task: tokens of the input, then as many empty
// ones as the output has, from which the output is read (Ruoss et al. 2023, "encoder-only"). All
// inputs of a step have one length, drawn from those of training.
type sequenceTask struct {
	config config.SequenceConfig
	task   sequence.Task
	batch  int
	steps  int
	seed   uint64 // of the lengths of steps and of the held-out sequences
	line   pe.Positions

	trained, longer []int // measured lengths of inputs
	left            error // why longer ones are not measured; nil where they are
	sizes           []int // numbers of tokens, ascending, but that of line
	tests           map[int]sequences
}

// sequences holds examples of one length as the model takes them.
type sequences struct {
	n, tokens, outputs int
	symbols            []int64 // [n,tokens]
	target             []int64 // [n,outputs]
	counted            []int64 // [n,outputs], target where it counts and -1 elsewhere
	scored             int     // of the targets
	first              int     // the number of the first one
}

func newSequenceTask(c Config) (*sequenceTask, error) {
	task, err := sequence.Find(c.Sequence.Name)
	if err != nil {
		return nil, err
	}
	t := &sequenceTask{config: *c.Sequence, task: task, batch: c.Batch, steps: c.Steps, seed: c.DataSeed}
	scheme, err := pe.Find(c.PE)
	if err != nil {
		return nil, err
	}
	places := t.tokens(max(t.config.TrainLength, t.config.Places))
	t.line = pe.Line(places)
	if err := scheme.Fits(t.line); err != nil {
		return nil, err
	}
	t.trained, t.longer = t.config.Lengths()
	for i, length := range t.longer {
		if t.left = scheme.CheckTokens(places, t.tokens(length), c.PEOptions); t.left != nil {
			t.longer = t.longer[:i]
			break
		}
	}
	counts := map[int]bool{}
	for length := 1; length <= t.config.TrainLength; length++ {
		counts[t.tokens(length)] = true
	}
	for _, length := range t.longer {
		counts[t.tokens(length)] = true
	}
	delete(counts, places)
	t.sizes = slices.Sorted(maps.Keys(counts))
	t.tests = map[int]sequences{}
	for _, length := range slices.Concat(t.trained, t.longer) {
		stream := torchpe.Stream(t.seed, fmt.Sprintf("test sequences %d", length))
		s := t.newSequences(t.config.Tests, length)
		for i := range s.n {
			t.put(&s, i, task.Draw(stream, length))
		}
		t.tests[length] = s
	}
	return t, nil
}

// tokens returns the number of tokens of an input of a length with its output.
func (t *sequenceTask) tokens(length int) int {
	return t.task.InputLen(length) + t.task.OutputLen(length)
}

// empty is the symbol of the tokens that outputs are read from.
func (t *sequenceTask) empty() int64 { return int64(len(t.task.Symbols)) }

func (t *sequenceTask) newSequences(n, length int) sequences {
	s := sequences{n: n, tokens: t.tokens(length), outputs: t.task.OutputLen(length)}
	s.symbols = slices.Repeat([]int64{t.empty()}, n*s.tokens)
	s.target, s.counted = make([]int64, n*s.outputs), make([]int64, n*s.outputs)
	return s
}

// put stores an example in a place.
func (t *sequenceTask) put(s *sequences, place int, e sequence.Example) {
	for k, symbol := range e.Input {
		s.symbols[place*s.tokens+k] = int64(symbol)
	}
	for k, class := range e.Output {
		s.target[place*s.outputs+k], s.counted[place*s.outputs+k] = int64(class), int64(class)
		if k >= e.Scored {
			s.counted[place*s.outputs+k] = -1
		}
	}
	s.scored += e.Scored
}

// fingerprint identifies the rules and the held-out sequences.
func (t *sequenceTask) fingerprint() string {
	h := sha256.New()
	for _, length := range slices.Sorted(maps.Keys(t.tests)) {
		fmt.Fprintln(h, t.task.Name, length, t.tests[length].symbols, t.tests[length].target)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (t *sequenceTask) notes() []string {
	if t.left == nil {
		return nil
	}
	measured := "no longer input is measured"
	if n := len(t.longer); n > 0 {
		measured = fmt.Sprintf("inputs above %d are not measured", t.longer[n-1])
	}
	return []string{fmt.Sprintf("%s: %v. --places %d gives learned tables places for all lengths, which "+
		"training on short inputs does not reach", measured, t.left, t.config.TestLength)}
}

func (t *sequenceTask) configureModel(c *models.Config) {
	c.Positions, c.Symbols, c.Classes = t.line, len(t.task.Symbols)+1, len(t.task.Classes)
	c.TokenInput, c.EmbeddingInit, c.ReadOut = models.Embedding, models.LikeLinear, models.ReadTokens
}

func (t *sequenceTask) otherSizes() (all []size) {
	for _, tokens := range t.sizes {
		all = append(all, size{pe.Line(tokens), fmt.Sprintf("%d tokens", tokens)})
	}
	return all
}

// moveToDevice does nothing: sequences are drawn for each step.
func (t *sequenceTask) moveToDevice(*ensemble) {}

// stepsPerEpoch returns the steps of training: no sequence comes twice but by chance.
func (t *sequenceTask) stepsPerEpoch() int { return t.steps }

// length returns the length of the inputs of a step, each of training as likely as another.
func (t *sequenceTask) length(step int) int {
	return 1 + torchpe.Stream(t.seed, fmt.Sprintf("length %d", step)).IntN(t.config.TrainLength)
}

func (t *sequenceTask) inputs(e *ensemble, step int) stepInputs {
	length, members := t.length(step), e.members()
	each := make([]sequences, members)
	shares := make([]float64, members)
	eachMember(members, func(m int) {
		stream := torchpe.Stream(e.seeds[m], fmt.Sprintf("sequences %d", step))
		each[m] = t.newSequences(t.batch, length)
		for i := range t.batch {
			t.put(&each[m], i, t.task.Draw(stream, length))
		}
		shares[m] = 1 / float64(each[m].scored)
	})
	var all sequences
	for _, s := range each {
		all.symbols, all.target = append(all.symbols, s.symbols...), append(all.target, s.target...)
		all.counted = append(all.counted, s.counted...)
	}
	n, outputs := t.tokens(length), t.task.OutputLen(length)
	arrays := []hostArray{
		{name: "symbols", shape: []int{members, t.batch, n}, ints: all.symbols},
		{name: "target", shape: []int{members, t.batch * outputs}, ints: all.target},
		{name: "counted", shape: []int{members, t.batch * outputs}, ints: all.counted},
		{name: "shares", shape: []int{members}, floats: shares},
	}
	// A step counts as one example, so that records have the mean over steps, of any length.
	return stepInputs{examples: 1, arrays: append(arrays, e.drawnPositions(t.batch, n, step)...)}
}

// model returns the model for inputs of so many tokens, output and all.
func (t *sequenceTask) model(e *ensemble, tokens int) *models.Model {
	if i, ok := slices.BinarySearch(t.sizes, tokens); ok {
		return e.sized[i]
	}
	return e.model
}

func (t *sequenceTask) loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss {
	symbols, target := in["symbols"].In(s), in["target"].In(s)
	members, batch, tokens := symbols.Size(0), symbols.Size(1), symbols.Size(2)
	m := t.model(e, tokens)
	outputs := target.Size(1) / batch
	input := models.Input{Symbols: symbols, Read: lastTokens(symbols, outputs), Training: true}
	input.Positions = e.positions(s, m, in)
	logits := m.Forward(s, input, nil).Reshape(members, batch*outputs, -1)
	return stepLoss{
		each:    torchpe.CrossEntropy(logits, target),
		correct: torchpe.CountCorrect(logits, in["counted"].In(s)).Mul(in["shares"].In(s)),
	}
}

// lastTokens returns the indices of the last n tokens of symbols [E,B,N], [E,B,n].
func lastTokens(symbols torchpe.Tensor, n int) torchpe.Tensor {
	last := make([]int64, n)
	for i := range last {
		last[i] = int64(symbols.Size(2) - n + i)
	}
	index := torchpe.Of(symbols.Scope(), torchpe.CPU, last, 1, 1, n).To(torchpe.Int64, symbols.Device())
	return index.Expand(symbols.Size(0), symbols.Size(1), n)
}

func (t *sequenceTask) measure(e *ensemble, step int, _ peTables) (
	func(int, *runlog.Record, trainSums), error) {
	by := map[int][]float64{} // [E] by length
	for length, set := range t.tests {
		var err error
		if by[length], err = t.accuracy(e, set, step); err != nil {
			return nil, err
		}
	}
	return func(m int, r *runlog.Record, sums trainSums) {
		r.TrainAccuracy = sums.correct[m] / sums.examples
		r.AccuracyByLength = map[string]float64{}
		for length, accuracy := range by {
			r.AccuracyByLength[strconv.Itoa(length)] = accuracy[m]
		}
		mean := func(lengths []int) float64 {
			sum := 0.0
			for _, length := range lengths {
				sum += by[length][m]
			}
			return sum / float64(len(lengths)) // NaN for none
		}
		r.IIDAccuracy, r.ValidationAccuracy = mean(t.trained), mean(t.longer)
	}, nil
}

// accuracy returns each member's share of right outputs, of those that count, on held-out sequences.
func (t *sequenceTask) accuracy(e *ensemble, set sequences, step int) ([]float64, error) {
	right := make([]float64, e.members())
	piece := max(1, evaluationTokens/set.tokens)
	err := torchpe.Catch(func() {
		for from := 0; from < set.n; from += piece {
			n := min(piece, set.n-from)
			s := e.resident.ChildNoGrad()
			func() {
				defer s.Close()
				s.Seed(e.seeds, step)
				logits := t.model(e, set.tokens).Forward(s, t.testInput(e, s, set.part(from, n), step), nil)
				counted := slices.Repeat(set.part(from, n).counted, e.members())
				shape := []int{e.members(), n * set.outputs}
				each := torchpe.CountCorrect(logits.Reshape(shape[0], shape[1], -1),
					torchpe.Of(s, e.device, counted, shape...))
				for m, v := range each.Float64s() {
					right[m] += v
				}
			}()
		}
	})
	for m := range right {
		right[m] /= float64(set.scored)
	}
	return right, err
}

// part returns n sequences from one on.
func (s sequences) part(from, n int) sequences {
	s.symbols = s.symbols[from*s.tokens : (from+n)*s.tokens]
	s.counted = s.counted[from*s.outputs : (from+n)*s.outputs]
	s.target = s.target[from*s.outputs : (from+n)*s.outputs]
	s.n, s.first = n, s.first+from
	return s
}

// testInput returns held-out sequences, the same for all members.
func (t *sequenceTask) testInput(e *ensemble, s *torchpe.Scope, set sequences, step int) models.Input {
	symbols := slices.Repeat(set.symbols, e.members())
	in := models.Input{Symbols: torchpe.Of(s, e.device, symbols, e.members(), set.n, set.tokens)}
	in.Read, in.Positions = lastTokens(in.Symbols, set.outputs), t.model(e, set.tokens).Config.Positions
	e.addDrawnPositions(s, &in, set.n, fmt.Sprintf("positions %d %d %d", set.tokens, step, set.first))
	return in
}

// probes returns, of held-out inputs of the longest length of training, the PE tables pe/<layer>
// [E,N,D] and the mean attention maps attention/<layer> [E,H,N,N].
func (t *sequenceTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	set := t.tests[t.config.TrainLength]
	set = set.part(0, min(set.n, probeFrames, max(1, evaluationTokens/set.tokens)))
	var out tensorList
	err := torchpe.Catch(func() {
		s := e.resident.ChildNoGrad()
		defer s.Close()
		s.Seed(e.seeds, step)
		trace := models.NewTrace("pe/*", "attention/*")
		t.model(e, set.tokens).Forward(s, t.testInput(e, s, set, step), trace)
		for _, name := range trace.Names() {
			x, _ := trace.Get(name)
			if len(x.Shape()) > 3 {
				x = x.Mean(1)
			}
			addTensor(&out, name, x.Shape(), torchpe.Values[float32](x))
		}
	})
	if err == nil {
		err = out.err
	}
	return out.all, map[string]string{
		"step":      strconv.Itoa(step),
		"attention": fmt.Sprintf("mean over %d held-out inputs of length %d", set.n, t.config.TrainLength),
		"task":      t.task.Name, "symbols": t.task.Symbols, "classes": t.task.Classes,
	}, err
}

func (t *sequenceTask) memberResult(last *runlog.Record, r *runlog.MemberResult) {
	r.TrainAccuracy, r.IIDAccuracy, r.ValidationAccuracy = math.NaN(), math.NaN(), math.NaN()
	if last != nil {
		r.TrainAccuracy, r.IIDAccuracy = last.TrainAccuracy, last.IIDAccuracy
		r.ValidationAccuracy, r.AccuracyByLength = last.ValidationAccuracy, last.AccuracyByLength
	}
}

func (t *sequenceTask) completeResult(*runlog.Result) {}
