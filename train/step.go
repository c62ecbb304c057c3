// A training step, from the inputs of the host to the update of the weights.

package train

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// step runs training step number step (from 0) of total, the number of steps of the schedule. On a
// GPU it returns before the device has finished.
func (e *ensemble) step(step, total int) error {
	in := e.buffers.inputs.get(step)
	if err := e.optimizer.Prepare(e.settingsAt(step, total)); err != nil {
		return err
	}
	v, err := e.writeInputs(in)
	if err != nil {
		return err
	}
	return e.runRecorded(v)
}

// compute runs the prepared step: batch, forward, backward, update. It reads nothing from the host, so
// that a CUDA graph can record it.
func (e *ensemble) compute(v *stepVariant) {
	s := e.resident.Child()
	defer s.Close()
	s.Repeat(v.constants)
	in := v.inputs
	s.SeedFrom(in[seedInput])
	loss := e.task.loss(e, s, in)
	if err := e.optimizer.ZeroGrad(); err != nil {
		panic(&torchpe.Error{Op: "ZeroGrad", Msg: err.Error()})
	}
	loss.each.Sum().Backward() // members are independent, so the sum's gradient is each member's own
	// Members whose loss is not finite are stopped before the update.
	accounts := e.buffers.accounts
	torchpe.Account(loss.each, loss.correct, v.examples, in[seedInput], accounts)
	active := accounts.In(s).Select(0, torchpe.AccountActive)
	if err := e.optimizer.Apply(active); err != nil {
		panic(&torchpe.Error{Op: "optimizer", Msg: err.Error()})
	}
}

func (e *ensemble) settingsAt(step, total int) torchpe.StepSettings {
	c := e.config
	set := torchpe.StepSettings{Active: e.active, ClipNorm: c.ClipNorm}
	factor := scheduleFactor(c.Schedule, step, c.WarmupSteps, total)
	for _, m := range c.Members {
		set.LR = append(set.LR, m.LR*factor)
		set.WeightDecay = append(set.WeightDecay, m.WeightDecay)
	}
	if !e.ownPE {
		return set
	}
	factor = scheduleFactor(c.Schedule, step, orElse(c.PEWarmupSteps, c.WarmupSteps), total)
	encoding := torchpe.Group{To: e.model.EncodingColumns()}
	for _, m := range c.Members {
		encoding.LR = append(encoding.LR, orElse(m.PELR, m.LR)*factor)
		encoding.WeightDecay = append(encoding.WeightDecay, orElse(m.PEWeightDecay, m.WeightDecay))
	}
	set.Groups = []torchpe.Group{encoding}
	return set
}

// scheduleFactor returns the factor on the learning rate at a step (from 0) of total: a linear
// warm-up, then the schedule.
func scheduleFactor(schedule string, step, warmup, total int) float64 {
	if step < warmup {
		return float64(step+1) / float64(warmup)
	}
	progress := float64(step-warmup) / float64(max(1, total-warmup))
	switch schedule {
	case config.Linear:
		return math.Max(0, 1-progress)
	case config.Cosine:
		return (1 + math.Cos(math.Pi*math.Min(1, progress))) / 2
	}
	return 1
}

// stepVariant is the step for inputs of certain shapes.
type stepVariant struct {
	constants *torchpe.Constants // nil on the CPU, which does not need them
	examples  int                // per member
	inputs    deviceInputs
	runs      int
	graph     *torchpe.Graph // nil until recorded
}

// eagerRuns is the number of runs of a step before it is recorded, in which libraries initialise.
const eagerRuns = 3

// writeInputs writes the inputs of a step to the device and returns the step for their shapes.
func (e *ensemble) writeInputs(in stepInputs) (v *stepVariant, err error) {
	err = torchpe.Catch(func() {
		v = e.variantOf(in)
		v.inputs.write(in)
		e.buffers.examples += float64(in.examples)
	})
	return v, err
}

func (e *ensemble) variantOf(in stepInputs) *stepVariant {
	key := in.shapes()
	v := e.buffers.variants[key]
	if v == nil {
		v = &stepVariant{examples: in.examples, inputs: allocateInputs(e.resident, e.device, in)}
		if e.device != torchpe.CPU || e.repeat {
			v.constants = torchpe.NewConstants()
		}
		e.buffers.variants[key] = v
	}
	return v
}

// runRecorded runs a step on the device. On a GPU the fourth run of a variant records it as a CUDA
// graph, which that run and later ones replay.
func (e *ensemble) runRecorded(v *stepVariant) error {
	v.runs++
	if v.graph == nil && e.graphs && v.runs > eagerRuns {
		// If graphs of other shapes leave too little memory, it is recorded without them.
		if err := e.retryAfterOOM(func() error { return e.recordGraph(v) }); err != nil {
			return err
		}
	}
	if v.graph != nil {
		return v.graph.Replay()
	}
	return e.retryAfterOOM(func() error { return torchpe.Catch(func() { e.compute(v) }) })
}

