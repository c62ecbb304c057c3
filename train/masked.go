package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"torchpe/data/masked"
	"torchpe/data/positions"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// maskedTask predicts the values of masked tokens from the visible ones. Its loss is the mean
// squared error over masked tokens.
type maskedTask struct {
	taskDefaults
	config    config.MaskedConfig
	batch     int
	table     masked.Table
	data      *runlog.DataSummary
	split     masked.Split // Test has only the measured frames
	digest    string
	train     masked.Masking
	tests     []testSet      // by mask level
	values    torchpe.Tensor // [frames,N], the table on the device
	order     []*masked.Sampler
	positions pe.Positions
	start     [][]float64 // coordinates of Init

	subjects       []string // by group of the table; nil if it has none
	positionsGiven bool     // positions are from a file, not the default line
}

func init() {
	for _, name := range []string{"nmar", "fmri", "masked"} {
		taskMakers[name] = taskMaker{
			read: func(c Config) (task, error) { return newMaskedTask(c) },
		}
	}
}

// testSet is the held-out frames with the fixed masks of one level.
type testSet struct {
	level     float64
	masks     []bool // [n,N]
	baselines masked.Errors
}

// key returns the name of a mask level in files.
func (t testSet) key() string { return runlog.Share(t.level) }

func (t *maskedTask) fingerprint() string { return t.digest }

func (t *maskedTask) configureModel(c *models.Config) {
	c.Positions, c.Classes, c.PEInit.Coordinates = t.positions, 1, t.start
	c.TokenInput, c.ReadOut = arch.Scalar, arch.ReadTokens
	c.MaskToken, c.MaskSD = t.config.Token, t.config.TokenSD
}

func (t *maskedTask) stepsPerEpoch() int { return (len(t.split.Train) + t.batch - 1) / t.batch }

// moveToDevice moves the table, which may have 690 MB, to the device. A CPU uses it in place,
// except as float64; otherwise the host's copy is freed.
func (t *maskedTask) moveToDevice(e *ensemble) {
	onHost := func(s *torchpe.Scope) torchpe.Tensor {
		return torchpe.Share(s, t.table.X, t.table.Frames, t.table.Tokens)
	}
	if e.device == torchpe.CPU && e.model.Config.DType == torchpe.Float32 {
		t.values = onHost(e.resident)
	} else {
		t.values = e.resident.Do(func(s *torchpe.Scope) torchpe.Tensor {
			return onHost(s).To(e.model.Config.DType, e.device)
		})
	}
	t.table.X = nil
	debug.FreeOSMemory()
	for _, seed := range e.seeds {
		s, err := masked.NewSampler(seed, t.batch, len(t.split.Train))
		if err != nil {
			panic(&torchpe.Error{Op: "sampler", Msg: err.Error()})
		}
		t.order = append(t.order, s)
	}
}

func (t *maskedTask) inputs(e *ensemble, step int) stepInputs {
	b, n := t.batch, t.table.Tokens
	masks := make([]bool, len(e.seeds)*b*n)
	frames := make([]int64, len(e.seeds)*b)
	eachMember(len(e.seeds), func(m int) {
		t.train.Draw(masked.Source{Seed: e.seeds[m], Stream: masked.StreamTrain, Step: step}, n,
			masks[m*b*n:(m+1)*b*n])
		for i, f := range t.order[m].Frames(step) {
			frames[m*b+i] = int64(t.split.Train[f])
		}
	})
	arrays := append(t.arrays(len(e.seeds), frames, masks), e.drawnPositions(t.batch, n, step)...)
	return stepInputs{examples: t.batch, arrays: arrays}
}

// arrays returns frames [E*B] of the table and masks [E*B,N] as inputs. If all samples have the
// same number M of masked tokens, "read" [E,B,M] lists these.
func (t *maskedTask) arrays(members int, frames []int64, masks []bool) []hostArray {
	n, samples := t.table.Tokens, len(frames)/members
	arrays := []hostArray{
		{name: "frames", shape: []int{len(frames)}, ints: frames},
		{name: "masks", shape: []int{members, samples, n}, flags: masks},
	}
	if index := maskedTokens(masks, members, n); index != nil {
		shape := []int{members, samples, len(index) / (members * samples)}
		arrays = append(arrays, hostArray{name: "read", shape: shape, ints: index})
	}
	return arrays
}

func (t *maskedTask) loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss {
	b := t.gather(e, s, in)
	b.Positions = e.positions(s, e.model, in)
	b.Training = true
	return stepLoss{each: b.meanSquare(e.model.Forward(s, b.Input, nil))}
}

