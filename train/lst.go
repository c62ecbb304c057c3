package train

import (
	"math"

	"torchpe/data"
	"torchpe/data/positions"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// lstTask answers Latin-square puzzles: cross-entropy of the answer at the read-out's token.
type lstTask struct {
	config Config
	splits splits
	train  resident
	held   map[string]resident // by split name
	order  perEpoch[[][]int64] // [E][n]
	names  perEpoch[[][]int64] // of symbols: see namesOf
	noisy  robustness          // measured with the probes; zero before

	sizes []resident // of Config.EvalTokens
	atEnd bySize     // measured with the probes; nil before

	places pe.Positions
	about  []string // sentences about them
}

// newLSTTask finds where the cells of the puzzles lie: on their grid, unless a file says otherwise.
func newLSTTask(c Config, s splits) (*lstTask, error) {
	t := &lstTask{config: c, splits: s}
	var err error
	side := c.side()
	t.places, t.about, err = c.place(positions.Tokens{Count: side * side}, pe.Grid(side, side))
	return t, err
}

// resident is a split on the device.
type resident struct {
	examples
	onDevice struct{ symbols, probe, target torchpe.Tensor } // [n,N], [n], [n]
	at       *models.Model                                   // nil: the puzzles are of the size that the model is trained on
}

func (t *lstTask) fingerprint() string { return t.splits.fingerprint }

func (t *lstTask) notes() []string { return t.about }

func (t *lstTask) shape(c *models.Config) {
	symbols := t.config.symbols()
	c.Positions, c.Symbols, c.Classes = t.places, symbols+2, symbols // with the blank and the probe
	c.TokenInput, c.EmbeddingInit = models.TokenInput(t.config.TokenInput), models.EmbeddingInit(t.config.EmbeddingInit)
	c.ReadOut = models.ReadOut(t.config.ReadOut)
}

func (t *lstTask) move(e *ensemble) {
	t.held = map[string]resident{}
	put := func(x examples) resident {
		r := resident{examples: x}
		if x.n > 0 {
			r.onDevice.symbols = torchpe.Of(e.resident, e.device, x.symbols, x.n, len(x.symbols)/x.n)
			r.onDevice.probe = torchpe.Of(e.resident, e.device, x.probe, x.n)
			r.onDevice.target = torchpe.Of(e.resident, e.device, x.target, x.n)
		}
		return r
	}
	t.train = put(t.splits.train)
	for _, x := range []examples{t.splits.iid, t.splits.validation} {
		t.held[x.name] = put(x)
	}
	t.moveSizes(e, put)
}

// stepsPerEpoch counts the batches of an epoch; the last may be smaller.
func (t *lstTask) stepsPerEpoch() int {
	return (t.splits.train.n + t.config.Batch - 1) / t.config.Batch
}

func (t *lstTask) inputs(e *ensemble, step int) stepInputs {
	epoch, at := step/t.stepsPerEpoch(), step%t.stepsPerEpoch()*t.config.Batch
	n := min(t.config.Batch, t.train.n-at)
	order := t.order.of(epoch, func() [][]int64 {
		all := make([][]int64, e.members())
		eachMember(e.members(), func(m int) {
			all[m] = make([]int64, t.train.n)
			for i, example := range data.Order(e.seeds[m], epoch, t.train.n) {
				all[m][i] = int64(example)
			}
		})
		return all
	})
	index := make([]int64, 0, e.members()*n)
	for _, o := range order {
		index = append(index, o[at:at+n]...)
	}
	arrays := []hostArray{{name: "index", shape: []int{e.members(), n}, ints: index}}
	arrays = append(arrays, t.namesInput(e, epoch, at, n)...)
	return stepInputs{examples: n, arrays: append(arrays, e.drawnPositions(n, step)...)}
}

func (t *lstTask) loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss {
	b := t.gather(e, s, t.train, in["index"])
	t.rename(s, in, &b)
	b.Positions = e.positions(s, in)
	b.Training = true
	logits := e.model.Forward(s, b.Input, nil)
	return stepLoss{
		each:    torchpe.CrossEntropy(logits, b.target),
		correct: torchpe.RightAnswers(logits, b.target),
	}
}

// lstBatch is the input and the targets [E,B] of one step.
type lstBatch struct {
	models.Input
	target torchpe.Tensor
}

// gather returns the examples that index (int64 [E,B]) names as a batch in s.
func (t *lstTask) gather(e *ensemble, s *torchpe.Scope, from resident, index torchpe.Tensor) lstBatch {
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

func (t *lstTask) record(e *ensemble, step int, _ peTables) (func(int, *runlog.Record, running), error) {
	var iid, validation accuracy
	var err error
	if t.held["iid"].n > 0 {
		if iid, err = t.evaluate(e, t.held["iid"], step); err != nil {
			return nil, err
		}
	}
	if validation, err = t.evaluate(e, t.held["validation"], step); err != nil {
		return nil, err
	}
	sizes, err := t.evaluateSizes(e, step)
	if err != nil {
		return nil, err
	}
	return func(m int, r *runlog.Record, sums running) {
		r.AccuracyByTokens = t.overall(sizes, m)
		r.TrainAccuracy = sums.correct[m] / sums.seen
		if iid.overall != nil {
			r.IIDAccuracy = iid.overall[m]
		}
		r.ValidationAccuracy = validation.overall[m]
		r.ValidationByCondition = map[string]float64{}
		for c, a := range validation.byCondition[m] {
			r.ValidationByCondition[c.Label()] = a
		}
	}, nil
}

func (t *lstTask) result(last *runlog.Record, r *runlog.MemberResult) {
	r.TrainAccuracy, r.IIDAccuracy, r.ValidationAccuracy = math.NaN(), math.NaN(), math.NaN()
	if last != nil {
		r.TrainAccuracy, r.IIDAccuracy, r.ValidationAccuracy = last.TrainAccuracy, last.IIDAccuracy, last.ValidationAccuracy
		r.ValidationByCondition = last.ValidationByCondition
		r.NoiseAccuracy = t.noisy.byAmplitude(last.Member)
		t.sizeResult(last, r)
	}
}

func (t *lstTask) finish(*runlog.Result) {}