// recordGraph records a step, in memory that it shares with the graphs recorded before.
func (e *ensemble) recordGraph(v *stepVariant) (err error) {
	// The recording gets the memory of earlier runs.
	if err = torchpe.ReleaseCached(e.device); err != nil {
		return err
	}
	v.graph, err = torchpe.Record(e.device, e.buffers.graphPool, func() { e.compute(v) })
	if err == nil && e.buffers.graphPool == nil {
		e.buffers.graphPool = v.graph
	}
	return err
}

// retryAfterOOM calls f. If the device has too little memory beside the recorded steps, these are
// dropped and f is called again. f may be a training step, which allocates all its memory except a
// few numbers before it changes anything.
func (e *ensemble) retryAfterOOM(f func() error) error {
	err := f()
	if err == nil || !outOfMemory(err) || !e.buffers.dropGraphs() {
		return err
	}
	if err := torchpe.ReleaseCached(e.device); err != nil {
		return err
	}
	return f()
}

// stepInputs are the host's inputs of a training step: indexes of examples, masks of tokens, drawn
// positions. They depend only on the configuration and the step.
type stepInputs struct {
	examples int // per member
	arrays   []hostArray
}

// hostArray is one input; one of the three slices holds its values.
type hostArray struct {
	name   string
	shape  []int
	ints   []int64
	flags  []bool
	floats []float64
}

// shapes returns a key that differs for inputs for which a step does different work, such as the
// smaller last batch of an epoch.
func (in stepInputs) shapes() string {
	text := ""
	for _, a := range in.arrays {
		text += fmt.Sprint(a.name, a.shape)
	}
	return text
}

// deviceInputs are inputs at fixed addresses on the device, by name.
type deviceInputs map[string]torchpe.Tensor

// allocateInputs returns zeros in s with the shapes of inputs.
func allocateInputs(s *torchpe.Scope, dev torchpe.Device, in stepInputs) deviceInputs {
	d := deviceInputs{}
	for _, a := range in.arrays {
		dtype := torchpe.Int64
		switch {
		case a.flags != nil:
			dtype = torchpe.Bool
		case a.floats != nil:
			dtype = torchpe.Float64
		}
		d[a.name] = torchpe.Zeros(s, dtype, dev, a.shape...)
	}
	return d
}

// write replaces the values by those of another step.
func (d deviceInputs) write(in stepInputs) {
	for _, a := range in.arrays {
		switch {
		case a.flags != nil:
			torchpe.Write(d[a.name], a.flags)
		case a.floats != nil:
			torchpe.Write(d[a.name], a.floats)
		default:
			torchpe.Write(d[a.name], a.ints)
		}
	}
}

// seedInput names the input that seeds random draws, int64 [1+E]: the step, and each member's seed.
const seedInput = "step and seeds"

// stepBuffers is the memory on the device that all training steps share, at fixed addresses: their
// inputs, their results, and the recorded steps for each shape of inputs. The host waits for the
// device only when it must: see trainer.checkDivergence.
type stepBuffers struct {
	// float64 [AccountRows,E]: sums since the last record, which members are active, and when
	// members diverged.
	accounts torchpe.Tensor
	examples float64 // per member since the last record

	variants  map[string]*stepVariant
	graphPool *torchpe.Graph // whose memory the other graphs share; nil before the first
	inputs    prefetcher
}

// trainSums are each member's sums of training since the last record.
type trainSums struct {
	loss     []float64 // [E], over examples
	correct  []float64 // [E]
	examples float64
}

func newTrainSums(members int) trainSums {
	return trainSums{loss: make([]float64, members), correct: make([]float64, members)}
}

func (e *ensemble) newStepBuffers() *stepBuffers {
	b := &stepBuffers{variants: map[string]*stepVariant{}}
	b.accounts = torchpe.Zeros(e.resident, torchpe.Float64, e.device, torchpe.AccountRows, e.members())
	b.inputs.make = func(step int) stepInputs {
		stepAndSeeds := []int64{int64(step)}
		for _, seed := range e.seeds {
			stepAndSeeds = append(stepAndSeeds, int64(seed))
		}
		in := e.task.inputs(e, step)
		in.arrays = append(in.arrays,
			hostArray{name: seedInput, shape: []int{len(stepAndSeeds)}, ints: stepAndSeeds})
		return in
	}
	return b
}

func (b *stepBuffers) close() {
	b.inputs.wait()
	b.dropGraphs()
	for _, v := range b.variants {
		if v.constants != nil {
			v.constants.Close()
		}
	}
}

// dropGraphs frees the recorded steps, which will be recorded again, and reports whether there were any.
func (b *stepBuffers) dropGraphs() bool {
	had := false
	for _, v := range b.variants {
		if v.graph != nil {
			_ = v.graph.Close() // if this fails, the memory is freed with the process
			v.graph, v.runs, had = nil, 0, true
		}
	}
	b.graphPool = nil
	return had
}

