package train

import (
	"fmt"
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

// prefetcher computes the inputs of the next step while the device works on the present one.
type prefetcher struct {
	make func(step int) stepInputs

	made chan stepInputs // nil where nothing is being computed
	stop chan struct{}   // closed to end the computation
	next int             // step of the next inputs in made
}

// repeat makes the inputs of the first n steps come again and again.
func (p *prefetcher) repeat(n int) {
	p.wait()
	first := p.make
	p.make = func(step int) stepInputs { return first(step % n) }
}

// get returns the inputs of a step, and begins on those of the step after it.
func (p *prefetcher) get(step int) stepInputs {
	if p.made == nil || p.next != step {
		p.wait()
		p.begin(step)
	}
	p.next++
	return <-p.made
}

// begin starts on the inputs of a step and of those after it, one at a time.
func (p *prefetcher) begin(step int) {
	made, stop := make(chan stepInputs), make(chan struct{})
	p.made, p.stop, p.next = made, stop, step
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

// wait stops the prefetcher and drops the inputs that it was computing.
func (p *prefetcher) wait() {
	if p.made == nil {
		return
	}
	close(p.stop)
	for range p.made {
	}
	p.made = nil
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
