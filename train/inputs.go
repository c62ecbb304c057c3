package train

import (
	"fmt"
	"sync"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

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
	made chan stepInputs // has the inputs of step next, once they are computed; nil before the first step
	next int
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
	in := <-p.made
	p.begin(step + 1)
	return in
}

// begin starts on the inputs of a step.
func (p *prefetcher) begin(step int) {
	made := make(chan stepInputs, 1)
	p.made, p.next = made, step
	go func() { made <- p.make(step) }()
}

// wait drops the inputs that are being computed.
func (p *prefetcher) wait() {
	if p.made != nil {
		<-p.made
		p.made = nil
	}
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