// reset writes sums and the state of members to the device.
func (b *stepBuffers) reset(sums trainSums, active []bool) error {
	b.examples = sums.examples
	on := make([]float64, len(active))
	for m, a := range active {
		if a {
			on[m] = 1
		}
	}
	rows := slices.Concat(sums.loss, sums.correct, on, make([]float64, 2*len(active))) // in order
	return torchpe.Catch(func() { torchpe.Write(b.accounts, rows) })
}

// sums waits for the device and returns the sums of training since the last record.
func (b *stepBuffers) sums() (sums trainSums, err error) {
	err = torchpe.Catch(func() {
		rows := b.rows()
		sums = trainSums{rows[torchpe.AccountLoss], rows[torchpe.AccountCorrect], b.examples}
	})
	return sums, err
}

// rows waits for the device and returns the rows of accounts.
func (b *stepBuffers) rows() [][]float64 {
	all := b.accounts.Float64s()
	return slices.Collect(slices.Chunk(all, len(all)/torchpe.AccountRows))
}

// divergedAt waits for the device. It returns for each member the step (from 1) at which its loss
// was not finite, or 0, and the losses of the last step.
func (b *stepBuffers) divergedAt() (at []int, last []float64, err error) {
	err = torchpe.Catch(func() {
		rows := b.rows()
		for _, v := range rows[torchpe.AccountDiverged] {
			at = append(at, int(math.Round(v)))
		}
		last = rows[torchpe.AccountLast]
	})
	return at, last, err
}

// eachMember calls f for all members concurrently and waits, so that the host's work for a step
// takes no longer than a GPU's.
func eachMember(members int, f func(m int)) {
	if members == 1 {
		f(0)
		return
	}
	var wait sync.WaitGroup
	for m := range members {
		wait.Go(func() { f(m) })
	}
	wait.Wait()
}

// drawnPositions returns the input of an encoding that draws positions for each of the B samples of N tokens
// of a step, [E,B,N], or nil for other encodings. They depend only on each member's seed and the step.
func (e *ensemble) drawnPositions(B, n, step int) []hostArray {
	if e.model.Encoding.Draw().Range == 0 {
		return nil
	}
	drawn := e.drawPositions(B, n, fmt.Sprintf("positions %d", step))
	return []hostArray{{name: "positions", shape: []int{e.members(), B, n}, floats: drawn}}
}

// drawPositions draws [E,B,N] positions; name is the name of the random stream.
func (e *ensemble) drawPositions(B, n int, name string) []float64 {
	each := B * n
	drawn, draw := make([]float64, e.members()*each), e.model.Encoding.Draw()
	eachMember(e.members(), func(m int) {
		draw.Fill(torchpe.Stream(e.seeds[m], name), n, drawn[m*each:(m+1)*each])
	})
	return drawn
}

// positions returns a model's positions, with those drawn for a step, in s.
func (e *ensemble) positions(s *torchpe.Scope, m *models.Model, in deviceInputs) pe.Positions {
	p := m.Config.Positions
	if drawn, ok := in["positions"]; ok {
		p.Drawn = drawn.In(s).To(e.model.Config.DType, e.device)
	}
	return p
}

// addDrawnPositions adds to an input of B samples the positions that the encoding draws from each
// member's seed and the random stream called name.
func (e *ensemble) addDrawnPositions(s *torchpe.Scope, in *models.Input, B int, name string) {
	if e.model.Encoding.Draw().Range == 0 {
		return
	}
	n := in.Positions.Tokens()
	drawn := torchpe.Of(s, torchpe.CPU, e.drawPositions(B, n, name), e.members(), B, n)
	in.Positions.Drawn = drawn.To(e.model.Config.DType, e.device)
}

// prefetcher computes the inputs of the next step while the device works on the current one.
type prefetcher struct {
	make func(step int) stepInputs
	made chan stepInputs // gets the inputs of step next when computed; nil before the first step
	next int
}

// repeat cycles through the inputs of the first n steps.
func (p *prefetcher) repeat(n int) {
	p.wait()
	first := p.make
	p.make = func(step int) stepInputs { return first(step % n) }
}

// get returns the inputs of a step, and starts computing those of the next step.
func (p *prefetcher) get(step int) stepInputs {
	if p.made == nil || p.next != step {
		p.wait()
		p.begin(step)
	}
	in := <-p.made
	p.begin(step + 1)
	return in
}

func (p *prefetcher) begin(step int) {
	made := make(chan stepInputs, 1)
	p.made, p.next = made, step
	go func() { made <- p.make(step) }()
}

// wait discards the inputs that are being computed.
func (p *prefetcher) wait() {
	if p.made != nil {
		<-p.made
		p.made = nil
	}
}

// epochCache keeps a value computed for an epoch until another epoch is requested.
type epochCache[T any] struct {
	epoch int
	full  bool
	value T
}

func (p *epochCache[T]) get(epoch int, compute func() T) T {
	if !p.full || p.epoch != epoch {
		p.epoch, p.full, p.value = epoch, true, compute()
	}
	return p.value
}
