package train

import (
	"fmt"
	"sync"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// stepInputs are what a training step takes from the host: which examples, which tokens are masked, where tokens are drawn to
// be. They are a function of the configuration and the step alone.
type stepInputs struct {
	examples int // of each member
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

// eachMember calls f for every member at the same time and waits: what the host computes for a step may take no longer than a GPU takes for one.
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

// shapes tells apart inputs for which a step does different work, as the last, smaller batch of an epoch.
func (in stepInputs) shapes() string {
	text := ""
	for _, a := range in.arrays {
		text += fmt.Sprint(a.name, a.shape)
	}
	return text
}

// deviceInputs are the inputs of a step at fixed places on the device, by name.
type deviceInputs map[string]torchpe.Tensor

// place makes room for inputs in s.
func place(s *torchpe.Scope, dev torchpe.Device, in stepInputs) deviceInputs {
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

// write fills the places with the inputs of another step.
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

// drawnPositions is the input of an encoding that draws positions for each sample of a step, for member e from its seed and the
// step: [E,B,N]. It is nil for all others.
func (e *ensemble) drawnPositions(B, step int) []hostArray {
	sampler, ok := e.model.Encoding.(pe.Sampler)
	if !ok {
		return nil
	}
	n := e.model.Config.Positions.Tokens()
	return []hostArray{{name: "positions", shape: []int{e.members(), B, n}, floats: e.drawPositions(sampler, B, n, fmt.Sprintf("positions %d", step))}}
}

// drawPositions draws [E,B,N] positions; name is that of the stream.
func (e *ensemble) drawPositions(sampler pe.Sampler, B, n int, name string) []float64 {
	each := B * n
	drawn := make([]float64, e.members()*each)
	eachMember(e.members(), func(m int) {
		pe.DrawPositions(torchpe.Stream(e.seeds[m], name), n, sampler.MaxPosition(), drawn[m*each:(m+1)*each])
	})
	return drawn
}

// positions returns the model's positions with those that were drawn for a step in s.
func (e *ensemble) positions(s *torchpe.Scope, in deviceInputs) pe.Positions {
	p := e.model.Config.Positions
	if drawn, ok := in["positions"]; ok {
		p.Drawn = drawn.In(s).To(e.model.Config.DType, e.device)
	}
	return p
}

// ahead computes the inputs of steps in turn while the device works on the step before.
type ahead struct {
	make func(step int) stepInputs
	next chan stepInputs // nil where none is under way
	step int             // of next
}

// get returns the inputs of a step and starts on those of the next.
func (a *ahead) get(step int) stepInputs {
	var in stepInputs
	if a.next != nil && a.step == step {
		in = <-a.next
	} else {
		a.wait()
		in = a.make(step)
	}
	next := make(chan stepInputs, 1)
	a.next, a.step = next, step+1
	go func() { next <- a.make(step + 1) }()
	return in
}

// wait waits for what is under way.
func (a *ahead) wait() {
	if a.next != nil {
		<-a.next
		a.next = nil
	}
}

// perEpoch keeps what was computed for an epoch until another is asked for.
type perEpoch[T any] struct {
	epoch int
	made  bool
	value T
}

func (p *perEpoch[T]) of(epoch int, compute func() T) T {
	if !p.made || p.epoch != epoch {
		p.epoch, p.made, p.value = epoch, true, compute()
	}
	return p.value
}
