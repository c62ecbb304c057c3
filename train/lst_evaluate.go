package train

import (
	"fmt"
	"slices"

	"torchpe/data/lst"
	"torchpe/models"
	"torchpe/torchpe"
)

// maxEvaluationBatch bounds the examples of a forward pass of an evaluation.
const maxEvaluationBatch = 256

// accuracy is the share of correct answers of each member on one split.
type accuracy struct {
	overall     []float64                   // [E]
	byCondition []map[lst.Condition]float64 // [E]
	byLines     []map[int]float64           // [E], empty where examples.lines is nil
	predicted   []int64                     // [E,n] classes
}

// evaluate measures a split. Random draws depend on the step and the split alone.
func (t *lstTask) evaluate(e *ensemble, r examples, step int) (accuracy, error) {
	a := accuracy{predicted: make([]int64, e.members()*r.n)}
	pass := forwardPass{split: r, step: step}
	err := t.forward(e, pass, func(p piece, logits torchpe.Tensor, _ *models.Trace) {
		classes := torchpe.Values[int64](logits.Argmax(-1))
		for m := range e.members() {
			copy(a.predicted[m*r.n+p.from:], classes[m*p.n:(m+1)*p.n])
		}
	})
	if err != nil {
		return a, err
	}
	for m := range e.members() {
		correct, total := make([]bool, r.n), 0.0
		for i, class := range a.predicted[m*r.n : (m+1)*r.n] {
			if correct[i] = class == r.target[i]; correct[i] {
				total++
			}
		}
		a.overall = append(a.overall, total/float64(r.n))
		a.byCondition = append(a.byCondition, shareBy(r.condition, correct))
		a.byLines = append(a.byLines, shareBy(r.lines, correct))
	}
	return a, nil
}

// sums returns the sums of losses and right answers over a split.
func (t *lstTask) sums(e *ensemble, r examples, step int) (trainSums, error) {
	sums := newTrainSums(e.members())
	sums.examples = float64(r.n)
	pass := forwardPass{split: r, step: step}
	err := t.forward(e, pass, func(p piece, logits torchpe.Tensor, _ *models.Trace) {
		target := torchpe.Of(logits.Scope(), e.device,
			slices.Repeat(r.target[p.from:p.from+p.n], e.members()), e.members(), p.n)
		losses := torchpe.CrossEntropy(logits, target).Float64s()
		for m, right := range torchpe.CountCorrect(logits, target).Float64s() {
			sums.loss[m] += losses[m] * float64(p.n)
			sums.correct[m] += right
		}
	})
	return sums, err
}

// shareBy returns the share of correct examples, by a kind of each example.
func shareBy[Kind comparable](kinds []Kind, correct []bool) map[Kind]float64 {
	shares, count := map[Kind]float64{}, map[Kind]float64{}
	for i, k := range kinds {
		count[k]++
		if correct[i] {
			shares[k]++
		}
	}
	for k, n := range count {
		shares[k] /= n
	}
	return shares
}

// forwardPass is a pass of a whole split through the model, after a step of training.
type forwardPass struct {
	split examples
	step  int
	trace []string // intermediates to keep
}

// piece is the examples of one forward pass: n of them, the first of which has number from.
type piece struct{ step, from, n int }

// forward runs all examples of a split through the model, piece by piece, with all members on the
// same examples. use gets the logits [E,n,C] of a piece; what it needs later it must copy.
func (t *lstTask) forward(e *ensemble, pass forwardPass,
	use func(p piece, logits torchpe.Tensor, trace *models.Trace)) error {
	return e.inPieces(pass.split.n, maxEvaluationBatch, func(s *torchpe.Scope, from, n int) {
		p := piece{pass.step, from, n}
		b := t.evaluationBatch(e, s, pass.split, p)
		trace := newTrace(pass.trace)
		use(p, pass.split.model(e).Forward(s, b.Input, trace), trace)
	})
}

// inPieces calls f for pieces of at most size of n examples: each has its first number, its count and a
// scope of its own.
func (e *ensemble) inPieces(n, size int, f func(s *torchpe.Scope, from, n int)) error {
	return torchpe.Catch(func() {
		for from := 0; from < n; from += size {
			e.inScope(func(s *torchpe.Scope) { f(s, from, min(size, n-from)) })
		}
	})
}

// inScope calls f with a scope without gradients, which it closes.
func (e *ensemble) inScope(f func(s *torchpe.Scope)) {
	s := e.resident.ChildNoGrad()
	defer s.Close()
	f(s)
}

// newTrace returns a trace of these intermediates, nil for none.
func newTrace(names []string) *models.Trace {
	if names == nil {
		return nil
	}
	return models.NewTrace(names...)
}

// evaluationBatch returns a piece of a split, the same for all members. It seeds the random draws in s
// with the step and the piece.
func (t *lstTask) evaluationBatch(e *ensemble, s *torchpe.Scope, r examples, p piece) lstBatch {
	s.Seed(e.seeds, p.step)
	index := make([]int64, 0, e.members()*p.n)
	for range e.members() {
		for i := range p.n {
			index = append(index, int64(p.from+i))
		}
	}
	b := t.gather(e, s, r, torchpe.Of(s, e.device, index, e.members(), p.n))
	e.addDrawnPositions(s, &b.Input, p.n, fmt.Sprintf("positions %s %d %d", r.name, p.step, p.from))
	return b
}
