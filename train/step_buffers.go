package train

import (
	"math"
	"slices"

	"torchpe/torchpe"
)

// stepBuffers is the memory on the device that all training steps share, at fixed addresses: what
// they read, what they leave, and for each shape of their inputs the recorded steps. The host waits
// for it only when it must: see trainer.checkDivergence.
type stepBuffers struct {
	// float64 [AccountRows,E]: sums since the last record, who is active, and who diverged when
	accounts torchpe.Tensor
	examples float64 // of each member since the last record

	variants  map[string]*stepVariant
	graphPool *torchpe.Graph // whose memory the other graphs share; nil before the first
	inputs    prefetcher
}

// trainSums sums up what training saw since the last record, for each member.
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

// dropGraphs frees the recorded steps, which are recorded again, and says whether there were any.
func (b *stepBuffers) dropGraphs() bool {
	had := false
	for _, v := range b.variants {
		if v.graph != nil {
			_ = v.graph.Close() // the device's memory goes with the process where this fails
			v.graph, v.runs, had = nil, 0, true
		}
	}
	b.graphPool = nil
	return had
}

// reset puts sums and the state of members on the device.
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

// sums waits for the device and returns what training saw since the last record.
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

// divergedAt waits for the device and returns for each member the step (from 1) whose loss was not
// finite, 0 = none, and the losses of the last step.
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