// maskedBatch is the input of a forward pass and the true values of the predicted tokens.
type maskedBatch struct {
	models.Input
	target torchpe.Tensor // [E,B,M]
	weight torchpe.Tensor // [E,B,M], 1 for masked tokens; the zero Tensor if all are masked
}

// gather returns the batch of inputs from arrays. With "read", only masked tokens are predicted.
func (t *maskedTask) gather(e *ensemble, s *torchpe.Scope, in deviceInputs) maskedBatch {
	masks := in["masks"].In(s)
	values := t.values.In(s).IndexSelect(0, in["frames"].In(s)).Reshape(masks.Shape()...)
	hidden := masks.To(e.model.Config.DType, e.device)
	b := maskedBatch{target: values, weight: hidden}
	b.Values, b.Masked, b.Positions = values, hidden, e.model.Config.Positions
	if read, ok := in["read"]; ok {
		b.Read = read.In(s)
		b.target, b.weight = values.Gather(2, b.Read), torchpe.Tensor{}
	}
	return b
}

// maskedTokens returns the masked tokens [E,B,M] of each sample of masks [E,B,tokens], ascending,
// or nil if their number M differs between samples.
func maskedTokens(masks []bool, members, tokens int) []int64 {
	m := 0
	for _, hidden := range masks[:tokens] {
		if hidden {
			m++
		}
	}
	index := make([]int64, len(masks)/tokens*m)
	var differ atomic.Bool
	eachMember(members, func(e int) {
		rows := masks[e*len(masks)/members : (e+1)*len(masks)/members]
		each := len(index) / members
		into := index[e*each : (e+1)*each]
		row := make([]int64, tokens+1)
		for ; len(rows) > 0; rows, into = rows[tokens:], into[m:] {
			n := 0
			for i, hidden := range rows[:tokens] {
				row[n] = int64(i) // overwritten next unless masked: saves a branch
				next := 0
				if hidden {
					next = 1
				}
				n += next
			}
			if n != m {
				differ.Store(true)
				return
			}
			copy(into[:m], row)
		}
	})
	if differ.Load() || m == 0 {
		return nil
	}
	return index
}

// squares returns the sum of squared errors [E] over masked tokens and their number [E], which is
// the zero Tensor if every predicted token is masked.
func (b maskedBatch) squares(predicted torchpe.Tensor) (sum, count torchpe.Tensor) {
	each := predicted.Sub(b.target).Square()
	if !b.weight.Defined() {
		return each.Sum(1, 2), torchpe.Tensor{}
	}
	return each.Mul(b.weight).Sum(1, 2), b.weight.Sum(1, 2)
}

// meanSquare returns the mean squared error [E] over the masked tokens of all samples.
func (b maskedBatch) meanSquare(predicted torchpe.Tensor) torchpe.Tensor {
	sum, count := b.squares(predicted)
	if count.Defined() {
		return sum.Div(count)
	}
	return sum.MulScalar(1 / float64(b.target.Size(1)*b.target.Size(2)))
}

func (t *maskedTask) measure(e *ensemble, tables peTables) (measuresFiller, error) {
	var byLevel [][]float64 // [levels][E]
	for _, set := range t.tests {
		mse, err := t.testMSE(e, set)
		if err != nil {
			return nil, err
		}
		byLevel = append(byLevel, mse)
	}
	scores, err := t.networkScores(tables)
	if err != nil {
		return nil, err
	}
	return func(m int, to runlog.Numbers, _ trainSums) {
		to["train_mse"] = to["loss"]
		for i, set := range t.tests {
			to["test_mse/"+set.key()] = byLevel[i][m]
		}
		scores.add(m, to)
	}, nil
}

func (t *maskedTask) notes() []string {
	notes := dataNotes(t.data)
	if n := len(t.split.Train); t.batch > n {
		notes = append(notes,
			fmt.Sprintf("batch: %d is more than the %d training frames; a step uses some more than once",
				t.batch, n))
	}
	if slices.ContainsFunc(slices.Concat(t.table.Names, t.table.ModuleNames, t.subjects), tooLong) {
		notes = append(notes, fmt.Sprintf("names: reports shorten longer ones to %d letters and the place",
			longestName))
	}
	if t.config.ZScore && t.split.TestGroups == nil {
		notes = append(notes, "z-scores: mean and SD are those of each whole run, including held-out time points")
	}
	levels := append([]float64{t.train.Level}, t.config.TestLevels...)
	slices.Sort(levels)
	var other []string
	for _, level := range slices.Compact(levels) {
		m := masked.Masking{Level: level, Exact: t.train.Exact}
		share := m.Share(t.table.Tokens)
		switch isOther := math.Abs(share-level) > 0.04; {
		case isOther && m.Exact:
			other = append(other, fmt.Sprintf("%g masks %d", level, m.Count(t.table.Tokens)))
		case isOther: // samples with none or all masked are drawn again
			other = append(other, fmt.Sprintf("%g masks %.0f %% on average", level, 100*share))
		}
	}
	if other != nil {
		notes = append(notes, fmt.Sprintf("masks of %d tokens: %s", t.table.Tokens, strings.Join(other, ", ")))
	}
	if same := t.sameMasks(); same != "" {
		notes = append(notes, same)
	}
	if n := len(t.split.Test); n < 10 {
		notes = append(notes, fmt.Sprintf("held out: only %d frames, so errors are uncertain; hold out more", n))
	}
	return notes
}

