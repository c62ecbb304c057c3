package train

import (
	"fmt"
	"slices"
	"sync"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// stepInputs are the host's inputs of a training step: indexes of examples, masks of tokens, drawn
// positions. They are a function of the configuration and the step alone.
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

// shapes returns a key that differs for inputs for which a step does different work, such as the
// last, smaller batch of an epoch.
func (in stepInputs) shapes() string {
	text := ""
	for _, a := range in.arrays {
		text += fmt.Sprint(a.name, a.shape)
	}
	return text
}

// hasShapesOf says whether shapes returns the same for both.
func (in stepInputs) hasShapesOf(other stepInputs) bool {
	return slices.EqualFunc(in.arrays, other.arrays, func(a, b hostArray) bool {
		return a.name == b.name && slices.Equal(a.shape, b.shape)
	})
}

// eachMember calls f for every member at the same time and waits, so that the host's work for a
// step takes no longer than a GPU's.
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

// joined returns the inputs of steps of the same shapes as one, with a leading axis of steps.
func joined(steps []stepInputs) stepInputs {
	all := stepInputs{}
	for i, a := range steps[0].arrays {
		a.shape = append([]int{len(steps)}, a.shape...)
		if len(steps) > 1 {
			a.ints = concatenated(steps, func(in stepInputs) []int64 { return in.arrays[i].ints })
			a.flags = concatenated(steps, func(in stepInputs) []bool { return in.arrays[i].flags })
			a.floats = concatenated(steps, func(in stepInputs) []float64 { return in.arrays[i].floats })
		}
		all.arrays = append(all.arrays, a)
	}
	for _, in := range steps {
		all.examples += in.examples
	}
	return all
}

// concatenated returns the values of all steps, or nil where they have none.
func concatenated[T any](steps []stepInputs, values func(stepInputs) []T) []T {
	var all [][]T
	for _, in := range steps {
		all = append(all, values(in))
	}
	return slices.Concat(all...)
}

// deviceInputs are inputs at fixed addresses on the device, by name.
type deviceInputs map[string]torchpe.Tensor

// allocateInputs returns zeros in s of the shapes of inputs.
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

// at returns the inputs of step i, where d are those of several, in the same memory.
func (d deviceInputs) at(i int) deviceInputs {
	one := deviceInputs{}
	for name, t := range d {
		one[name] = t.Select(0, i)
	}
	return one
}

// write replaces the values by those of other steps.
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

// drawnPositions returns the input of an encoding that draws positions for each of the B samples of
// N tokens of a step, [E,B,N], or nil for other encodings. Member e's are a function of its seed and
// the step.
func (e *ensemble) drawnPositions(B, n, step int) []hostArray {
	if e.model.Encoding.Draw().Range == 0 {
		return nil
	}
	drawn := e.drawPositions(B, n, fmt.Sprintf("positions %d", step))
	return []hostArray{{name: "positions", shape: []int{e.members(), B, n}, floats: drawn}}
}

// drawPositions draws [E,B,N] positions; name is that of the random stream.
func (e *ensemble) drawPositions(B, n int, name string) []float64 {
	each := B * n
	drawn, draw := make([]float64, e.members()*each), e.model.Encoding.Draw()
	eachMember(e.members(), func(m int) {
		draw.Fill(torchpe.Stream(e.seeds[m], name), n, drawn[m*each:(m+1)*each])
	})
	return drawn
}

// positions returns a model's positions with those that were drawn for a step in s.
func (e *ensemble) positions(s *torchpe.Scope, m *models.Model, in deviceInputs) pe.Positions {
	p := m.Config.Positions
	if drawn, ok := in["positions"]; ok {
		p.Drawn = drawn.In(s).To(e.model.Config.DType, e.device)
	}
	return p
}

// addDrawnPositions adds to an input of B samples the positions that the encoding draws, for
// member e from its seed and the name of the random stream.
func (e *ensemble) addDrawnPositions(s *torchpe.Scope, in *models.Input, B int, name string) {
	if e.model.Encoding.Draw().Range == 0 {
		return
	}
	n := in.Positions.Tokens()
	drawn := torchpe.Of(s, torchpe.CPU, e.drawPositions(B, n, name), e.members(), B, n)
	in.Positions.Drawn = drawn.To(e.model.Config.DType, e.device)
}

// prefetcher computes the inputs of the next steps, in order, while the device works on the present
// ones.
type prefetcher struct {
	make  func(step int) stepInputs
	ahead int // steps

	made chan stepInputs // nil where nothing is under way
	stop chan struct{}   // closed to end that
	step int             // the first that was not dropped
	held []stepInputs    // of that step and later ones, as taken from made
}

// repeat lets the inputs of the first n steps come again and again.
func (p *prefetcher) repeat(n int) {
	p.wait()
	first := p.make
	p.make = func(step int) stepInputs { return first(step % n) }
}

// get returns the inputs of a step and of those after it, at most n, that have the same shapes. They
// are kept until drop.
func (p *prefetcher) get(step, n int) []stepInputs {
	if p.made == nil || p.step != step {
		p.wait()
		p.begin(step)
	}
	for len(p.held) < n {
		p.held = append(p.held, <-p.made)
	}
	same := 1
	for same < n && p.held[same].hasShapesOf(p.held[0]) {
		same++
	}
	return p.held[:same]
}

// drop goes on to the step n steps later.
func (p *prefetcher) drop(n int) {
	p.step, p.held = p.step+n, slices.Clone(p.held[n:])
}

// begin starts on the inputs of a step and of those after it.
func (p *prefetcher) begin(step int) {
	// One is made beside those in the channel.
	made, stop := make(chan stepInputs, max(0, p.ahead-1)), make(chan struct{})
	p.made, p.stop, p.step = made, stop, step
	go func() {
		defer close(made)
		for ; ; step++ {
			in := p.make(step)
			select {
			case <-stop:
				return
			default:
			}
			select {
			case made <- in:
			case <-stop:
				return
			}
		}
	}()
}

// wait drops all inputs, those that are under way too.
func (p *prefetcher) wait() {
	if p.made == nil {
		return
	}
	close(p.stop)
	for range p.made {
	}
	p.made, p.held = nil, nil
}

// epochCache keeps what was computed for an epoch until another is asked for.
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
