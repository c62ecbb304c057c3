package train

import (
	"math"
	"slices"

	"torchpe/torchpe"
)

// stage is what training steps share on the device, at fixed places: what they read, what they leave, and for each shape of
// their inputs the recorded step. The host looks only when it must: see trainer.look.
type stage struct {
	drawn torchpe.Tensor // int64 [1+E]: the step and the seeds, of random draws
	state torchpe.Tensor // float64 [AccountRows,E]: sums since the last record, who is active, and who diverged when
	seen  float64        // examples since the last record

	variants map[string]*variant
	share    *torchpe.Graph
	inputs   ahead
}

// variant is a step for inputs of certain shapes.
type variant struct {
	inputs    deviceInputs
	constants *torchpe.Constants // nil on the CPU, which need not keep them
	graph     *torchpe.Graph     // nil before it was recorded
	runs      int
}

// eagerRuns is how often a step runs before it is recorded: libraries prepare themselves in its first runs.
const eagerRuns = 3

// newStage makes the places.
func (e *ensemble) newStage() *stage {
	n, s := e.members(), e.resident
	st := &stage{variants: map[string]*variant{}}
	st.drawn = torchpe.Zeros(s, torchpe.Int64, e.device, 1+n)
	st.state = torchpe.Zeros(s, torchpe.Float64, e.device, torchpe.AccountRows, n)
	st.inputs.make = func(step int) stepInputs { return e.task.inputs(e, step) }
	return st
}

func (st *stage) close() {
	st.inputs.wait()
	for _, v := range st.variants {
		if v.graph != nil {
			_ = v.graph.Close() // the device's memory goes with the process where this fails
		}
		if v.constants != nil {
			v.constants.Close()
		}
	}
}

// forget gives up the recorded steps and their memory; it says whether there were any. They are recorded again when they run.
func (st *stage) forget() bool {
	had := false
	for _, v := range st.variants {
		if v.graph != nil {
			_ = v.graph.Close() // as in close
			v.graph, v.runs, had = nil, 0, true
		}
	}
	st.share = nil
	return had
}

// makeRoom calls f. Where the device has no room for it beside the recorded steps, these are given up and f is called again.
// A training step may be: all its memory but a few numbers is asked for before it changes anything.
func (e *ensemble) makeRoom(f func() error) error {
	err := f()
	if err == nil || !OutOfMemory(err) || !e.stage.forget() {
		return err
	}
	if err := torchpe.ReleaseCached(e.device); err != nil {
		return err
	}
	return f()
}

// variantOf returns the step for inputs of these shapes.
func (e *ensemble) variantOf(in stepInputs) *variant {
	key := in.shapes()
	v := e.stage.variants[key]
	if v == nil {
		v = &variant{inputs: place(e.resident, e.device, in)}
		if e.device != torchpe.CPU || e.repeat {
			v.constants = torchpe.NewConstants()
		}
		e.stage.variants[key] = v
	}
	return v
}

// step makes training step number step (from 0) of total. On a GPU it returns before that is done.
func (e *ensemble) step(step, total int) error {
	in := e.stage.inputs.get(step)
	if err := e.prepare(step, total); err != nil {
		return err
	}
	var v *variant
	err := torchpe.Catch(func() {
		v = e.variantOf(in)
		v.inputs.write(in)
		drawn := []int64{int64(step)}
		for _, seed := range e.seeds {
			drawn = append(drawn, int64(seed))
		}
		torchpe.Write(e.stage.drawn, drawn)
	})
	if err != nil {
		return err
	}
	e.stage.seen += float64(in.examples)
	v.runs++
	if v.graph == nil && e.graphs && v.runs > eagerRuns {
		// Memory of the runs before goes to the recording.
		if err = torchpe.ReleaseCached(e.device); err != nil {
			return err
		}
		if v.graph, err = torchpe.Record(e.device, e.stage.share, func() { e.compute(v, in.examples) }); err != nil {
			return err
		}
		if e.stage.share == nil {
			e.stage.share = v.graph
		}
	}
	if v.graph != nil {
		return v.graph.Replay()
	}
	return e.makeRoom(func() error { return torchpe.Catch(func() { e.compute(v, in.examples) }) })
}

// compute is a step on the device: batch, forward, backward, update, and what the host will ask for. It reads nothing from the
// host, so that a graph can record it.
func (e *ensemble) compute(v *variant, examples int) {
	s := e.resident.Child()
	defer s.Close()
	if v.constants != nil {
		v.constants.Restart()
		s.Repeat(v.constants)
	}
	s.SeedFrom(e.stage.drawn)
	saw := e.task.loss(e, s, v.inputs)
	if err := e.optimizer.ZeroGrad(); err != nil {
		panic(&torchpe.Error{Op: "ZeroGrad", Msg: err.Error()})
	}
	saw.each.Sum().Backward() // members share nothing, so the sum's gradient is each member's own

	torchpe.Account(saw.each, saw.correct, examples, e.stage.drawn, e.stage.state) // members whose loss is not finite stop before the update
	if err := e.optimizer.Apply(e.stage.row(s, torchpe.AccountActive)); err != nil {
		panic(&torchpe.Error{Op: "optimizer", Msg: err.Error()})
	}
}

// row is a row of the state as a tensor of s.
func (st *stage) row(s *torchpe.Scope, which int) torchpe.Tensor {
	return st.state.In(s).Select(0, which)
}

// prepare puts the optimizer's settings of a step on the device.
func (e *ensemble) prepare(step, total int) error {
	factor := rate(e.config.Schedule, step, e.config.WarmupSteps, total)
	for m, member := range e.config.Members {
		e.settings.LR[m] = member.LR * factor
	}
	for _, g := range e.settings.Groups { // the PE's, if it has settings of its own
		if e.config.PEWarmupSteps != nil {
			factor = rate(e.config.Schedule, step, *e.config.PEWarmupSteps, total)
		}
		for m, member := range e.config.Members {
			g.LR[m] = orElse(member.PELR, member.LR) * factor
		}
	}
	return e.optimizer.Prepare(e.settings)
}

// begin puts sums and the state of members on the device, as a checkpoint or the start of a run has them.
func (st *stage) begin(sums running, active []bool) error {
	st.seen = sums.seen
	on := make([]float64, len(active))
	for m, a := range active {
		if a {
			on[m] = 1
		}
	}
	state := slices.Concat(sums.loss, sums.correct, on, make([]float64, 2*len(active))) // in the order of the rows
	return torchpe.Catch(func() { torchpe.Write(st.state, state) })
}

// sums waits for the device and returns what training saw since the last record.
func (st *stage) sums() (sums running, err error) {
	err = torchpe.Catch(func() {
		rows := st.rows()
		sums = running{loss: rows[torchpe.AccountLoss], correct: rows[torchpe.AccountCorrect], seen: st.seen}
	})
	return sums, err
}

// rows waits for the device and returns the state's rows.
func (st *stage) rows() [][]float64 {
	all := st.state.Float64s()
	return slices.Collect(slices.Chunk(all, len(all)/torchpe.AccountRows))
}

// stops waits for the device and returns for each member the step (from 1) whose loss was not finite, 0 = none, and the losses of
// the last step.
func (st *stage) stops() (at []int, last []float64, err error) {
	err = torchpe.Catch(func() {
		rows := st.rows()
		for _, v := range rows[torchpe.AccountDiverged] {
			at = append(at, int(math.Round(v)))
		}
		last = rows[torchpe.AccountLast]
	})
	return at, last, err
}