// sameMasks returns a note on test levels that mask the same number of tokens, or "".
func (t *maskedTask) sameMasks() string {
	if !t.train.Exact {
		return ""
	}
	levels := map[int][]string{} // by number of masked tokens
	for _, level := range slices.Sorted(slices.Values(t.config.TestLevels)) {
		n := masked.Masking{Level: level, Exact: true}.Count(t.table.Tokens)
		levels[n] = append(levels[n], fmt.Sprint(level))
	}
	var same []string
	for _, n := range slices.Sorted(maps.Keys(levels)) {
		if len(levels[n]) > 1 {
			same = append(same, fmt.Sprintf("%s mask %d", strings.Join(levels[n], ", "), n))
		}
	}
	if same == nil {
		return ""
	}
	return fmt.Sprintf("test levels of %d tokens: %s; errors at such levels differ by the draw alone",
		t.table.Tokens, strings.Join(same, "; "))
}

func (t *maskedTask) completeResult(r *runlog.Result) {
	r.Data = t.data
	r.Baselines = map[string]runlog.Numbers{"zero": {}, "mean": {}, "gaussian": {}}
	for _, set := range t.tests {
		r.Baselines["zero"][set.key()] = set.baselines.Zero
		r.Baselines["mean"][set.key()] = set.baselines.Mean
		r.Baselines["gaussian"][set.key()] = set.baselines.Gaussian
	}
}

// newMaskedTask generates or reads data, splits them, and measures the baselines.
func newMaskedTask(c Config) (*maskedTask, error) {
	t, baselines, err := fitMasked(c)
	if err != nil {
		return nil, err
	}
	q, unknown, err := connectivityModularity(baselines, t.table.Modules)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	t.data.ConnectivityModularity = q
	if unknown != "" {
		t.data.Notes = append(t.data.Notes, unknown)
	}
	var start string
	if t.start, start, err = c.startCoordinates(t.positions, baselines); err != nil {
		return nil, err
	}
	if start != "" {
		t.data.Notes = append(t.data.Notes, start)
	}
	return t, t.prepareTests(c.DataSeed, baselines)
}

// fitMasked generates or reads data, splits them, and fits the baselines to the training frames.
func fitMasked(c Config) (t *maskedTask, baselines *masked.Baselines, err error) {
	t = &maskedTask{config: *c.Masked, batch: c.Batch}
	t.train = masked.Masking{Level: c.Masked.Level, Exact: c.Masked.Draw == config.ExactMask}
	// By default, Go would keep as much garbage of the readers as the table is large.
	before := debug.SetGCPercent(10)
	s, err := readSource(&t.config, c)
	debug.SetGCPercent(before)
	if err != nil {
		return nil, nil, err
	}
	debug.FreeOSMemory()
	t.table, t.subjects, t.positionsGiven = s.table, s.subjects, c.Positions != nil
	if t.split, err = s.split(&t.config, c.DataSeed); err != nil {
		return nil, nil, err
	}
	tokens := positions.Tokens{Count: t.table.Tokens, Names: t.table.Names}
	var about []string
	if t.positions, about, err = c.place(tokens, pe.Line(t.table.Tokens)); err != nil {
		return nil, nil, err
	}
	s.notes = append(s.notes, about...)
	measured := evenlySpaced(t.split.Test, t.config.TestFrames)
	t.data = s.summary(t.split, len(measured))
	t.data.Notes = append(t.data.Notes, t.unmeasured(measured)...)
	t.split.Test = measured
	if err := t.checkMasks(); err != nil {
		return nil, nil, err
	}
	if n := len(t.split.Train); n < 2 {
		return nil, nil, fmt.Errorf("data: only %s of %s left for training: give more, or hold out less",
			wording.Count(n, "frame"), wording.Count(t.table.Frames, "frame"))
	}
	baselines, err = masked.Fit(t.table, t.split.Train, masked.DefaultRidge)
	if err != nil {
		return nil, nil, fmt.Errorf("data: %w", err)
	}
	return t, baselines, nil
}

