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
	"torchpe/internal/stats"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// sequenceTask predicts sequences of any length: outputs of formal languages, or the next
// characters of a text. All inputs of a step have one length.
type sequenceTask struct {
	taskDefaults
	source exampleSource
	config config.SequenceConfig
	batch  int
	steps  int
	seed   uint64 // of the lengths of steps and of the held-out sequences
	line   pe.Positions

	trained, longer []int  // measured lengths of inputs
	unmeasured      error  // why longer ones are not measured; nil if they are
	sizes           []size // without that of line, by number of tokens
	tests           map[int]sequences
}

// sequences holds examples of one length in the form of the model's input.
type sequences struct {
	n, tokens, outputs int
	symbols            []int64 // [n,tokens]
	target             []int64 // [n,outputs]
	counted            []int64 // [n,outputs], target if it counts, else -1
	scored             int     // of the targets
	first              int     // number of the first one
}

func init() {
	for name, open := range map[string]func(c Config) (exampleSource, error){
		"sequence": newLanguageSource, "text": newTextSource,
	} {
		taskMakers[name] = taskMaker{
			read: func(c Config) (task, error) {
				source, err := open(c)
				if err != nil {
					return nil, err
				}
				return newSequenceTask(c, source)
			},
		}
	}
}

func newSequenceTask(c Config, source exampleSource) (*sequenceTask, error) {
	t := &sequenceTask{source: source, config: *c.Sequence, batch: c.Batch, steps: c.Steps, seed: c.DataSeed}
	e, err := c.encoding()
	if err != nil {
		return nil, err
	}
	places := max(t.config.TrainLength, t.config.Places)
	t.line = source.positions(places)
	t.trained, _ = t.config.Lengths()
	t.longer, t.unmeasured = t.measurable(e)
	needed := slices.Clone(t.longer)
	for length := 1; length <= t.config.TrainLength && !source.oneLength(); length++ {
		needed = append(needed, length)
	}
	bySize := map[int]size{}
	for _, length := range append(needed, t.config.TrainLength) {
		at := source.positions(length)
		bySize[at.Tokens()] = size{at, fmt.Sprintf("%d tokens", at.Tokens())}
	}
	delete(bySize, t.line.Tokens())
	for _, tokens := range slices.Sorted(maps.Keys(bySize)) {
		t.sizes = append(t.sizes, bySize[tokens])
	}
	t.tests = map[int]sequences{}
	for _, length := range slices.Concat(t.trained, t.longer) {
		t.tests[length] = t.heldOut(length)
	}
	return t, nil
}

// measurable returns the lengths above those of training at which an encoding can be measured, and
// the reason why it cannot at the others.
func (t *sequenceTask) measurable(e encoding) (lengths []int, left error) {
	_, longer := t.config.Lengths()
	before := t.source.tokens(t.config.TrainLength)
	for _, length := range longer {
		tokens := t.source.tokens(length)
		if left = e.CheckTokens(t.line.Tokens(), tokens, e.options); left != nil {
			return lengths, left
		}
		// Some languages have no inputs of some lengths: they have a shorter one.
		if tokens > before {
			lengths, before = append(lengths, length), tokens
		}
	}
	return lengths, nil
}

// checkMeasured returns an error if some longer inputs cannot be measured, or if there are none.
func (t *sequenceTask) checkMeasured(c Config) error {
	e, err := c.encoding()
	if err != nil {
		return err
	}
	lengths, left := t.measurable(e)
	if left != nil {
		return fmt.Errorf("%w. %s", left, t.placesHint())
	}
	if len(lengths) == 0 {
		return fmt.Errorf("no input longer than --train-length %d is measured: give a larger --test-length",
			t.config.TrainLength)
	}
	return nil
}

func (t *sequenceTask) placesHint() string {
	return fmt.Sprintf("--places %d gives learned tables rows for all lengths, which training on short "+
		"inputs does not reach", t.config.TestLength)
}

func (t *sequenceTask) heldOut(length int) sequences {
	n := t.source.heldOut(t.config.Tests, length)
	s := t.newSequences(n, length)
	stream := torchpe.Stream(t.seed, fmt.Sprintf("test sequences %d", length))
	for i := range n {
		t.put(&s, i, t.source.held(stream, i, n, length))
	}
	return s
}

func (t *sequenceTask) newSequences(n, length int) sequences {
	s := sequences{n: n, tokens: t.source.tokens(length), outputs: t.source.outputs(length)}
	s.symbols = make([]int64, n*s.tokens)
	s.target, s.counted = make([]int64, n*s.outputs), make([]int64, n*s.outputs)
	return s
}

