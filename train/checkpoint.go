package train

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// state is a checkpoint without its tensors of parameters and optimizer.
type state struct {
	step     int // steps made
	sums     trainSums
	diverged []int   // [E] step (from 1) whose loss was not finite; 0 = none
	seconds  float64 // of training, over all resumptions
}

// flatState returns the buffers [E,P] of the trained parameters and of the optimizer's state, by name.
func (e *ensemble) flatState(s *torchpe.Scope) map[string]torchpe.Tensor {
	all := map[string]torchpe.Tensor{runlog.Weights: e.model.Params.Flat(s)}
	maps.Copy(all, e.optimizer.State(s))
	return all
}

// snapshot is a copy of the flat state, kept for members that diverge later.
type snapshot struct {
	scope  *torchpe.Scope
	copies map[string]torchpe.Tensor
}

// takeSnapshot replaces the last snapshot by a new one.
func (e *ensemble) takeSnapshot() error {
	if e.snapshot != nil {
		e.snapshot.scope.Close()
	}
	e.snapshot = &snapshot{scope: torchpe.NewScopeNoGrad(), copies: map[string]torchpe.Tensor{}}
	return torchpe.Catch(func() {
		for name, t := range e.flatState(e.snapshot.scope) {
			e.snapshot.copies[name] = t.Clone()
		}
	})
}

// restoreMember copies a member's part of the snapshot back.
func (e *ensemble) restoreMember(member int) error {
	return torchpe.Catch(func() {
		s := e.snapshot.scope.Child()
		defer s.Close()
		for name, t := range e.flatState(s) {
			t.Select(0, member).CopyFrom(e.snapshot.copies[name].In(s).Select(0, member))
		}
	})
}

// save begins a checkpoint: parameters and the optimizer's state in their own precision, the state,
// and the metadata. It returns when all of it is copied to the host. write puts it on disk, and may run
// beside later steps.
func (t *trainer) save() (write func() error, err error) {
	metadata, err := t.metadata()
	if err != nil {
		return nil, err
	}
	var out tensorList
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		t.eachParameter(s, func(name string, shape []int, x torchpe.Tensor) {
			if x.DType() == torchpe.Float32 {
				addTensor(&out, name, shape, torchpe.Values[float32](x))
			} else {
				addTensor(&out, name, shape, x.Float64s())
			}
		})
	})
	if err != nil {
		return nil, err
	}
	members, st := t.members(), t.state
	diverged := make([]float64, members)
	for m, at := range st.diverged {
		diverged[m] = float64(at)
	}
	addTensor(&out, runlog.LossTensor, []int{members}, st.sums.loss)
	addTensor(&out, runlog.CorrectTensor, []int{members}, st.sums.correct)
	addTensor(&out, runlog.SeenTensor, []int{1}, []float64{st.sums.examples})
	addTensor(&out, runlog.DivergedTensor, []int{members}, diverged)
	if out.err != nil {
		return nil, out.err
	}
	return t.run.BeginCheckpoint(st.step, out.all, metadata)
}

// eachParameter calls f with each tensor of a checkpoint in s: parameters and optimizer state.
func (e *ensemble) eachParameter(
	s *torchpe.Scope, f func(name string, shape []int, t torchpe.Tensor)) {
	for buffer, flat := range e.flatState(s) {
		for _, p := range e.model.Params.All() {
			if p.Trainable {
				f(runlog.ParameterTensor(buffer, p.Name), p.Shape, flat.Narrow(1, p.Offset(), p.PerMember()))
			}
		}
	}
	for _, p := range e.model.Params.All() {
		if !p.Trainable {
			f(runlog.ParameterTensor(runlog.Weights, p.Name), p.Shape, p.In(s))
		}
	}
}

// load copies a checkpoint's parameters into the model and returns its state.
func (e *ensemble) load(c *runlog.Checkpoint) (state, error) {
	st := state{step: c.Step}
	if have, now := c.Metadata[runlog.DataKey], e.task.fingerprint(); have != now {
		return st, &DataError{fmt.Errorf("%s was trained on other data (their SHA-256 begins %.12s, "+
			"that of these %.12s): give the same data files", c.Name, have, now)}
	}
	var err error
	if st.seconds, err = strconv.ParseFloat(c.Metadata[runlog.SecondsKey], 64); err != nil {
		return st, fmt.Errorf("%s: seconds %q in the metadata: %w", c.Name, c.Metadata[runlog.SecondsKey], err)
	}
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		e.eachParameter(s, func(name string, shape []int, into torchpe.Tensor) {
			into.CopyFrom(readTensor(c, name, shape, into))
		})
		n := e.members()
		st.sums = trainSums{
			loss: readNumbers(c, runlog.LossTensor, n), correct: readNumbers(c, runlog.CorrectTensor, n),
			examples: readNumbers(c, runlog.SeenTensor, 1)[0],
		}
		for _, at := range readNumbers(c, runlog.DivergedTensor, n) {
			st.diverged = append(st.diverged, int(at))
		}
	})
	e.optimizer.SetSteps(st.step)
	for m, at := range st.diverged {
		e.active[m] = at == 0
	}
	return st, err
}

// readTensor returns the checkpoint's tensor of a name, which must have the shape, with the scope,
// shape, data type and device of like.
func readTensor(c *runlog.Checkpoint, name string, shape []int, like torchpe.Tensor) torchpe.Tensor {
	t, ok := c.Tensor(name)
	if !ok || !slices.Equal(t.Shape, shape) {
		panic(resumeError("%s: tensor %s has shape %v, the configuration needs %v", c.Name, name,
			t.Shape, shape))
	}
	values, err := t.Float64s()
	if err != nil {
		panic(resumeError("%v", err))
	}
	return torchpe.Of(like.Scope(), torchpe.CPU, values, like.Shape()...).To(like.DType(), like.Device())
}

// readNumbers returns the n numbers of a tensor of the checkpoint.
func readNumbers(c *runlog.Checkpoint, name string, n int) []float64 {
	t, _ := c.Tensor(name)
	values, err := t.Float64s()
	if err != nil || len(values) != n {
		panic(resumeError("%s: tensor %s has %d numbers, the configuration needs %d", c.Name, name,
			len(values), n))
	}
	return values
}

func resumeError(format string, args ...any) *torchpe.Error {
	return &torchpe.Error{Op: "resume", Msg: fmt.Sprintf(format, args...)}
}