// connectivityModularity returns the modularity of the correlations between tokens over training
// frames, with negative ones set to 0. It is nil if modules are unknown, or if a token is constant or no
// two tokens correlate, which the note says.
func connectivityModularity(b *masked.Baselines, modules []int) (q *float64, note string, err error) {
	const unknown = "modularity of connectivity: unknown, because "
	if modules == nil {
		return nil, "", nil
	}
	w, err := b.Correlation()
	if err != nil {
		return nil, unknown + strings.TrimPrefix(err.Error(), "masked: "), nil
	}
	for i, r := range w {
		w[i] = max(0, r)
	}
	score, err := metrics.ScoreNetwork(w, modules)
	if err == nil && math.IsNaN(score.Modularity) {
		return nil, unknown + "no two tokens correlate over the training frames", nil
	}
	return &score.Modularity, "", err
}

// checkMasks returns an error if masks of a level cannot be drawn for the number of tokens.
func (t *maskedTask) checkMasks() error {
	if err := t.train.Check(t.table.Tokens); err != nil {
		return fmt.Errorf("--mask-level: %w", err)
	}
	for _, level := range t.config.TestLevels {
		if err := (masked.Masking{Level: level, Exact: t.train.Exact}).Check(t.table.Tokens); err != nil {
			return fmt.Errorf("--test-levels: %w", err)
		}
	}
	return nil
}

// prepareTests draws the test masks and measures the baselines with them.
func (t *maskedTask) prepareTests(seed uint64, baselines *masked.Baselines) (err error) {
	for _, level := range t.config.TestLevels {
		set := testSet{level: level, masks: make([]bool, len(t.split.Test)*t.table.Tokens)}
		masking := masked.Masking{Level: level, Exact: t.train.Exact}
		masking.Draw(masked.Source{Seed: seed, Stream: masked.StreamTest}, t.table.Tokens, set.masks)
		if set.baselines, err = baselines.MSE(t.table, t.split.Test, set.masks); err != nil {
			return fmt.Errorf("baselines: %w", err)
		}
		t.tests = append(t.tests, set)
	}
	h := sha256.New()
	var encoded []byte
	for piece := range slices.Chunk(t.table.X, 1<<16) { // encoding all at once would double the memory
		encoded, _ = binary.Append(encoded[:0], binary.LittleEndian, piece) // never fails for numbers
		h.Write(encoded)
	}
	for _, part := range [][]int{t.split.Train, t.split.Test, t.table.Modules} {
		binary.Write(h, binary.LittleEndian, toInt64(part))
	}
	if t.positionsGiven {
		at := t.positions
		binary.Write(h, binary.LittleEndian, toInt64(at.Index))
		for _, cell := range at.Cells {
			binary.Write(h, binary.LittleEndian, toInt64(cell[:]))
		}
		for _, point := range at.Points {
			binary.Write(h, binary.LittleEndian, point)
		}
		for i := 0; at.Graph != nil && i < at.Graph.Nodes(); i++ {
			for j := range at.Graph.Nodes() {
				binary.Write(h, binary.LittleEndian, at.Graph.Weight(i, j))
			}
		}
	}
	t.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

func toInt64(values []int) []int64 {
	wide := make([]int64, len(values))
	for i, v := range values {
		wide[i] = int64(v)
	}
	return wide
}

// evenlySpaced returns n of the frames, or all of them if n = 0.
func evenlySpaced(frames []int, n int) []int {
	if n == 0 || n >= len(frames) {
		return frames
	}
	some := make([]int, n)
	for i := range some {
		some[i] = frames[i*len(frames)/n]
	}
	return some
}

// standardise scales each token of a series to mean 0 and SD 1 (with the number of frames as divisor).
func standardise(t masked.Table) error {
	for token := range t.Tokens {
		sum, squares := 0.0, 0.0
		for f := range t.Frames {
			sum += float64(t.X[f*t.Tokens+token])
		}
		mean := sum / float64(t.Frames)
		for f := range t.Frames {
			d := float64(t.X[f*t.Tokens+token]) - mean
			squares += d * d
		}
		sd := math.Sqrt(squares / float64(t.Frames))
		// sd is exactly 0 if all values are equal: float64 sums up to 2^29 equal float32 numbers exactly.
		if !(sd > 0) {
			return fmt.Errorf("token %d has SD %g over %d frames: leave it out, or turn --zscore off",
				token, sd, t.Frames)
		}
		for f := range t.Frames {
			x := &t.X[f*t.Tokens+token]
			*x = float32((float64(*x) - mean) / sd)
		}
	}
	return nil
}