func (t *sequenceTask) put(s *sequences, place int, e tokenExample) {
	copy(s.symbols[place*s.tokens:], e.tokens)
	copy(s.target[place*s.outputs:], e.target)
	counted := s.counted[place*s.outputs : (place+1)*s.outputs]
	copy(counted, e.target)
	for k := e.scored; k < len(counted); k++ {
		counted[k] = -1
	}
	s.scored += e.scored
}

// fingerprint identifies the rules, or the text, and the held-out sequences of all lengths, also of those at which
// the encoding cannot be measured.
func (t *sequenceTask) fingerprint() string {
	h := sha256.New()
	trained, longer := t.config.Lengths()
	for _, length := range slices.Concat(trained, longer) {
		s, isMeasured := t.tests[length]
		if !isMeasured {
			s = t.heldOut(length)
		}
		fmt.Fprintln(h, t.source.name(), length, s.symbols, s.target)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (t *sequenceTask) notes() []string {
	if t.unmeasured == nil {
		return t.source.notes()
	}
	measured := "no longer input is measured"
	if n := len(t.longer); n > 0 {
		measured = fmt.Sprintf("inputs above %d are not measured, so longer ones have no mean", t.longer[n-1])
	}
	return append(t.source.notes(), fmt.Sprintf("%s: %v. %s", measured, t.unmeasured, t.placesHint()))
}

func (t *sequenceTask) configureModel(c *models.Config) {
	c.Positions, c.TokenInput, c.EmbeddingInit, c.ReadOut = t.line, arch.Embedding, arch.LikeLinear,
		arch.ReadTokens
	c.Symbols, c.Classes, c.Causal = t.source.alphabet()
	if trained := t.source.tokens(t.config.TrainLength); trained != t.line.Tokens() { // with --places
		c.Trained = trained
	}
}

func (t *sequenceTask) otherSizes() []size { return t.sizes }

// characters is the metadata key, in probes, of the characters of a text: the k-th is symbol and class k.
const characters = "characters"

func (t *sequenceTask) describeRows(about map[string]string) error {
	about[characters] = t.source.characters()
	return nil
}

// stepsPerEpoch returns the number of training steps: sequences are repeated only by chance.
func (t *sequenceTask) stepsPerEpoch() int { return t.steps }

func (t *sequenceTask) inputs(e *ensemble, step int) stepInputs {
	length, members := t.source.length(t.seed, step), e.members()
	each := make([]sequences, members)
	shares := make([]float64, members)
	eachMember(members, func(m int) {
		stream := torchpe.Stream(e.seeds[m], fmt.Sprintf("sequences %d", step))
		each[m] = t.newSequences(t.batch, length)
		for i := range t.batch {
			t.put(&each[m], i, t.source.draw(stream, length))
		}
		shares[m] = 1 / float64(each[m].scored)
	})
	var all sequences
	for _, s := range each {
		all.symbols, all.target = append(all.symbols, s.symbols...), append(all.target, s.target...)
		all.counted = append(all.counted, s.counted...)
	}
	n, outputs := t.source.tokens(length), t.source.outputs(length)
	arrays := []hostArray{
		{name: "symbols", shape: []int{members, t.batch, n}, ints: all.symbols},
		{name: "target", shape: []int{members, t.batch * outputs}, ints: all.target},
		{name: "counted", shape: []int{members, t.batch * outputs}, ints: all.counted},
		{name: "shares", shape: []int{members}, floats: shares},
	}
	// A step counts as one example, so that records have the mean over steps, regardless of length.
	return stepInputs{examples: 1, arrays: append(arrays, e.drawnPositions(t.batch, n, step)...)}
}

// model returns the model for sequences of this many tokens, the output included.
func (t *sequenceTask) model(e *ensemble, tokens int) *models.Model {
	i, ok := slices.BinarySearchFunc(t.sizes, tokens, func(s size, n int) int { return s.at.Tokens() - n })
	if ok {
		return e.sized[i]
	}
	return e.model
}

// trainedModel returns the model for inputs of the longest training length.
func (t *sequenceTask) trainedModel(e *ensemble) *models.Model {
	return t.model(e, t.source.tokens(t.config.TrainLength))
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

func (t *sequenceTask) measure(e *ensemble, _ peTables) (measuresFiller, error) {
	by, losses := map[int][]float64{}, map[int][][]float64{} // [E] by length, and [E][outputs]
	for length, set := range t.tests {
		var err error
		if by[length], losses[length], err = t.test(e, set); err != nil {
			return nil, err
		}
	}
	means := map[string][]int{"iid": t.trained}
	if t.unmeasured == nil { // the shortest are the easiest: a mean over only these would be too good
		means["validation"] = t.longer
	}
	return func(m int, to runlog.Numbers, sums trainSums) {
		to["train"] = sums.correct[m] / sums.examples
		for length, accuracy := range by {
			to[fmt.Sprint("length/", length)] = accuracy[m]
		}
		for key, lengths := range means {
			sum := 0.0
			for _, length := range lengths {
				sum += by[length][m]
			}
			if len(lengths) > 0 {
				to[key] = sum / float64(len(lengths))
			}
		}
		if t.source.oneLength() {
			for length, loss := range losses {
				to[fmt.Sprint("perplexity/", length)] = math.Exp(stats.Mean(loss[m]))
			}
			longest := slices.Max(slices.Collect(maps.Keys(losses)))
			runlog.SetFamily(to, "position_loss", lossByPosition(losses[longest][m]))
		}
	}, nil
}

// positionBins is the largest number of ranges of positions in a record, each with its mean loss.
const positionBins = 32

// lossByPosition returns mean losses over ranges of positions of equal length, each by its last
// position, counted from 1.
func lossByPosition(losses []float64) map[int]float64 {
	by, from := map[int]float64{}, 0
	bins := min(positionBins, len(losses))
	for bin := range bins {
		to := (bin + 1) * len(losses) / bins
		by[to] = stats.Mean(losses[from:to])
		from = to
	}
	return by
}

// test returns each member's share of correct outputs, among those that count, on held-out
// sequences, and for texts its mean loss at each token of a sequence.
func (t *sequenceTask) test(e *ensemble, set sequences) (right []float64, losses [][]float64, err error) {
	right = make([]float64, e.members())
	for range right {
		losses = append(losses, make([]float64, set.outputs))
	}
	err = e.inPieces(set.n, max(1, evaluationTokens/set.tokens), func(s *torchpe.Scope, from, n int) {
		e.seedEvaluation(s)
		part := set.part(from, n)
		logits := t.model(e, set.tokens).Forward(s, t.testInput(e, s, part), nil)
		logits = logits.Reshape(e.members(), n*set.outputs, -1)
		counted := torchpe.Of(s, e.device, slices.Repeat(part.counted, e.members()), e.members(), n*set.outputs)
		for m, v := range torchpe.CountCorrect(logits, counted).Float64s() {
			right[m] += v
		}
		if !t.source.oneLength() {
			return
		}
		each := logits.LogSoftmax(-1).Gather(-1, counted.Unsqueeze(-1))
		for i, v := range each.Float64s() {
			losses[i/(n*set.outputs)][i%set.outputs] -= v / float64(set.n)
		}
	})
	for m := range right {
		right[m] /= float64(set.scored)
	}
	return right, losses, err
}

func (s sequences) part(from, n int) sequences {
	s.symbols = s.symbols[from*s.tokens : (from+n)*s.tokens]
	s.counted = s.counted[from*s.outputs : (from+n)*s.outputs]
	s.target = s.target[from*s.outputs : (from+n)*s.outputs]
	s.n, s.first = n, s.first+from
	return s
}

// testInput returns held-out sequences, the same for all members.
func (t *sequenceTask) testInput(e *ensemble, s *torchpe.Scope, set sequences) models.Input {
	symbols := slices.Repeat(set.symbols, e.members())
	in := models.Input{Symbols: torchpe.Of(s, e.device, symbols, e.members(), set.n, set.tokens)}
	in.Read, in.Positions = lastTokens(in.Symbols, set.outputs), t.model(e, set.tokens).Config.Positions
	e.addDrawnPositions(s, &in, set.n, fmt.Sprintf("positions %d %d", set.tokens, set.first))
	return in
}

// probes returns, for held-out inputs of the longest training length, the PE tables pe/<layer>
// [E,N,D] and the mean attention maps attention/<layer> [E,H,N,N].
func (t *sequenceTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	set := t.tests[t.config.TrainLength]
	set = set.part(0, min(set.n, probeFrames, max(1, evaluationTokens/set.tokens)))
	var out tensorList
	err := e.inPieces(set.n, set.n, func(s *torchpe.Scope, _, _ int) {
		e.seedEvaluation(s)
		trace := models.NewTrace("pe/*", "attention/*")
		t.model(e, set.tokens).Forward(s, t.testInput(e, s, set), trace)
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
		"task":      t.source.name(),
		characters:  t.source.characters(),
	}, err
}
