package train

import (
	"fmt"
	"slices"

	"torchpe/data/lst"
	"torchpe/data/masked"
	"torchpe/data/positions"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// lstTask solves Latin-square puzzles. Its loss is the cross-entropy of the answer at the read-out token.
type lstTask struct {
	taskDefaults
	splits
	config  Config
	order   epochCache[[][]int64] // [E][n]
	symbols epochCache[[][]int64] // permuted: see epochPermutations
	shown   examples              // see shownTraining

	// Measured with the probes; zero before.
	noisy   robustness
	tangent []float64  // [E] alignment of the tangent kernel
	atEnd   []accuracy // of sizes

	positions     pe.Positions
	positionNotes []string
	start         [][]float64 // coordinates of Init
}

func init() {
	taskMakers["lst"] = taskMaker{
		read: func(c Config) (task, error) {
			s, err := load(c)
			if err != nil {
				return nil, err
			}
			return newLSTTask(c, s)
		},
		empty: func(c Config) (task, error) { return newLSTTask(c, splits{}) },
	}
}

// newLSTTask returns a task whose cells lie on their grid, unless a file gives other positions.
func newLSTTask(c Config, s splits) (*lstTask, error) {
	t := &lstTask{config: c, splits: s}
	var err error
	side := c.Side()
	t.positions, t.positionNotes, err = c.place(positions.Tokens{Count: side * side}, pe.Grid(side, side))
	if err != nil {
		return t, err
	}
	var about string
	if t.start, about, err = c.startCoordinates(t.positions, nil); about != "" {
		t.positionNotes = append(t.positionNotes, about)
	}
	return t, err
}

func (t *lstTask) fingerprint() string { return t.splits.fingerprint }

func (t *lstTask) notes() []string {
	notes := slices.Clone(t.positionNotes)
	wrong := 0
	for _, p := range t.validation.puzzles {
		if len(t.config.LSTTrain) > 0 && !p.HasOwnCondition() {
			wrong++
		}
	}
	if wrong > 0 {
		notes = append(notes, fmt.Sprintf("conditions: %d of %d validation puzzles state another one than the "+
			"rules give; accuracies by condition follow the file. torchpe data lst check lists them",
			wrong, t.validation.n))
	}
	if batch, n := t.config.Batch, t.train.n; batch > n {
		notes = append(notes,
			fmt.Sprintf("batch: %d is more than the %d training puzzles; each step uses all of them", batch, n))
	}
	return notes
}

func (t *lstTask) configureModel(c *models.Config) {
	symbols := t.config.Symbols()
	c.Positions, c.PEInit.Coordinates = t.positions, t.start
	c.Symbols, c.Classes = symbols+2, symbols // symbols with the blank and the probe
}

func (t *lstTask) moveToDevice(e *ensemble) {
	t.shown = examples{}
	for _, x := range t.all() {
		if x.n > 0 {
			x.copyTo(e.device, e.resident)
		}
	}
	for i := range t.sizes {
		t.sizes[i].at = e.sized[i]
	}
}

// stepsPerEpoch returns the number of batches of an epoch; the last may be smaller.
func (t *lstTask) stepsPerEpoch() int {
	return (t.train.n + t.config.Batch - 1) / t.config.Batch
}

func (t *lstTask) inputs(e *ensemble, step int) stepInputs {
	epoch, at := step/t.stepsPerEpoch(), step%t.stepsPerEpoch()*t.config.Batch
	n := min(t.config.Batch, t.train.n-at)
	drawn := t.order.get(epoch, func() [][]int64 {
		all := make([][]int64, e.members())
		eachMember(e.members(), func(m int) {
			all[m] = make([]int64, t.train.n)
			for i, example := range masked.EpochOrder(e.seeds[m], epoch, t.train.n) {
				all[m][i] = int64(example)
			}
		})
		return all
	})
	index := make([]int64, 0, e.members()*n)
	for _, o := range drawn {
		index = append(index, o[at:at+n]...)
	}
	arrays := []hostArray{{name: "index", shape: []int{e.members(), n}, ints: index}}
	arrays = append(arrays, t.permutationInput(e, epoch, at, n)...)
	return stepInputs{examples: n, arrays: append(arrays, e.drawnPositions(n, t.positions.Tokens(), step)...)}
}

func (t *lstTask) loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss {
	b := t.gather(e, s, t.train, in["index"])
	t.permuteSymbols(s, in, &b)
	b.Positions = e.positions(s, e.model, in)
	b.Training = true
	logits := e.model.Forward(s, b.Input, nil)
	return stepLoss{
		each:    torchpe.CrossEntropy(logits, b.target),
		correct: torchpe.CountCorrect(logits, b.target),
	}
}

// lstBatch is the input and the targets [E,B] of one step.
type lstBatch struct {
	models.Input
	target torchpe.Tensor
}

// gather returns, in s, the batch of the examples at index (int64 [E,B]).
func (t *lstTask) gather(e *ensemble, s *torchpe.Scope, from examples, index torchpe.Tensor) lstBatch {
	shape := index.Shape()
	flat := index.In(s).Reshape(-1)
	pick := func(t torchpe.Tensor, shape ...int) torchpe.Tensor {
		return t.In(s).IndexSelect(0, flat).Reshape(shape...)
	}
	b := lstBatch{target: pick(from.onDevice.target, shape...)}
	b.Symbols = pick(from.onDevice.symbols, shape[0], shape[1], from.onDevice.symbols.Size(1))
	b.Probe = pick(from.onDevice.probe, shape...)
	b.Positions = from.model(e).Config.Positions
	return b
}

func (t *lstTask) measure(e *ensemble, _ peTables) (measuresFiller, error) {
	var iid, validation accuracy
	var err error
	if t.iid.n > 0 {
		if iid, err = t.evaluate(e, t.iid); err != nil {
			return nil, err
		}
	}
	if validation, err = t.evaluate(e, t.validation); err != nil {
		return nil, err
	}
	sizes, err := t.evaluateSizes(e)
	if err != nil {
		return nil, err
	}
	return func(m int, to runlog.Numbers, sums trainSums) {
		to["train"] = sums.correct[m] / sums.examples
		if iid.overall != nil {
			to["iid"] = iid.overall[m]
		}
		to["validation"] = validation.overall[m]
		runlog.SetFamily(to, "validation", validation.byCondition[m])
		runlog.SetFamily(to, "validation_lines", validation.byLines[m])
		for i, a := range sizes {
			to[t.sizeKey(i)] = a.overall[m]
		}
	}, nil
}

func (t *lstTask) addFinal(member int, to runlog.Numbers) {
	runlog.SetFamily(to, "noise", t.noisy.byAmplitude(member))
	if t.tangent != nil {
		to["tangent_alignment"] = t.tangent[member]
	}
	for i, a := range t.atEnd {
		runlog.SetFamily(to, t.sizeKey(i), a.byCondition[member])
	}
}

func (t *lstTask) completeResult(r *runlog.Result) {
	if t.config.Renames() {
		return // a training puzzle has other symbols in each epoch: there is nothing to look up
	}
	r.Baselines = map[string]runlog.Numbers{"look_up": {}, "counts": {}}
	for _, x := range []examples{t.iid, t.validation} {
		if x.n > 0 {
			b := lst.NewBaselines(t.train.puzzles, x.puzzles)
			r.Baselines["look_up"][x.name], r.Baselines["counts"][x.name] = b.LookUp, b.Counts
		}
	}
}

// trainingSums returns the sums over all training puzzles.
func (t *lstTask) trainingSums(e *ensemble) (trainSums, error) {
	return t.sums(e, t.shownTraining(e))
}

// model returns the model for a split: the trained one, or its parameters at other positions.
func (x examples) model(e *ensemble) *models.Model {
	if x.at != nil {
		return x.at
	}
	return e.model
}

// otherSizes returns the grids of Config.EvalTokens.
func (t *lstTask) otherSizes() (all []size) {
	for _, tokens := range t.config.EvalTokens { // square numbers: config checks it
		all = append(all, size{pe.SquareGrid(tokens), fmt.Sprintf("--eval-tokens %d", tokens)})
	}
	return all
}

// epochPermutations returns, for each example of an epoch in order, the new token of each of its
// tokens, then the new class of each symbol: [E][n ((side+2)+side)]. It depends only on the
// member's seed and the epoch.
func (t *lstTask) epochPermutations(e *ensemble, epoch int) [][]int64 {
	return t.symbols.get(epoch, func() [][]int64 {
		side, width := t.config.Side(), t.permutationWidth()
		all := make([][]int64, e.members())
		for m, seed := range e.seeds {
			all[m] = make([]int64, t.train.n*width)
			rng := torchpe.Stream(seed, fmt.Sprintf("symbols %d", epoch))
			for i := range t.train.n {
				row := all[m][i*width : (i+1)*width]
				permuted, classes := row[:side+2], row[side+2:]
				drawPermutation(rng, permuted, t.config.Symbols())
				for k := range classes {
					classes[k] = permuted[1+k] - 1
				}
			}
		}
		return all
	})
}

// permutationWidth returns the number of tokens and classes in a puzzle's permutation.
func (t *lstTask) permutationWidth() int { return 2*t.config.Side() + 2 }

// permutationInput returns the permutations of n examples of an epoch, from example number at:
// [E,n,(side+2)+side]. It is nil if symbols are not permuted.
func (t *lstTask) permutationInput(e *ensemble, epoch, at, n int) []hostArray {
	if !t.config.Renames() {
		return nil
	}
	width := t.permutationWidth()
	var permuted []int64
	for _, all := range t.epochPermutations(e, epoch) {
		permuted = append(permuted, all[at*width:(at+n)*width]...)
	}
	return []hostArray{{name: "permutations", shape: []int{e.members(), n, width}, ints: permuted}}
}

func (t *lstTask) permuteSymbols(s *torchpe.Scope, in deviceInputs, b *lstBatch) {
	permuted, ok := in["permutations"]
	if !ok {
		return
	}
	side := t.config.Side()
	b.Symbols = permuted.In(s).Narrow(2, 0, side+2).Gather(2, b.Symbols)
	b.target = permuted.In(s).Narrow(2, side+2, side).Gather(2, b.target.Unsqueeze(-1)).Squeeze(2)
}

func (t *lstTask) evaluateSizes(e *ensemble) ([]accuracy, error) {
	all := make([]accuracy, len(t.sizes))
	for i, r := range t.sizes {
		var err error
		if all[i], err = t.evaluate(e, r); err != nil {
			return nil, fmt.Errorf("--eval-tokens %d: %w", t.config.EvalTokens[i], err)
		}
	}
	return all, nil
}

// sizeKey returns the key of the accuracy at one of Config.EvalTokens.
func (t *lstTask) sizeKey(i int) string { return fmt.Sprintf("tokens/%d", t.config.EvalTokens[i]) }
