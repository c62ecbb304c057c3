package train

import (
	"fmt"
	"slices"
	"strconv"

	"torchpe/torchpe"
	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// state is what a checkpoint holds besides the parameters: the position in training and the sums since the last record.
type state struct {
	step     int // steps made
	sums     running
	diverged []int   // [E] step (from 1) whose loss was not finite; 0 = none
	seconds  float64 // of training, over all resumptions
}

// buffers are the flat arrays of a checkpoint: the trained parameters and the optimizer's state, each [E,P], by prefix.
func (e *ensemble) buffers(s *torchpe.Scope) map[string]torchpe.Tensor {
	all := map[string]torchpe.Tensor{"w": e.model.Params.Flat(s)}
	for name, t := range e.optimizer.State(s) {
		all[name] = t
	}
	return all
}

// snapshot is a copy of the buffers, kept for members that diverge later.
type snapshot struct {
	scope  *torchpe.Scope
	copies map[string]torchpe.Tensor
}

// remember takes a new snapshot in place of the last.
func (e *ensemble) remember() error {
	if e.good != nil {
		e.good.scope.Close()
	}
	e.good = &snapshot{scope: torchpe.NewScopeNoGrad(), copies: map[string]torchpe.Tensor{}}
	return torchpe.Catch(func() {
		for name, t := range e.buffers(e.good.scope) {
			e.good.copies[name] = t.Clone()
		}
	})
}

// restore puts a member's part of the snapshot back.
func (e *ensemble) restore(member int) error {
	return torchpe.Catch(func() {
		s := e.good.scope.Child()
		defer s.Close()
		for name, t := range e.buffers(s) {
			t.Select(0, member).CopyFrom(e.good.copies[name].In(s).Select(0, member))
		}
	})
}

// save writes a checkpoint: for each trained parameter its values and the optimizer's state, the frozen tables, and state.
func (e *ensemble) save(run *runlog.Run, st state) error {
	tensors, err := e.parameterTensors()
	if err != nil {
		return err
	}
	add := func(name string, shape []int, values []float64) {
		t, newErr := safetensors.New(name, shape, values)
		if newErr != nil && err == nil {
			err = newErr
		}
		tensors = append(tensors, t)
	}
	members := e.members()
	diverged := make([]float64, members)
	for m, at := range st.diverged {
		diverged[m] = float64(at)
	}
	add("state/loss", []int{members}, st.sums.loss)
	add("state/correct", []int{members}, st.sums.correct)
	add("state/seen", []int{1}, []float64{st.sums.seen})
	add("state/diverged", []int{members}, diverged)
	if err != nil {
		return err
	}
	return run.SaveCheckpoint(st.step, tensors, map[string]string{
		"data_sha256": e.task.fingerprint(), "seconds": strconv.FormatFloat(st.seconds, 'g', -1, 64), "optimizer": e.config.Optimizer,
	})
}

// parameterTensors copies parameters and optimizer state out, by name.
func (e *ensemble) parameterTensors() (tensors []safetensors.Tensor, err error) {
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		for prefix, flat := range e.buffers(s) {
			for _, p := range e.model.Params.All() {
				if !p.Trainable {
					continue
				}
				part := flat.Narrow(1, p.Offset(), p.PerMember())
				tensors = append(tensors, hostTensor(prefix+"/"+p.Name, p.Shape, part))
			}
		}
		for _, p := range e.model.Params.All() {
			if !p.Trainable {
				tensors = append(tensors, hostTensor("w/"+p.Name, p.Shape, p.In(s)))
			}
		}
	})
	return tensors, err
}

// hostTensor copies t out in its own precision.
func hostTensor(name string, shape []int, t torchpe.Tensor) safetensors.Tensor {
	var out safetensors.Tensor
	var err error
	if t.DType() == torchpe.Float32 {
		out, err = safetensors.New(name, shape, torchpe.Values[float32](t))
	} else {
		out, err = safetensors.New(name, shape, t.Float64s())
	}
	if err != nil {
		panic(&torchpe.Error{Op: "checkpoint", Msg: err.Error()})
	}
	return out
}

// load puts a checkpoint's parameters and state back.
func (e *ensemble) load(c *runlog.Checkpoint) (state, error) {
	st := state{step: c.Step}
	if have, now := c.Metadata["data_sha256"], e.task.fingerprint(); have != now {
		return st, &DataError{fmt.Errorf("%s was trained on other data (their SHA-256 begins %.12s, that of these %.12s): give the same data files", c.Name, have, now)}
	}
	var err error
	if st.seconds, err = strconv.ParseFloat(c.Metadata["seconds"], 64); err != nil {
		return st, fmt.Errorf("%s: seconds %q in the metadata: %w", c.Name, c.Metadata["seconds"], err)
	}
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		for prefix, flat := range e.buffers(s) {
			for _, p := range e.model.Params.All() {
				if p.Trainable {
					into := flat.Narrow(1, p.Offset(), p.PerMember())
					put(s, c, prefix+"/"+p.Name, p.Shape, into)
				}
			}
		}
		for _, p := range e.model.Params.All() {
			if !p.Trainable {
				put(s, c, "w/"+p.Name, p.Shape, p.In(s))
			}
		}
		n := e.members()
		st.sums = running{loss: stored(c, "state/loss", n), correct: stored(c, "state/correct", n), seen: stored(c, "state/seen", 1)[0]}
		for _, at := range stored(c, "state/diverged", n) {
			st.diverged = append(st.diverged, int(at))
		}
	})
	e.optimizer.SetSteps(st.step)
	for m, at := range st.diverged {
		e.settings.Active[m] = at == 0
	}
	return st, err
}

// put copies the checkpoint's tensor called name, which must have the shape, into memory of the device.
func put(s *torchpe.Scope, c *runlog.Checkpoint, name string, shape []int, into torchpe.Tensor) {
	t, ok := c.Tensor(name)
	if !ok || !slices.Equal(t.Shape, shape) {
		panic(&torchpe.Error{Op: "resume", Msg: fmt.Sprintf("%s: tensor %s has shape %v, the configuration needs %v", c.Name, name, t.Shape, shape)})
	}
	values, err := t.Float64s()
	if err != nil {
		panic(&torchpe.Error{Op: "resume", Msg: err.Error()})
	}
	into.CopyFrom(torchpe.Of(s, torchpe.CPU, values, into.Shape()...).To(into.DType(), into.Device()))
}

// stored returns n numbers of the checkpoint.
func stored(c *runlog.Checkpoint, name string, n int) []float64 {
	t, _ := c.Tensor(name)
	values, err := t.Float64s()
	if err != nil || len(values) != n {
		panic(&torchpe.Error{Op: "resume", Msg: fmt.Sprintf("%s: tensor %s has %d numbers, the configuration needs %d", c.Name, name, len(values), n)})
	}
	return values
}
